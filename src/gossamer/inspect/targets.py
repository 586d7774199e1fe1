"""Where an export goes: standard output, or a file that gets its name when it is complete.

Until then it is written next to that file, with the suffix `.partial`. A target can be truncated to any lengths that
`settle` returned, so that an export that was killed resumes from there.
"""

from __future__ import annotations

import os
import shutil
from enum import Enum, auto
from typing import TYPE_CHECKING, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.safe_files import make_folder, open_file
from gossamer.store.files import replacing, sync_folder
from gossamer.store.parts import groups

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_PIECE_BYTES = 1 << 25  # of a piece


class Takes(Enum):
    """Which of the selected pages a target takes."""

    ALL = auto()
    ARCHIVED = auto()  # those with an archive record
    COMPLETE = auto()  # these, and the pages whose payload a duplicate among them refers to


class Encoder(Protocol):
    """A format whose pages can be appended to a file one after the other."""

    batch_rows: int  # in memory at a time
    takes: Takes

    def header(self) -> bytes:
        """Return what comes before the first page."""

    def query(self, pages: str) -> str:
        """Return SQL that reads what the format needs from `pages`, which is SQL too."""

    def encode(self, folder: Path, batch: pa.RecordBatch) -> bytes:
        """Return pages of a crawl's folder as bytes to append."""


class ParquetTable(Protocol):
    """The rows of a Parquet file."""

    takes: Takes
    schema: pa.Schema

    def query(self, pages: str) -> str:
        """Return SQL that reads what the rows need from `pages`, which is SQL too."""

    def rows(self, folder: Path, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return pages of a crawl's folder with the columns of the schema."""


class ExportTarget(Protocol):
    """Takes the pages of an export."""

    batch_rows: int  # passed to `add` at a time
    takes: Takes

    def query(self, pages: str) -> str:
        """Return SQL that reads what the target needs from `pages`, which is SQL too."""

    def begin(self, lengths: Sequence[int]) -> None:
        """Start, or resume at the lengths that `settle` returned; none: start over."""

    def add(self, folder: Path, batch: pa.RecordBatch) -> None:
        """Take pages of a crawl's folder."""

    def settle(self) -> list[int]:
        """Sync everything to disk and return the lengths."""

    def finish(self) -> None:
        """Give the file its final name."""


class Stream:
    """Standard output, which cannot be resumed."""

    def __init__(self, encoder: Encoder, file: BinaryIO) -> None:
        self.batch_rows = encoder.batch_rows
        self.takes = encoder.takes
        self.query = encoder.query
        self._encoder = encoder
        self._file = file

    def begin(self, _lengths: Sequence[int]) -> None:
        """Write what comes before the first page."""
        self._file.write(self._encoder.header())

    def add(self, folder: Path, batch: pa.RecordBatch) -> None:
        """Write pages."""
        self._file.write(self._encoder.encode(folder, batch))

    def settle(self) -> list[int]:
        """Flush."""
        self._file.flush()
        return []

    def finish(self) -> None:
        """Do nothing."""


class Appended:
    """A file to which pages are appended."""

    def __init__(self, encoder: Encoder, path: Path) -> None:
        self.batch_rows = encoder.batch_rows
        self.takes = encoder.takes
        self.query = encoder.query
        self._encoder = encoder
        self._path = path
        self._partial = partial_of(path)
        self._file: BinaryIO

    def begin(self, lengths: Sequence[int]) -> None:
        """Truncate the file to the length that was synced."""
        make_folder(self._partial.parent.resolve())  # for text files; the folder of a single file exists
        self._file = resumed(self._partial, *lengths)
        if not lengths:
            self._file.write(self._encoder.header())

    def add(self, folder: Path, batch: pa.RecordBatch) -> None:
        """Append pages."""
        self._file.write(self._encoder.encode(folder, batch))

    def settle(self) -> list[int]:
        """Sync the file."""
        return [synced(self._file)]

    def finish(self) -> None:
        """Rename the file."""
        self._file.close()
        self._partial.rename(self._path)
        sync_folder(self._path.parent)


class Pieces:
    """A Parquet file. It cannot be appended to: pieces are written first, and combined at the end."""

    batch_rows = 2_000

    def __init__(self, table: ParquetTable, path: Path) -> None:
        self.takes = table.takes
        self.query = table.query
        self._table = table
        self._path = path
        self._folder = partial_of(path)
        self._settled = 0  # pieces
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0

    def begin(self, lengths: Sequence[int]) -> None:
        """Remove pieces that were written after the last sync."""
        make_folder(self._folder)
        self._settled = sum(lengths)
        keep = {self._piece(number) for number in range(self._settled)}
        for path in set(self._folder.iterdir()) - keep:
            path.unlink()

    def add(self, folder: Path, batch: pa.RecordBatch) -> None:
        """Hold pages, and write a piece when it is large enough."""
        self._waiting.append(self._table.rows(folder, batch))
        self._waiting_bytes += self._waiting[-1].nbytes
        if self._waiting_bytes >= _PIECE_BYTES:
            self._write()

    def settle(self) -> list[int]:
        """Write the held pages as a piece."""
        self._write()
        return [self._settled]

    def finish(self) -> None:
        """Combine the pieces."""
        with replacing(self._path) as file, self._writer(file) as writer:
            rows = self._rows()
            first = next(rows, None)
            for group in groups(first, rows) if first is not None else ():
                writer.write_table(group)
        shutil.rmtree(self._folder)

    def _rows(self) -> Iterator[pa.RecordBatch]:
        for number in range(self._settled):
            with pq.ParquetFile(self._piece(number)) as piece:
                yield from piece.iter_batches(self.batch_rows)

    def _write(self) -> None:
        if self._waiting:
            with replacing(self._piece(self._settled)) as file, self._writer(file) as writer:
                writer.write_table(pa.Table.from_batches(self._waiting))
            self._settled += 1
        self._waiting, self._waiting_bytes = [], 0

    def _piece(self, number: int) -> Path:
        return self._folder / f"{number:06d}.parquet"

    def _writer(self, file: BinaryIO) -> pq.ParquetWriter:
        return pq.ParquetWriter(file, self._table.schema, compression="zstd")


def partial_of(path: Path) -> Path:
    """Return the path of an export until it is complete."""
    return path.with_name(f"{path.name}.partial")


def resumed(path: Path, length: int = 0) -> BinaryIO:
    """Open a file to append to it, truncated to a length."""
    file = open_file(path, "r+b" if length else "wb")
    file.truncate(length)
    file.seek(length)
    return file


def synced(file: BinaryIO) -> int:
    """Sync a file and return its length."""
    file.flush()
    os.fsync(file.fileno())
    return file.tell()
