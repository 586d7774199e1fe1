"""One crawl, and everything that may happen to its database: nothing is lost, nothing is early, nobody gives up."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from gossamer import simweb
from gossamer.simweb import plain_web
from tests.end_to_end.crawls import Crawl, Start, wait_until
from tests.frontier import postgres_server
from tests.frontier.postgres_server import SETTINGS, Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

LEASE_S = 6.0
DELAY_S = 1.0
BACK_S = 10.0  # from the return of the database to the next request
DISK_BYTES = 160 << 20
OURS = "FROM pg_stat_activity WHERE application_name = 'gossamer'"
TERMINATE = f"SELECT pg_terminate_backend(pid) {OURS}"


@pytest.fixture
def server() -> Iterator[Server]:
    """A server of the newest version on a small disk of its own, where one can be had."""
    with ExitStack() as stack:
        folder = stack.enter_context(_small_disk())
        settings = {**SETTINGS, "wal_level": "replica", "max_connections": "30", "min_wal_size": "32MB"}
        version = postgres_server.versions()[-1]
        yield stack.enter_context(Server(postgres_server.binaries_of(version), settings, folder=folder))


@contextmanager
def _small_disk() -> Iterator[Path]:
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
    """Its disk has no room left, neither for tables nor for the log."""
    filler = server.folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(1 << 16)):
                pass
        except OSError:
            yield
    filler.unlink()
    if not server.is_running():  # it may have ended itself: it cannot go on without its log
        server.start()


FAULTS: dict[str, tuple[Callable[[Server], AbstractContextManager[None]], str]] = {
    "restart": (restarting, "connection"),
    "crash": (crashed, "connection"),
    "pause": (paused, ""),  # nobody can say anything
    "max_connections exhausted": (crowded, "it has no connection left"),
    "backends terminated": (terminated, "terminat"),
    "statement_timeout": (impatient, "statement timeout"),
    "read-only standby": (standing_by, "it takes no writes"),
    "disk full": (full, "its disk is full"),
}


def test_a_crawl_lives_through_all_that_can_happen_to_its_database(server: Server, tmp_path: Path) -> None:
    with simweb.serve(plain_web(sites=8, pages=50)) as web:
        crawl = Crawl(web, tmp_path / "data", delay_s=DELAY_S, frontier=server.address)
        with crawl.start("--lease", str(LEASE_S)) as start:
            crawl.wait_for_requests(16)
            workers = start.workers()
            for name, (fault, said) in FAULTS.items():
                if fault is full and not server.folder.is_mount():
                    print("disk full: left out, since no disk can be mounted here")
                    continue
                _live_through(crawl, start, server, name, fault(server), said)
                assert start.status is None, f"{name}: {start.said}"
                assert start.workers() == workers, f"{name}: {crawl.log}"
            with psycopg.connect(server.address) as outside:
                assert outside.execute("SELECT max(tries) FROM gossamer.queue").fetchone() == (0,), "no try is burnt"
            assert simweb.judge(web.log(), delay_s=DELAY_S, expected=None).early == ()
            start.interrupt()
            start.end()
        crawl.finish("--lease", str(LEASE_S), "--delay", "0.01")
        crawl.delay_s = 0.01
        assert (verdict := crawl.judge()).ok, verdict.summary()


def _live_through(
    crawl: Crawl, start: Start, server: Server, name: str, fault: AbstractContextManager[None], said: str
) -> None:
    logged = len(crawl.log)
    began_s = time.monotonic()
    with fault:
        if said:
            wait_until(lambda: said in crawl.log[logged:], f"{name}: a word on {said!r}")
        else:
            wait_until(lambda: time.monotonic() > began_s + LEASE_S, f"{name}: a lease to pass")
    answered, back_s = crawl.server.answered(), time.monotonic()
    crawl.wait_for_requests(answered + 4)
    took_s = time.monotonic() - back_s
    print(f"{name}: away for {back_s - began_s:.1f} s, asked again after {took_s:.1f} s")
    assert took_s < BACK_S, name
