"""What an operator does with a database as a whole: prepare it, upgrade it, and see what it holds."""

from __future__ import annotations

import time
from contextlib import contextmanager
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg

from gossamer.commands import to_type
from gossamer.errors import GossamerError
from gossamer.frontier.postgres.address import Address, split_password
from gossamer.frontier.postgres.connection import connect
from gossamer.frontier.postgres.migrating import migrate, schema_version
from gossamer.frontier.sql import read_statements

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.frontier.postgres.connection import BoundedConnection

TIMEOUT_S = 20.0  # with one answer; changes of the schema take as long as they need
ROUND_TRIPS = 5
SQL = read_statements(resources.files("gossamer.frontier.postgres") / "administering.sql")


class Upgraded(NamedTuple):
    """The schema's version before and after; 0: there was none."""

    place: str
    before: int
    after: int


class Contents(NamedTuple):
    """The crawls of a database, and its tables: rows with the columns of administering.sql."""

    place: str
    crawls: Sequence[Any]
    tables: Sequence[Any]


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


def prepare(address: str) -> Upgraded:
    """Create or upgrade the schema; refused while older workers run, harmless when several do it at once."""
    with _connected(address) as (connection, place):
        before = schema_version(connection)
        migrate(connection, place)
        return Upgraded(place, before, schema_version(connection))


def look(address: str) -> Contents:
    """Return what a database holds; changes nothing."""
    with _connected(address) as (connection, place):
        if not schema_version(connection):
            init = to_type("db", "init", "--frontier", split_password(address)[0])
            raise GossamerError(f"There is no frontier in {place} yet: `{init}` prepares it.")
        connection.execute("SET search_path = gossamer")
        crawls, tables = (connection.execute(SQL[name].encode()).fetchall() for name in ("crawls", "tables"))
        return Contents(place, crawls, tables)


@contextmanager
def _connected(text: str) -> Iterator[tuple[BoundedConnection, str]]:
    address = Address(text)
    try:
        with connect(address, TIMEOUT_S) as connection:
            yield connection, address.place
    except psycopg.Error as error:
        raise GossamerError(f"The frontier cannot be opened: {address.explain(error)}.") from None
