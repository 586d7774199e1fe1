"""Workers that cannot reach the database: they stop within their lease, keep what they hold, and go on."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

import gossamer_simweb as simweb
from gossamer_simweb import Behaviour, PlantedPage, plain_web
from tests.end_to_end.crawls import Crawl, assert_nothing_lost, wait_until
from tests.frontier import postgres_server
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.end_to_end.crawls import Start

LEASE_S = 4.0
SLACK_S = 1.5  # for the lease to be looked at, and for what was already at the server


class Database:
    """A crawl's own database that can refuse new connections; open ones stay."""

    def __init__(self, outside: psycopg.Connection[Any]) -> None:
        self.address = new_database()
        self._name = str(conninfo_to_dict(self.address)["dbname"])
        self._outside = outside

    def close(self) -> None:
        self._outside.execute(f"ALTER DATABASE {self._name} ALLOW_CONNECTIONS false".encode())

    def throw_out(self) -> None:
        """End every connection there is."""
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        self._outside.execute(ended, (self._name,))

    def open(self) -> None:
        self._outside.execute(f"ALTER DATABASE {self._name} ALLOW_CONNECTIONS true".encode())


@pytest.fixture
def database() -> Iterator[Database]:
    with psycopg.connect(postgres_server.server(""), autocommit=True) as outside:
        yield Database(outside)


@pytest.fixture
def crawl(database: Database, tmp_path: Path) -> Iterator[Crawl]:
    """A small crawl with one worker, not begun."""
    with simweb.serve(plain_web(sites=4, pages=12)) as server:
        yield Crawl(server, tmp_path / "data", delay_s=0.3, workers=1, frontier=database.address)


def kill_the_worker(start: Start) -> float:
    """Return when it was killed."""
    (worker,) = start.workers()
    killed_s = time.monotonic()
    os.kill(worker, signal.SIGKILL)
    return killed_s


def test_a_worker_that_cannot_renew_its_lease_starts_nothing_aborts_what_is_under_way_and_goes_on(
    tmp_path: Path,
) -> None:
    hanging = PlantedPage(host="hang.test", behaviour=Behaviour.HANG)
    address = new_database()
    with simweb.serve(plain_web(sites=8, pages=30, planted=(hanging,))) as server:
        hang = f"http://hang.test:{server.port}/"
        crawl = Crawl(server, tmp_path / "data", hang, delay_s=0.2, workers=1, frontier=address)
        with crawl.start("--lease", str(LEASE_S)) as start:
            wait_until(lambda: any(each.url == f"{hang}robots.txt" for each in server.log()), "its robots.txt")
            crawl.wait_for_requests(server.answered() + 16)  # by now the hanging page is under way
            with psycopg.connect(address) as blocking:
                blocking.execute("LOCK TABLE gossamer.worker IN EXCLUSIVE MODE")  # all works but for heartbeats
                locked = time.monotonic()
                wait_until(lambda: any(each.url == hang for each in server.log()), "the hanging page to be aborted")
                aborted = time.monotonic()
            crawl.wait_for_requests(server.answered() + 8)
            assert start.status is None
            assert "declared dead" not in crawl.log
        arrived = [each.arrived for each in server.log()]
        assert LEASE_S / 2 < aborted - locked < 2 * LEASE_S, "at its end, or when a busy machine lets it"
        assert not [at - locked for at in arrived if locked + LEASE_S / 2 + SLACK_S < at < aborted]
        assert crawl.judge().early == ()


def test_a_worker_that_dies_while_the_database_cannot_be_reached_is_replaced_when_it_can(
    crawl: Crawl, database: Database
) -> None:
    with crawl.start("--lease", str(LEASE_S)) as start:
        crawl.wait_for_requests(8)
        database.close()
        database.throw_out()
        killed_s = kill_the_worker(start)
        wait_until(lambda: "cannot be freed yet" in crawl.log, "the supervisor to meet a closed door")
        database.open()
        start.end()
    assert_nothing_lost(crawl, kills=[killed_s])


def test_a_worker_that_starts_while_the_database_takes_no_connections_waits_for_it(
    crawl: Crawl, database: Database
) -> None:
    with crawl.start("--lease", str(LEASE_S)) as start:
        crawl.wait_for_requests(8)
        database.close()  # the supervisor has its own connection
        killed_s = kill_the_worker(start)
        waits = "waits for the frontier: The frontier cannot be opened: PostgreSQL database"
        wait_until(lambda: waits in start.said, "the new worker to say that it waits")
        assert "This worker waits for the frontier" in crawl.log
        database.open()
        start.end()
    assert_nothing_lost(crawl, kills=[killed_s])


def test_a_worker_that_waits_for_the_database_can_be_stopped(crawl: Crawl, database: Database) -> None:
    with crawl.start() as start:
        crawl.wait_for_requests(8)
        database.close()
        kill_the_worker(start)
        wait_until(lambda: "waits for the frontier" in crawl.log, "the new worker to wait")
        start.interrupt()
        start.end()
    assert "did not shut down in time" not in crawl.log


def test_a_crawl_that_starts_while_its_database_is_away_says_so_in_one_sentence(tmp_path: Path) -> None:
    with simweb.serve(plain_web(sites=1, pages=3)) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=0.3, workers=1, frontier="postgresql://127.0.0.1:1/nothing")
        with crawl.start() as start:
            said = start.end(status=2)
    assert "The frontier cannot be opened: PostgreSQL database nothing on 127.0.0.1: nothing answers there" in said
    assert len(said.strip().splitlines()) == 1
