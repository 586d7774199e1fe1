"""What an operator does with a database as a whole: prepare it, upgrade it, and see what it holds."""

from __future__ import annotations

import time
from contextlib import contextmanager
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg
from psycopg import sql

from gossamer.commands import to_type
from gossamer.errors import GossamerError
from gossamer.frontier.postgres.address import Address, split_password
from gossamer.frontier.postgres.connection import connect
from gossamer.frontier.postgres.database import SQL as QUERIES
from gossamer.frontier.postgres.migrating import LEASE_S, check_schema, migrate, schema_version
from gossamer.frontier.sql import read_statements
from gossamer.records import OpenTransaction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.frontier.postgres.connection import BoundedConnection

TIMEOUT_S = 20.0  # with one answer; changes of the schema take as long as they need
ROUND_TRIPS = 5
COUNTED_BYTES = 8_000_000  # the rows of a larger table are estimated: to count them would read all of it
SQL = read_statements(resources.files("gossamer.frontier.postgres") / "administering.sql")


class Upgraded(NamedTuple):
    """The schema's version before and after; 0: there was none."""

    place: str
    before: int
    after: int


class CrawlEntry(NamedTuple):
    """A crawl in a database. Its counts are exact, as of one snapshot."""

    name: str
    state: str  # what the operator ordered or, if no worker lives, finished, stopped or moved
    sites: int
    known: int  # accepted URLs
    queued: int
    done: int
    pages: int  # stored
    in_hand: int  # sites
    workers: int  # that showed life within their lease


class TableEntry(NamedTuple):
    """A table of a database."""

    name: str
    rows: int
    rows_are_exact: bool  # counted; else the database's estimate
    dead_rows: int  # deleted or replaced, and not yet vacuumed: the database's estimate
    bytes: int  # indexes included
    vacuumed_at: float | None  # Unix seconds; None: never, as far as the statistics go back
    analyzed_at: float | None


class DatabaseContents(NamedTuple):
    """The crawls of a database, its tables, and the transaction that has been open for longest."""

    place: str
    crawls: Sequence[CrawlEntry]
    tables: Sequence[TableEntry]
    oldest: OpenTransaction | None


class Server(NamedTuple):
    """A database server as an operator sees it."""

    place: str
    version: int  # 150004 is 15.4
    settings: dict[str, str]  # by name; sizes in bytes
    standby: bool
    connections: int  # of clients, this one included
    round_trip_s: float
    ahead_s: float  # its clock, of ours


SETTINGS = (
    "autovacuum",
    "fsync",
    "full_page_writes",
    "max_connections",
    "max_wal_size",
    "shared_buffers",
)
_UNITS = {"B": 1, "kB": 1 << 10, "8kB": 8 << 10, "MB": 1 << 20}


def examine(address: str) -> Server:
    """Return what matters to a crawl about a database server; changes nothing."""
    with _connected(address) as (connection, place):
        began_s = time.perf_counter()
        for _ in range(ROUND_TRIPS):
            connection.execute("SELECT 1")
        round_trip_s = (time.perf_counter() - began_s) / ROUND_TRIPS
        sent_at = time.time()
        (server,) = connection.execute(SQL["server"].encode()).fetchall()
        ahead_s = server.now_at - (sent_at + time.time()) / 2
        rows = connection.execute(SQL["settings"].encode(), {"names": list(SETTINGS)}).fetchall()
        return Server(
            place=place,
            version=connection.info.server_version,
            settings={row.name: _in_bytes(row.setting, row.unit) for row in rows},
            standby=server.standby,
            connections=server.connections,
            round_trip_s=round_trip_s,
            ahead_s=ahead_s,
        )


def _in_bytes(setting: str, unit: str | None) -> str:
    return str(int(setting) * _UNITS[unit]) if unit in _UNITS else setting


def prepare(address: str, *, is_new: bool = True) -> Upgraded:
    """Create or upgrade the schema; refused while older workers run, harmless when several do it at once.

    Without `is_new`, a database without our schema is refused.
    """
    with _connected(address) as (connection, place):
        before = schema_version(connection) if is_new else _require_schema(connection, address, place)
        migrate(connection, place)
        return Upgraded(place, before, schema_version(connection))


def look(address: str) -> DatabaseContents:
    """Return what a database holds; changes nothing."""
    with _connected(address) as (connection, place):
        _require_schema(connection, address, place)
        check_schema(connection, place)
        connection.execute("SET search_path = gossamer")
        crawls = connection.execute(SQL["crawls"].encode(), {"lease_s": LEASE_S}).fetchall()
        tables = connection.execute(SQL["tables"].encode()).fetchall()
        oldest = connection.execute(QUERIES["oldest_transaction"].encode()).fetchone()
        return DatabaseContents(
            place=place,
            crawls=list(map(_crawl_entry, crawls)),
            tables=[_table_entry(connection, table) for table in tables],
            oldest=OpenTransaction(*oldest) if oldest else None,
        )


def _require_schema(connection: BoundedConnection, address: str, place: str) -> int:
    """Return the version of our schema; refuse a database that has none."""
    if version := schema_version(connection):
        return version
    init = to_type("db", "init", "--frontier", split_password(address)[0])
    raise GossamerError(f"There is no frontier in {place} yet: `{init}` prepares it.")


def _crawl_entry(row: Any) -> CrawlEntry:
    """Return a crawl with its state; it is told as `status` tells it (`Status.is_finished`)."""
    is_full = row.page_limit is not None and row.pages + row.reserved >= row.page_limit and not row.in_hand
    if row.workers:
        state = row.state
    elif row.standing != "live":
        state = "moved" if row.standing == "moved" else "moving"
    else:
        state = "finished" if row.known and (is_full or not row.unsettled) else "stopped"
    return CrawlEntry(
        name=row.name,
        state=state,
        sites=row.sites,
        known=row.known,
        queued=row.known - row.done - row.given_up,
        done=row.done,
        pages=row.pages,
        in_hand=row.in_hand,
        workers=row.workers,
    )


def _table_entry(connection: BoundedConnection, table: Any) -> TableEntry:
    """Return a table; the rows of a small one are counted."""
    rows = table.rows
    if is_small := table.heap_bytes <= COUNTED_BYTES:
        (counted,) = connection.execute(sql.SQL("SELECT count(*) AS rows FROM {}").format(sql.Identifier(table.name)))
        rows = counted.rows
    return TableEntry(
        name=table.name,
        rows=rows,
        rows_are_exact=is_small,
        dead_rows=table.dead_rows,
        bytes=table.bytes,
        vacuumed_at=table.vacuumed_at,
        analyzed_at=table.analyzed_at,
    )


@contextmanager
def _connected(text: str) -> Iterator[tuple[BoundedConnection, str]]:
    address = Address(text)
    try:
        with connect(address, TIMEOUT_S) as connection:
            yield connection, address.place
    except psycopg.Error as error:
        raise GossamerError(f"The frontier cannot be opened: {address.explain(error)}.") from None
