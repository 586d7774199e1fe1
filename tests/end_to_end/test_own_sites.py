"""A site that belongs to the operator gets several requests at once, as long as it answers well; others get one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from gossamer.cli import run
from gossamer.urls import site_of
from gossamer_simweb import PlantedPage, PlantedRobots, plain_web
from tests.end_to_end.crawls import Crawl

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gossamer_simweb.log import LoggedRequest

PAGES = 120
ANSWER_S = 0.1
PARALLEL = 6
OWN = "own.test"


def site_of_pages(host: str, pages: int = PAGES, **more: object) -> tuple[PlantedPage, ...]:
    """Return a site whose every page takes a while, and links to ten others."""

    def page(number: int) -> PlantedPage:
        linked = [each for each in range(10 * number + 1, 10 * number + 11) if each < pages]
        urls = tuple(f"http://{host}:{{port}}/{each}" for each in linked)
        body = "".join(f'<a href="{url}">to page {url}</a>' for url in urls)
        html = f"<!doctype html><title>{number}</title><p>Page {number} of {host}.</p>{body}"
        path = f"/{number}" if number else "/"
        return PlantedPage(host=host, path=path, body=html.encode(), links=urls, delay_s=ANSWER_S, **more)  # type: ignore[arg-type]

    return tuple(map(page, range(pages)))


def most_at_once(requests: Sequence[LoggedRequest]) -> int:
    """Return how many requests were under way at once."""
    events = sorted([(r.arrived, 1) for r in requests] + [(r.ended, -1) for r in requests])
    under_way, most = 0, 0
    for _, step in events:
        under_way += step
        most = max(most, under_way)
    return most


def by_site(requests: Sequence[LoggedRequest]) -> dict[str, list[LoggedRequest]]:
    """Return the requests of each site."""
    found: dict[str, list[LoggedRequest]] = {}
    for request in sorted(requests, key=lambda request: request.arrived):
        found.setdefault(site_of(request.url), []).append(request)
    return found


@pytest.mark.parametrize("workers", [1, 2])
def test_an_own_site_gets_several_requests_at_once_and_others_one(
    tmp_path: Path, workers: int, capsys: pytest.CaptureFixture[str]
) -> None:
    web = plain_web(
        sites=1, pages=20, links_across=0, www=0, robots_missing=1,
        planted=(*site_of_pages(OWN), *site_of_pages("other.test", 20)),
    )  # fmt: skip
    with simweb.serve(web) as server:
        seeds = [f"http://{host}:{server.port}/" for host in (OWN, "other.test")]
        crawl = Crawl(server, tmp_path / "data", *seeds, delay_s=0, workers=workers, address_delay_s=0.05)
        crawl.finish("--own", OWN, "--parallel", str(PARALLEL))
        log = server.log()
        verdict = simweb.judge(
            log, delay_s=0, expected=simweb.expected(server.web, crawl.seeds, token="Gossamer"), workers=workers,
            lanes={OWN: PARALLEL},
        )  # fmt: skip
    assert verdict.ok, verdict.summary()
    requests = by_site(log)
    assert most_at_once(requests[OWN]) == PARALLEL
    assert most_at_once(requests["other.test"]) == 1
    assert Counter(request.kind for request in requests[OWN]) == {"page": PAGES, "robots": 1}
    assert run(["verify", "--data-dir", str(crawl.folder)]) == 0
    assert run(["explain", OWN, "--data-dir", str(crawl.folder)]) == 0
    assert f"yours: up to {PARALLEL} requests at once" in capsys.readouterr().out
    one_by_one = simweb.judge(log, delay_s=0, expected=None)
    assert {early.site for early in one_by_one.early} == {OWN}


def test_an_own_site_that_asks_for_a_delay_gets_one_request_at_a_time(tmp_path: Path) -> None:
    robots = PlantedRobots(host=OWN, crawl_delay_s=0.2)
    web = plain_web(sites=1, pages=1, planted=site_of_pages(OWN, 8), planted_robots=(robots,))
    with simweb.serve(web) as server:
        crawl = Crawl(server, tmp_path / "data", f"http://{OWN}:{server.port}/", delay_s=0, workers=1)
        crawl.finish("--own", OWN)
        requests = by_site(server.log())[OWN]
        verdict = simweb.judge(server.log(), delay_s=0, expected=None, lanes={OWN: 8})
    assert most_at_once(requests) == 1
    assert len(requests) == 9
    assert verdict.early == ()
    assert run(["verify", "--data-dir", str(crawl.folder)]) == 0


def test_an_own_site_that_is_too_busy_is_left_alone_for_as_long_as_it_asks(tmp_path: Path) -> None:
    web = plain_web(
        sites=1, pages=60, links=20, links_across=0, www=0, subdomains=0, robots_missing=1, busy=0.2, seed=5
    )
    with simweb.serve(web) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=0, workers=1)
        site = site_of(crawl.seeds[0])
        crawl.finish("--own", site, "--parallel", "4")
        requests = by_site(server.log())[site]
        verdict = simweb.judge(
            server.log(), delay_s=0, expected=simweb.expected(server.web, crawl.seeds, token="Gossamer"),
            lanes={site: 4},
        )  # fmt: skip
    assert verdict.ok, verdict.summary()
    assert any(request.status == 429 for request in requests)
    assert most_at_once(requests) <= 4
    assert run(["verify", "--data-dir", str(crawl.folder)]) == 0


def test_a_name_that_is_no_site_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["crawl", "example.org", "--email", "a@b.org", "--data-dir", str(tmp_path), "--own"]
    assert run([*arguments, "www.example.org"]) == 2
    assert "www.example.org belongs to the site example.org" in capsys.readouterr().err
    assert run([*arguments, "a b"]) == 2
    assert "'a b' is no site: write it like example.org." in capsys.readouterr().err
