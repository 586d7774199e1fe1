"""Workers that cannot reach the database: they stop within their lease, keep what they hold, and go on."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import conninfo_to_dict

from gossamer import simweb
from gossamer.simweb import Behaviour, Planted, plain_web
from tests.end_to_end.crawls import Crawl, assert_nothing_lost, wait_until
from tests.frontier import postgres_server
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from pathlib import Path

LEASE_S = 4.0
SLACK_S = 0.5  # for the lease to be looked at, and for what was already at the server


def test_a_worker_that_cannot_renew_its_lease_starts_nothing_aborts_what_is_under_way_and_goes_on(
    tmp_path: Path,
) -> None:
    hanging = Planted(host="hang.test", behaviour=Behaviour.HANG)
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
        assert LEASE_S / 2 < aborted - locked < LEASE_S + SLACK_S
        assert not [at - locked for at in arrived if locked + LEASE_S / 2 + SLACK_S < at < aborted]
        assert crawl.judge().early == ()


def test_a_worker_that_dies_while_the_database_cannot_be_reached_is_replaced_when_it_can(tmp_path: Path) -> None:
    address = new_database()
    name = conninfo_to_dict(address)["dbname"]
    with (
        simweb.serve(plain_web(sites=4, pages=12)) as server,
        psycopg.connect(postgres_server.server(""), autocommit=True) as outside,
    ):
        crawl = Crawl(server, tmp_path / "data", delay_s=0.3, workers=1, frontier=address)
        with crawl.start("--lease", str(LEASE_S)) as start:
            crawl.wait_for_requests(8)
            outside.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
            outside.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
            killed = time.monotonic()
            os.kill(start.workers()[0], signal.SIGKILL)
            wait_until(lambda: "cannot be freed yet" in crawl.log, "the supervisor to meet a closed door")
            outside.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
            start.end()
        assert_nothing_lost(crawl, kills=[killed])


def test_a_worker_that_starts_while_the_database_takes_no_connections_waits_for_it(tmp_path: Path) -> None:
    address = new_database()
    name = conninfo_to_dict(address)["dbname"]
    with (
        simweb.serve(plain_web(sites=4, pages=12)) as server,
        psycopg.connect(postgres_server.server(""), autocommit=True) as outside,
    ):
        crawl = Crawl(server, tmp_path / "data", delay_s=0.3, workers=1, frontier=address)
        with crawl.start("--lease", str(LEASE_S)) as start:
            crawl.wait_for_requests(8)
            outside.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())  # the supervisor has its own
            killed = time.monotonic()
            os.kill(start.workers()[0], signal.SIGKILL)
            waits = "waits for the frontier: The frontier cannot be opened: PostgreSQL database"
            wait_until(lambda: waits in start.said, "the new worker to say that it waits")
            assert "This worker waits for its frontier" in crawl.log
            outside.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
            start.end()
        assert_nothing_lost(crawl, kills=[killed])


def test_a_worker_that_waits_for_the_database_can_be_stopped(tmp_path: Path) -> None:
    address = new_database()
    name = conninfo_to_dict(address)["dbname"]
    with (
        simweb.serve(plain_web(sites=4, pages=12)) as server,
        psycopg.connect(postgres_server.server(""), autocommit=True) as outside,
    ):
        crawl = Crawl(server, tmp_path / "data", delay_s=0.3, workers=1, frontier=address)
        with crawl.start() as start:
            crawl.wait_for_requests(8)
            outside.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
            os.kill(start.workers()[0], signal.SIGKILL)
            wait_until(lambda: "waits for its frontier" in crawl.log, "the new worker to wait")
            start.interrupt()
            start.end()
        assert "did not end in time" not in crawl.log


def test_a_crawl_that_starts_while_its_database_is_away_says_so_in_one_sentence(tmp_path: Path) -> None:
    with simweb.serve(plain_web(sites=1, pages=3)) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=0.3, workers=1, frontier="postgresql://127.0.0.1:1/nothing")
        with crawl.start() as start:
            said = start.end(status=2)
    assert "The frontier cannot be opened: PostgreSQL database nothing on 127.0.0.1: connection" in said
    assert len(said.strip().splitlines()) == 1
