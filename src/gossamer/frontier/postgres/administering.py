"""What an operator does with a database as a whole: prepare it, upgrade it, and see what it holds."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg
from psycopg.rows import namedtuple_row

from gossamer.errors import GossamerError
from gossamer.frontier.postgres.address import Address
from gossamer.frontier.postgres.migrating import migrate, schema_version
from gossamer.frontier.statements import read_statements

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


def prepare(address: str) -> Upgraded:
    """Create or upgrade the schema; harmless while crawls run, and when several do it at once."""
    with _connected(address) as (connection, place):
        before = schema_version(connection)
        migrate(connection, place)
        return Upgraded(place, before, schema_version(connection))


def look(address: str) -> Contents:
    """Return what a database holds; changes nothing."""
    with _connected(address) as (connection, place):
        if not schema_version(connection):
            raise GossamerError(f"There is no frontier in {place} yet: gossamer db init prepares it.")
        connection.execute("SET search_path = gossamer")
        crawls, tables = (connection.execute(SQL[name].encode()).fetchall() for name in ("crawls", "tables"))
        return Contents(place, crawls, tables)


@contextmanager
def _connected(text: str) -> Iterator[tuple[psycopg.Connection[Any], str]]:
    address = Address(text)
    try:
        with psycopg.connect(text, autocommit=True, row_factory=namedtuple_row, connect_timeout=10) as connection:
            yield connection, address.place
    except psycopg.Error as error:
        raise GossamerError(f"The frontier cannot be opened: {address.explain(error)}.") from None
