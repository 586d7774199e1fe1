"""Journals: rows on disk within half a second, in files that survive a crash at any byte and name every rotten one.

A journal is a sequence of frames, one per sync. A frame holds an Arrow IPC stream: the schema, then record batches. So
a broken frame costs its own rows and no others. A journal has one writer and is never reopened for writing: it is
closed, becomes a part (`parts`) and is removed. Each frame has a checksum, says where it begins, and how much was
synced before it:

    mark, offset, synced, length, rows, checksum of the payload, checksum of the header; then the payload

`synced` is how much of the file was durable when the frame was made. After every sync a frame without a payload
follows, unsynced, which the next frame overwrites: it calls the last frame synced, too, also if the process is killed.
`frames` finds them, and `journal_files` reads them.
"""

from __future__ import annotations

import logging
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import pyarrow as pa
from xxhash import xxh3_64, xxh3_64_intdigest

from gossamer.records import FigureRow, LinkRow, PageRow, RequestRow
from gossamer.store.files import GrowingFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from gossamer.store.schemas import Table

AnyRow = PageRow | RequestRow | LinkRow | FigureRow
Row = TypeVar("Row", PageRow, RequestRow, LinkRow, FigureRow)

MARK: Final = b"\xd5GSMRJ1\n"
HEADER: Final = Struct("<8sQQQQQ")
SUM: Final = Struct("<Q")
HEADER_BYTES: Final = HEADER.size + SUM.size
_BATCH_CHARS = 1 << 23  # of text: small batches take little memory and block no thread for long
_UNFIT = (OverflowError, TypeError, ValueError, pa.ArrowException)
_LOG = logging.getLogger(__name__)


class Journal(Generic[Row]):
    """A table's rows: those that wait for the next sync, and the journal that they go to.

    One thread may append to `rows`, and another one call the methods.
    """

    def __init__(self, table: Table, new_path: Callable[[float], Path], clock: Callable[[], float]) -> None:
        self._table = table
        self._new_path = new_path  # takes Unix seconds
        self._clock = clock  # Unix seconds
        self.rows: list[Row] = []  # to write: append at the end; `sync` removes from the front
        self._file: GrowingFile | None = None
        self._begun_at = 0.0
        self._written_rows = 0

    def sync(self, count: int) -> None:
        """Write and sync the first `count` rows that are held; if that fails, raise OSError and keep them."""
        if self._file is None:
            if not count:
                return
            self._begun_at = self._clock()
            self._file = GrowingFile(self._new_path(self._begun_at))
            self._written_rows = 0
        batches = list(as_batches(self._table, self.rows[:count]))
        if batches:  # now the file holds them, so a failure below does not lose them
            frame = as_frame(batches, offset=self._file.size, synced=self._file.length)
            self._file.seal = end_frame(self._file.size + len(frame))
            self._file.add(frame)
        del self.rows[:count]
        self._written_rows += count
        self._file.sync(self._file.waiting())

    def is_due(self, *, max_rows: int, max_bytes: int, max_age_s: float) -> bool:
        """Return whether it is time to turn the journal into a part."""
        return self._file is not None and (
            self._written_rows >= max_rows
            or self._file.length >= max_bytes
            # A clock that was set back must not keep a journal open forever.
            or not 0 <= self._clock() - self._begun_at < max_age_s
        )

    def take(self) -> list[Path]:
        """Close the journal, if there is one, and return its path for conversion; the next row starts another."""
        if self._file is None:
            return []
        assert not self._file.waiting(), "only a synced journal can become a part"
        path = self._file.path
        self._file.close()
        self._file = None
        return [path]

    def close(self) -> None:
        """Close the file; what was not synced is lost."""
        if self._file is not None:
            self._file.close()


def as_batches(table: Table, rows: Sequence[AnyRow]) -> Iterator[pa.RecordBatch]:
    """Yield rows as record batches. A row that does not fit its table is a bug: it is logged and left out."""
    rest = iter(rows)
    for size in _batch_sizes(rows):
        batch = list(islice(rest, size))
        try:
            yield _as_batch(table, batch)
        except _UNFIT:
            yield from _one_by_one(table, batch)


def _batch_sizes(rows: Sequence[AnyRow]) -> Iterator[int]:
    size = chars = 0
    for row in rows:
        size += 1
        chars += len(row.text) if isinstance(row, PageRow) else 0
        if chars >= _BATCH_CHARS:
            yield size
            size = chars = 0
    if size:
        yield size


def _as_batch(table: Table, rows: Sequence[Sequence[Any]]) -> pa.RecordBatch:
    arrays = []
    for column, values in zip(table.columns, zip(*rows, strict=True), strict=True):
        stored: Sequence[Any] = values
        if pa.types.is_timestamp(column.type):
            stored = [round(seconds * 1e6) for seconds in values]
        arrays.append(pa.array(stored, column.type))
        if arrays[-1].null_count:  # Parquet would refuse the entire part
            raise ValueError(f"{column.name} is never null")
    return pa.RecordBatch.from_arrays(arrays, schema=table.schema)


def _one_by_one(table: Table, rows: Sequence[AnyRow]) -> Iterator[pa.RecordBatch]:
    for row in rows:
        # Lone surrogates have no UTF-8 form: a question mark replaces each.
        values = [value.encode("utf-8", "replace").decode() if isinstance(value, str) else value for value in row]
        try:
            yield _as_batch(table, [values])
        except _UNFIT:
            _LOG.exception("a row of %s cannot be stored and is lost: %.500r", table.name, row)


def as_frame(batches: Sequence[pa.RecordBatch], *, offset: int, synced: int) -> bytes:
    """Return batches as a frame for this offset of a journal of which `synced` bytes are durable."""
    payload = [batches[0].schema.serialize(), *(batch.serialize() for batch in batches)]
    return encode_frame(payload, offset=offset, synced=synced, rows=sum(batch.num_rows for batch in batches))


def encode_frame(payload: Sequence[bytes], *, offset: int, synced: int, rows: int) -> bytes:
    """Return a frame for this offset of a file of which `synced` bytes are durable."""
    checksum = xxh3_64()
    for piece in payload:
        checksum.update(piece)
    header = HEADER.pack(MARK, offset, synced, sum(map(len, payload)), rows, checksum.intdigest())
    return b"".join((header, SUM.pack(xxh3_64_intdigest(header)), *payload))


def end_frame(length: int) -> bytes:
    """Return the frame that follows a sync: all `length` bytes of the file are durable."""
    return encode_frame((), offset=length, synced=length, rows=0)
