"""A move carries every table and column, but for those named here with the reason, and nothing slips in or out."""

from __future__ import annotations

import sqlite3
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest

from gossamer.frontier.moving import COLUMNS, COUNTERS, Destination, MovedError
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.frontier.postgres.moving import PostgresSource
from gossamer.frontier.sqlite import SqliteFrontier
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.frontier.postgres.transaction import PostgresTransaction

_STANDING = {"standing", "move", "moved_to"}  # of this frontier, not of the crawl
_FREED = {"owner", "in_hand"}  # every site is freed first

SQLITE_ONLY = {
    # The first: not data. The clock's offset is this machine's; arrival numbers begin anew; totals are worked out.
    "crawl": {"only_row", "clock_offset_ms", "next_seq", "given_up", "in_hand", *_STANDING},
    "site": {"site_id", *_FREED},  # numbered anew
    "host": {"site_id"},
    "barred": {"site_id"},
    "seen": {"site_id", "seq"},  # the arrival number of what is queued, which comes with the queue
    "queue": {"site_id", "seq", "host"},  # in the same order; the host is worked out of the URL
    "worker": {"gone", "beat_at", "share_parts", "share_version"},  # all are dead: nobody asks since when
}
POSTGRES_ONLY = {
    # The crawl's number and name here, its clock's offset, and the terms that the next start writes.
    "crawl": {"crawl", "name", "offset_ms", "clock_runs", "terms", "shards", *_STANDING},
    "site": {"shard", "crawl", "site_id", "arrival", *_FREED},
    "host": {"shard", "crawl", "site_id"},
    "barred": {"shard", "crawl", "site_id"},
    "seen": {"shard", "crawl", "site_id"},
    "queue": {"shard", "crawl", "site_id", "seq"},
    "worker": {
        "shard",
        "crawl",
        "home",
        "gone",
        "beat_at",
        "share_parts",
        "share_version",
    },  # no folder vouches for the dead
    "exclusion": {"crawl"},
    "seeds_loaded": {"crawl"},
    "given_up": {"shard", "crawl", "worker"},  # summed up
    "seed_outcome": {"shard", "crawl", "worker"},
    "history": {"crawl", "home", "at", "worker", "figures"},  # a folder has the history of its machine
    "open_shard": {"crawl", "shard"},  # worked out
    "schema_version": {"version"},
    # Summed up; the clock and the counters are carried with the crawl's row. What is owned is freed first.
    "tally": {"shard", "crawl", "worker", "writes", "in_hand", "owned"},
}
TO = Destination(frontier="", crawl_name="", place="elsewhere")
COUNTED_AS = {"clock_ms": "clock_ms", "sites_with_work": "with_work"}  # what `tally` calls them, if not the same


def test_all_of_a_sqlite_frontier_is_carried(tmp_path: Path) -> None:
    with SqliteFrontier(tmp_path / "frontier.sqlite"):
        pass
    with closing(sqlite3.connect(tmp_path / "frontier.sqlite")) as file:
        tables = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        there = {
            table: {name for _, name, *_ in file.execute(f"PRAGMA table_xinfo({table})")}
            for table in tables
            if not table.startswith("sqlite_")
        }
    carried = {table: set(columns) for table, columns in COLUMNS.items()}
    carried["crawl"] |= {"clock_ms", *COUNTERS}
    assert there == {table: columns | SQLITE_ONLY.get(table, set()) for table, columns in carried.items()}


def test_all_of_a_crawl_in_a_database_is_carried() -> None:
    address = new_database()
    with PostgresFrontier(address, "crawl"), psycopg.connect(address) as connection:
        columns = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'gossamer'"
        there: dict[str, set[str]] = {}
        for table, column in connection.execute(columns.encode()):
            there.setdefault(table, set()).add(column)
    carried: dict[str, set[str]] = {table: set(columns) for table, columns in COLUMNS.items()}
    carried["tally"] = {COUNTED_AS.get(name, name) for name in ("clock_ms", *COUNTERS)}
    tables = carried.keys() | POSTGRES_ONLY.keys()
    assert there == {table: carried.get(table, set()) | POSTGRES_ONLY.get(table, set()) for table in tables}


def test_a_transaction_that_began_before_a_move_is_undone() -> None:
    address = new_database()
    with (
        PostgresFrontier(address, "crawl") as frontier,
        closing(PostgresSource(address, "crawl", home="", lease_s=60)) as source,
    ):

        def work(tx: PostgresTransaction) -> None:
            tx.run("mark_seeds_loaded", digest="late")
            source.leave("a move", TO)

        with pytest.raises(MovedError, match="is being moved to elsewhere"):
            frontier._database.run("test", work)
        assert not frontier.seeds_loaded("late")


def test_a_move_waits_for_a_transaction_that_is_about_to_be_committed() -> None:
    address = new_database()
    with (
        PostgresFrontier(address, "crawl") as frontier,
        closing(PostgresSource(address, "crawl", home="", lease_s=60)) as source,
        psycopg.connect(address, autocommit=True) as outside,
        ThreadPoolExecutor(1) as thread,
    ):
        waiting = "SELECT count(*) FROM pg_locks WHERE relation = 'gossamer.tally'::regclass AND NOT granted"

        def work(tx: PostgresTransaction) -> Future[None]:
            tx.run("mark_seeds_loaded", digest="just in time")
            tx.save()
            leaving = thread.submit(source.leave, "a move", TO)
            while not leaving.done() and outside.execute(waiting).fetchone() == (0,):
                time.sleep(0.01)
            tx.has_written = False  # it is saved
            assert not leaving.done()
            return leaving

        frontier._database.run("test", work).result()
        assert frontier.seeds_loaded("just in time")
        assert list(source.rows("seeds_loaded")) == [[("just in time",)]]
