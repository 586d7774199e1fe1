"""How many connections a crawl keeps to its database: what docs/scale.md computes `max_connections` from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

import gossamer_simweb as simweb
from gossamer_simweb import plain_web
from tests.end_to_end.crawls import Crawl, wait_until
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from pathlib import Path

COUNT = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


def test_every_worker_has_one_connection_and_the_supervisor_one(tmp_path: Path) -> None:
    address = new_database()
    with simweb.serve(plain_web(sites=8, pages=30)) as server, psycopg.connect(address, autocommit=True) as outside:
        crawl = Crawl(server, tmp_path / "data", delay_s=1, workers=3, frontier=address)

        def connections() -> int:
            row = outside.execute(COUNT).fetchone()
            assert row is not None
            return int(row[0])

        with crawl.start():
            wait_until(lambda: len(server.log()) > 30, "all workers at work")
            wait_until(lambda: connections() == 4, "three workers and the supervisor")
            seen = {connections() for _ in range(50)}
    assert seen == {4}
