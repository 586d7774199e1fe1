"""Crawls that are stopped, gracefully or not, and started again; and folders that are not free yet."""

from __future__ import annotations

import fcntl
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from gossamer.crawl.engines import open_existing
from gossamer.records import UrlStatus
from gossamer.store.checking import check
from gossamer.urls import identify
from gossamer_simweb import Behaviour, PlantedPage, WebSpec, plain_web
from tests.end_to_end.crawls import Crawl, assert_nothing_lost, is_asked, is_running, said, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer_simweb import WebServer

SITES = 12
DELAY_S = 0.2
ON_DISK = pytest.mark.parametrize("frontier", [""])  # where it is makes no difference to these


@pytest.fixture
def server() -> Iterator[WebServer]:
    with simweb.serve(WebSpec(sites=SITES, pages=14, slow_s=0.1, crawl_delay_s=0.4, broken=0)) as running:
        yield running


@pytest.fixture
def crawl(server: WebServer, tmp_path: Path, frontier: str) -> Crawl:
    return Crawl(server, tmp_path / "data", delay_s=DELAY_S, frontier=frontier)


def test_graceful_stops_repeat_nothing(crawl: Crawl) -> None:
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
                stopped = said("stop", "--data-dir", str(crawl.folder))
                assert stopped.startswith(f"The crawl in {crawl.folder} is stopped. Resume it with `")
            assert "Stopped: " in start.end()
            took_s = time.monotonic() - begun_s
            print(f"\n{how}: {took_s:.1f} s")
            assert took_s < 10
        assert check(crawl.folder).problems == []
        assert list((crawl.folder / "journal").iterdir()) == []
    crawl.finish()
    assert_nothing_lost(crawl, kills=[])


def test_after_a_stop_nothing_more_is_asked_for(tmp_path: Path) -> None:
    """Not even what waits for room: with thousands of sites that would take longer than a stop may."""
    with simweb.serve(plain_web(sites=40, pages=4, slow=0.9, slow_s=3.0)) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=DELAY_S, workers=1)
        with crawl.start("--set", "in_flight=4") as start:
            wait_until(lambda: len(server.log()) > 80, "more than robots.txt and the first page of each")
            # Of twelve turns, four now wait for an answer that takes its time, and the others for room.
            begun_s = time.monotonic()
            start.signal(signal.SIGTERM)
            assert "Stopped: " in start.end()
        assert "in_flight = 4\n" in (crawl.folder / "crawl.toml").read_text()
        assert [request for request in server.log() if request.arrived > begun_s + 3] == []


def test_a_stop_takes_less_than_ten_seconds_whatever_is_under_way(tmp_path: Path) -> None:
    hanging = PlantedPage(host="hang.test", behaviour=Behaviour.HANG)
    with simweb.serve(plain_web(sites=4, pages=60, planted=(hanging,))) as server:
        hang = identify(f"http://hang.test:{server.port}/")
        crawl = Crawl(server, tmp_path / "data", hang.url, delay_s=DELAY_S, workers=1)
        with crawl.start() as start:
            wait_until(lambda: any(each.url == f"{hang.url}robots.txt" for each in server.log()), "its robots.txt")
            crawl.wait_for_requests(server.answered() + 16)  # a few turns of each other
            wait_until(lambda: is_asked(server, "hang.test"), "the page that hangs to be under way")
            begun_s = time.monotonic()
            start.signal(signal.SIGTERM)
            assert "Stopped: " in start.end()
        took_s = time.monotonic() - begun_s
        print(f"\nstopped in {took_s:.1f} s")
        assert 5 < took_s < 10, "it waits a little, but not for ever"
    with open_existing(crawl.folder) as frontier:
        left = frontier.find_url(hang.site, hang.url_hash)
        assert left is not None
        assert left.status is UrlStatus.QUEUED


def test_a_second_ctrl_c_ends_at_once_and_loses_nothing(tmp_path: Path) -> None:
    slow = PlantedPage(host="slow.test", body=b"at last", delay_s=8.0)
    with simweb.serve(plain_web(sites=SITES, pages=4, planted=(slow,))) as server:
        seed = f"http://slow.test:{server.port}/"
        crawl = Crawl(server, tmp_path / "data", seed, delay_s=DELAY_S)
        with crawl.start() as start:
            wait_until(lambda: any(request.url == f"{seed}robots.txt" for request in server.log()), "its robots.txt")
            crawl.wait_for_requests(server.answered() + SITES)  # a turn of each other
            wait_until(lambda: is_asked(server, "slow.test"), "the slow page to be under way")
            workers = start.workers()
            start.interrupt()
            wait_until(lambda: "The crawl ends: stopped" in crawl.log, "the crawl to stop")
            time.sleep(0.2)  # not to wait for anything: what comes sooner is an echo of the first
            begun_s = time.monotonic()
            start.interrupt()
            start.end(status=130)
            assert time.monotonic() - begun_s < 6, "it does not wait for the slow page"
            assert not any(map(is_running, workers))
        crawl.finish()
        assert_nothing_lost(crawl, kills=[begun_s])


@ON_DISK
def test_a_stopped_orphan_is_named_and_not_overrun(crawl: Crawl) -> None:
    crawl.folder.mkdir()
    with (crawl.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        orphan = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], pass_fds=(lock.fileno(),))
    orphan.send_signal(signal.SIGSTOP)
    try:
        with crawl.start() as start:
            said = start.end(status=2)
        assert f"A process (pid {orphan.pid}, stopped) of an earlier crawl still holds {crawl.folder}" in said
        assert f"`kill -9 {orphan.pid}`" in said
        assert crawl.server.log() == []
    finally:
        orphan.kill()
        orphan.wait()
    with crawl.start():
        crawl.wait_for_requests(1)


def test_two_crawls_do_not_share_a_folder(server: WebServer, tmp_path: Path) -> None:
    crawl = Crawl(server, tmp_path / "data", delay_s=5.0)  # the second may take its time to start
    with crawl.start() as first:
        crawl.wait_for_requests(1)
        with crawl.start() as second:
            said = second.end(status=2)
        assert f"A crawl (pid {first.pid}) is running in {crawl.folder}: stop it with `" in said
        assert first.status is None
