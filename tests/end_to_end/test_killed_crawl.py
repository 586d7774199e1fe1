"""Crawls that are killed, wholly or in part, visit the same pages as undisturbed ones, and none too early."""

from __future__ import annotations

import os
import random
import signal
import time
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from gossamer.crawl.engines import open_existing
from gossamer.supervisor.lock import holders
from gossamer_simweb import PlantedPage, PlantedRobots, WebSpec, plain_web
from tests.end_to_end.crawls import Crawl, assert_nothing_lost, is_running, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.records import SiteState
    from gossamer_simweb import WebServer
    from tests.end_to_end.crawls import Start

SITES = 12
DELAY_S = 0.2
_SLOW = ("http://slow.test:{port}/a", "http://slow.test:{port}/b")
SPEC = WebSpec(sites=SITES, pages=15, slow_s=0.1, crawl_delay_s=0.4, broken=0)  # broken pages take long to give up
KILLS = {"sqlite": 10, "postgres": 4}  # what is killed is the same
ON_DISK = pytest.mark.parametrize("frontier", [""])  # where it is makes no difference to this


@pytest.fixture
def server() -> Iterator[WebServer]:
    with simweb.serve(SPEC) as running:
        yield running


@pytest.fixture
def crawl(server: WebServer, tmp_path: Path, frontier: str) -> Crawl:
    return Crawl(server, tmp_path / "data", delay_s=DELAY_S, frontier=frontier)


def test_killing_everything_at_random_instants_loses_nothing(tmp_path: Path, frontier: str) -> None:
    dice = random.Random(20)
    first_requests_s, kills = [], []
    with simweb.serve(WebSpec(sites=SITES, pages=18, slow_s=0.1, crawl_delay_s=0.4, broken=0)) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=DELAY_S, frontier=frontier)
        for _ in range(KILLS["postgres" if frontier else "sqlite"]):
            before = server.answered()
            with crawl.start() as start:
                begun_s = time.monotonic()
                if not crawl.is_under_way(start, before + 1):
                    break  # on a busy machine, more happens between two looks than we want
                first_requests_s.append(time.monotonic() - begun_s)
                if not crawl.is_under_way(start, before + dice.randrange(1, 3 * SITES)):
                    break
                time.sleep(dice.uniform(0, 0.2))  # not to wait for anything: this is the random instant
                kills.append(time.monotonic())
                start.kill_group()
        print(f"\nfrom start to first request: {max(first_requests_s):.1f} s at most")
        assert len(kills) >= 3
        crawl.finish()
        assert_nothing_lost(crawl, kills=kills)


def test_killing_a_worker_loses_nothing(crawl: Crawl) -> None:
    kills = []
    with crawl.start() as start:
        for requests in (20, 60):
            crawl.wait_for_requests(requests)
            victim = start.workers()[0]
            kills.append(time.monotonic())
            os.kill(victim, signal.SIGKILL)
            wait_until(partial(_is_replaced, start, victim), "another worker")
        start.end()
    assert crawl.log.count("ended by SIGKILL; another one replaces it") == 2
    assert_nothing_lost(crawl, kills=kills)


def test_a_crash_does_not_forget_the_delay_that_a_site_asks_for(tmp_path: Path, frontier: str) -> None:
    robots = PlantedRobots(host="slow.test", crawl_delay_s=2.0)
    pages = [
        PlantedPage(host="slow.test", path=path, body=b"<a href=/a>a</a><a href=/b>b</a>", links=_SLOW)
        for path in ("/", "/a", "/b")
    ]
    with simweb.serve(plain_web(sites=1, pages=1, planted=tuple(pages), planted_robots=(robots,))) as server:
        seed = f"http://slow.test:{server.port}/"
        crawl = Crawl(server, tmp_path / "data", seed, delay_s=DELAY_S, workers=1, frontier=frontier)
        with crawl.start() as start:
            wait_until(lambda: any(request.url == seed for request in server.log()), "the first page")
            os.kill(start.workers()[0], signal.SIGKILL)
            start.end()
        turns = [request for request in server.log() if "slow.test" in request.host and request.kind == "page"]
        assert {request.target for request in turns} == {"/", "/a", "/b"}
        gaps_s = [later.arrived - earlier.ended for earlier, later in pairwise(turns)]
        assert min(gaps_s) >= 2, gaps_s


def test_what_a_site_asks_for_is_written_down_at_once(tmp_path: Path, frontier: str) -> None:
    """The rest is reported in batches; here the next one is due only after the test."""
    headers = (("Content-Type", "text/html"), ("Retry-After", "1000"))
    robots = PlantedRobots(host="busy.test", crawl_delay_s=0.5)
    page = PlantedPage(host="busy.test", status=429, headers=headers, body=b"later")
    with simweb.serve(plain_web(sites=1, pages=1, planted=(page,), planted_robots=(robots,))) as server:
        seed = f"http://busy.test:{server.port}/"
        crawl = Crawl(server, tmp_path / "data", seed, delay_s=DELAY_S, workers=1, frontier=frontier)
        with crawl.start("--set", "batch=300"):
            wait_until(lambda: (crawl.folder / "crawl.toml").exists(), "the crawl to begin")
            with open_existing(crawl.folder) as opened:
                wait_until(lambda: _waits(opened.find_site("busy.test")), "its wish to be known")


def _waits(site: SiteState | None) -> bool:
    return site is not None and site.own_delay_s == 0.5 and (site.wait_s or 0) > 900


def _is_replaced(start: Start, victim: int) -> bool:
    workers = start.workers()
    return victim not in workers and len(workers) == 2


@ON_DISK
def test_killing_a_page_process_costs_nothing(crawl: Crawl) -> None:
    with crawl.start() as start:
        crawl.wait_for_requests(20)
        for victim in start.page_processes():
            os.kill(victim, signal.SIGKILL)
        start.end()
    assert_nothing_lost(crawl, kills=[])


def test_when_the_supervisor_is_killed_no_orphan_goes_on_and_a_restart_works_at_once(crawl: Crawl) -> None:
    with crawl.start() as start:
        crawl.wait_for_requests(20)
        wait_until(lambda: len(start.page_processes()) == 2, "both workers to have their page process")
        family = [*start.workers(), *start.page_processes()]
        locking = [holder.pid for holder in holders(crawl.folder)]
        assert locking == sorted([start.pid, *start.workers()]), "page processes do not hold the lock"
        killed = time.monotonic()
        start.signal(signal.SIGKILL)
        wait_until(lambda: not any(map(is_running, family)), "the orphans to die")
        crawl.finish()
    assert_nothing_lost(crawl, kills=[killed])
