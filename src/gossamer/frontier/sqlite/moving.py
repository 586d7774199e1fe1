"""A frontier in a SQLite file, read and written as a whole: `gossamer move` from here and to here.

The copy is written to a file of another name, without a log and without syncs: a move that is cut off leaves a file
that the next one deletes. When it is complete it is synced, and when the crawl has left where it was it gets its name.
"""

from __future__ import annotations

import math
import os
import socket
import sqlite3
from contextlib import closing, contextmanager, suppress
from importlib import resources
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import quote

from gossamer.errors import GossamerError
from gossamer.frontier import FrontierError
from gossamer.frontier.clock import boot_seconds
from gossamer.frontier.moving import (
    CHUNK_ROWS,
    COLUMNS,
    COUNTERS,
    FLAGS,
    LARGE,
    CarriedCrawl,
    MovedError,
    Standing,
    State,
    columns,
    names,
)
from gossamer.frontier.sql import read_statements
from gossamer.frontier.sqlite.auditing import audit
from gossamer.frontier.sqlite.database import SqliteDatabase
from gossamer.frontier.sqlite.engine import SqliteFrontier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from gossamer.frontier.clock import Clock
    from gossamer.frontier.moving import Destination, Row

SQL = read_statements(resources.files("gossamer.frontier.sqlite") / "moving.sql")
REMEMBERED_SITES = 200_000  # whose numbers are kept in memory, of those last written
_LOGS = ("-wal", "-shm")  # files that belong to a database
_GATES = ("-next", "-door")  # what its writers wait at
_BULK = (
    "journal_mode = OFF",  # if it fails, there is nothing to go back to
    "synchronous = OFF",
    "locking_mode = EXCLUSIVE",
    "cache_size = -65536",
    "temp_store = FILE",  # sorting ten million rows for an index must not take memory
)


def place_of(path: Path) -> str:
    """Name a frontier's file so that people on other machines know which one is meant."""
    return f"{path.resolve()} on {socket.gethostname()}"


class SqliteSource:
    """The frontier in a file, about to be left."""

    def __init__(self, path: Path, *, clock: Clock = boot_seconds) -> None:
        self._path = path
        self._clock = clock
        self._database = SqliteDatabase(path, clock)

    def standing(self) -> Standing:
        with _translated():
            return self._database.standing()

    def settle(self, say: Callable[[str], None]) -> None:  # noqa: ARG002 - the folder's lock tells that no worker lives
        with SqliteFrontier(self._path, clock=self._clock) as frontier:
            for worker in frontier.workers():
                if not worker.gone or worker.sites:
                    frontier.recover(worker.worker)

    def leave(self, move: str, to: Destination) -> None:
        with self._changing() as change:
            change("leave", {"move": move, "moved_to": to.as_text()})
            (owned,) = self._database.connection.execute(SQL["count_owned"]).fetchone()
            assert not owned, "all sites were freed before"

    def stay(self) -> None:
        with self._changing() as change:
            change("stay", {})

    def mark_moved(self, move: str) -> None:
        with self._changing() as change:
            change("mark_moved", {"move": move})

    @contextmanager
    def _changing(self) -> Iterator[Callable[[str, dict[str, str]], None]]:
        with _translated(), self._database.transaction("move", of_a_move=True) as tx:

            def change(statement: str, values: dict[str, str]) -> None:
                if not tx.execute(SQL[statement], values).rowcount:
                    raise MovedError(str(self._path), tx.standing, here="sqlite", folders=[self._path.parent])

            yield change

    def crawl(self) -> CarriedCrawl:
        with _translated():
            return _read_crawl(self._database.connection)

    def rows(self, table: str) -> Iterator[Sequence[Row]]:
        return _read_small(self._database.connection, table)

    def large_rows(self) -> Iterator[tuple[str, Sequence[Row]]]:
        return _read_large(self._database.connection)

    def delete(self) -> None:
        assert self.standing().state is State.MOVED
        _remove(self._path, *_GATES)

    def close(self) -> None:
        self._database.close()


class SqliteTarget:
    """The file that a frontier comes to."""

    def __init__(self, path: Path, *, clock: Clock = boot_seconds) -> None:
        self._path = path
        self._arriving = path.with_name(f"{path.stem}.arriving{path.suffix}")
        self._clock = clock
        self._connection: sqlite3.Connection | None = None
        self._indexes: list[str] = []
        self._numbers: dict[str, int] = {}  # of sites, by name
        self._next_site = count(1)

    def refuse_if_taken(self, identity: str) -> None:
        if not self._path.exists():
            return
        with closing(SqliteDatabase(self._path, self._clock)) as database:
            standing = database.standing()
        if standing.state is not State.MOVED or standing.identity != identity:
            raise GossamerError(
                f"{self._path} holds a frontier that was not moved away: put that file elsewhere, or delete it."
            )

    def prepare(self, move: str, crawl: CarriedCrawl) -> None:
        with _translated():
            _remove(self._arriving, *_GATES)
            with closing(SqliteDatabase(self._arriving, self._clock)):
                pass  # makes the tables
            self._connection = connection = sqlite3.connect(self._arriving, isolation_level=None)
            for setting in _BULK:
                connection.execute(f"PRAGMA {setting}")
            connection.execute("BEGIN")
            connection.execute(_filled("write_crawl", "crawl"), crawl.terms)
            counters = dict(zip(COUNTERS, crawl.counters, strict=True))
            self._counters = {"clock_ms": crawl.clock_ms, "move": move, **counters}
            for name, made_by in connection.execute(SQL["indexes"]).fetchall():
                self._indexes.append(made_by)
                connection.execute(f"DROP INDEX {name}")

    def write(self, table: str, rows: Sequence[Row]) -> None:
        with _translated():
            if table == "site":
                self._write_sites(rows)
            elif table in LARGE:
                numbered = [(self._number(row[0]), *row[1:]) for row in rows]
                self._open().executemany(_filled(f"write_{table}", table), numbered)
                if table == "queue":
                    url_hash = 2 + COLUMNS["queue"].index("url_hash")
                    marks = [(row[1], row[0], row[url_hash]) for row in numbered]
                    self._open().executemany(SQL["number_seen"], marks)
            else:
                statement = "write_worker" if table == "worker" else "write_small"
                self._open().executemany(_filled(statement, table), rows)

    def _write_sites(self, rows: Sequence[Row]) -> None:
        if len(self._numbers) > REMEMBERED_SITES:
            self._numbers.clear()
        numbered = [(number, *row) for row, number in zip(rows, self._next_site, strict=False)]
        self._numbers |= {row[1]: row[0] for row in numbered}
        self._open().executemany(_filled("write_site", "site"), numbered)

    def _number(self, site: str) -> int:
        number = self._numbers.get(site)
        if number is None:
            (number,) = self._open().execute(SQL["site_number"], (site,)).fetchone()
            self._numbers[site] = number
        return number

    def finish(self) -> None:
        with _translated():
            connection = self._open()
            offset_ms = int(self._counters["clock_ms"]) - math.ceil(self._clock() * 1000)
            connection.execute(SQL["write_counters"], {**self._counters, "clock_offset_ms": offset_ms})
            for made_by in self._indexes:
                connection.execute(made_by)
            connection.execute("COMMIT")
            connection.close()
            self._connection = None
            _sync(self._arriving)
            _sync(self._arriving.parent)

    def crawl(self) -> CarriedCrawl:
        with _translated():
            return _read_crawl(self._open())

    def rows(self, table: str) -> Iterator[Sequence[Row]]:
        return _read_small(self._open(), table)

    def large_rows(self) -> Iterator[tuple[str, Sequence[Row]]]:
        return _read_large(self._open())

    def audit(self) -> list[str]:
        with _translated(), closing(SqliteDatabase(self._arriving, self._clock)) as database:
            return audit(database)

    def go_live(self, move: str) -> None:
        self.close()
        if _move_of(self._arriving) != move:
            if _move_of(self._path) == move:
                return  # it did so before
            raise GossamerError(f"The copy of this crawl, {self._arriving}, is not there any more: look for it.")
        with _translated():
            _remove(self._path)
            for suffix in (*_LOGS, *_GATES):  # of the copy: closed as it is, its log is empty
                _beside(self._arriving, suffix).unlink(missing_ok=True)
            self._arriving.rename(self._path)
            _sync(self._path.parent)

    def discard(self) -> None:
        self.close()
        with _translated():
            _remove(self._arriving, *_GATES)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(self._arriving, isolation_level=None)
        return self._connection


def _filled(statement: str, table: str) -> str:
    """Return a statement with the columns of a table."""
    return SQL[statement].format(
        columns=columns(table), names=names(table), values=", ".join("?" * len(COLUMNS[table])), table=table,
        counters=", ".join(COUNTERS),
    )  # fmt: skip


def _read_crawl(connection: sqlite3.Connection) -> CarriedCrawl:
    terms = tuple(connection.execute(_filled("read_crawl", "crawl")).fetchone())
    clock_ms, *counters = connection.execute(_filled("read_counters", "crawl")).fetchone()
    return CarriedCrawl(terms=terms, clock_ms=clock_ms, counters=tuple(counters))


def _read_small(connection: sqlite3.Connection, table: str) -> Iterator[Sequence[Row]]:
    return _read(connection, _filled("read_small", table))


def _read_large(connection: sqlite3.Connection) -> Iterator[tuple[str, Sequence[Row]]]:
    for table in LARGE:
        lead = 0 if table == "site" else 1
        flags = [lead + place for place, name in enumerate(COLUMNS[table]) if name in FLAGS]
        numbers = count(1)
        for rows in _read(connection, _filled(f"read_{table}", table)):
            if table == "queue":  # in the order of arrival
                yield table, [(row[0], number, *row[1:]) for row, number in zip(rows, numbers, strict=False)]
            else:
                yield table, [_with_flags(row, flags) for row in rows] if flags else rows


def _read(connection: sqlite3.Connection, statement: str) -> Iterator[Sequence[Row]]:
    with _translated(), closing(connection.cursor()) as cursor:
        cursor.row_factory = None  # plain tuples
        cursor.execute(statement)
        while rows := cursor.fetchmany(CHUNK_ROWS):
            yield rows


def _with_flags(row: Row, flags: Sequence[int]) -> Row:
    """Return a row in which what is true or false is so: a file has only numbers."""
    values = list(row)
    for place in flags:
        values[place] = bool(values[place])
    return tuple(values)


def is_in_use(path: Path) -> bool:
    """Return whether a file holds the frontier of a crawl that knows any URLs and was not moved; changes nothing."""
    with (
        suppress(sqlite3.DatabaseError),
        closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as file,
    ):
        (known,) = file.execute("SELECT known FROM crawl").fetchone()
        states = [state for (state,) in file.execute("SELECT standing FROM crawl")] if _is_movable(file) else []
        return bool(known) and State.MOVED not in states
    return False


def _is_movable(connection: sqlite3.Connection) -> bool:
    """Return whether a file is of a version that can be moved."""
    return any(name == "standing" for _, name, *_ in connection.execute("PRAGMA table_info(crawl)"))


def _move_of(path: Path) -> str | None:
    """Return the move that a file came by; None if it is not there, or is no whole frontier."""
    if not path.exists():
        return None
    with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(path)) as connection:
        move, state = connection.execute("SELECT move, standing FROM crawl").fetchone()
        return str(move) if state == State.LIVE else None
    return None


def _remove(path: Path, *more: str) -> None:
    """Remove a database, its log before itself: a log without a database would be taken for the next one's."""
    if path.exists():
        with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for suffix in (*_LOGS, "", *more):
        _beside(path, suffix).unlink(missing_ok=True)
    _sync(path.parent)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _sync(path: Path) -> None:
    """Bring a file's content, or a folder's names, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise FrontierError(str(error)) from error
