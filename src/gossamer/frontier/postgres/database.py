"""One connection to a PostgreSQL frontier: opening it again after a failure, and transactions that are tried again."""

from __future__ import annotations

import logging
import random
import threading
import time
from contextlib import contextmanager
from enum import Enum
from importlib import resources
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import errors

from gossamer import metrics
from gossamer.errors import GossamerError
from gossamer.frontier import FrontierError, UnreachableError
from gossamer.frontier.clock import backoff_s
from gossamer.frontier.holding import Holding
from gossamer.frontier.moving import Standing, State
from gossamer.frontier.postgres.connection import connect
from gossamer.frontier.postgres.crawl_clock import CrawlClock, Reading
from gossamer.frontier.postgres.migrating import begin_crawl, check_schema, find_crawl, migrate, refuse_no_schema
from gossamer.frontier.postgres.transaction import PostgresTransaction
from gossamer.frontier.sql import read_statements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gossamer.frontier.clock import Clock
    from gossamer.frontier.postgres.address import Address
    from gossamer.frontier.postgres.connection import BoundedConnection

T = TypeVar("T")
Row = Any  # a named tuple of a statement's columns

log = logging.getLogger("gossamer.frontier")

_FOLDER = resources.files("gossamer.frontier.postgres")
SQL = {name: text for file in ("queries", "barring", "history")
       for name, text in read_statements(_FOLDER / f"{file}.sql").items()}  # fmt: skip
TRIES = 6  # of a transaction that deadlocks
FIRST_BACKOFF_S = 0.5
MOST_BACKOFF_S = 4.0  # between two attempts to connect

# Only plans that walk indexes: right for every statement here, with or without statistics. So the server plans each
# statement once per connection: to plan it for every shard of a batch was a tenth of the server's work.
_SETTINGS = """
    SET search_path = gossamer;
    SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
    SET enable_material = off; SET random_page_cost = 1; SET cpu_tuple_cost = 0.1; SET cpu_index_tuple_cost = 0.05;
    SET plan_cache_mode = force_generic_plan; SET jit = off;
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') IN ('off', 'local')
"""
# The first, unless the operator has set a shorter one: a statement that its client gave up must not block others. The
# next two free the locks of a worker that was stopped within a transaction, or before it had read a long answer, before
# the workers that wait for them time out: no other limit of the server ends a statement whose answer is not read. The
# last notices machines that are gone.
_TIMEOUTS = """
    SELECT set_config('statement_timeout', %(timeout_ms)s::text, false)
    WHERE (SELECT setting FROM pg_settings WHERE name = 'statement_timeout')::int8 NOT BETWEEN 1 AND %(timeout_ms)s
    UNION ALL
    SELECT set_config(name, (%(timeout_ms)s / 2)::text, false)
    FROM (VALUES ('idle_in_transaction_session_timeout'), ('tcp_user_timeout')) AS limits (name)
    UNION ALL
    SELECT set_config('tcp_keepalives_idle', '30', false)
"""


class Opening(Enum):
    """What opening a crawl may change."""

    BEGIN = "begin"  # upgrade the schema, and begin the crawl if it is not there
    EXISTING = "existing"  # upgrade the schema; refuse if the crawl is not there
    READ = "read"  # nothing; refuse another schema too


class PostgresDatabase:
    """A connection that is replaced when it fails: an operation fails once, and the next one connects again."""

    def __init__(
        self,
        address: Address,
        crawl: str,
        *,
        clock: Clock,
        server_clock: Callable[[], float] | None,  # Unix milliseconds; None: the server's own
        slow_s: float,
        timeout_s: float,  # of one statement, and of a network that loses it: heartbeats wait behind it
        opening: Opening = Opening.BEGIN,
    ) -> None:
        """Open the crawl in the database."""
        self.worker = 0  # whose counters are written; 0: those of no worker
        self.crawl_clock = CrawlClock(clock)
        self.address = address
        self._clock = clock
        self._server_clock = server_clock
        self._holding = Holding(slow_s)
        self._timeout_ms = round(timeout_s * 1000)
        self._connection: BoundedConnection | None = None
        self._in_use = threading.RLock()
        self._has_stage = False
        self._failures = 0  # to connect, in a row
        self._failure = ""  # the last of them
        self._not_before_s = 0.0
        try:
            self.crawl = self._open(crawl, opening)
        except psycopg.Error as error:
            self.close()
            raise UnreachableError(f"The frontier cannot be opened: {address.explain(error)}.") from None
        except BaseException:
            self.close()
            raise

    # ------------------------------------------------------------------ connecting

    def _open(self, name: str, opening: Opening) -> int:
        """Connect, and return the number of the crawl."""
        connection, place = self._connect(), self.address.place
        if opening is not Opening.BEGIN:
            refuse_no_schema(connection, name, place)
        if opening is Opening.READ:
            check_schema(connection, place)
        else:
            migrate(connection, place)
        if opening is Opening.BEGIN:
            begin_crawl(connection, name)
        crawl = find_crawl(connection, name, place)
        self._ready(connection)
        return crawl

    def _connect(self) -> BoundedConnection:
        self._connection = connection = connect(self.address, self._timeout_ms / 1000)
        return connection

    def _ready(self, connection: BoundedConnection) -> None:
        connection.execute(_SETTINGS.encode(), prepare=False)
        connection.execute(_TIMEOUTS.encode(), {"timeout_ms": self._timeout_ms}, prepare=False)
        self._has_stage = False

    def _connected(self) -> BoundedConnection:
        """Return an open connection; after failures, try again only after a random backoff."""
        if self._connection is not None:
            return self._connection
        now_s = self._clock()
        if now_s < self._not_before_s:
            raise FrontierError(self._failure)
        try:
            connection = self._connect()
            self._ready(connection)
        except psycopg.Error as error:
            self.close()
            self._failures += 1
            wait_s = backoff_s(self._failures, first_s=FIRST_BACKOFF_S, most_s=MOST_BACKOFF_S)
            self._not_before_s = now_s + wait_s * random.uniform(0.5, 1.0)  # noqa: S311 - only spreads the load
            self._failure = self.address.explain(error)
            raise FrontierError(self._failure) from None
        self._failures = 0
        return connection

    def close(self) -> None:
        """Close the connection; the next operation opens another. An operation of another thread fails."""
        if not self._in_use.acquire(blocking=False):
            if (connection := self._connection) is not None:
                connection.abandoned = True
            self._in_use.acquire()
        try:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
        finally:
            self._in_use.release()

    def standing(self) -> Standing:
        """Return whether this crawl is in use, being moved, or moved."""
        (row,) = self.rows("crawl")
        return Standing.of(row.identity, row.standing, row.move, row.moved_to)

    def make_stage(self) -> None:
        """Create the table for the keys of new links, once per connection that adds some."""
        with self._translating("make_stage"):
            self._connected()
            if not self._has_stage:
                self.execute("create_stage", {})
                self._has_stage = True

    # ------------------------------------------------------------------ transactions

    def run(self, operation: str, work: Callable[[PostgresTransaction], T]) -> T:
        """Run `work` in one transaction, again after a deadlock: all of it is committed and synced, or nothing."""
        with self._translating(operation):
            for attempt in count(1):
                try:
                    return self._attempt(operation, work)
                except (errors.DeadlockDetected, errors.SerializationFailure):
                    if attempt == TRIES:
                        raise
                    time.sleep(random.uniform(0, 0.02 * attempt))  # noqa: S311 - so that the same two do not deadlock again
        raise AssertionError("every attempt returns or raises")

    def _attempt(self, operation: str, work: Callable[[PostgresTransaction], T]) -> T:
        connection = self._connected()
        began = time.perf_counter()
        with connection.transaction():
            tx = self._begin()
            result = work(tx)
            tx.save()
        spent_s = time.perf_counter() - began
        if self._holding.held is not None:
            self._holding.held.transaction_s += spent_s
        metrics.FRONTIER_OPERATION_SECONDS.labels(operation).observe(spent_s)
        return result

    @contextmanager
    def snapshot(self) -> Iterator[PostgresTransaction]:
        """Read several things as of one instant; writes nothing and waits for no lock."""
        with self._translating("read"), self._connected().transaction():
            self.execute("begin_snapshot", {})
            yield self._begin(may_write=False)

    def rows(self, name: str, **values: object) -> list[Row]:
        """Run one statement by itself."""
        with self._translating("read"):
            self._connected()
            return self.execute(name, {"crawl": self.crawl, **values})

    @contextmanager
    def _translating(self, operation: str) -> Iterator[None]:
        """Hold the connection for an operation; raise the contract's error for the driver's, and close it."""
        with self._in_use, self._holding.hold(operation):
            try:
                yield
            except psycopg.Error as error:
                self.close()
                raise FrontierError(self.address.explain(error)) from error

    def _begin(self, *, may_write: bool = True) -> PostgresTransaction:
        sent_s = self._clock()
        rows = self.execute("crawl", {"crawl": self.crawl})
        if not rows:
            raise GossamerError(f"The crawl was deleted from {self.address.place}: name the database that holds it.")
        (row,) = rows
        server_ms = self._server_clock() if self._server_clock else row.server_ms
        reading = Reading(
            sent_s=sent_s, received_s=self._clock(), server_ms=server_ms, offset_ms=row.offset_ms, run=row.clock_runs
        )
        corrected_ms = self.crawl_clock.observe(reading)
        tx = PostgresTransaction(self, row, reading)
        if may_write and row.standing != State.LIVE:
            tx.refuse_moved()
        if corrected_ms is not None and may_write:
            log.warning("The clock of the PostgreSQL server jumped; the crawl continues on the workers' own clocks.")
            tx.run("correct_offset", offset_ms=corrected_ms, believed_ms=row.offset_ms)
        return tx

    # ------------------------------------------------------------------ statements

    def execute(self, name: str, values: dict[str, object]) -> list[Row]:
        """Run one statement and return its rows, if it has any."""
        assert self._connection is not None
        with self._timed(name), self._connection.cursor(binary=True) as cursor:
            cursor.execute(SQL[name].encode(), values)
            return cursor.fetchall() if cursor.description else []

    def execute_each(self, name: str, values: Sequence[dict[str, object]]) -> list[list[Row]]:
        """Run one statement, which returns rows, for each of these values; they travel together."""
        assert self._connection is not None
        found: list[list[Row]] = []
        with self._timed(name), self._connection.cursor(binary=True) as cursor:
            cursor.executemany(SQL[name].encode(), values, returning=True)
            found.append(cursor.fetchall())
            while cursor.nextset():
                found.append(cursor.fetchall())
            # Statements that travel together leave the server without its time limit for idle transactions.
            cursor.execute(b"", prepare=False)
        return found

    def copy(self, name: str, types: Sequence[str], rows: Sequence[tuple[object, ...]]) -> None:
        """Send rows in bulk."""
        assert self._connection is not None
        with self._timed(name), self._connection.cursor() as cursor, cursor.copy(SQL[name].encode()) as copy:
            copy.set_types(types)
            for row in rows:
                copy.write_row(row)

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            spent_s = time.perf_counter() - began
            metrics.FRONTIER_STATEMENT_SECONDS.labels(name).observe(spent_s)
            if self._holding.held is not None:
                self._holding.held.note(name, spent_s)
