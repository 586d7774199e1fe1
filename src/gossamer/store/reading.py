"""Reads what a crawl has stored, also while it runs: rows of parts and open journals, and archive records.

Every function takes the folder of a crawl, or the folders of several machines that crawl together. The result is
consistent: every row that was on disk when reading began, each once. A journal may become a part meanwhile, so
journals are opened first, parts are listed after that, and a journal whose part exists is ignored.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from gossamer.records import LinkRow, PageRow, RequestRow
from gossamer.store import names
from gossamer.store.damage import DamagedError, damaged_by, warn_of
from gossamer.store.files import entries
from gossamer.store.frames import BrokenRange
from gossamer.store.journal_files import JournalFile
from gossamer.store.parts import part_batches
from gossamer.store.scanning import record_at
from gossamer.store.schemas import LINKS, PAGES, REQUESTS, Table
from gossamer.urls import hash_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.store.scanning import Record

Folders = Path | Sequence[Path]

_LOG = logging.getLogger(__name__)
_BATCH_ROWS = 2_000  # read of a part at a time, so that the text of large pages fits into memory


class RowFile:
    """One file of rows: a part, or a journal that was opened while it existed."""

    def __init__(self, path: Path, table: Table, journal: JournalFile | None = None) -> None:
        self.path = path
        self._table = table
        self._journal = journal
        self.broken: list[BrokenRange] = []  # of a journal, when it was last read
        self.is_sealed = True  # whether a journal ended, when it was last read, as a sync leaves it

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield all rows, or only these columns, in the order of the table; raise DamagedError for a damaged part.

        A column that an older version did not write is empty. A journal may have grown since it was last read. Its
        damaged ranges are left out, with a warning.
        """
        if self._journal is not None:
            stored = self._sound(self._journal)
        else:
            stored = part_batches(self.path, columns, batch_rows=_BATCH_ROWS)
        while True:
            try:
                batch = self._table.complete(next(stored), columns)
            except StopIteration:
                return
            except (OSError, ValueError, TypeError, LookupError, pa.ArrowException) as error:
                raise damaged_by(self.path, error) from error
            yield batch

    def _sound(self, journal: JournalFile) -> Iterator[pa.RecordBatch]:
        self.broken = []
        for found in journal.read():
            if not isinstance(found, BrokenRange):
                yield found
                continue
            self.broken.append(found)
            if found.is_rot:
                warn_of(self.path, found)
        self.is_sealed = journal.is_sealed


def listed(folders: Folders) -> Sequence[Path]:
    """Return folders as a list, also if there is only one."""
    return [folders] if isinstance(folders, Path) else folders


def row_files(folders: Folders, table: Table) -> list[RowFile]:
    """Return the files that hold a table's rows now, oldest first."""
    found = []
    for folder in listed(folders):
        journals = {}
        for path in entries(folder / names.JOURNAL, f"{table.name}-*"):
            if names.is_journal(path):
                try:
                    journals[names.stem_of(path)] = RowFile(path, table, JournalFile(path))
                except FileNotFoundError:  # it has become a part, which is listed below
                    continue
                except OSError:  # such as a folder in its place: reading it raises the same error
                    journals[names.stem_of(path)] = RowFile(path, table)
        parts = [path for path in entries(folder / table.name, f"part-*{names.PART_SUFFIX}") if names.worker_of(path)]
        # In this order: a part replaces its journal.
        found += list((journals | {names.stem_of(path): RowFile(path, table) for path in parts}).values())
    return sorted(found, key=lambda source: (names.stem_of(source.path), source.path))


def readable_rows(folder: Path, table: Table, columns: Sequence[str]) -> Iterator[tuple[Path, pa.RecordBatch]]:
    """Yield the rows that can be read, each batch with its file; log which files are damaged: `verify` names them."""
    for source in row_files(folder, table):
        try:
            for batch in source.batches(columns):
                yield source.path, batch
        except DamagedError as error:
            _LOG.warning("%s", error)


def pages(folders: Folders) -> Iterator[PageRow]:
    """Yield every row of `pages`: a page that was fetched twice has two rows."""
    for source in row_files(folders, PAGES):
        for batch in source.batches():
            yield from page_rows(batch)


def requests(folders: Folders) -> Iterator[RequestRow]:
    """Yield every row of `requests`."""
    for source in row_files(folders, REQUESTS):
        for batch in source.batches():
            yield from map(RequestRow._make, zip(*_columns(batch), strict=True))


def links(folders: Folders) -> Iterator[LinkRow]:
    """Yield every row of `links`."""
    for source in row_files(folders, LINKS):
        for batch in source.batches():
            yield from map(LinkRow._make, zip(*_columns(batch), strict=True))


def last_pages(folders: Folders) -> Iterator[PageRow]:
    """Yield the last row of each URL: what `gossamer query` shows as `pages`."""
    files = row_files(folders, PAGES)
    for source, numbers in zip(files, _last_rows(files), strict=True):
        yield from _pick(source, numbers)


def find_pages(folders: Folders, url_hash: bytes) -> list[PageRow]:
    """Return all rows of one URL, oldest first."""
    found: list[PageRow] = []
    wanted = pa.scalar(url_hash, pa.binary(16))
    for source in row_files(folders, PAGES):
        numbers: list[int] = []
        start = 0
        for batch in source.batches(["url_hash"]):
            numbers += (start + number for number in pc.indices_nonzero(pc.equal(batch[0], wanted)).to_pylist())
            start += batch.num_rows
        found += _pick(source, numbers)
    return sorted(found, key=lambda row: row.fetched_at)


def find_response(folders: Folders, row: PageRow) -> Record:
    """Return the response of an archived page; for a duplicate, with the payload of its original.

    Raises like `find_record`, also if the record of the payload does not exist.
    """
    record = find_record(folders, row.warc_file, row.warc_offset)
    if not record.is_revisit:
        return record
    original = record.headers.get("warc-refers-to-target-uri", "")
    for other in find_pages(folders, hash_url(original)):
        if other.warc_file and other.payload_digest == row.payload_digest:
            found = find_record(folders, other.warc_file, other.warc_offset)
            if not found.is_revisit:
                return replace(record, block=record.block + found.payload)
    raise ValueError(f"{row.url} is a duplicate of {original}, which has no such record")


def find_record(folders: Folders, warc_file: str, offset: int) -> Record:
    """Return the record that begins at `offset` of a segment.

    Raises FileNotFoundError if the segment is not in these folders, ValueError if there is no complete record.
    """
    for folder in listed(folders):
        try:
            with (folder / names.WARC / warc_file).open("rb") as file:
                record = record_at(file, offset)
        except FileNotFoundError:
            continue
        except EOFError:
            record = None
        if record is None:
            raise ValueError(f"{warc_file} has no complete record at {offset}")
        return record
    raise FileNotFoundError(f"{warc_file} does not exist")


def _last_rows(files: Sequence[RowFile]) -> list[list[int]]:
    """Return for each file the numbers of the rows that are the last of their URL."""
    keys = []
    for place, source in enumerate(files):
        start = 0
        for batch in source.batches(["url_hash", "fetched_at"]):
            numbers = pa.array(range(start, start + batch.num_rows), pa.int64())
            places = pa.repeat(pa.scalar(place, pa.int32()), batch.num_rows)
            arrays = [*batch.columns, places, numbers]
            keys.append(pa.table(arrays, names=["url_hash", "fetched_at", "place", "number"]))
            start += batch.num_rows
    last: list[list[int]] = [[] for _ in files]
    if keys:
        order = [
            ("url_hash", "ascending"),
            ("fetched_at", "ascending"),
            ("place", "ascending"),
            ("number", "ascending"),
        ]
        rows = pa.concat_tables(keys).sort_by(order).combine_chunks()
        hashes = rows["url_hash"]
        # The last row of a URL precedes a row of another URL; the very last row is always one.
        changes = pc.not_equal(hashes.slice(1), hashes.slice(0, len(hashes) - 1)).combine_chunks()
        rows = rows.filter(pa.concat_arrays([changes, pa.array([True])]))
        for place, number in zip(rows["place"].to_pylist(), rows["number"].to_pylist(), strict=True):
            last[place].append(number)
    return [sorted(numbers) for numbers in last]


def _pick(source: RowFile, numbers: Sequence[int]) -> Iterator[PageRow]:
    """Yield the rows of a file with these numbers, which must increase."""
    start = done = 0
    for batch in source.batches() if numbers else ():
        first = done
        while done < len(numbers) and numbers[done] < start + batch.num_rows:
            done += 1
        if done > first:
            yield from page_rows(batch.take(pa.array([number - start for number in numbers[first:done]])))
        if done == len(numbers):
            return
        start += batch.num_rows


def page_rows(batch: pa.RecordBatch) -> Iterator[PageRow]:
    """Yield the rows of a batch that has all columns of `pages`, in order."""
    return map(PageRow._make, zip(*_columns(batch), strict=True))


def _columns(batch: pa.RecordBatch) -> Iterator[list[object]]:
    for column in batch.columns:
        if pa.types.is_timestamp(column.type):
            yield [microseconds / 1e6 for microseconds in column.cast(pa.int64()).to_pylist()]
        else:
            yield column.to_pylist()
