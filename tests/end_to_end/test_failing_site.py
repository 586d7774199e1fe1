"""A site that fails repeatedly is suspended, tried again later, and treated like any other once it answers.

A site that asks for a longer delay gets it, whichever of its hosts asks.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import gossamer_simweb as simweb
from gossamer.cli import run
from gossamer.crawl.engines import open_existing
from gossamer.urls import site_of
from gossamer_simweb import PlantedPage, plain_web
from tests.end_to_end.crawls import Crawl, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

DELAY_S = 0.3
SUSPENDED_S = 8.0
FAILURES = 3
# A front page that links to this many pages, each of which fails once.
WEB = plain_web(sites=1, pages=1 + FAILURES, seed=3, flaky=0.9, links=0, links_across=0, www=0, robots_missing=1)
FLAGS = ("--set", f"suspension_failures={FAILURES}", "--set", f"suspension={SUSPENDED_S}", "--set", "retry_wait=7")


def test_it_is_suspended_tried_again_and_recovers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with simweb.serve(WEB) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=DELAY_S, workers=1)
        site = site_of(crawl.seeds[0])

        def said(sentence: str) -> bool:
            status = run(["explain", site, "--data-dir", str(crawl.folder)])
            return sentence in capsys.readouterr().out and status == 0

        with crawl.start(*FLAGS) as start:
            wait_until(lambda: (crawl.folder / "frontier.sqlite").exists(), "a frontier")
            sentence = f"it failed {FAILURES} times in a row and is suspended for {SUSPENDED_S:.0f} s."
            wait_until(lambda: said(sentence), "the site to be suspended")
            wait_until(lambda: ", 1 in trouble" in start.said, "word of it in the progress")
            start.end()
        pages = sorted(request for request in server.log() if request.kind == "page")
        verdict = crawl.judge()
    assert verdict.ok, verdict.summary()
    assert [page.status for page in pages] == [200, *[503] * FAILURES, *[200] * FAILURES]
    gaps_s = [later.arrived - earlier.ended for earlier, later in pairwise(pages)]
    assert gaps_s[FAILURES] >= SUSPENDED_S
    assert max(gaps_s[:FAILURES] + gaps_s[FAILURES + 1 :]) < SUSPENDED_S, gaps_s
    with open_existing(crawl.folder) as frontier:
        found = frontier.find_site(site)
        assert found is not None
        assert found.failures == 0
    assert said("nothing to do: Nothing of it is left to fetch.")


def test_what_one_hosts_robots_txt_asks_for_holds_for_the_whole_site(tmp_path: Path) -> None:
    later = (("Content-Type", "text/plain"), ("Retry-After", "4"))
    pages = (
        PlantedPage(host="a.test", body=b"<a href='//www.a.test:{port}/'>www</a> <a href=/2>2</a>"),
        PlantedPage(host="a.test", path="/2"),
        PlantedPage(host="www.a.test"),
        PlantedPage(host="www.a.test", path="/robots.txt", status=503, headers=later),
    )
    with simweb.serve(plain_web(sites=1, pages=1, planted=pages)) as server:
        crawl = Crawl(server, tmp_path / "data", f"http://a.test:{server.port}/", delay_s=DELAY_S, workers=1)

        def asked() -> list[str]:
            return [request.url for request in sorted(server.log()) if "a.test" in request.host]

        with crawl.start():
            wait_until(lambda: len(asked()) == 4, "the second page")
        log = server.log()
    assert [url.partition("/")[2].partition("/")[2] for url in asked()] == [
        f"a.test:{server.port}/robots.txt",
        f"a.test:{server.port}/",
        f"www.a.test:{server.port}/robots.txt",
        f"a.test:{server.port}/2",
    ]
    assert simweb.judge(log, delay_s=DELAY_S, expected=None).early == ()
