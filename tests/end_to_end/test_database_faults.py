"""One crawl, and every fault of its database: nothing is lost, no request is early, no worker gives up."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

import gossamer_simweb as simweb
from gossamer_simweb import plain_web
from tests.end_to_end.crawls import Crawl, assert_nothing_lost, said, wait_until
from tests.frontier import postgres_server
from tests.frontier.postgres_server import SETTINGS, Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

LEASE_S = 10.0
DELAY_S = 1.0
SLACK_S = 2.0  # for what was already at the server, on a busy machine
BACK_S = 10.0  # from the return of the database to the next request
DISK_BYTES = 160 << 20
OURS = "FROM pg_stat_activity WHERE application_name = 'gossamer'"
TERMINATE = f"SELECT pg_terminate_backend(pid) {OURS}"


@pytest.fixture
def server() -> Iterator[Server]:
    """A server of the newest version on a small disk of its own, where one can be had."""
    with ExitStack() as stack:
        folder = stack.enter_context(small_disk())
        settings = {**SETTINGS, "wal_level": "replica", "max_connections": "30", "min_wal_size": "32MB"}
        version = postgres_server.versions()[-1]
        yield stack.enter_context(Server(postgres_server.binaries_of(version), settings, folder=folder))


@contextmanager
def small_disk() -> Iterator[Path]:
    """Mount a small disk that a server's own user can reach; without root it is a folder like any other."""
    folder = Path(tempfile.mkdtemp(prefix="gossamer-disk-", dir="/tmp"))
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=755", "tmpfs", str(folder)]
    is_mounted = os.geteuid() == 0 and subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0
    try:
        yield folder
    finally:
        if is_mounted:
            subprocess.run(["umount", folder], check=True)
            folder.rmdir()


# ---------------------------------------------------------------------- faults: inside, the database fails


@contextmanager
def restarting(server: Server) -> Iterator[None]:
    server.stop("fast")
    yield
    server.start()


@contextmanager
def crashed(server: Server) -> Iterator[None]:
    server.stop("immediate")
    yield
    server.start()


@contextmanager
def paused(server: Server) -> Iterator[None]:
    server.pause()
    yield
    server.go_on()


@contextmanager
def crowded(server: Server) -> Iterator[None]:
    """Others hold every connection that the server can have."""
    with psycopg.connect(server.address, autocommit=True) as first, ExitStack() as others:
        while first.execute(f"SELECT 1 {OURS}").fetchone():
            first.execute(TERMINATE)
            with suppress(psycopg.OperationalError):  # there are no more
                while True:
                    others.enter_context(psycopg.connect(server.address))
        yield


@contextmanager
def terminated(server: Server) -> Iterator[None]:
    """Whatever our sessions are at, they end: for a second, again and again."""
    with psycopg.connect(server.address, autocommit=True) as outside:
        for _ in range(20):
            outside.execute(TERMINATE)
            time.sleep(0.05)
    yield


@contextmanager
def impatient(server: Server) -> Iterator[None]:
    """No statement may take longer than a millisecond."""
    with psycopg.connect(server.address, autocommit=True) as outside:
        outside.execute("SET statement_timeout = 0")
        outside.execute("ALTER DATABASE postgres SET statement_timeout = 1")
        outside.execute(TERMINATE)
        yield
        outside.execute("ALTER DATABASE postgres RESET statement_timeout")


@contextmanager
def standing_by(server: Server) -> Iterator[None]:
    """Who answers at its address takes no writes, until it is promoted."""
    server.stop("fast")
    (server.data / "standby.signal").touch()
    server.start()
    yield
    server.promote()


@contextmanager
def full(server: Server) -> Iterator[None]:
    """Its disk has no room left, neither for tables nor for the log; what it frees itself is taken at once."""
    filler, is_over = server.folder / "filler", threading.Event()

    def fill() -> None:
        with filler.open("wb", buffering=0) as file:
            while not is_over.wait(0.05):
                with suppress(OSError):
                    while file.write(bytes(1 << 16)):
                        pass

    filling = threading.Thread(target=fill)
    filling.start()
    try:
        yield
    finally:
        is_over.set()
        filling.join()
        filler.unlink()
    if not server.is_running():  # it may have ended itself: it cannot go on without its log
        server.start()


FAULTS: dict[str, tuple[Callable[[Server], AbstractContextManager[None]], str]] = {  # and what the log says, as regex
    "restart": (restarting, "connection"),
    "crash": (crashed, "connection"),
    "pause": (paused, "it has not answered"),
    "max_connections exhausted": (crowded, "it has no connection left"),
    "backends terminated": (terminated, "terminat"),
    "statement_timeout": (impatient, "statement timeout"),
    "read-only standby": (standing_by, "it takes no writes"),
    "disk full": (full, "its disk is full|connection"),  # the latter if it had to end itself
}


LONG = {"crash", "pause"}  # these last for this long, all others until a worker has noticed
LONG_S = 0.75 * LEASE_S


def test_a_crawl_lives_through_all_that_can_happen_to_its_database(server: Server, tmp_path: Path) -> None:
    with simweb.serve(plain_web(sites=8, pages=150, links=2)) as web:  # so that new links come to the end
        crawl = Crawl(web, tmp_path / "data", delay_s=DELAY_S, frontier=server.address)
        with crawl.start("--lease", str(LEASE_S)) as start:
            crawl.wait_for_requests(16)
            workers = start.workers()
            for name, (fault, complaint) in FAULTS.items():
                if fault is full and not server.folder.is_mount():
                    print("disk full: left out, since no disk can be mounted here")
                    continue
                _live_through(crawl, name, fault(server), complaint)
                assert start.status is None, f"{name}: {start.said}"
                assert start.workers() == workers, f"{name}: {crawl.log}"
            with psycopg.connect(server.address) as outside:
                assert outside.execute("SELECT max(tries) FROM gossamer.queue").fetchone() == (0,), "no try is burnt"
            assert simweb.judge(web.log(), delay_s=DELAY_S, expected=None).early == ()
            start.interrupt()
            start.end()
        crawl.finish("--lease", str(LEASE_S), "--delay", "0.01")
        crawl.delay_s = 0.01
        # On a machine so busy that a worker cannot show life for a whole lease, its sites are others' for a while.
        busy = crawl.log.count("declared dead") * 2 * len(crawl.seeds)
        assert (verdict := crawl.judge(allowed_repeats=busy)).ok, verdict.summary()


def _live_through(crawl: Crawl, name: str, fault: AbstractContextManager[None], complaint: str) -> None:
    if name in LONG:
        wait_until(lambda: _urls_in_hand(crawl) >= len(crawl.seeds), f"{name}: workers to have something in hand")
    logged = len(crawl.log)
    with fault:
        began_s = time.monotonic()
        if name in LONG:
            wait_until(lambda: time.monotonic() > began_s + LONG_S, f"{name}: more than half the lease to pass")
            arrived = [request.arrived - began_s for request in crawl.server.log()]
            assert [s for s in arrived if 0 < s < LEASE_S / 2], f"{name}: they go on with what they hold"
            assert not [s for s in arrived if s > LEASE_S / 2 + SLACK_S], f"{name}: for half the lease"
        wait_until(lambda: bool(re.search(complaint, crawl.log[logged:])), f"{name}: a word on {complaint!r}")
    answered, back_s = crawl.server.answered(), time.monotonic()
    crawl.wait_for_requests(answered + 4)
    took_s = time.monotonic() - back_s
    print(f"{name}: away for {back_s - began_s:.1f} s, asked again after {took_s:.1f} s")
    assert took_s < BACK_S, name


def _urls_in_hand(crawl: Crawl) -> float:
    status = json.loads(said("status", "--json", "--data-dir", str(crawl.folder)))
    return sum(float(worker["figures"].get("urls_in_hand", 0)) for worker in status["workers"])


def test_a_crawl_whose_database_hangs_can_be_stopped_and_goes_on_later(tmp_path: Path) -> None:
    version = postgres_server.versions()[-1]
    with (
        Server(postgres_server.binaries_of(version)) as server,
        simweb.serve(plain_web(sites=4, pages=12)) as web,
    ):
        crawl = Crawl(web, tmp_path / "data", delay_s=0.2, workers=1, frontier=server.address)
        with crawl.start("--set", "stop=1") as start:
            crawl.wait_for_requests(8)
            server.pause()
            killed = time.monotonic()
            start.interrupt()
            wait_until(lambda: start.status is not None, "the crawl to end")
            print(f"ended after {time.monotonic() - killed:.1f} s")
            assert time.monotonic() - killed < 20
            assert start.status == 0, start.said
            server.go_on()
        crawl.finish()
        assert_nothing_lost(crawl, kills=[killed])
