"""Reads the crawl log: its last requests, or new ones as it grows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from gossamer.records import RequestRow
from gossamer.store import names
from gossamer.store.reading import row_files
from gossamer.store.schemas import REQUESTS
from gossamer.wording import moment, plain, size

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.store.reading import Folders, RowFile

_FIRST_ERROR = 400  # of HTTP's statuses


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFilter:
    """Which requests to return."""

    errors: bool = False  # only failures: no answer, or an error status
    site: str | None = None
    kind: str | None = None
    reason: str | None = None  # why there was no answer

    def pick(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that pass the filter."""
        if self.errors:
            failed = pc.not_equal(batch["reason"], "")
            batch = batch.filter(pc.or_(failed, pc.greater_equal(batch["status"], _FIRST_ERROR)))
        for column, value in (("site", self.site), ("kind", self.kind), ("reason", self.reason)):
            if value is not None:
                batch = batch.filter(pc.equal(batch[column], value))
        return batch


class RequestLog:
    """A crawl's log. `last` reads its end; after that, `new` reads what was added since."""

    def __init__(self, folders: Folders, wanted: RequestFilter) -> None:
        self._folders = folders
        self._wanted = wanted
        self._rows_read: dict[tuple[Path, str], int] = {}  # by folder and stem
        self._shapes: dict[tuple[Path, str], tuple[str, int]] = {}  # of each file when it was last read

    def last(self, lines: int) -> list[RequestRow]:
        """Return the last `lines` requests that pass the filter, in the order in which they ended.

        A worker's files are in order of time, so each worker's files are read from the newest back until there are
        enough.
        """
        found: list[RequestRow] = []
        files = sorted(row_files(self._folders, REQUESTS), key=_by_worker)
        for _, of_worker in groupby(files, key=lambda source: _by_worker(source)[0]):
            rows: list[RequestRow] = []
            for source in reversed(list(of_worker)):
                if len(rows) < lines or not _is_part(source):
                    rows = _tail(self._read(source), lines) + rows
                else:
                    self._shapes[_key(source)] = _shape(source)
            found += _tail(rows, lines)
        return _tail(sorted(found, key=_ended_at), lines)

    def new(self) -> list[RequestRow]:
        """Return the requests that pass the filter and were logged since the last call."""
        found: list[RequestRow] = []
        for source in row_files(self._folders, REQUESTS):
            if self._shapes.get(_key(source)) != _shape(source):
                found += self._read(source)
        return sorted(found, key=_ended_at)

    def _read(self, source: RowFile) -> list[RequestRow]:
        """Return a file's rows after those that were read before: a journal has grown, or become a part."""
        rows: list[RequestRow] = []
        key = _key(source)
        self._shapes[key] = _shape(source)  # before reading: rows added meanwhile are read next time
        skip = self._rows_read.get(key, 0)
        position = 0
        for batch in source.batches():
            fresh = batch.slice(max(0, skip - position))
            position += batch.num_rows
            if fresh.num_rows:
                rows += request_rows(self._wanted.pick(fresh))
        self._rows_read[key] = position
        return rows


def requests_of(folders: Folders, url_hash: bytes) -> list[RequestRow]:
    """Return all requests for one URL, oldest first."""
    wanted = pa.scalar(url_hash, pa.binary(16))
    found: list[RequestRow] = []
    for source in row_files(folders, REQUESTS):
        # Most files have none: a tenth of their bytes tells.
        if any(pc.any(pc.equal(batch["url_hash"], wanted)).as_py() for batch in source.batches(["url_hash"])):
            for batch in source.batches():
                found += request_rows(batch.filter(pc.equal(batch["url_hash"], wanted)))
    return sorted(found, key=_ended_at)


def request_line(row: RequestRow) -> str:
    """Return a request in one line."""
    said = row.reason or str(row.status)
    took_s = row.ended_at - row.started_at
    return f"{moment(row.ended_at)}  {said:<17} {size(row.bytes):>9} {took_s:>7.2f} s  {plain(row.url)}"


def request_rows(batch: pa.RecordBatch) -> list[RequestRow]:
    """Return the rows of a batch of the log."""
    columns = [
        [microseconds / 1e6 for microseconds in column.cast(pa.int64()).to_pylist()]
        if pa.types.is_timestamp(column.type)
        else column.to_pylist()
        for column in batch.columns
    ]
    return list(map(RequestRow._make, zip(*columns, strict=True)))


def _key(source: RowFile) -> tuple[Path, str]:
    """Return a key that a journal shares with its part."""
    return source.path.parents[1], names.stem_of(source.path)


def _by_worker(source: RowFile) -> tuple[tuple[Path, str], str]:
    folder, stem = _key(source)
    return (folder, names.worker_of(source.path) or ""), stem


def _shape(source: RowFile) -> tuple[str, int]:
    """Return a value that changes when a file grows or becomes a part."""
    try:
        return source.path.suffix, source.path.stat().st_size
    except FileNotFoundError:  # a journal that just became a part
        return source.path.suffix, -1


def _tail(rows: list[RequestRow], lines: int) -> list[RequestRow]:
    return rows[max(0, len(rows) - lines) :]


def _is_part(source: RowFile) -> bool:
    return source.path.suffix == names.PART_SUFFIX


def _ended_at(row: RequestRow) -> float:
    return row.ended_at
