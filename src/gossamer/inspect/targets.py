"""Where an export goes: standard output, or a file that gets its name when it is complete.

Until then it is written next to that file, with the suffix `.partial`. A target can be truncated to any length that
`settle` returned, so that an export that was killed resumes from there.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.safe_files import make_folder, open_file
from gossamer.store.files import replacing, sync_folder
from gossamer.store.parts import groups
from gossamer.store.schemas import PAGES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.inspect.encoders import Encoder

_NAMES = ", ".join(column.name for column in PAGES.columns)
_PIECE_BYTES = 1 << 25  # of a piece


class ExportTarget(Protocol):
    """Takes the pages of an export."""

    batch_rows: int  # passed to `add` at a time

    def query(self, pages: str) -> str:
        """Return SQL that reads what the target needs from `pages`, which is SQL too."""

    def begin(self, length: int) -> None:
        """Start, or resume at a length that `settle` returned; 0 starts over."""

    def add(self, folder: Path, batch: pa.RecordBatch) -> None:
        """Take pages of a crawl's folder."""

    def settle(self) -> int:
        """Sync everything to disk and return the length."""

    def finish(self) -> None:
        """Give the file its final name."""


class Stream:
    """Standard output, which cannot be resumed."""

    def __init__(self, encoder: Encoder, file: BinaryIO) -> None:
        self.batch_rows = encoder.batch_rows
        self.query = encoder.query
        self._encoder = encoder
        self._file = file

    def begin(self, _length: int) -> None:
        """Write what comes before the first page."""
        self._file.write(self._encoder.header())

    def add(self, folder: Path, batch: pa.RecordBatch) -> None:
        """Write pages."""
        self._file.write(self._encoder.encode(folder, batch))

    def settle(self) -> int:
        """Flush."""
        self._file.flush()
        return 0

    def finish(self) -> None:
        """Do nothing."""


class Appended:
    """A file to which pages are appended."""

    def __init__(self, encoder: Encoder, path: Path) -> None:
        self.batch_rows = encoder.batch_rows
        self.query = encoder.query
        self._encoder = encoder
        self._path = path
        self._partial = partial_of(path)
        self._file: BinaryIO

    def begin(self, length: int) -> None:
        """Truncate the file to the length that was synced."""
        make_folder(self._partial.parent.resolve())  # for text files; the folder of a single file exists
        self._file = open_file(self._partial, "r+b" if length else "wb")
        self._file.truncate(length)
        self._file.seek(length)
        if not length:
            self._file.write(self._encoder.header())

    def add(self, folder: Path, batch: pa.RecordBatch) -> None:
        """Append pages."""
        self._file.write(self._encoder.encode(folder, batch))

    def settle(self) -> int:
        """Sync the file."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def finish(self) -> None:
        """Rename the file."""
        self._file.close()
        self._partial.rename(self._path)
        sync_folder(self._path.parent)


class Pieces:
    """A Parquet file. It cannot be appended to: pieces are written first, and combined at the end."""

    batch_rows = 2_000

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder = partial_of(path)
        self._settled = 0  # pieces
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0

    def query(self, pages: str) -> str:
        """Read all columns."""
        return f"select {_NAMES} from ({pages})"  # noqa: S608  # our own names

    def begin(self, length: int) -> None:
        """Remove pieces that were written after the last sync."""
        make_folder(self._folder)
        self._settled = length
        keep = {self._piece(number) for number in range(length)}
        for path in set(self._folder.iterdir()) - keep:
            path.unlink()

    def add(self, _folder: Path, batch: pa.RecordBatch) -> None:
        """Hold pages, and write a piece when it is large enough."""
        self._waiting.append(pa.Table.from_batches([batch]).cast(PAGES.schema).combine_chunks().to_batches()[0])
        self._waiting_bytes += batch.nbytes
        if self._waiting_bytes >= _PIECE_BYTES:
            self._write()

    def settle(self) -> int:
        """Write the held pages as a piece."""
        self._write()
        return self._settled

    def finish(self) -> None:
        """Combine the pieces."""
        with replacing(self._path) as file, _writer(file) as writer:
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
            with replacing(self._piece(self._settled)) as file, _writer(file) as writer:
                writer.write_table(pa.Table.from_batches(self._waiting))
            self._settled += 1
        self._waiting, self._waiting_bytes = [], 0

    def _piece(self, number: int) -> Path:
        return self._folder / f"{number:06d}.parquet"


def partial_of(path: Path) -> Path:
    """Return the path of an export until it is complete."""
    return path.with_name(f"{path.name}.partial")


def _writer(file: BinaryIO) -> pq.ParquetWriter:
    return pq.ParquetWriter(file, PAGES.schema, compression="zstd")
