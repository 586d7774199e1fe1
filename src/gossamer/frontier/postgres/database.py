"""One connection to a PostgreSQL frontier: opening it again after a failure, and transactions that are tried again."""

from __future__ import annotations

import logging
import random
import threading
import time
from contextlib import contextmanager
from importlib import resources
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import errors

from gossamer import metrics
from gossamer.errors import GossamerError
from gossamer.frontier import FrontierError, UnreachableError
from gossamer.frontier.moving import Standing, State
from gossamer.frontier.patience import growing_wait_s
from gossamer.frontier.postgres.connection import connect
from gossamer.frontier.postgres.crawl_clock import CrawlClock, Reading
from gossamer.frontier.postgres.migrating import begin_crawl, check_schema, find_crawl, migrate, refuse_no_schema
from gossamer.frontier.postgres.transaction import Transaction
from gossamer.frontier.statements import read_statements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gossamer.frontier.clock import Clock
    from gossamer.frontier.postgres.address import Address
    from gossamer.frontier.postgres.connection import PatientConnection

T = TypeVar("T")
Row = Any  # a named tuple of a statement's columns

log = logging.getLogger("gossamer.frontier")

_FOLDER = resources.files("gossamer.frontier.postgres")
SQL = read_statements(_FOLDER / "queries.sql") | read_statements(_FOLDER / "barring.sql")
TRIES = 6  # of a transaction that deadlocks
FIRST_PATIENCE_S = 0.5
MOST_PATIENCE_S = 4.0  # between two attempts to connect

# Only plans that walk indexes: right for every statement here, whatever the statistics say or fail to say. So a plan is
# made once per connection and statement: making one for every shard of a batch anew was a tenth of the server's work.
_SETTINGS = """
    SET search_path = gossamer;
    SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
    SET enable_material = off; SET random_page_cost = 1; SET cpu_tuple_cost = 0.1; SET cpu_index_tuple_cost = 0.05;
    SET plan_cache_mode = force_generic_plan; SET jit = off;
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') IN ('off', 'local')
"""
# The first unless the operator has set a shorter one: what we no longer wait for must not hold others up. The next two
# let go of what a worker holds that was stopped within a transaction, or before it had taken in a long answer, before
# those who wait for it lose their patience: no other limit of the server's ends a statement whose answer nobody takes.
# The last finds out about machines that are gone.
_TIMEOUTS = """
    SELECT set_config('statement_timeout', %(patience_ms)s::text, false)
    WHERE (SELECT setting FROM pg_settings WHERE name = 'statement_timeout')::int8 NOT BETWEEN 1 AND %(patience_ms)s
    UNION ALL
    SELECT set_config(name, (%(patience_ms)s / 2)::text, false)
    FROM (VALUES ('idle_in_transaction_session_timeout'), ('tcp_user_timeout')) AS limits (name)
    UNION ALL
    SELECT set_config('tcp_keepalives_idle', '30', false)
"""


class Database:
    """A connection that heals: what fails is reported once, and the next operation begins with a new connection."""

    def __init__(
        self,
        address: Address,
        crawl: str,
        *,
        clock: Clock,
        server_clock: Callable[[], float] | None,  # Unix milliseconds; None: the server's own
        slow_s: float,
        patience_s: float,  # with one statement, and with a network that swallows it: heartbeats wait behind it
        to_read: bool = False,
        begin: bool = True,
    ) -> None:
        """Open the crawl in the database: to work, upgrading the schema, or only to read.

        `begin` it if it is not there, or say so.
        """
        self.worker = 0  # whose figures are kept; 0: those of nobody in particular
        self.crawl_clock = CrawlClock(clock)
        self.address = address
        self._clock = clock
        self._server_clock = server_clock
        self._slow_s = slow_s
        self._patience_ms = round(patience_s * 1000)
        self._connection: PatientConnection | None = None
        self._in_use = threading.RLock()
        self._has_stage = False
        self._failures = 0  # to connect, in a row
        self._failure = ""  # the last of them
        self._not_before_s = 0.0
        try:
            connection = self._connect()
            if to_read or not begin:
                refuse_no_schema(connection, crawl, address.place)
            if to_read:
                check_schema(connection, address.place)
            else:
                migrate(connection, address.place)
                if begin:
                    begin_crawl(connection, crawl)
            self.crawl = find_crawl(connection, crawl, address.place)
            self._ready(connection)
        except psycopg.Error as error:
            self.close()
            raise UnreachableError(f"The frontier cannot be opened: {address.explain(error)}.") from None
        except BaseException:
            self.close()
            raise

    # ------------------------------------------------------------------ connecting

    def _connect(self) -> PatientConnection:
        self._connection = connection = connect(self.address, self._patience_ms / 1000)
        return connection

    def _ready(self, connection: PatientConnection) -> None:
        connection.execute(_SETTINGS.encode(), prepare=False)
        connection.execute(_TIMEOUTS.encode(), {"patience_ms": self._patience_ms}, prepare=False)
        self._has_stage = False

    def _connected(self) -> PatientConnection:
        """Return an open connection; after failures, only when some time has passed, and not everybody at once."""
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
            wait_s = growing_wait_s(self._failures, first_s=FIRST_PATIENCE_S, most_s=MOST_PATIENCE_S)
            self._not_before_s = now_s + wait_s * random.uniform(0.5, 1.0)  # noqa: S311 - only spreads the load
            self._failure = self.address.explain(error)
            raise FrontierError(self._failure) from None
        self._failures = 0
        return connection

    def close(self) -> None:
        """Let go of the connection; the next operation opens another. Another thread's operation fails."""
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
        """Return whether this crawl is in use, on its way elsewhere, or gone."""
        (row,) = self.rows("crawl")
        return Standing.of(row.identity, row.standing, row.move, row.moved_to)

    def make_stage(self) -> None:
        """Make room for the keys of new links, once per connection and only for those who bring some."""
        with self._translating():
            self._connected()
            if not self._has_stage:
                self.execute("create_stage", {})
                self._has_stage = True

    # ------------------------------------------------------------------ transactions

    def run(self, operation: str, work: Callable[[Transaction], T]) -> T:
        """Do this work in one transaction, again if it deadlocked: all of it is committed and synced, or nothing."""
        with self._translating():
            for attempt in count(1):
                try:
                    return self._attempt(operation, work)
                except (errors.DeadlockDetected, errors.SerializationFailure):
                    if attempt == TRIES:
                        raise
                    time.sleep(random.uniform(0, 0.02 * attempt))  # noqa: S311 - two that met must not meet again
        raise AssertionError("every attempt returns or raises")

    def _attempt(self, operation: str, work: Callable[[Transaction], T]) -> T:
        connection = self._connected()
        began = time.perf_counter()
        with connection.transaction():
            tx = self._begin()
            result = work(tx)
            tx.save()
        metrics.FRONTIER_OPERATION_SECONDS.labels(operation).observe(time.perf_counter() - began)
        return result

    @contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        """Read several things as of one instant; writes nothing and waits for nobody."""
        with self._translating(), self._connected().transaction():
            self.execute("begin_snapshot", {})
            yield self._begin(may_write=False)

    def rows(self, name: str, **values: object) -> list[Row]:
        """Run one statement by itself."""
        with self._translating():
            self._connected()
            return self.execute(name, {"crawl": self.crawl, **values})

    @contextmanager
    def _translating(self) -> Iterator[None]:
        """Turn what the driver raises into what the contract names, and drop the connection."""
        with self._in_use:
            try:
                yield
            except psycopg.Error as error:
                self.close()
                raise FrontierError(self.address.explain(error)) from error

    def _begin(self, *, may_write: bool = True) -> Transaction:
        sent_s = self._clock()
        rows = self.execute("crawl", {"crawl": self.crawl})
        if not rows:
            raise GossamerError(f"The crawl was deleted from {self.address.place}: name the database that holds it.")
        (row,) = rows
        server_ms = self._server_clock() if self._server_clock else row.server_ms
        reading = Reading(
            sent_s=sent_s, received_s=self._clock(), server_ms=server_ms, offset_ms=row.offset_ms, run=row.clock_runs
        )
        mended_ms = self.crawl_clock.observe(reading)
        tx = Transaction(self, row, reading)
        if may_write and row.standing != State.LIVE:
            tx.refuse_moved()
        if mended_ms is not None and may_write:
            log.warning("The clock of the PostgreSQL server jumped; the crawl goes on by the workers' own clocks.")
            tx.run("correct_offset", offset_ms=mended_ms, believed_ms=row.offset_ms)
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
            if spent_s > self._slow_s:
                log.warning("Statement %s held its connection for %.1f s.", name, spent_s, stack_info=True)
