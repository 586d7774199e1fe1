"""Parts: journals converted to Parquet, which other tools can read. Each carries checksums of itself.

The footer of a part has the entry `gossamer.checksum`: a checksum of the footer and one of the whole file, both taken
while the entry was zero. Pages have the checksums of Parquet. Readers check the footer before anything is read from it,
and each page as they read it; `checking` checks the whole file. A part of version 0.1 has none of these.
"""

from __future__ import annotations

import logging
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq
from xxhash import xxh3_64

from gossamer.store import names
from gossamer.store.damage import DamagedError
from gossamer.store.files import remove, replacing
from gossamer.store.frames import BrokenRange
from gossamer.store.journal_files import JournalFile
from gossamer.store.quarantine import quarantine_ranges
from gossamer.store.schemas import TABLES
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

# Size of a row group. It bounds the memory that converting needs, whatever the journal's size.
_GROUP_BYTES = 1 << 23

_KEY: Final = "gossamer.checksum"
_UNSEALED: Final = f"xxh3:{0:016x}:{0:016x}"  # of the footer, of the file
_SEAL: Final = re.compile(rb"xxh3:([0-9a-f]{16}):([0-9a-f]{16})")
_MAGIC: Final = b"PAR1"
_TAIL_BYTES: Final = 1 << 18  # of a file, more than any footer has
_READ_BYTES: Final = 1 << 20
_LOG = logging.getLogger(__name__)


def convert(journal: Path) -> Path | None:
    """Convert a closed journal to its part and remove the journal; return the part, or None if there was no row.

    The part is synced under its final name before the journal is removed. A part that already exists is complete: then
    only the journal was left. So this may be interrupted anywhere and repeated. What has changed on the disk since it
    was synced goes into quarantine.
    """
    part = names.part_of(journal)
    found = part.exists()
    if not found:
        try:
            file = JournalFile(journal)
        except FileNotFoundError:  # the finisher of a dead worker was faster
            return part if part.exists() else None
        with file:
            found = _write(part, _sound(journal, file))  # plant: journal-removed-first
    remove(journal)
    return part if found else None


def _sound(journal: Path, file: JournalFile) -> Iterator[pa.RecordBatch]:
    """Yield the sound batches of a journal; then put its rot into quarantine, before the part has its name."""
    rot = []
    for found in file.read():
        if not isinstance(found, BrokenRange):
            yield found
        elif found.is_rot:
            rot.append(found)
    if rot:
        quarantined = quarantine_ranges(journal, file.file, rot)
        _LOG.warning("%s: %s are damaged and now in quarantine", journal, quarantined.detail)


def _write(part: Path, batches: Iterator[pa.RecordBatch]) -> bool:
    """Write a part if there are rows; return whether there were any."""
    table = TABLES[part.parent.name]
    rows = (table.complete(batch) for batch in batches)  # an older version may have left the journal in a crash
    first = next(rows, None)
    if first is None:
        return False
    with replacing(part) as file:
        summed = _Summed(file)
        with pq.ParquetWriter(
            summed,
            table.schema,
            compression="zstd",
            use_dictionary=[column.name for column in table.columns if column.repeats],
            write_statistics=[column.name for column in table.columns if column.name != "text"],
            write_page_checksum=True,
        ) as writer:
            for group in groups(first, rows):
                writer.write_table(group)
            writer.add_key_value_metadata({_KEY: _UNSEALED})
        summed.seal()
    return True


def groups(first: pa.RecordBatch, rest: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Combine small batches: a row group for every half second would make large, slow files."""
    group, size = [first], first.nbytes
    for batch in rest:
        if size + batch.nbytes > _GROUP_BYTES:
            yield pa.Table.from_batches(group)
            group, size = [], 0
        group.append(batch)
        size += batch.nbytes
    yield pa.Table.from_batches(group)


class _Summed:
    """A file that Parquet is written to, with the checksum of all that was written, and its end."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._sum = xxh3_64()
        self._tail = b""

    def write(self, data: Any) -> int:
        self._sum.update(data)
        self._tail = (self._tail + bytes(data))[-_TAIL_BYTES:]
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def seal(self) -> None:
        """Write the checksums into the footer, which has room for them."""
        place = self._tail.rfind(_UNSEALED.encode())
        footer = _footer_of(self._tail)
        assert place >= 0, "the footer has the entry"
        assert footer is not None, "the footer is shorter than what is kept"
        seal = f"xxh3:{xxh3_64(footer).intdigest():016x}:{self._sum.intdigest():016x}"
        self._file.seek(place - len(self._tail), os.SEEK_END)
        self._file.write(seal.encode())


def open_part(path: Path) -> pq.ParquetFile:
    """Open a part to read; raise DamagedError if its footer has changed, before Parquet reads it."""
    with path.open("rb") as file:
        _check_footer(path, file)
    if os.path.lexists(path):
        with suppress(FileNotFoundError):  # it has been moved to a bucket a moment ago
            return pq.ParquetFile(path, page_checksum_verification=True)
    return pq.ParquetFile(path.open("rb", buffering=0), page_checksum_verification=True, pre_buffer=True)


def part_batches(path: Path, columns: Sequence[str] | None, *, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a part, or those of these columns that it has; raise if they have changed on the disk."""
    with open_part(path) as part:
        there = None if columns is None else [name for name in columns if name in part.schema_arrow.names]
        is_sealed = _KEY.encode() in (part.metadata.metadata or {})
        rows = 0
        for batch in part.iter_batches(batch_size=batch_rows, columns=there):
            if not is_sealed:
                batch.validate(full=True)
            rows += batch.num_rows
            yield batch
        if rows != part.metadata.num_rows:  # the header of a page has no checksum
            raise DamagedError(path, f"it has {count(rows, 'row')} in place of {part.metadata.num_rows}")


def check_part(path: Path) -> None:
    """Read a whole part; raise DamagedError if any byte has changed. One of version 0.1 has no checksum."""
    with path.open("rb") as file:
        seal = _check_footer(path, file)
        if seal is None:
            return
        checksum, place = seal
        total, at = xxh3_64(), file.seek(0)
        while data := file.read(_READ_BYTES):
            if at <= place < at + len(data):  # the entry may go on in the next piece
                data += file.read(len(_UNSEALED))
                data = data[: place - at] + _UNSEALED.encode() + data[place - at + len(_UNSEALED) :]
            total.update(data)
            at += len(data)
        if total.intdigest() != checksum:
            raise DamagedError(path, "its content has changed on the disk")


def _check_footer(path: Path, file: BinaryIO) -> tuple[int, int] | None:
    """Return the checksum of the whole part, and where in the file it begins; None if the part has none."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL_BYTES))
    tail = file.read()
    *_, seal = (None, *_SEAL.finditer(tail))
    if seal is None and _KEY.encode() not in tail:
        return None
    if seal is None:
        raise DamagedError(path, "its checksum has changed on the disk")
    footer = _footer_of(tail[: seal.start()] + _UNSEALED.encode() + tail[seal.end() :])
    if footer is None or xxh3_64(footer).intdigest() != int(seal[1], 16):
        raise DamagedError(path, "its footer has changed on the disk")
    return int(seal[2], 16), size - len(tail) + seal.start()


def _footer_of(tail: bytes) -> bytes | None:
    """Return the footer of a Parquet file, given the file's end."""
    length = int.from_bytes(tail[-8:-4], "little") + 8
    return tail[-length:] if tail.endswith(_MAGIC) and length <= len(tail) else None
