"""Journals: rows on disk within half a second, in files that survive a crash at any byte and name every rotten one.

A journal is a sequence of frames (`frames`), one per sync, each with a checksum. A frame holds an Arrow IPC stream: the
schema, then record batches. So a broken frame costs its own rows and no others. A journal has one writer and is never
reopened for writing: it is closed, becomes a part (`parts`) and is removed.
"""

from __future__ import annotations

import logging
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypeVar

import pyarrow as pa

from gossamer.records import LinkRow, PageRow, RequestRow
from gossamer.store.files import GrowingFile
from gossamer.store.frames import BrokenRange, JournalFrames, encode_frame, end_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from gossamer.store.schemas import Table

AnyRow = PageRow | RequestRow | LinkRow
Row = TypeVar("Row", PageRow, RequestRow, LinkRow)

_BATCH_CHARS = 1 << 25  # of text: an Arrow column of strings ends at 2 GB, and small batches block no thread for long
_UNFIT = (OverflowError, TypeError, ValueError, pa.ArrowException)
_LOG = logging.getLogger(__name__)


class Journal(Generic[Row]):
    """A table's rows: those that wait for the next sync, and the journal that they go to.

    `keep` may be called from one thread and the rest from another.
    """

    def __init__(self, table: Table, new_path: Callable[[float], Path], clock: Callable[[], float]) -> None:
        self._table = table
        self._new_path = new_path  # takes Unix seconds
        self._clock = clock  # Unix seconds
        self._rows: list[Row] = []  # `keep` appends at the end, `sync` removes from the front
        self._file: GrowingFile | None = None
        self._begun_at = 0.0
        self._written_rows = 0

    def keep(self, row: Row) -> None:
        """Hold a row for the next `sync`."""
        self._rows.append(row)

    def keep_all(self, rows: Iterable[Row]) -> None:
        """Hold some rows for the next `sync`."""
        self._rows.extend(rows)

    def waiting(self) -> int:
        """Return how many rows are held."""
        return len(self._rows)

    def sync(self, count: int) -> None:
        """Write and sync the first `count` rows that are held; if that fails, raise OSError and keep them."""
        if self._file is None:
            if not count:
                return
            self._begun_at = self._clock()
            self._file = GrowingFile(self._new_path(self._begun_at), seal=end_frame)
            self._written_rows = 0
        batches = list(as_batches(self._table, self._rows[:count]))
        if batches:  # now the file holds them, so a failure below does not lose them
            self._file.add(as_frame(batches, offset=self._file.size(), synced=self._file.length))
        del self._rows[:count]
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


class JournalReader:
    """Reads an open journal; `read` may be repeated, and yields only what is new."""

    def __init__(self, file: BinaryIO) -> None:
        self._frames = JournalFrames(file)

    @property
    def is_sealed(self) -> bool:
        """Whether the journal ended, when it was last read, as a sync leaves it."""
        return self._frames.is_sealed

    def read(self) -> Iterator[pa.RecordBatch | BrokenRange]:
        """Yield the batches of complete frames, and the ranges that are none."""
        for found in self._frames.read():
            if isinstance(found, BrokenRange):
                yield found
                continue
            with pa.ipc.open_stream(pa.py_buffer(found.payload)) as stream:
                yield from stream
