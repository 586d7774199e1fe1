"""How long it takes to move a crawl from SQLite to PostgreSQL and back, and how much memory and disk.

python -m bench move --urls 1000000
python -m bench move --urls 10000000                  about 12 GB of disk

Every URL is known; 70 % are queued, 25 % done, 5 % given up; ten per site. Both sides are checked, as in every move.
"""

from __future__ import annotations

import argparse
import resource
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from hashlib import md5
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from bench.postgres.building import database, load_average, server
from gossamer.crawl.engines import open_existing
from gossamer.crawl.folder import FRONTIER_FILE, gather_settings, write_settings
from gossamer.crawl.moving import move
from gossamer.frontier.sqlite import SqliteFrontier

if TYPE_CHECKING:
    from collections.abc import Iterator

PER_SITE = 10
_COUNT = """
    UPDATE crawl SET known = (SELECT count(*) FROM seen), sites = (SELECT count(*) FROM site),
        sites_with_work = (SELECT count(*) FROM site), done = (SELECT count(*) FROM seen WHERE outcome = ''),
        pages = done, given_up = (SELECT count(*) FROM seen WHERE outcome = 'http_error'),
        next_seq = (SELECT max(seq) + 1 FROM seen)
"""


class Clock:
    """Measures how long each part takes."""

    def __init__(self) -> None:
        self.began_s = time.perf_counter()
        self.parts: dict[str, float] = {}  # the time of each one's last report

    def say(self, line: str) -> None:
        """Take in that a part begins, which ends with the move."""

    def show(self, done: str, urls: int, of_urls: int) -> None:  # noqa: ARG002 - a reporter's
        """Take in the progress of a part."""
        self.parts[done.lower()] = time.perf_counter() - self.began_s

    def __str__(self) -> str:
        self.parts["audited"] = time.perf_counter() - self.began_s
        times = [0.0, *self.parts.values()]
        spans = zip(self.parts, times[1:], times, strict=False)
        return ", ".join(f"{name} in {end_s - begin_s:.1f} s" for name, end_s, begin_s in spans)


def build(folder: Path, urls: int) -> None:
    """Write a frontier row by row: loading it as links takes ten times as long."""
    write_settings(folder, gather_settings(None, environment={}, flags={"email": "bench@example.org"}))
    with SqliteFrontier(folder / FRONTIER_FILE) as frontier:
        frontier.resume(delay_s=70)
    sites = urls // PER_SITE
    with closing(sqlite3.connect(folder / FRONTIER_FILE, isolation_level=None)) as file:
        file.execute("BEGIN")
        names = ((site, f"site-{site}.test", site, site) for site in range(1, sites + 1))
        file.executemany("INSERT INTO site (site_id, name, paced_at, ready_at, has_work) VALUES (?, ?, ?, ?, 1)", names)
        hosts = ((site, f"https://www.site-{site}.test", "{}") for site in range(1, sites + 1))
        file.executemany("INSERT INTO host (site_id, name, rules) VALUES (?, ?, ?)", hosts)
        file.executemany("INSERT INTO seen (site_id, url_hash, seq, depth, outcome) VALUES (?, ?, ?, 1, ?)", (
            (site, url_hash, seq, None if seq % 20 < 14 else "" if seq % 20 < 19 else "http_error")
            for site, seq, url_hash, _ in _pages(urls)
        ))  # fmt: skip
        file.executemany(
            "INSERT INTO queue (seq, site_id, rank, depth, hops, kind, url_hash, url, added_at)"
            " VALUES (?, ?, 0, 1, 0, 0, ?, ?, 1700000000)",
            ((seq, site, url_hash, url) for site, seq, url_hash, url in _pages(urls) if seq % 20 < 14),
        )
        file.execute(
            "INSERT INTO given_up (reason, urls) SELECT outcome, count(*) FROM seen WHERE outcome > '' GROUP BY 1"
        )
        file.execute(_COUNT)
        file.execute("COMMIT")
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _pages(urls: int) -> Iterator[tuple[int, int, bytes, str]]:
    for seq in range(1, urls + 1):
        site = 1 + (seq - 1) // PER_SITE
        url = f"https://www.site-{site}.test/articles/2026/a-headline-of-common-length-{seq}"
        yield site, seq, md5(url.encode(), usedforsecurity=False).digest(), url


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        prog="python -m bench move", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--address", help="a server to use instead of one of our own")
    parser.add_argument("--urls", type=int, default=100_000)
    options = parser.parse_args(arguments)
    urls: int = options.urls
    with (
        tempfile.TemporaryDirectory(dir=".bench" if Path(".bench").is_dir() else None) as name,
        database(server(options.address)) as place,
    ):
        folder = Path(name)
        build(folder, urls)
        _move(folder, place, "PostgreSQL", urls)
        with psycopg.connect(place) as connection:
            row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        print(f"    {int(row[0]) / 1e6 if row else 0:,.0f} MB in the database")
        (folder / FRONTIER_FILE).unlink()
        _move(folder, "sqlite", "SQLite", urls)
        print(f"    {(folder / FRONTIER_FILE).stat().st_size / 1e6:,.0f} MB in the file")
        with open_existing(folder) as frontier:
            assert frontier.stats().known == urls


def _move(folder: Path, to: str, engine: str, urls: int) -> None:
    clock, cpu_s = Clock(), time.process_time()
    move(folder, to, None, clock, delete_old=False)
    wall_s, cpu_s = time.perf_counter() - clock.began_s, time.process_time() - cpu_s
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1 << 20)
    print(f"{urls:,} URLs to {engine} in {wall_s:.1f} s: {urls / wall_s:,.0f}/s, {cpu_s / urls * 1e6:.1f} µs CPU each "
          f"here; {clock}; peak memory {memory:.0f} MB; {load_average()}", flush=True)  # fmt: skip
