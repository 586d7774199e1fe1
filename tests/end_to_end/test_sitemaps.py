"""Crawls that read sitemaps visit exactly what those may speak for, undisturbed or killed."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest

from gossamer import simweb
from gossamer.records import RequestKind
from gossamer.simweb import WebSpec, plain_web
from gossamer.store.reading import last_pages, requests
from tests.end_to_end.crawls import Crawl

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.simweb import Verdict

SITES = 12
DELAY_S = 0.1
SPEC = WebSpec(
    sites=SITES, pages=5, sitemaps=0.9, slow_s=0.05, crawl_delay_s=0.2, broken=0, subdomains=0.6, robots_missing=0.1
)
KILLS = 3
ON_DISK = pytest.mark.parametrize("frontier", [""])


def judge(crawl: Crawl, *, kills: tuple[float, ...] = (), **terms: object) -> Verdict:
    expected = simweb.expected(crawl.server.web, crawl.seeds, token="Gossamer", sitemaps=True, **terms)  # type: ignore[arg-type]
    return simweb.judge(
        crawl.server.log(),
        delay_s=DELAY_S,
        expected=expected,
        allowed_repeats=len(kills) * len(crawl.seeds) * 3,
        kills=kills,
    )


def test_a_killed_crawl_with_sitemaps_visits_the_exact_set(tmp_path: Path, frontier: str) -> None:
    dice = random.Random(6)
    kills = []
    with simweb.serve(SPEC) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=DELAY_S, frontier=frontier)
        for _ in range(KILLS):
            before = server.answered()
            with crawl.start("--sitemaps") as start:
                crawl.wait_for_requests(before + dice.randrange(1, 3 * SITES))
                kills.append(time.monotonic())
                start.kill_group()
        crawl.finish("--sitemaps")
        verdict = judge(crawl, kills=tuple(kills))
        assert verdict.ok, verdict.summary()


@ON_DISK
def test_a_crawl_with_sitemaps_visits_the_exact_set(tmp_path: Path, frontier: str) -> None:
    with simweb.serve(SPEC) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=DELAY_S, frontier=frontier)
        crawl.finish("--sitemaps")
        verdict = judge(crawl)
        assert verdict.ok, verdict.summary()
        asked = {request.url for request in server.log()}
        for only in ("/only/1.html", "/only/abroad.html", "/only/guest.html", "/only/more.html"):
            assert any(url.endswith(only) for url in asked), only
        assert not any(url.endswith("/only/stolen.html") for url in asked)
        sitemaps = {row.url for row in requests(crawl.folder) if row.kind == RequestKind.SITEMAP}
        assert {url.rpartition("/")[2] for url in sitemaps} >= {
            *("sitemap.xml", "index.xml", "1.xml", "2.xml.gz", "3.txt", "more.xml", "feed.rss", "feed.atom"),
            *("urls.txt", "for-sub.xml"),
        }
        assert not sitemaps & {row.url for row in last_pages(crawl.folder)}


@ON_DISK
def test_without_the_flag_nobody_asks_for_a_sitemap(tmp_path: Path, frontier: str) -> None:
    spec = plain_web(sites=2, pages=3, sitemaps=1.0)
    with simweb.serve(spec) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=0, frontier=frontier)
        crawl.finish()
        verdict = crawl.judge()
        assert verdict.ok, verdict.summary()
