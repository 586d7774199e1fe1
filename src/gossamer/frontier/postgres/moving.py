"""A crawl in a PostgreSQL database, read and written as a whole: `gossamer move` from here and to here.

Rows travel by COPY and by cursors, one shard after the other, on a connection of the move's own. That connection holds
a lock for as long as it lives, so that a crawl is in one move at most.
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib import resources
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.rows import tuple_row

from gossamer.commands import to_type
from gossamer.errors import GossamerError
from gossamer.frontier import FrontierError, UnreachableError
from gossamer.frontier.clock import boot_seconds
from gossamer.frontier.moving import (
    CHUNK_ROWS,
    COLUMNS,
    COUNTERS,
    LARGE,
    SMALL,
    CarriedCrawl,
    MovedError,
    Standing,
    State,
    columns,
    names,
)
from gossamer.frontier.postgres.address import Address
from gossamer.frontier.postgres.auditing import audit
from gossamer.frontier.postgres.connection import connect
from gossamer.frontier.postgres.database import Opening, PostgresDatabase
from gossamer.frontier.postgres.keys import SHARDS, site_key, worker_shard
from gossamer.frontier.postgres.migrating import begin_crawl, find_crawl, migrate
from gossamer.frontier.postgres.recovering import recover_dead_workers, silent_others
from gossamer.frontier.sql import read_statements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gossamer.frontier.clock import Clock
    from gossamer.frontier.moving import Destination, Row
    from gossamer.frontier.postgres.connection import BoundedConnection
    from gossamer.frontier.postgres.transaction import PostgresTransaction

SQL = read_statements(resources.files("gossamer.frontier.postgres") / "moving.sql")
TIMEOUT_S = 300.0  # of one answer: no other process waits for it
MOVE_LOCK = 0x676F7302  # with the crawl's number
STRETCH = 1 << 20  # arrival numbers that one draw takes: the sequence's increment
DELETE_ROWS = 50_000  # per transaction
STEP_URLS = 100_000  # read in one transaction, if a shard has no more
# Rows are read by their keys, a shard at a time. Single commits of a copy need not wait for the disk: the last one
# does, for all of them.
_SETTINGS = "SET search_path = gossamer; SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off"
_HASTE = "SET synchronous_commit = off"
# By which rows are sorted, and with which they begin, if not by their site alone.
_KEYS = {"queue": "shard, site_id, seq"}


class _Bulk:
    """The rows of one crawl."""

    def __init__(self, address: str, name: str) -> None:
        self.address = Address(address)
        self.name = name
        self.crawl_number = 0
        with self.translated(opening=True):
            self.connection: BoundedConnection = connect(self.address, TIMEOUT_S)
        self._types: dict[str, dict[str, str]] = {}

    def open(self) -> None:
        """Find the crawl, which must be there, and keep other moves away from it."""
        with self.translated():
            self.crawl_number = find_crawl(self.connection, self.name, self.address.place)
            self.connection.execute(_SETTINGS)
            if not self.run("lock_move", move_lock=MOVE_LOCK)[0].is_ours:
                raise GossamerError(f"Another move from or to {self.address.place} is under way: wait for its end.")

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def translated(self, *, opening: bool = False) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            if opening:
                raise UnreachableError(f"The frontier cannot be opened: {self.address.explain(error)}.") from None
            raise FrontierError(self.address.explain(error)) from error

    def run(self, name: str, table: str = "crawl", /, **values: object) -> list[Any]:
        """Run a statement, filled with the columns of a table."""
        with self.connection.cursor(binary=True) as cursor:
            cursor.execute(_filled(name, table), {"crawl": self.crawl_number, **values})
            return cursor.fetchall() if cursor.description else []

    # ------------------------------------------------------------------ reading

    def crawl(self) -> CarriedCrawl:
        with self.translated():
            (terms,) = self.run("read_crawl")
            ((clock_ms, *counters),) = self.run("read_counters")
            return CarriedCrawl(terms=tuple(terms), clock_ms=clock_ms, counters=tuple(counters))

    def rows(self, table: str) -> Iterator[Sequence[Row]]:
        own = f"read_{table}"
        with self.translated():
            found = list(map(tuple, self.run(own if own in SQL else "read_small", table)))
        for start in range(0, len(found), CHUNK_ROWS):
            yield found[start : start + CHUNK_ROWS]

    def large_rows(self, first_arrival: int | None) -> Iterator[tuple[str, Sequence[Row]]]:
        """Yield all shards; queued URLs are numbered as they come, or by their arrival after the first."""
        places = count(1)
        with self.translated():
            known = self.crawl().counters[COUNTERS.index("known")]
            step = max(1, min(SHARDS, SHARDS * STEP_URLS // (known + 1)))
            for first in range(0, SHARDS, step):
                sites: dict[tuple[int, int], str] = {}  # names by key
                for table, rows in self._shards(first, first + step - 1):
                    if table == "site":
                        sites |= {row[:2]: row[2] for row in rows}
                        yield table, [row[2:] for row in rows]
                    elif table != "queue":
                        yield table, [(sites[row[:2]], *row[2:]) for row in rows]
                    elif first_arrival is None:
                        yield table, [(sites[row[:2]], n, *row[3:]) for row, n in zip(rows, places, strict=False)]
                    else:
                        yield table, [(sites[row[:2]], row[2] - first_arrival, *row[3:]) for row in rows]

    def _shards(self, first: int, last: int) -> Iterator[tuple[str, list[Row]]]:
        with self.connection.transaction():
            for table in LARGE:
                with self.connection.cursor("rows", row_factory=tuple_row) as cursor:
                    values = {"crawl": self.crawl_number, "first": first, "last": last}
                    cursor.execute(_filled("read_large", table), values, binary=True)
                    more = True
                    while more:
                        rows = cursor.fetchmany(CHUNK_ROWS)
                        yield table, rows
                        more = len(rows) == CHUNK_ROWS

    # ------------------------------------------------------------------ writing

    def copy(self, table: str, lead: Sequence[str], rows: Iterator[Row]) -> None:
        """Send rows: the `lead` columns of the table come before the carried ones."""
        all_columns = (*lead, *COLUMNS[table])
        statement = SQL["copy_large"].format(table=table, all_columns=", ".join(all_columns)).encode()
        types = self._types_of(table)
        with self.connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types([types[name] for name in all_columns])
            for row in rows:
                copy.write_row(row)

    def _types_of(self, table: str) -> dict[str, str]:
        if table not in self._types:
            self._types[table] = {row.column_name: row.udt_name for row in self.run("types", table, table=table)}
        return self._types[table]

    def delete_rows(self) -> None:
        """Delete all that belongs to the crawl, but for its own row; may be repeated."""
        for table in LARGE:
            for shard in range(SHARDS):
                while self._delete_some(table, shard) == DELETE_ROWS:
                    pass
        for table in (*SMALL, "tally", "open_shard", "history"):
            self.run("delete_all", table)

    def _delete_some(self, table: str, shard: int) -> int:
        values = {"crawl": self.crawl_number, "shard": shard, "rows": DELETE_ROWS}
        return self.connection.execute(_filled("delete_some", table), values).rowcount


class PostgresSource:
    """A crawl in a database, about to be left."""

    def __init__(self, address: str, name: str, *, home: str, lease_s: float, clock: Clock = boot_seconds) -> None:
        self._bulk = _Bulk(address, name)
        self._home = home
        self._lease_s = lease_s
        self._clock = clock
        try:
            self._database = _open_database(self._bulk, clock)
            self._bulk.open()
        except BaseException:
            self._bulk.close()
            raise

    def standing(self) -> Standing:
        return self._database.standing()

    def settle(self, say: Callable[[str], None]) -> None:
        database = self._database
        labels = {row.worker: row.label for row in database.rows("workers") if not row.gone}
        others = [labels[row.worker] for row in database.rows("live_workers") if row.home != self._home]
        if others:
            say(f"Waiting up to {self._lease_s:g} s to see whether {', '.join(others[:3])} is alive.")
        silent = silent_others(database, self._home, self._lease_s, self._clock, None)

        def take_over(tx: PostgresTransaction) -> None:
            tx.has_written = False  # nor is the clock saved: it is set here
            tx.run("lock_crawl")
            tx.run("declare_home_gone", home=self._home)
            for worker, beats in silent:
                tx.run("end_silent", shard=worker_shard(worker), worker=worker, beats=beats)
            if living := tx.run("live_workers"):
                named = ", ".join(labels.get(row.worker, "another worker") for row in living[:3])
                raise GossamerError(
                    f"The crawl runs on other machines ({named}): stop it there first, with `{to_type('stop')}`."
                )
            (saved,) = tx.run("saved_clock")
            tx.run("restart_clock", offset_ms=saved.clock_ms - tx.reading.server_ms)

        database.run("move", take_over)
        database.crawl_clock.forget()
        recover_dead_workers(database)

    def leave(self, move: str, to: Destination) -> None:
        with self._bulk.translated(), self._bulk.connection.transaction():
            self._bulk.run("lock_crawl")
            self._bulk.run("lock_tally")
            (left,) = self._bulk.run("count_unsettled")
            if left.workers or left.owned:
                raise GossamerError("A worker has just joined the crawl: stop it on all machines, then move it.")
            self._change("leave", move=move, moved_to=to.as_text())

    def stay(self) -> None:
        with self._bulk.translated():
            self._change("stay")

    def mark_moved(self, move: str) -> None:
        with self._bulk.translated():
            self._change("mark_moved", move=move)

    def _change(self, statement: str, **values: str) -> None:
        if not self._bulk.run(statement, **values):
            address = self._bulk.address
            raise MovedError(address.place, self.standing(), here=address.without_password)

    def crawl(self) -> CarriedCrawl:
        return self._bulk.crawl()

    def rows(self, table: str) -> Iterator[Sequence[Row]]:
        return self._bulk.rows(table)

    def large_rows(self) -> Iterator[tuple[str, Sequence[Row]]]:
        return self._bulk.large_rows(None)

    def delete(self) -> None:
        assert self.standing().state is State.MOVED
        with self._bulk.translated():
            self._bulk.delete_rows()
            self._bulk.run("delete_crawl")

    def close(self) -> None:
        self._database.close()
        self._bulk.close()


class PostgresTarget:
    """A database that a crawl comes to."""

    def __init__(self, address: str, name: str, *, clock: Clock = boot_seconds) -> None:
        self._bulk = bulk = _Bulk(address, name)
        self._clock = clock
        self._first_arrival = 0
        self._shards: set[int] = set()
        self._places = count(1)  # of sites
        try:
            with bulk.translated(opening=True):
                migrate(bulk.connection, bulk.address.place)
        except BaseException:
            bulk.close()
            raise

    def refuse_if_taken(self, identity: str) -> None:
        standing = self._standing()
        if standing is None or (standing.identity == identity and standing.state in (State.ARRIVING, State.MOVED)):
            return
        place = self._bulk.address.place
        if standing.identity == identity:
            raise GossamerError(
                f"The crawl is in {place} already, under the name {self._bulk.name}: start it with that address, "
                "which needs no move."
            )
        raise GossamerError(
            f"There is another crawl called {self._bulk.name} in {place}: choose another name with --crawl-name."
        )

    def _standing(self) -> Standing | None:
        with self._bulk.translated():
            rows = self._bulk.run("find", name=self._bulk.name)
        return Standing.of(*rows[0][1:]) if rows else None

    def prepare(self, move: str, crawl: CarriedCrawl) -> None:
        identity = crawl.terms[COLUMNS["crawl"].index("identity")]
        with self._bulk.translated():
            is_new = begin_crawl(self._bulk.connection, self._bulk.name, standing=State.ARRIVING, identity=identity)
            self._bulk.open()
            if not self._bulk.run("overwrite", move=move, identity=identity):
                raise GossamerError(f"A crawl called {self._bulk.name} has just begun in {self._bulk.address.place}.")
            if not is_new:
                self._bulk.delete_rows()
            self._bulk.connection.execute(_HASTE)
            self._bulk.run("write_crawl", "crawl", **dict(zip(COLUMNS["crawl"], crawl.terms, strict=True)))
            counters = dict(zip(COUNTERS, crawl.counters, strict=True))
            self._counters = {"clock_ms": crawl.clock_ms, **counters}
            stretches = max(counters["sites"], counters["known"]) // STRETCH + 1
            self._first_arrival = self._bulk.run("take_arrivals", stretches=stretches)[0].first

    def write(self, table: str, rows: Sequence[Row]) -> None:
        with self._bulk.translated():
            if table in LARGE:
                self._bulk.copy(table, *self._placed(table, rows))
                return
            named: list[dict[str, object]] = [dict(zip(COLUMNS[table], row, strict=True)) for row in rows]
            for values in named:
                values["crawl"] = self._bulk.crawl_number
            own = f"write_{table}"
            if table == "worker":
                for values in named:
                    values["shard"] = worker_shard(int(str(values["worker"])))
                self._bulk.run("reserve_workers", greatest=max(row[0] for row in rows))
            statement = _filled(own if own in SQL else "write_small", table)
            with self._bulk.connection.transaction(), self._bulk.connection.cursor() as cursor:
                cursor.executemany(statement, named)

    def _placed(self, table: str, rows: Sequence[Row]) -> tuple[tuple[str, ...], Iterator[Row]]:
        """Return which columns come first, and the rows with them: where a site lies is worked out of its name."""
        crawl, first = self._bulk.crawl_number, self._first_arrival
        lead: tuple[str, ...] = ("shard", "site_id", "crawl")
        if table == "site":
            keys = [site_key.__wrapped__(crawl, row[0]) for row in rows]  # each is asked for once
            self._shards |= {key.shard for key in keys}
            arrivals = ((*key, crawl, first + place) for key, place in zip(keys, self._places, strict=False))
            return (*lead, "arrival"), map(tuple, map(chain, arrivals, rows))
        if table == "queue":
            return (*lead, "seq"), ((*site_key(crawl, row[0]), crawl, first + row[1], *row[2:]) for row in rows)
        return lead, ((*site_key(crawl, row[0]), crawl, *row[1:]) for row in rows)

    def finish(self) -> None:
        with self._bulk.translated():
            self._bulk.connection.execute("SET synchronous_commit = on")
            with self._bulk.connection.transaction():
                self._bulk.run("open_shards", shards=sorted(self._shards))
                self._bulk.run("write_counters", **self._counters)
                self._bulk.run("set_clock", clock_ms=self._counters["clock_ms"])
            self._bulk.run("analyze")

    def crawl(self) -> CarriedCrawl:
        return self._bulk.crawl()

    def rows(self, table: str) -> Iterator[Sequence[Row]]:
        return self._bulk.rows(table)

    def large_rows(self) -> Iterator[tuple[str, Sequence[Row]]]:
        return self._bulk.large_rows(self._first_arrival)

    def audit(self) -> list[str]:
        database = _open_database(self._bulk, self._clock)
        try:
            return audit(database)
        finally:
            database.close()

    def go_live(self, move: str) -> None:
        with self._bulk.translated():
            if not self._bulk.crawl_number:
                self._bulk.open()
            (clock_ms, *_) = self._bulk.run("read_counters")[0]
            with self._bulk.connection.transaction():
                if self._bulk.run("go_live", move=move):
                    self._bulk.run("set_clock", clock_ms=clock_ms)
                    return
        standing = self._standing()
        if standing is None or standing.state is not State.LIVE or standing.move != move:
            raise GossamerError(f"The copy of this crawl in {self._bulk.address.place} is not there any more.")

    def discard(self) -> None:
        pass  # deleting row by row could take minutes: the next move to here does it

    def close(self) -> None:
        self._bulk.close()


def _open_database(bulk: _Bulk, clock: Clock) -> PostgresDatabase:
    return PostgresDatabase(
        bulk.address,
        bulk.name,
        clock=clock,
        server_clock=None,
        slow_s=TIMEOUT_S,
        timeout_s=TIMEOUT_S,
        opening=Opening.EXISTING,
    )


def _filled(statement: str, table: str) -> bytes:
    """Return a statement with the columns of a table."""
    text = SQL[statement]
    for name, value in {
        "{columns}": columns(table),
        "{names}": names(table),
        "{values}": ", ".join(f"%({name})s" for name in COLUMNS.get(table, ())),
        "{key}": _KEYS.get(table, "shard, site_id"),
        "{table}": table,
    }.items():
        text = text.replace(name, value)
    return text.encode()
