"""One SQLite file, opened to work: bringing its schema up to date, and transactions that wait their turn."""

from __future__ import annotations

import errno
import fcntl
import math
import os
import sqlite3
import time
from abc import ABC, abstractmethod
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gossamer import metrics
from gossamer.errors import GossamerError
from gossamer.frontier.batches import ports_of
from gossamer.frontier.holding import Holding
from gossamer.frontier.moving import MovedError, Standing, State
from gossamer.frontier.settings import SLOW_S
from gossamer.frontier.sql import note_migration, read_statements, refuse_older_workers
from gossamer.records import Scope
from gossamer.safe_files import open_descriptor, refuse_link
from gossamer.urls import NORMALISER_VERSION, SUFFIX_LIST_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from importlib.resources.abc import Traversable

    from gossamer.frontier.clock import Clock
    from gossamer.frontier.holding import Held

MOUNTS = Path("/proc/self/mountinfo")
OLDER_SILENCE_S = 10.0  # of workers of an older version, before a frontier is upgraded: five heartbeats
OLDEST_SQLITE = (3, 35, 5)  # RETURNING
NETWORK_FILE_SYSTEMS = frozenset({
    "9p", "afs", "beegfs", "ceph", "cifs", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs", "gfs2", "lustre",
    "ncpfs", "nfs", "nfs4", "ocfs2", "smb3", "smbfs",
})  # fmt: skip

_FOLDER = resources.files("gossamer.frontier.sqlite")
SQL = read_statements(_FOLDER / "queries.sql")
_NAMES = {text: name for name, text in SQL.items()}


class SqliteTransaction:
    """One transaction: its statements, the crawl's terms and time, and counters that are saved at its end."""

    def __init__(self, connection: sqlite3.Connection, boot_s: float, held: Held) -> None:
        """Read the crawl's row and its clock: `now_ms` is never ahead of crawl time, `wait_from_ms` never behind."""
        self._connection = connection
        self._held = held
        row = self.execute(SQL["crawl"]).fetchone()
        offset_ms = row["clock_offset_ms"]
        self._boot_ms = boot_s * 1000
        self._saved_ms: int = row["clock_ms"]
        self.now_ms: int = max(self._saved_ms, math.floor(self._boot_ms) + offset_ms)
        self.wait_from_ms: int = max(self._saved_ms, math.ceil(self._boot_ms) + offset_ms)
        self.state: str = row["state"]
        self.delay_ms: int = row["delay_ms"]
        self.page_limit: int | None = row["page_limit"]
        self.site_limit: int | None = row["site_limit"]
        self.scope = Scope(row["scope"])
        self.exclusions: int = row["exclusions"]
        self.seed_ports = ports_of(row["seed_ports"])
        self.next_seq: int = row["next_seq"]
        self.sites: int = row["sites"]
        self.sites_with_work: int = row["sites_with_work"]
        self.known: int = row["known"]
        self.done: int = row["done"]
        self.pages: int = row["pages"]
        self.given_up: int = row["given_up"]
        self.in_hand: int = row["in_hand"]
        self.standing = Standing.of(row["identity"], row["standing"], row["move"], row["moved_to"])

    def execute(self, sql: str, values: Mapping[str, Any] | Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run a statement."""
        self._held.begin_statement(sql)
        return self._connection.execute(sql, values)

    def executemany(self, sql: str, values: Iterable[Mapping[str, Any] | Sequence[Any]]) -> sqlite3.Cursor:
        """Run a statement for each of these values."""
        self._held.begin_statement(sql)
        return self._connection.executemany(sql, values)

    def save(self) -> None:
        """Save the clock and the counters."""
        self.execute(SQL["save_crawl"], {
            "clock_ms": self.now_ms, "next_seq": self.next_seq, "sites": self.sites,
            "sites_with_work": self.sites_with_work, "known": self.known, "done": self.done,
            "pages": self.pages, "given_up": self.given_up, "in_hand": self.in_hand,
        })  # fmt: skip

    def restart_clock(self) -> int:
        """Go on from the time that was last saved: the clock stood still while the crawl did. Return the offset."""
        self.now_ms = self.wait_from_ms = self._saved_ms  # plant: clock-runs-on
        return self._saved_ms - math.ceil(self._boot_ms)

    def after_ms(self, wait_s: float) -> int:
        """Return the crawl time that is surely not reached before `wait_s` has passed."""
        return self.wait_from_ms + math.ceil(max(0.0, wait_s) * 1000)  # plant: waits-rounded-down

    def wait_s(self, at_ms: int) -> float:
        """Return how long until a crawl time is surely reached."""
        return max(0, at_ms - self.now_ms) / 1000

    @property
    def pages_left(self) -> int | None:
        """What the page limit leaves to hand out."""
        # plant: page-limit-overrun
        return None if self.page_limit is None else max(0, self.page_limit - self.pages - self.in_hand)


def unopened(path: Path, error: OSError | sqlite3.DatabaseError) -> GossamerError:
    """Return an error that says what to do about a frontier's file that cannot be opened."""
    if isinstance(error, OSError):
        advice = "remove that link" if error.errno == errno.ELOOP else "become the user who crawls"
        why, advice = str(error.strerror), f"{advice}, or name another folder"
    elif isinstance(error, sqlite3.OperationalError):
        why, advice = str(error), "see that you may use it and that its disk has room, and try again"
    else:
        why, advice = str(error), "bring back a whole copy of that file, or begin a new crawl in another folder"
    return GossamerError(f"{path} cannot be opened as a frontier ({why}): {advice}.")


class Readable(ABC):
    """A frontier's file that can be read; how it was opened is left to subclasses."""

    connection: sqlite3.Connection

    def __init__(self, clock: Clock, slow_s: float) -> None:
        self._clock = clock
        self._holding = Holding(slow_s, _NAMES)

    @abstractmethod
    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """Give the connection for one read of one state."""

    @abstractmethod
    def close(self) -> None:
        """Close the file."""

    @abstractmethod
    def transaction(self, operation: str) -> AbstractContextManager[SqliteTransaction]:
        """Run one write transaction: all of it is committed and synced, or nothing has happened."""

    @contextmanager
    def snapshot(self) -> Iterator[SqliteTransaction]:
        """Read several things as of one instant; writes nothing and waits for no lock."""
        with self._holding.hold("read") as held, self.reading() as connection:
            try:
                connection.execute("BEGIN")
                yield SqliteTransaction(connection, self._clock(), held)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def rows(self, statement: str, **values: object) -> list[sqlite3.Row]:
        """Return the rows of one statement. All are fetched at once, so that no read stays open."""
        with self._holding.hold("read") as held, self.reading() as connection:
            held.begin_statement(SQL[statement])
            return connection.execute(SQL[statement], values).fetchall()

    def standing(self) -> Standing:
        """Return whether this frontier is in use, on its way elsewhere, or gone."""
        (row,) = self.rows("crawl")
        return Standing.of(row["identity"], row["standing"], row["move"], row["moved_to"])

    def version(self) -> tuple[int, ...]:
        """Return a value that changes when another connection writes."""
        with self.reading() as connection:
            (version,) = connection.execute("PRAGMA data_version").fetchone()
        return (int(version),)


class SqliteDatabase(Readable):
    """A connection to the frontier's file, for workers and commands that write."""

    def __init__(self, path: Path, clock: Clock, slow_s: float = SLOW_S) -> None:
        """Open the file, creating or upgrading it as needed."""
        super().__init__(clock, slow_s)
        self.path = path
        refuse_network_file_system(path)
        with ExitStack() as stack:
            try:
                refuse_link(path)  # SQLite follows links, except those of its own logs
                self._gate = stack.enter_context(closing(Gate(path)))
                self.connection = stack.enter_context(
                    closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256))
                )
                self.connection.row_factory = sqlite3.Row
                self._configure()
                if 0 < schema_version(self.connection) < newest_schema():
                    refuse_older_workers(str(path), self._beats, OLDER_SILENCE_S)
                with self._gate:
                    migrate(self.connection, path)
            except (OSError, sqlite3.DatabaseError) as error:
                raise unopened(path, error) from error
            refuse_other_names(self.connection, path)
            stack.pop_all()

    def _beats(self) -> dict[int, int]:
        return dict(map(tuple, self.connection.execute("SELECT worker, beats FROM worker WHERE gone = 0")))

    def _configure(self) -> None:
        refuse_old_sqlite()
        for setting in (
            "busy_timeout = 10000",  # for outsiders such as a sqlite3 shell; our own writers wait at the gate
            "journal_mode = WAL",
            "synchronous = FULL",  # a commit is on the disk before anyone acts on it
            "wal_autocheckpoint = 8000",  # 32 MB: pages written over and over go to the file once
            "journal_size_limit = 67108864",
            "cache_size = -16384",  # 16 MB per process: what does not grow with the frontier is bounded for good
            "temp_store = MEMORY",
        ):
            self.connection.execute(f"PRAGMA {setting}")
        self.connection.execute(SQL["create_stage"])

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give the connection, which sees every change by itself."""
        yield self.connection

    @contextmanager
    def transaction(self, operation: str, *, of_a_move: bool = False) -> Iterator[SqliteTransaction]:
        """Run one write transaction: all of it is committed and synced, or nothing has happened.

        Refused from the moment on in which a move begins, but for what the move itself does.
        """
        asked = time.perf_counter()
        with self._holding.hold(operation) as held, self._gate:
            try:
                held.take()
                held.begin_statement(SQL["begin"])
                self.connection.execute(SQL["begin"])  # in here: one that fails may have begun all the same
                began = time.perf_counter()
                tx = SqliteTransaction(self.connection, self._clock(), held)  # plant: crawl-on-wall-clock
                if tx.standing.state is not State.LIVE and not of_a_move:
                    raise MovedError(str(self.path), tx.standing, here="sqlite", folders=[self.path.parent])
                yield tx
                tx.save()
                tx.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise
            ended = time.perf_counter()
            held.transaction_s = ended - began
        metrics.FRONTIER_LOCK_WAIT_SECONDS.labels(operation).observe(began - asked)
        metrics.FRONTIER_OPERATION_SECONDS.labels(operation).observe(ended - began)

    def close(self) -> None:
        """Close the file."""
        self.connection.close()
        self._gate.close()


class Gate:
    """Admits one writer at a time, and keeps a writer that returns at once from overtaking those that wait.

    The process that holds `next` is first in line for `door`. SQLite's own busy handler polls with growing sleeps,
    so that a process that writes without pause can starve all others.
    """

    def __init__(self, path: Path) -> None:
        """Use two lock files beside the database."""
        self._next = open_descriptor(Path(f"{path}-next"), os.O_RDWR | os.O_CREAT)
        self._door = open_descriptor(Path(f"{path}-door"), os.O_RDWR | os.O_CREAT)

    def __enter__(self) -> None:
        fcntl.flock(self._next, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._door, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self._next, fcntl.LOCK_UN)

    def __exit__(self, *_: object) -> None:
        fcntl.flock(self._door, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the lock files."""
        os.close(self._next)
        os.close(self._door)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the schema up to date: numbered scripts, each run once.

    Each has a transaction of its own. Those of a new file share one, so that readers never see half a schema.
    """
    scripts, version = _scripts(), schema_version(connection)
    if version > len(scripts):
        raise GossamerError(f"{path} was written by a newer Gossamer: upgrade this one to go on with it.")
    steps = [
        f"{script.read_text(encoding='utf-8')}\nPRAGMA user_version = {number};\n"
        for number, script in enumerate(scripts[version:], start=version + 1)
    ]
    for step in steps if version else filter(None, ["".join(steps)]):
        connection.executescript(f"BEGIN IMMEDIATE;\n{step}COMMIT;")
    if steps:
        note_migration(str(path), version, len(scripts))
    connection.execute(
        "INSERT INTO crawl (only_row, normaliser, suffix_list) VALUES (1, ?, ?) ON CONFLICT DO NOTHING",
        (NORMALISER_VERSION, SUFFIX_LIST_VERSION),
    )


@cache
def _scripts() -> list[Traversable]:
    return sorted((f for f in (_FOLDER / "migrations").iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)


def newest_schema() -> int:
    """Return the schema version that this Gossamer works with."""
    return len(_scripts())


def schema_version(connection: sqlite3.Connection) -> int:
    """Return how many of the scripts were run; 0: there is no schema yet."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def refuse_old_sqlite() -> None:
    """Refuse an SQLite that lacks what the statements need."""
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        needed = ".".join(map(str, OLDEST_SQLITE))
        raise GossamerError(
            f"Gossamer needs SQLite {needed} or newer and this Python brings {sqlite3.sqlite_version}: "
            "use a newer Python."
        )


def refuse_other_names(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a frontier whose sites or pages have other names than we would give them."""
    row = connection.execute(SQL["crawl"]).fetchone()
    for what, theirs, ours in (
        ("URL normaliser", row["normaliser"], NORMALISER_VERSION),
        ("public suffix list", row["suffix_list"], SUFFIX_LIST_VERSION),
    ):
        if theirs != ours:
            raise GossamerError(
                f"{path} was made with {what} {theirs} and this Gossamer has {ours}, which would name sites "
                f"or pages differently: install the version it was made with, or start a new crawl."
            )


def refuse_network_file_system(path: Path) -> None:
    """Refuse a folder whose locks and syncs other machines share, where the system tells (Linux)."""
    folder = path.resolve().parent
    kind = file_system(folder)
    if kind in NETWORK_FILE_SYSTEMS:
        raise GossamerError(
            f"{folder} lies on a network file system ({kind}), where SQLite is not safe: choose a local folder "
            "for the crawl's data."
        )


def file_system(folder: Path) -> str:
    """Return what kind of file system a folder lies on; nothing where the system does not tell."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    best, kind = "", ""
    for line in lines:
        fields, _, tail = line.partition(" - ")
        mounted_on = fields.split()[4].replace("\\040", " ")
        if folder.is_relative_to(mounted_on) and len(mounted_on) >= len(best):
            best, kind = mounted_on, tail.split()[0]
    return kind
