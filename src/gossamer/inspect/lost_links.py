"""Finds pages whose rows of `links` were lost with a damaged file.

The rows of one page are written at once, so a page has all of them or none. A file held the rows of pages that its
worker fetched before it began its next file of links.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from gossamer.inspect.archived_answers import ArchivePlace
from gossamer.store import names, restored
from gossamer.store.reading import readable_rows, row_files
from gossamer.store.schemas import LINKS, PAGES
from gossamer.urls import hash_url

if TYPE_CHECKING:
    from pathlib import Path

LONGEST_S: Final = 600.0  # from the beginning of a request until its rows are in a journal
CLOCK_S: Final = 1.0  # by which the wall clock may be set back between a request and its file
_COLUMNS: Final = ["fetched_at", "links", *ArchivePlace._fields]


class PageKey(NamedTuple):
    """What the rows of `links` of one page begin with."""

    from_hash: bytes
    fetched_at: float  # Unix seconds


class _Span(NamedTuple):
    """Which pages may have had rows in a file."""

    worker: str
    since_at: float  # Unix seconds
    until_at: float

    def holds(self, file: Path, place: ArchivePlace, fetched_at: float) -> bool:
        """Return whether a page of this file of rows may be one of them."""
        worker = names.worker_of(file)
        if worker == restored.WORKER:  # its row was restored: its archive names the worker
            worker = names.worker_of(file.with_name(place.warc_file))
        return worker == self.worker and self.since_at <= fetched_at <= self.until_at


def doubtful_links(folder: Path) -> list[str]:
    """Return the journals of `links` that do not end as a sync leaves them: rows may be lost."""
    found = []
    for source in row_files(folder, LINKS):
        if names.is_journal(source.path):
            for _ in source.batches(["from_hash"]):
                pass
            if not source.is_sealed:
                found.append(source.path.name)
    return found


def pages_without_links(folder: Path, name: str) -> dict[PageKey, ArchivePlace]:
    """Return the pages with links, but without rows of them, that may have had these rows in a file of this name."""
    span = _span(folder, name)
    found: dict[PageKey, ArchivePlace] = {}
    for file, batch in readable_rows(folder, PAGES, _COLUMNS):
        times = _seconds(batch["fetched_at"])
        columns = (batch[column].to_pylist() for column in ArchivePlace._fields)
        places = map(ArchivePlace._make, zip(*columns, strict=True))
        for place, fetched_at, links in zip(places, times, batch["links"].to_pylist(), strict=True):
            if links and span.holds(file, place, fetched_at):
                found[PageKey(hash_url(place.url), fetched_at)] = place
    wanted = pa.array({key.from_hash for key in found}, pa.binary(16))
    for _, batch in readable_rows(folder, LINKS, PageKey._fields) if found else ():
        theirs = batch.filter(pc.is_in(batch["from_hash"], value_set=wanted))
        for key in map(PageKey, theirs["from_hash"].to_pylist(), _seconds(theirs["fetched_at"])):
            found.pop(key, None)
    return found


def _span(folder: Path, name: str) -> _Span:
    worker, begun_at = names.begun_by(name)
    stem = names.stem_of(folder / name)
    files = [source.path for source in row_files(folder, LINKS)]
    later = [path for path in files if names.worker_of(path) == worker and names.stem_of(path) > stem]
    until_at = min((names.begun_by(path.name)[1] for path in later), default=math.inf)
    return _Span(worker, begun_at - LONGEST_S, until_at + CLOCK_S)


def _seconds(times: pa.Array) -> list[float]:
    return [microseconds / 1e6 for microseconds in times.cast(pa.int64()).to_pylist()]
