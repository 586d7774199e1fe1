"""Crawls that are killed, stopped and started again visit the same pages as undisturbed ones, and none too early."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from gossamer import simweb
from gossamer.simweb import Behaviour, Planted, PlantedRobots, WebSpec, plain_web
from gossamer.store.checking import check
from tests.end_to_end.crawls import Crawl, environment, is_running, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.simweb import Server
    from tests.end_to_end.crawls import Start

SITES = 12
DELAY_S = 0.2
_SLOW = ("http://slow.test:{port}/a", "http://slow.test:{port}/b")
SPEC = WebSpec(sites=SITES, pages=9, slow_s=0.1, crawl_delay_s=0.4)
KILLS = 10


@pytest.fixture
def server() -> Iterator[Server]:
    with simweb.serve(SPEC) as running:
        yield running


@pytest.fixture
def crawl(server: Server, tmp_path: Path) -> Crawl:
    return Crawl(server, tmp_path / "data", delay_s=DELAY_S)


def assert_nothing_lost(crawl: Crawl, *, kills: int) -> None:
    """Every kill may repeat what was in flight or not yet reported: half a second of a few turns per site."""
    verdict = crawl.judge(allowed_repeats=kills * SITES * 3)
    assert verdict.ok, verdict.summary()
    assert check(crawl.folder).problems == []
    print(f"\n{kills} kills, {verdict.repeats} of {verdict.requests} requests repeated")


def test_killing_everything_at_random_instants_loses_nothing(tmp_path: Path) -> None:
    dice = random.Random(20)
    first_requests_s = []
    with simweb.serve(WebSpec(sites=SITES, pages=18, slow_s=0.1, crawl_delay_s=0.4)) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=DELAY_S)
        for _ in range(KILLS):
            before = server.answered()
            with crawl.start() as start:
                begun_s = time.monotonic()
                crawl.wait_for_requests(before + 1)
                first_requests_s.append(time.monotonic() - begun_s)
                crawl.wait_for_requests(before + dice.randrange(1, 3 * SITES))
                time.sleep(dice.uniform(0, 0.2))  # not to wait for anything: this is the random instant
                assert start.status is None
                start.kill_group()
        print(f"\nfrom start to first request: {max(first_requests_s):.1f} s at most")
        crawl.finish()
        assert_nothing_lost(crawl, kills=KILLS)


def test_killing_a_worker_loses_nothing(tmp_path: Path) -> None:
    # What a site asked for right before the crash (Crawl-delay, Retry-After) nobody has written down: none asks.
    with simweb.serve(WebSpec(sites=SITES, pages=9, slow_s=0.1, crawl_delay=0, busy=0)) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=DELAY_S)
        with crawl.start() as start:
            for requests in (20, 60):
                crawl.wait_for_requests(requests)
                victim = start.workers()[0]
                os.kill(victim, signal.SIGKILL)
                wait_until(partial(_is_replaced, start, victim), "another worker")
            start.end()
        assert crawl.log.count("ended by SIGKILL; another takes its place") == 2
        assert_nothing_lost(crawl, kills=2)


def test_a_crash_does_not_forget_the_delay_that_a_site_asks_for(tmp_path: Path) -> None:
    robots = PlantedRobots(host="slow.test", crawl_delay_s=2.0)
    pages = [
        Planted(host="slow.test", path=path, body=b"<a href=/a>a</a><a href=/b>b</a>", links=_SLOW)
        for path in ("/", "/a", "/b")
    ]
    with simweb.serve(plain_web(sites=1, pages=1, planted=tuple(pages), planted_robots=(robots,))) as server:
        seed = f"http://slow.test:{server.port}/"
        crawl = Crawl(server, tmp_path / "data", seed, delay_s=DELAY_S, workers=1)
        with crawl.start() as start:
            wait_until(lambda: any(request.url == seed for request in server.log()), "the first page")
            os.kill(start.workers()[0], signal.SIGKILL)
            start.end()
        turns = [request for request in server.log() if "slow.test" in request.host and request.kind == "page"]
        assert {request.target for request in turns} == {"/", "/a", "/b"}
        gaps_s = [later.arrived - earlier.ended for earlier, later in pairwise(turns)]
        assert min(gaps_s) >= 2, gaps_s


def _is_replaced(start: Start, victim: int) -> bool:
    workers = start.workers()
    return victim not in workers and len(workers) == 2


def test_killing_a_page_process_costs_nothing(crawl: Crawl) -> None:
    with crawl.start() as start:
        crawl.wait_for_requests(20)
        for victim in start.page_processes():
            os.kill(victim, signal.SIGKILL)
        start.end()
    assert_nothing_lost(crawl, kills=0)


def test_when_the_supervisor_is_killed_no_orphan_goes_on_and_a_restart_works_at_once(crawl: Crawl) -> None:
    with crawl.start() as start:
        crawl.wait_for_requests(20)
        family = [*start.workers(), *start.page_processes()]
        assert len(family) == 4
        start.signal(signal.SIGKILL)
        wait_until(lambda: not any(map(is_running, family)), "the orphans to die")
        crawl.finish()
    assert_nothing_lost(crawl, kills=1)


def test_stops_in_good_order_repeat_nothing(crawl: Crawl) -> None:
    for how in ("ctrl-c", "sigterm", "gossamer stop"):
        before = crawl.server.answered()
        with crawl.start() as start:
            crawl.wait_for_requests(before + 20)
            begun_s = time.monotonic()
            if how == "ctrl-c":
                start.interrupt()
            elif how == "sigterm":
                start.signal(signal.SIGTERM)
            else:
                stopped = gossamer("stop", "--data-dir", str(crawl.folder))
                assert (stopped.returncode, stopped.stderr) == (0, "")
                assert stopped.stdout.startswith(f"The crawl in {crawl.folder} has stopped")
            assert "Stopped: " in start.end()
            took_s = time.monotonic() - begun_s
            print(f"\n{how}: {took_s:.1f} s")
            assert took_s < 10
        assert check(crawl.folder).problems == []
        assert list((crawl.folder / "journal").iterdir()) == []
    crawl.finish()
    assert_nothing_lost(crawl, kills=0)


def test_a_stop_takes_less_than_ten_seconds_whatever_is_under_way(tmp_path: Path) -> None:
    hanging = Planted(host="hang.test", behaviour=Behaviour.HANG)
    with simweb.serve(plain_web(sites=2, pages=1, planted=(hanging,))) as server:
        robots = f"http://hang.test:{server.port}/robots.txt"
        crawl = Crawl(server, tmp_path / "data", robots.removesuffix("robots.txt"), delay_s=DELAY_S)
        with crawl.start() as start:
            wait_until(lambda: any(request.url == robots for request in server.log()), "its robots.txt")
            time.sleep(1)  # the page follows in a fifth of a second; a request is in no log before it is over
            begun_s = time.monotonic()
            start.signal(signal.SIGTERM)
            assert "1 URLs queued" in start.end()
        took_s = time.monotonic() - begun_s
        print(f"\nstopped in {took_s:.1f} s")
        assert 5 < took_s < 10, "it waits a little, but not for ever"


def test_a_second_ctrl_c_ends_at_once_and_loses_nothing(tmp_path: Path) -> None:
    slow = Planted(host="slow.test", body=b"at last", delay_s=5.0)
    with simweb.serve(plain_web(sites=SITES, pages=4, planted=(slow,))) as server:
        seed = f"http://slow.test:{server.port}/"
        crawl = Crawl(server, tmp_path / "data", seed, delay_s=DELAY_S)
        with crawl.start() as start:
            wait_until(lambda: any(request.url == f"{seed}robots.txt" for request in server.log()), "its robots.txt")
            crawl.wait_for_requests(server.answered() + SITES)  # by now the slow page is under way
            workers = start.workers()
            start.interrupt()
            wait_until(lambda: "The crawl ends: stopped" in crawl.log, "the crawl to stop")
            time.sleep(0.2)  # not to wait for anything: what comes sooner is an echo of the first
            begun_s = time.monotonic()
            start.interrupt()
            start.end(status=130)
            assert time.monotonic() - begun_s < 2
            assert not any(map(is_running, workers))
        crawl.finish()
        assert_nothing_lost(crawl, kills=1)


def test_a_stopped_orphan_is_named_and_not_overrun(crawl: Crawl) -> None:
    crawl.folder.mkdir()
    with (crawl.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        orphan = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], pass_fds=(lock.fileno(),))
    orphan.send_signal(signal.SIGSTOP)
    try:
        with crawl.start() as start:
            said = start.end(status=2)
        assert f"a process (pid {orphan.pid}, stopped) still holds {crawl.folder}" in said
        assert f"`kill -9 {orphan.pid}`" in said
        assert crawl.server.log() == []
    finally:
        orphan.kill()
        orphan.wait()
    with crawl.start():
        crawl.wait_for_requests(1)


def test_two_crawls_do_not_share_a_folder(crawl: Crawl) -> None:
    with crawl.start() as first:
        crawl.wait_for_requests(1)
        with crawl.start() as second:
            said = second.end(status=2)
        assert f"A crawl (pid {first.pid}) is running in {crawl.folder}: stop it with `gossamer stop" in said
        assert first.status is None


def gossamer(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    command = [sys.executable, "-m", "gossamer", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60)
