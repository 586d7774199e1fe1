"""One SQLite file, opened to read: changes nothing, also for a user who may not write to its folder.

SQLite's own read-only mode needs the files -wal and -shm. A crawl that ended has removed them, and only a user who may
write to the folder can create them. So there are three ways to read:

- Nothing is in -wal: all is in the file itself, which is opened as immutable. SQLite then takes no locks and notices
  no changes; the reader looks for changes instead, before and after each read.
- There is a log in -wal: SQLite's read-only mode, which is safe beside writers. Immutable would leave the log out.
- There is a log in -wal, but no -shm, and the user cannot create one: no process has the frontier open, since each one
  would have created -shm. A copy in a temporary folder is read.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self
from urllib.parse import quote

from gossamer.commands import to_type
from gossamer.errors import GossamerError
from gossamer.frontier.settings import SLOW_S
from gossamer.frontier.sql import refuse_other_schema
from gossamer.frontier.sqlite.database import (
    SQL,
    Readable,
    newest_schema,
    refuse_network_file_system,
    refuse_old_sqlite,
    refuse_other_names,
    schema_version,
    unopened,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from gossamer.frontier.clock import Clock
    from gossamer.frontier.sqlite.database import SqliteTransaction

TRIES: Final = 5  # to open files, while a crawl starts or ends
_READ_ONLY: Final = "mode=ro"
_IMMUTABLE: Final = "mode=ro&immutable=1"
_CHANGED: Final = "it changed while it was read"


class Mark(NamedTuple):
    """What tells a file from what it was before."""

    inode: int
    size: int
    changed_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The frontier's files at one moment; two that are equal hold the same."""

    database: Mark | None  # None: it is not there
    log: Mark | None
    has_shm: bool

    @classmethod
    def of(cls, path: Path) -> Self:
        """Look at the files now. The log first: what it held later on is in the database file, or in another log."""
        log = _mark(_beside(path, "-wal"))
        return cls(database=_mark(path), log=log, has_shm=_beside(path, "-shm").exists())

    @property
    def has_log(self) -> bool:
        """Whether something may be in -wal that is not in the database file."""
        return self.log is not None and self.log.size > 0


class SqliteReader(Readable):
    """A connection that only reads."""

    def __init__(self, path: Path, clock: Clock, slow_s: float = SLOW_S) -> None:
        """Open the file; refuse one whose schema would have to be upgraded first."""
        super().__init__(clock, slow_s)
        refuse_old_sqlite()
        refuse_network_file_system(path)
        self._path = path
        self._opened = ExitStack()
        self._openings = 0
        try:
            self._open()
            self._check()
        except BaseException as error:
            self.close()
            if isinstance(error, sqlite3.DatabaseError):
                raise unopened(path, error) from error
            raise

    def _check(self) -> None:
        """Refuse a frontier that this version cannot read, or that a start has not finished making."""
        with self.reading() as connection:
            version = schema_version(connection)
            if version:
                refuse_other_schema(str(self._path), version, newest_schema())
            if not version or connection.execute(SQL["crawl"]).fetchone() is None:
                begin = to_type("crawl", "seeds.txt", "--email", "you@example.org", folders=self._path.parent)
                raise GossamerError(f"There is no crawl in {self._path} yet: begin one with `{begin}`.")
            refuse_other_names(connection, self._path)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that sees the last state; fail if that may have changed during the read."""
        if self._is_fixed and Files.of(self._path) != self._files:
            self._open()
        yield self.connection
        if self._is_immutable and _mark(self._path) != self._files.database:
            raise sqlite3.OperationalError(_CHANGED)

    def transaction(self, operation: str) -> AbstractContextManager[SqliteTransaction]:
        """Refuse to write."""
        raise AssertionError(f"{operation}: this frontier was opened to read")

    def version(self) -> tuple[int, ...]:
        """Return a value that changes when another connection writes, also if the file was opened again since."""
        return (*super().version(), self._openings)

    def close(self) -> None:
        """Close the file, and remove a copy of it."""
        self._opened.close()

    def _open(self) -> None:
        """Open the files in the way that they allow."""
        self._openings += 1
        for _ in range(TRIES):
            self.close()
            self._files = Files.of(self._path)
            if self._files.database is None:
                raise sqlite3.OperationalError(os.strerror(errno.ENOENT))
            if not os.access(self._path, os.R_OK):  # never open and close it: that would drop SQLite's locks
                raise sqlite3.OperationalError(os.strerror(errno.EACCES))
            try:
                self._connect()
            except sqlite3.OperationalError:
                if Files.of(self._path) == self._files:
                    raise
            else:
                return
        raise sqlite3.OperationalError(_CHANGED)

    def _connect(self) -> None:
        self._is_immutable = not self._files.has_log
        self._is_fixed = self._is_immutable
        try:
            self.connection = self._connection_to(self._path, _IMMUTABLE if self._is_immutable else _READ_ONLY)
        except sqlite3.OperationalError:
            if not self._files.has_log or self._files.has_shm:
                raise
            self._is_fixed = True
            self.connection = self._connection_to(self._copy(), _READ_ONLY)

    def _connection_to(self, path: Path, how: str) -> sqlite3.Connection:
        uri = f"file:{quote(str(path.absolute()))}?{how}"
        with ExitStack() as opened:
            connection = opened.enter_context(
                closing(sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False))
            )
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA busy_timeout = 10000")
            connection.execute("PRAGMA temp_store = MEMORY")
            schema_version(connection)  # the first read shows whether it can be read in this way
            self._opened.push(opened.pop_all())
        return connection

    def _copy(self) -> Path:
        """Copy the database and its log to a temporary folder."""
        try:
            folder = Path(self._opened.enter_context(tempfile.TemporaryDirectory(prefix="gossamer-")))
            for suffix in ("", "-wal"):
                shutil.copyfile(_beside(self._path, suffix), folder / f"{self._path.name}{suffix}")
        except OSError as error:
            where = tempfile.gettempdir()
            raise sqlite3.OperationalError(f"it cannot be copied to {where} ({error.strerror})") from error
        if Files.of(self._path) != self._files:
            raise sqlite3.OperationalError(_CHANGED)
        return folder / self._path.name


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _mark(path: Path) -> Mark | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise sqlite3.OperationalError(error.strerror) from error
    return Mark(inode=found.st_ino, size=found.st_size, changed_ns=found.st_mtime_ns)
