"""Bringing a database's schema up to date, and beginning or finding a crawl in it; safe when many come at once."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from gossamer.errors import GossamerError
from gossamer.frontier.postgres.keys import SHARDS
from gossamer.frontier.sql import note_migration, refuse_older_workers, refuse_other_schema
from gossamer.urls import NORMALISER_VERSION, SUFFIX_LIST_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.resources.abc import Traversable

    import psycopg

    from gossamer.frontier.postgres.connection import BoundedConnection

_SCRIPTS = resources.files("gossamer.frontier.postgres") / "migrations"
LEASE_S = 60.0  # unless a crawl has another
TERMS_VERSION = 2  # the first that kept it
_LOCK = 0x676F7373616D6572  # held while the schema changes; any number that no other program uses


def migrate(connection: BoundedConnection, place: str, scripts: Sequence[Traversable] | None = None) -> None:
    """Run the numbered scripts that are missing, each once. The first process runs them; others wait for it.

    `scripts` are those of another version: a test makes an older database with them.
    """
    scripts = scripts or all_scripts()
    version = schema_version(connection)
    if version == len(scripts):
        return
    with connection.without_timeout():
        if 0 < version < len(scripts):
            refuse_older_workers(place, lambda: _beats(connection), _lease_s(connection, version))
        with connection.transaction():
            _run_missing(connection, place, scripts)


def refuse_no_schema(connection: psycopg.Connection[Any], name: str, place: str) -> None:
    """Refuse a database without any crawl; changes nothing."""
    if not schema_version(connection):
        raise no_such_crawl(name, place)


def check_schema(connection: psycopg.Connection[Any], place: str) -> None:
    """Refuse a database with a schema that this version does not read; changes nothing."""
    refuse_other_schema(place, schema_version(connection), len(all_scripts()))


@cache
def all_scripts() -> list[Traversable]:
    """Return the scripts of this version in their order."""
    return sorted((file for file in _SCRIPTS.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)


def _run_missing(connection: BoundedConnection, place: str, scripts: Sequence[Traversable]) -> None:
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    version = schema_version(connection)
    if version > len(scripts):
        raise GossamerError(f"The frontier in {place} was written by a newer Gossamer: upgrade this one to go on.")
    if version == 0:
        connection.execute("CREATE SCHEMA IF NOT EXISTS gossamer")
        connection.execute("CREATE TABLE gossamer.schema_version (version int4 NOT NULL)")
        connection.execute("INSERT INTO gossamer.schema_version VALUES (0)")
    for number, script in enumerate(scripts[version:], start=version + 1):
        connection.execute("SET LOCAL search_path = gossamer")
        connection.execute(script.read_bytes(), prepare=False)
        connection.execute("UPDATE gossamer.schema_version SET version = %s", (number,))
    if version < len(scripts):
        note_migration(place, version, len(scripts))


def _beats(connection: psycopg.Connection[Any]) -> dict[int, int]:
    """Return the heartbeat counters of all crawls' workers that are not declared dead."""
    return dict(connection.execute("SELECT worker, beats FROM gossamer.worker WHERE NOT gone").fetchall())


def _lease_s(connection: psycopg.Connection[Any], version: int) -> float:
    """Return for how long a worker of any crawl here may be silent."""
    if version < TERMS_VERSION:
        return LEASE_S
    leases = "SELECT max((terms::json ->> 'lease')::float8) FROM gossamer.crawl"
    (lease_s,) = connection.execute(leases).fetchone() or (None,)
    return float(lease_s or LEASE_S)


def schema_version(connection: psycopg.Connection[Any]) -> int:
    """Return how many of the scripts were run; 0: there is no schema yet."""
    # Not to_regclass, which may answer from a cache that is older than the lock.
    found = "SELECT 1 FROM pg_tables WHERE schemaname = 'gossamer' AND tablename = 'schema_version'"
    if connection.execute(found).fetchone() is None:
        return 0
    (version,) = connection.execute("SELECT version FROM gossamer.schema_version").fetchone() or (0,)
    return int(version)


def begin_crawl(
    connection: psycopg.Connection[Any], name: str, *, standing: str = "live", identity: str | None = None
) -> bool:
    """Begin a crawl if there is none of this name; return whether it was begun."""
    if _crawl_row(connection, name) is not None:
        return False
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        inserted = connection.execute(
            "INSERT INTO gossamer.crawl (crawl, name, normaliser, suffix_list, shards, standing, identity) SELECT"
            " (SELECT coalesce(max(crawl), 0) + 1 FROM gossamer.crawl), %s, %s, %s, %s, %s, %s ON CONFLICT DO NOTHING",
            (name, NORMALISER_VERSION, SUFFIX_LIST_VERSION, SHARDS, standing, identity or uuid4().hex),
        )
    return bool(inserted.rowcount)


def find_crawl(connection: psycopg.Connection[Any], name: str, place: str) -> int:
    """Return the number of a crawl; refuse one that names sites or pages differently."""
    row = _crawl_row(connection, name)
    if row is None:
        raise no_such_crawl(name, place)
    for what, theirs, ours in (
        ("URL normaliser", row.normaliser, NORMALISER_VERSION),
        ("public suffix list", row.suffix_list, SUFFIX_LIST_VERSION),
        ("shard count", row.shards, SHARDS),
    ):
        if theirs != ours:
            raise GossamerError(
                f"The crawl {name} in {place} was made with {what} {theirs} and this Gossamer has {ours}, which would "
                "name or place sites or pages differently: install the version it was made with, or start a new crawl."
            )
    return int(row.crawl)


def no_such_crawl(name: str, place: str) -> GossamerError:
    """Return what to say of a database that does not hold a crawl."""
    return GossamerError(
        f"There is no crawl called {name} in {place}: name its database in GOSSAMER_FRONTIER, as in "
        "postgresql://user@host/database."
    )


def _crawl_row(connection: psycopg.Connection[Any], name: str) -> Any:
    found = "SELECT crawl, normaliser, suffix_list, shards FROM gossamer.crawl WHERE name = %s"
    return connection.execute(found, (name,)).fetchone()
