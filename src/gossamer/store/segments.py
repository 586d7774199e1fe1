"""WARC segments: archives that only grow, are closed when full, and have an index each.

An open segment has an open index (`.cdxj.open`): the lines of the final index in the order of the records, each
written after its record is synced. It tells a repair up to where the segment is complete, and closing a segment only
needs to sort it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isal import isal_zlib

from gossamer.store import names
from gossamer.store.cdxj import REVISIT_TYPE, index_line, read_line, with_checksum, without_checksum
from gossamer.store.files import GrowingFile, cut, remove, replacing
from gossamer.store.scanning import Record, scan
from gossamer.store.warc import EMPTY_OPENING, GZIP_TRAILER, OPENING_BYTES, new_record_id, opening, warcinfo

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from gossamer.records import PageRow
    from gossamer.store.warc import RecordOpening


class Segments:
    """A worker's segments: the open one, and those that are full but not yet synced.

    `keep` may be called from one thread and the rest from another: `keep` only adds, the record before its line.
    """

    def __init__(
        self,
        folder: Path,
        stems: names.Stems,
        family: names.SegmentNames,
        *,
        clock: Callable[[], float],  # Unix seconds
        max_bytes: int,
        about: Mapping[str, str],  # the fields of the first record
    ) -> None:
        self.full: list[_Segment] = []  # and not yet synced and handed on
        self._folder = folder
        self._stems = stems
        self._family = family
        self._clock = clock
        self._max_bytes = max_bytes
        self._about = about
        self._open: _Segment | None = None

    def keep(self, row: PageRow, archive: bytes, response_offset: int, *, is_revisit: bool = False) -> PageRow:
        """Add a page's records; return its row with their place."""
        segment = self._open
        if segment is not None and segment.size + len(archive) > self._max_bytes:
            self.full.append(segment)  # before it stops being the open one: `sync` must find it in either place
            segment = None
        if segment is None:
            now = self._clock()
            path = self._family.path(self._folder, self._stems.next(now))
            segment = _Segment(path, self._about, now)
            self._open = segment
        return segment.keep(row, archive, response_offset, is_revisit=is_revisit)

    def sync(self) -> None:
        """Write and sync everything that was kept before this call; if that fails, raise OSError and keep it."""
        segment = self._open  # read before `full`: it may move there at any moment
        for full in self.full[:]:
            full.sync()
        if segment is not None:
            segment.sync()

    def take_full(self) -> list[Path]:
        """Close the segments that are full and synced, and return their paths, to be indexed."""
        synced = [segment for segment in self.full[:] if segment.is_synced()]
        for segment in synced:
            segment.close()
            self.full.remove(segment)
        return [segment.path for segment in synced]

    def end(self) -> None:
        """Treat the open segment as full."""
        if self._open is not None:
            self.full.append(self._open)
            self._open = None

    def close(self) -> None:
        """Close all files; what was not synced is lost."""
        self.end()
        for segment in self.full:
            segment.close()


class _Segment:
    """One segment and its open index."""

    def __init__(self, path: Path, about: Mapping[str, str], now: float) -> None:
        record_id = new_record_id()
        info = warcinfo(path.name, now, about, record_id)
        self.path = path
        self.size = len(info)  # including what is not yet synced
        self._opening = opening(record_id)
        self._records = GrowingFile(path)
        self._lines = GrowingFile(names.open_index_of(path))
        self._records.add(info)

    def keep(self, row: PageRow, archive: bytes, response_offset: int, *, is_revisit: bool) -> PageRow:
        row = row._replace(
            warc_file=self.path.name,
            warc_offset=self.size + response_offset,
            warc_length=len(archive) - response_offset,
        )
        self.size += len(archive)
        archive = with_warcinfo(archive, response_offset, self._opening)
        line = with_checksum(line_of(row._replace(content_type=REVISIT_TYPE) if is_revisit else row))
        self._records.add(archive)
        self._lines.add(line)
        return row

    def sync(self) -> None:
        lines = self._lines.waiting()  # counted first: each one's record was added before it
        self._records.sync(self._records.waiting())
        self._lines.sync(lines)

    def is_synced(self) -> bool:
        return not self._records.waiting() and not self._lines.waiting()

    def close(self) -> None:
        self._records.close()
        self._lines.close()


def with_warcinfo(archive: bytes, response_offset: int, own: RecordOpening) -> bytes:
    """Return the records of an exchange with the opening of their segment, without deflating them again.

    The records stay as long as they are. Bytes that are no such records are returned as they are: a page process sent
    them, which a page may have taken over.
    """
    starts = archive.startswith(EMPTY_OPENING), archive.startswith(EMPTY_OPENING, response_offset)
    if response_offset < len(EMPTY_OPENING) or not all(starts):
        return archive
    request, response = memoryview(archive)[:response_offset], memoryview(archive)[response_offset:]
    return b"".join((*_reopened(request, own), *_reopened(response, own)))


def _reopened(member: memoryview, own: RecordOpening) -> tuple[bytes | memoryview, ...]:
    """Return the pieces of a gzip member with another opening."""
    crc, size = GZIP_TRAILER.unpack(member[-GZIP_TRAILER.size :])
    crc ^= isal_zlib.crc32_combine(own.crc_change, 0, size - OPENING_BYTES)  # a checksum is linear
    return own.member, member[len(own.member) : -GZIP_TRAILER.size], GZIP_TRAILER.pack(crc, size)


def line_of(row: PageRow) -> bytes:
    """Return the index line of an archived page."""
    return index_line(
        url=row.url,
        at=row.fetched_at,
        status=row.status,
        content_type=row.content_type,
        digest=row.payload_digest,
        offset=row.warc_offset,
        length=row.warc_length,
        filename=row.warc_file,
    )


def finish_segment(segment: Path) -> int:
    """Write the index of a closed segment; return how many torn bytes were cut off its end.

    Records in the open index are not read again. The rest is scanned (everything if there is no open index): a crash
    may have left records without a line, and a part of a record at the end. Damage further inside does not come from
    a crash; `checking` reports it. This may be interrupted anywhere and repeated.
    """
    cut_bytes = 0
    if not names.index_of(segment).exists():
        lines, start, synced = _read_open_index(segment)
        for found in scan(segment, start):
            if isinstance(found, Record):
                line = found.index_line(segment.name)
                lines += [line] if line else []
            elif found.is_tail and found.offset >= synced:
                cut(segment, found.offset)
                cut_bytes = found.length
        if segment.stat().st_size:
            with replacing(names.index_of(segment)) as file:
                file.writelines(sorted(lines))
    remove(names.open_index_of(segment))
    if not segment.stat().st_size:  # not even its first record was complete
        remove(segment)
    return cut_bytes


def _read_open_index(segment: Path) -> tuple[list[bytes], int, int]:
    """Return the lines of records that the segment holds, where to read on, and how much of the segment was synced.

    If a line is damaged, the whole segment is to be read again.
    """
    lines, end, size, is_damaged = [], 0, segment.stat().st_size, False
    try:
        with names.open_index_of(segment).open("rb") as file:
            for raw in file:
                line = without_checksum(raw)
                details = line and read_line(line)
                if not line or not details:
                    is_damaged = is_damaged or raw.endswith(b"\n")  # a torn line at the end is usual after a crash
                    continue
                line_end = int(details["offset"]) + int(details["length"])
                if line_end <= size:
                    lines.append(line)
                    end = max(end, line_end)
    except OSError:  # there is none, or something else is in its place
        pass
    return ([], 0, end) if is_damaged else (lines, end, end)
