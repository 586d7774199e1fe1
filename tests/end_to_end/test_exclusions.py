"""A site that the operator excludes during a crawl gets no more requests after five seconds, by the server's log."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import gossamer_simweb as simweb
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.records import Reason
from gossamer.urls import site_of
from gossamer_simweb import plain_web
from tests.end_to_end.crawls import Crawl, said, wait_until
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer_simweb import WebServer

SITES, PAGES = 3, 120  # enough to take long; no page can be found only through an excluded one
HEEDED_S = 5.0


def asked_since(since_s: float, server: WebServer) -> list[str]:
    return [request.url for request in server.log() if request.arrived > since_s]


def test_what_is_excluded_in_a_running_crawl_is_not_asked_for_five_seconds_later(tmp_path: Path) -> None:
    with simweb.serve(plain_web(sites=SITES, pages=PAGES, links_across=0.0)) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=0.2)
        first, second, _ = crawl.seeds
        site, pattern = site_of(first), f"{second}people/"
        there = ("--data-dir", str(crawl.folder))
        with crawl.start() as start:
            wait_until(lambda: sum(site_of(request.url) == site for request in server.log()) > 4, "some pages")
            heard = said("exclude", site, pattern, *there)
            returned_s = time.monotonic()
            assert "the running crawl obeys within five seconds" in heard
            wait_until(lambda: len(asked_since(returned_s + HEEDED_S, server)) > 9, "what comes later")
            start.signal(signal.SIGTERM)
            assert "Stopped: " in start.end(), "others were asked for longer"
        crawl.finish("--delay", "0", "--set", "batch=0.1")
        late = asked_since(returned_s + HEEDED_S, server)
        assert not [url for url in late if site_of(url) == site or url.startswith(pattern)]
        log = server.log()
        expected = set(simweb.expected(server.web, crawl.seeds, token="Gossamer").depths)
        missed = expected - {request.url for request in log}
        assert {url for url in missed if site_of(url) == site}, "it came in time to spare some pages"
        assert all(site_of(url) == site or url.startswith(pattern) for url in missed), "nothing else was left out"
        purged = said("exclude", site, "--purge", *there)
        with SqliteFrontier(crawl.folder / "frontier.sqlite") as frontier:
            assert list(frontier.queued(site)) == []
            assert frontier.stats().queued == 0
            assert frontier.stats().given_up[Reason.EXCLUDED] > 0
            assert frontier.audit() == []
        stored = [line.split("\t")[0] for line in (crawl.folder / "purged-pages.tsv").read_text().splitlines()[1:]]
        asked = {request.url for request in log if request.kind == "page" and site_of(request.url) == site}
        assert set(stored) == asked
        assert f"{len(stored)} stored pages listed" in purged


def test_an_exclusion_on_one_machine_holds_on_the_other_too(tmp_path: Path) -> None:
    address = new_database()
    with simweb.serve(plain_web(sites=6, pages=500, links_across=0.0)) as server:  # more than can be visited
        one, other = (
            Crawl(server, tmp_path / name, delay_s=0.2, workers=1, frontier=address) for name in ("one", "other")
        )
        sites = [site_of(seed) for seed in one.seeds[:3]]
        pattern = f"{one.seeds[3]}people/"
        with one.start() as here, other.start() as there:
            for crawl in (one, other):
                wait_until(lambda: any(crawl.folder.glob("warc/*")), "both to have pages")  # noqa: B023
            said("exclude", *sites, pattern, "--data-dir", str(one.folder))
            returned_s = time.monotonic()
            wait_until(lambda: len(asked_since(returned_s + HEEDED_S, server)) > 9, "what comes later")
            assert here.status is there.status is None, "both are still at work"
        late = asked_since(returned_s + HEEDED_S, server)
        assert not [url for url in late if site_of(url) in sites or url.startswith(pattern)]
