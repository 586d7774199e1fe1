"""Paths of stored files. A name says what the file is, when it was begun, and by which worker.

    warc/<prefix>-<time>-<n>-<host>~<worker>.warc.gz    a segment; .cdxj is its index, .cdxj.open of an open segment
    journal/<table>-<time>-<worker>-<n>.journal   an open journal ...
    <table>/part-<time>-<worker>-<n>.parquet      ... and the part that it becomes: the same time, worker and number
    quarantine/<its former name>                  a damaged file, or the damaged ranges of a journal
    *.<pid>.tmp                                   a file being written; garbage after a crash

Version 0.1 wrote journals without checksums, with the suffix `.arrows`, and named segments like parts:
`gossamer-<time>-<worker>-<n>.warc.gz`.

The middle, `<time>-<worker>-<n>`, is the file's stem. A stem is never used twice: a journal with the stem of an
existing part would be treated as a leftover of that part and ignored.
"""

from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from pathlib import Path

WARC = "warc"
JOURNAL = "journal"
QUARANTINE = "quarantine"
PAGES = "pages"
REQUESTS = "requests"
LINKS = "links"
FIGURES = "figures"
TICKS = "ticks"
TABLES = (PAGES, REQUESTS, LINKS, FIGURES, TICKS)
SUPERVISOR = "supervisor"  # in the names of the files that it writes: those of figures
FOLDERS = (WARC, JOURNAL, *TABLES)
HOME = "home"  # a file that holds the name of this folder in a frontier on another machine

SEGMENT_SUFFIX = ".warc.gz"
INDEX_SUFFIX = ".cdxj"
OPEN_INDEX_SUFFIX = ".cdxj.open"
JOURNAL_SUFFIX = ".journal"
OLD_JOURNAL_SUFFIX = ".arrows"  # without checksums: an Arrow stream as it is
PART_SUFFIX = ".parquet"
TEMPORARY_SUFFIX = ".tmp"

_STEM = re.compile(
    r"[a-z]+-(?P<stem>\d{17}-(?P<worker>[A-Za-z0-9._-]+)-\d{5,})\.(?:warc|cdxj|journal|arrows|parquet)\b.*"
)
_SEGMENT = re.compile(
    r"[A-Za-z0-9._-]+-(?P<time>\d{17})-(?P<number>\d{5,})-[A-Za-z0-9._-]+~(?P<worker>[A-Za-z0-9._-]+)\.(?:warc|cdxj)\b.*"
)
_WORKER = re.compile(r"[A-Za-z0-9._-]+")


class SegmentNames(NamedTuple):
    """What the names of a family of segments have in common."""

    prefix: str = "gossamer"
    host: str = "localhost"

    def path(self, folder: Path, stem: str) -> Path:
        """Return the path of a segment in a crawl's folder."""
        time, _, rest = stem.partition("-")
        worker, _, number = rest.rpartition("-")
        return folder / WARC / f"{self.prefix}-{time}-{number}-{self.host}~{worker}{SEGMENT_SUFFIX}"


def journal_path(folder: Path, table: str, stem: str) -> Path:
    """Return the path of a table's journal."""
    return folder / JOURNAL / f"{table}-{stem}{JOURNAL_SUFFIX}"


def is_journal(path: Path) -> bool:
    """Return whether a file is a journal, of this or an older version."""
    return path.suffix in (JOURNAL_SUFFIX, OLD_JOURNAL_SUFFIX) and worker_of(path) is not None


def part_path(folder: Path, table: str, stem: str) -> Path:
    """Return the path of the part that a table's journal becomes."""
    return folder / table / f"part-{stem}{PART_SUFFIX}"


def part_of(journal: Path) -> Path:
    """Return the part that a journal becomes."""
    return part_path(journal.parents[1], table_of(journal), stem_of(journal))


def index_of(segment: Path) -> Path:
    """Return the index of a closed segment."""
    return segment.with_name(segment.name.removesuffix(SEGMENT_SUFFIX) + INDEX_SUFFIX)


def open_index_of(segment: Path) -> Path:
    """Return the index of a segment that is still being written."""
    return segment.with_name(segment.name.removesuffix(SEGMENT_SUFFIX) + OPEN_INDEX_SUFFIX)


def table_of(journal: Path) -> str:
    """Return the table whose rows a journal holds."""
    return journal.name.partition("-")[0]


def table_of_name(name: str) -> str:
    """Return the table of a quarantined file, by its name; empty if the name of a part does not say it."""
    table = name.partition("-")[0]
    if table in TABLES:
        return table
    match = _STEM.fullmatch(name)
    return FIGURES if match and match["worker"] == SUPERVISOR else ""


def stem_of(path: Path) -> str:
    """Return the stem of a file: a journal and its part share it."""
    found = _stem_in(path.name)
    assert found, f"{path} is not a file of a store"
    return found[0]


def name_of(worker: int) -> str:
    """Return the name in a worker's files. It is unique, because a worker's number is."""
    return f"w{worker}"


def worker_of(path: Path) -> str | None:
    """Return the worker that wrote a file, or None if the file is not ours."""
    found = _stem_in(path.name)
    return found[1] if found else None


def begun_by(name: str) -> tuple[str, float]:
    """Return the worker that wrote a file of this name, and when the worker began it (Unix seconds)."""
    found = _stem_in(name)
    assert found, f"{name} is not a file of a store"
    stem, worker = found
    moment = datetime.strptime(stem[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    return worker, moment.timestamp() + int(stem[14:17]) / 1000


def _stem_in(name: str) -> tuple[str, str] | None:
    """Return the stem and the worker in the name of a file, or None if the file is not ours."""
    if match := _STEM.fullmatch(name):
        return match["stem"], match["worker"]
    if match := _SEGMENT.fullmatch(name):
        return f"{match['time']}-{match['worker']}-{match['number']}", match["worker"]
    return None


class Stems:
    """Makes the stems of a worker's files: all different, whatever the clock does."""

    def __init__(self, folder: Path, worker: str, *families: SegmentNames) -> None:
        if not _WORKER.fullmatch(worker):
            raise GossamerError(f"a worker cannot be named {worker!r}: use letters, digits, dots and hyphens")
        self._folder = folder
        self._worker = worker
        self._families = families
        self._numbers = itertools.count(1)  # used by both threads: the one that keeps and the one that syncs

    def next(self, now: float) -> str:
        """Return a new stem. Numbers increase within a process; earlier processes left files, or have another time."""
        moment = datetime.fromtimestamp(now, UTC)
        time = f"{moment:%Y%m%d%H%M%S}{moment.microsecond // 1000:03d}"
        while True:
            stem = f"{time}-{self._worker}-{next(self._numbers):05d}"
            paths = [family.path(self._folder, stem) for family in self._families]
            for table in TABLES:
                paths += (journal_path(self._folder, table, stem), part_path(self._folder, table, stem))
            if not any(path.exists() for path in paths):
                return stem
