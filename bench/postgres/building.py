"""A frontier of any size, made by the server itself, and what the server spends: pages touched, CPU.

Page number n is a function of n alone, here and in SQL, so that any of forty million pages can be offered again.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from hashlib import md5
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import make_conninfo

from gossamer.frontier.postgres import PostgresFrontier
from gossamer.frontier.postgres.keys import site_key
from gossamer.records import Link
from tests.frontier import postgres_server

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS = {
    "shared_buffers": "4GB", "max_wal_size": "8GB", "max_connections": "200", "maintenance_work_mem": "1GB",
    "log_min_messages": "fatal", "wal_level": "minimal", "max_wal_senders": "0",
}  # fmt: skip

_SPREAD = 2_654_435_761  # consecutive pages lie on sites far apart
_SCALE = 1 << 32

_SHARDS = "INSERT INTO open_shard (crawl, shard) SELECT %(crawl)s, s FROM generate_series(0, 255) s"
# Site 0 has most pages, every site one; in the order of arrival, so that a site's pages lie scattered as in a crawl.
_QUEUE = f"""
    INSERT INTO queue (shard, crawl, site_id, seq, rank, depth, hops, kind, url_hash, url)
    SELECT s.shard, s.crawl, s.site_id, n, 0, 1 + n %% 9, 0, 0, decode(md5(u.url), 'hex'), u.url
    FROM generate_series(0, %(urls)s - 1) n
    CROSS JOIN LATERAL (SELECT (n::int8 * {_SPREAD} %% {_SCALE})::float8 / {_SCALE} AS part OFFSET 0) p
    JOIN site s ON s.arrival = CASE WHEN n < %(sites)s THEN n
                                    ELSE floor(%(sites)s * (p.part * p.part * p.part))::int8 END
    CROSS JOIN LATERAL (
        SELECT 'https://www.' || s.name || '/articles/2026/a-headline-of-common-length-' || n AS url OFFSET 0) u
"""
_SEEN = """
    INSERT INTO seen (shard, crawl, site_id, url_hash, depth)
    SELECT shard, crawl, site_id, url_hash, depth FROM queue
"""
_COUNT = """
    INSERT INTO tally (shard, crawl, worker, sites, with_work, known)
    VALUES (1, %(crawl)s, 257, %(sites)s, %(sites)s, %(urls)s)
"""
_INDEXES = """
    SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid), conname, indrelid::regclass::text
    FROM pg_index LEFT JOIN pg_constraint ON conindid = indexrelid
    WHERE indrelid IN ('site'::regclass, 'queue'::regclass, 'seen'::regclass)
"""


def page(number: int, sites: int) -> Link:
    """Return page number `number` of a web with this many sites."""
    part = number * _SPREAD % _SCALE / _SCALE
    site = number if number < sites else int(sites * (part * part * part))
    name = f"site-{site}.test"
    host = f"https://www.{name}"
    url = f"{host}/articles/2026/a-headline-of-common-length-{number}"
    return Link(url, md5(url.encode(), usedforsecurity=False).digest(), name, host, 1 + number % 9)


def server(address: str | None) -> str:
    """Return the address of the server to use: the one named, or one of our own, durable as in a crawl."""
    return address or postgres_server.start(postgres_server.binaries_of(""), SETTINGS)


@contextmanager
def database(address: str) -> Iterator[str]:
    """Make a database that is dropped at the end."""
    name = f"gossamer_bench_{os.getpid()}_{os.urandom(4).hex()}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
    try:
        yield make_conninfo(address, dbname=name)
    finally:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def build(address: str, crawl: str, urls: int, sites: int, delay_s: float = 70) -> None:
    """Fill a crawl, the only one of its database: indexes come last, which is faster, and fuller by a few per cent."""
    with PostgresFrontier(address, crawl) as frontier:
        frontier.resume(delay_s=delay_s)
        number = frontier._database.crawl  # noqa: SLF001 - written to beside the contract
    with psycopg.connect(address, options="-c search_path=gossamer -c work_mem=256MB") as connection:
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE site, queue, seen")  # what is written in the same transaction needs no log
            indexes = cursor.execute(_INDEXES).fetchall()
            for name, _, constraint, table in indexes:
                drop = f"ALTER TABLE {table} DROP CONSTRAINT {constraint}" if constraint else f"DROP INDEX {name}"
                cursor.execute(drop.encode())
            _copy_sites(cursor, number, sites)
            values = {"crawl": number, "urls": urls, "sites": sites}
            for statement in (_SHARDS, _QUEUE, _SEEN, _COUNT):
                cursor.execute(statement.encode(), values)
            for name, made_by, constraint, table in indexes:
                cursor.execute(made_by.encode())
                if constraint:
                    key = f"ALTER TABLE {table} ADD CONSTRAINT {constraint} PRIMARY KEY USING INDEX {name}"
                    cursor.execute(key.encode())
        connection.commit()
        connection.autocommit = True
        # Autovacuum would soon read every page of what was loaded, and the server counts that with what claims touch.
        connection.execute("SELECT pg_stat_force_next_flush()")  # VACUUM must follow the count of rows that it resets
        connection.execute("VACUUM (ANALYZE)")
        connection.execute("CHECKPOINT")


def _copy_sites(cursor: psycopg.Cursor[Any], crawl: int, sites: int) -> None:
    with cursor.copy("COPY site (shard, crawl, site_id, name, arrival, paced_at, ready_at) FROM STDIN") as copy:
        for site in range(sites):
            name = f"site-{site}.test"
            key = site_key.__wrapped__(crawl, name)  # each is asked for once
            copy.write(f"{key.shard}\t{crawl}\t{key.site_id}\t{name}\t{site}\t{site}\t{site}\n")
    cursor.execute("ANALYZE site")


def warm(address: str) -> None:
    """Read everything that adds and claims touch into memory, where the server offers that."""
    with psycopg.connect(address, autocommit=True, options="-c search_path=gossamer,public") as connection:
        found = connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_prewarm'").fetchone()
        if found:
            connection.execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm SCHEMA public")
            connection.execute(
                "SELECT public.pg_prewarm(oid) FROM pg_class WHERE relnamespace = 'gossamer'::regnamespace"
                " AND relkind IN ('r', 'i') AND relname <> 'queue'"
            )


class Meter:
    """What the server has spent so far: pages of the frontier's tables touched, and CPU."""

    def __init__(self, frontier: PostgresFrontier) -> None:
        """Measure on a worker's own connection."""
        self._database = frontier._database  # noqa: SLF001 - what things cost is not part of the contract

    def pages(self) -> int:
        """Return how many pages of tables and indexes the backends that have reported touched, in memory or not."""
        connection = self._connection()
        connection.execute("SELECT pg_stat_force_next_flush()")
        connection.execute("SELECT 1")
        row = connection.execute(
            "SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit, 0) + coalesce(idx_blks_read, 0))::int8"
            " FROM pg_statio_user_tables WHERE schemaname = 'gossamer'"
        ).fetchone()
        assert row is not None
        return int(row[0])

    def cpu_s(self) -> float:
        """Return the CPU time of all the server's processes, past ones included. It has to run on this machine."""
        row = self._connection().execute("SELECT pg_read_file('postmaster.pid')").fetchone()
        assert row is not None
        return server_cpu_s(int(row[0].split()[0]))

    def _connection(self) -> psycopg.Connection[Any]:
        return self._database._connected()  # noqa: SLF001


def server_cpu_s(postmaster: int) -> float:
    """Return what a server's first process, its children that ended, and those that live have used."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = stat.read_text().split(" (", 1)
        except (OSError, ValueError):
            continue  # it ended meanwhile
        fields = rest.rpartition(") ")[2].split()
        if int(pid) == postmaster:
            ticks += sum(map(int, fields[11:15]))
        elif int(fields[1]) == postmaster:
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def load_average() -> str:
    """Return how busy the machine is: without that, wall time says nothing."""
    return f"load {os.getloadavg()[0]:.1f}"
