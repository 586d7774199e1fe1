"""`make compare`: every crawler finishes the simulated web, and the table shows what the judge found."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from compare.__main__ import Outcome, main, table
from compare.crawlers import ADAPTERS, AGENT, CRAWLERS
from compare.trials import Trial, crawl
from tools.environments import MissingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compare.crawlers import Crawler

SPEC = simweb.WebSpec(sites=6, pages=8, slow_s=0.1, crawl_delay_s=0.4, broken=0, token=AGENT)
DELAY_S = 0.2


def crawler(name: str) -> Crawler:
    try:
        return CRAWLERS[name]()
    except MissingError as error:
        pytest.skip(f"{name}: {error}")


@pytest.mark.parametrize("name", ["scrapy", "crawlee"])
def test_an_adapter_crawls_politely_as_far_as_its_crawler_can(name: str) -> None:
    trial = crawl(crawler(name), SPEC, delay_s=DELAY_S)
    whole = simweb.WebPlan(SPEC, port=80, tls_port=0)
    wanted = simweb.expected(whole, whole.seeds(), token=AGENT).visited
    verdict = trial.judge()
    assert verdict.visited >= 0.9 * len(wanted)
    assert len(verdict.missed) <= 0.1 * len(wanted)
    assert trial.cpu_s > 0
    assert trial.wall_s > DELAY_S * SPEC.pages, "it keeps the delay between most pages of a site"


def test_gossamer_loses_nothing_at_a_kill_and_requests_nothing_early() -> None:
    trial = crawl(crawler("gossamer"), SPEC, delay_s=DELAY_S, kill_after=[5, 20])
    assert len(trial.kills) == 2
    verdict = trial.judge()
    assert not (*verdict.missed, *verdict.early, *verdict.disallowed), verdict.summary()


def test_a_crawl_stops_after_the_wanted_number_of_pages() -> None:
    trial = crawl(crawler("gossamer"), SPEC, delay_s=0, max_pages=12)
    assert 12 <= len(trial.pages()) < 24


def test_a_crawler_that_fails_is_one_sentence() -> None:
    broken = crawler("gossamer").__class__(name="broken", command=lambda _errand: [sys.executable, "-c", "exit(3)"])
    with pytest.raises(SystemExit, match="failed with exit status 3"):
        crawl(broken, SPEC, delay_s=DELAY_S)


def test_a_crawler_that_cannot_be_installed_is_left_out_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> Crawler:
        raise MissingError("it cannot be installed (no network)")

    monkeypatch.setitem(CRAWLERS, "scrapy", missing)
    main(["--crawler", "scrapy"])
    assert "scrapy is left out: it cannot be installed (no network)." in capsys.readouterr().err


def test_the_table_counts_as_lost_only_what_the_kills_lost() -> None:
    """A log is made up: one page of the web after another, half a delay apart."""
    calm = made_up(port=8001, left_out=1, cpu_s=1.5)
    killed = made_up(port=8002, left_out=3, cpu_s=0.0, kills=(0.0, 0.0, 0.0))
    start = Trial(web=calm.web, log=calm.log[:1], delay_s=DELAY_S, kills=(), cpu_s=1.0, wall_s=1.0)
    shown = table([Outcome("Scrapy 2", start, calm, killed)])
    assert "| by the server's log | Scrapy 2 |\n|---|---|\n" in shown
    assert "| pages missed | 1 |" in shown
    assert "| pages lost at a kill | 2 (3 kills) |" in shown
    pages = len(calm.log)
    assert f"| requests, undisturbed and with kill -9 | {pages} and {pages - 2} |" in shown
    assert f"| early: before the site's delay was over, both crawls | {2 * pages - 4} |" in shown
    assert f"| of these before half of it was over | {2 * pages - 4} |" in shown
    assert f"| CPU per page | {500 / (pages - 1):.1f} ms |" in shown


def made_up(*, port: int, left_out: int, cpu_s: float, kills: Sequence[float] = ()) -> Trial:
    """Return a crawl of one site that left out some pages."""
    web = simweb.WebPlan(simweb.plain_web(sites=1, pages=20, token=AGENT), port=port, tls_port=0)
    urls = sorted(simweb.expected(web, web.seeds(), token=AGENT).visited)
    lines = [
        simweb.LoggedRequest(
            number * DELAY_S / 4, number * DELAY_S / 4, "page", "GET", "http", "", "", 200, 0, "", 0.0, False, "", url
        )
        for number, url in enumerate(urls[left_out:])
    ]
    return Trial(web=web, log=lines, delay_s=DELAY_S, kills=kills, cpu_s=cpu_s, wall_s=1.0)


def test_an_adapter_looks_up_names_at_the_simulated_web() -> None:
    script = """
import socket, sys
from simulated_web import use_name_server
use_name_server(sys.argv[1])
print(socket.gethostbyname(sys.argv[2]), socket.getaddrinfo(sys.argv[2], 80)[0][4][0])
print(socket.getaddrinfo("127.0.0.9", 1)[0][4][0])
try:
    socket.getaddrinfo("nowhere-at-all.test", 80)
except socket.gaierror as error:
    print(error.strerror)
"""
    with simweb.serve(SPEC) as web:
        name = web.web.hosts(0).main
        command = [sys.executable, "-c", script, web.dns, name]
        said = subprocess.run(command, cwd=ADAPTERS, capture_output=True, text=True, check=True).stdout.splitlines()
    address = web.web.address(name)
    assert said == [f"{address} {address}", "127.0.0.9", "nowhere-at-all.test has no address"]
