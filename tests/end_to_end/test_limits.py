"""Crawls that end because they were told when to end, and what may change when they go on."""

from __future__ import annotations

import re
import signal
import time
from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from gossamer.store.reading import last_pages
from gossamer.urls import site_of
from gossamer_simweb import PlantedPage, plain_web
from tests.end_to_end.crawls import Crawl, Start, said, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer_simweb import WebServer

SITES, PAGES = 6, 6


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with simweb.serve(plain_web(sites=SITES, pages=PAGES, links_across=0.0)) as running:
        yield running


def test_a_page_limit_is_kept_to_the_page_and_can_be_raised(server: WebServer, tmp_path: Path, frontier: str) -> None:
    crawl = Crawl(server, tmp_path / "data", delay_s=0.1, frontier=frontier)
    said = crawl.finish("--max-pages", "17")
    assert "The page limit is reached: 17 pages" in said
    assert len(list(last_pages(crawl.folder))) == 17
    said = crawl.finish()
    assert "over all starts 17 pages" in said, "the limit holds over all starts"
    said = crawl.finish("--max-pages", "1000")
    assert f"Nothing is left to fetch: {SITES * PAGES - 17} pages" in said
    assert len(list(last_pages(crawl.folder))) == SITES * PAGES


def test_strangers_do_not_spend_the_pages_that_a_site_may_have(tmp_path: Path) -> None:
    invented = "".join(f"<a href=http://good.test:{{port}}/invented-{number}>x</a>" for number in range(12))
    own = b"".join(b"<a href=/own-%d>x</a>" % number for number in range(5))
    planted = (
        PlantedPage(host="evil.test", body=invented.encode()),
        *(PlantedPage(host="good.test", path=f"/invented-{number}", body=own) for number in range(12)),
        *(PlantedPage(host="good.test", path=f"/own-{number}", body=own) for number in range(5)),
    )
    with simweb.serve(plain_web(sites=1, pages=1, planted=planted)) as server:
        crawl = Crawl(server, tmp_path / "data", f"http://evil.test:{server.port}/", delay_s=0, workers=1)
        crawl.finish("--scope", "web", "--max-pages-per-site", "6")
    kept = [row.url.rpartition("/")[2] for row in last_pages(crawl.folder) if site_of(row.url) == "good.test"]
    assert len(kept) == 6
    assert sum(name.startswith("own-") for name in kept) == 5


def test_a_crawl_goes_on_with_the_settings_it_had(server: WebServer, tmp_path: Path) -> None:
    crawl = Crawl(server, tmp_path / "data", delay_s=1.0)
    begun_s = time.monotonic()
    said = crawl.finish("--max-duration", "2s")
    assert "The time is up" in said
    assert time.monotonic() - begun_s < 12
    before = server.answered()
    with Start(["crawl", "--data-dir", str(crawl.folder), "--max-duration", "1h"]) as start:
        wait_until(lambda: server.answered() > before, "a request")
        start.signal(signal.SIGTERM)
        said = start.end()
    assert f"{SITES} sites / 1 s" in said
    assert "; 2 workers; into" in said
    ours = [request for request in server.log() if request.arrived > begun_s]
    assert simweb.judge(ours, delay_s=1.0, expected=None).early == ()


def test_a_disk_that_is_nearly_full_pauses_the_crawl_and_says_so(server: WebServer, tmp_path: Path) -> None:
    crawl = Crawl(server, tmp_path / "data", delay_s=0.1, workers=1)
    before = server.answered()
    with crawl.start("--min-free-space", "1000TB") as start:
        wait_until(lambda: "in trouble; disk nearly full" in start.said, "word of it")
        status = said("status", "--data-dir", str(crawl.folder))
        assert re.search(r"trouble    disk nearly full: [\d.]+ [GT]B free on /\S*, at least 1,000.0 TB needed", status)
        start.signal(signal.SIGTERM)
        start.end()
    assert "Nothing new is started until there is room: disk nearly full: " in crawl.log
    assert server.answered() == before
    assert f"Nothing is left to fetch: {SITES * PAGES} pages" in crawl.finish("--min-free-space", "0")


def test_only_the_seeds_are_fetched_when_asked_for(server: WebServer, tmp_path: Path) -> None:
    crawl = Crawl(server, tmp_path / "data", delay_s=0.1, workers=1)
    said = crawl.finish("--seeded-urls-only", "--no-warc")
    assert f"Nothing is left to fetch: {SITES} pages" in said
    assert sorted(row.url for row in last_pages(crawl.folder)) == sorted(crawl.seeds)
    assert list((crawl.folder / "warc").iterdir()) == []


def test_an_excluded_site_is_left_alone_and_goes_on_when_it_is_readmitted(tmp_path: Path, frontier: str) -> None:
    with simweb.serve(plain_web(sites=2, pages=3)) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=0.1, workers=1, frontier=frontier)
        excluded = site_of(crawl.seeds[0])
        file = tmp_path / "excluded.txt"
        file.write_text(f"{excluded}  # asked us to\n")
        said = crawl.finish("--exclude-file", str(file))
        assert "Nothing is left to fetch: 3 pages" in said
        assert excluded not in {site_of(request.url) for request in server.log()}
        file.write_text("")
        assert "Nothing is left to fetch: 3 pages" in crawl.finish()
        verdict = crawl.judge()
        assert verdict.ok, verdict.summary()
