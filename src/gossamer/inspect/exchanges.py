"""Reads archived exchanges byte for byte: a page's request and response records from their segment."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, BinaryIO

from gossamer.inspect.folder_errors import damaged
from gossamer.store import names
from gossamer.store.cdxj import read_line
from gossamer.store.scanning import record_at

if TYPE_CHECKING:
    from pathlib import Path

_MAX_KNOWN = 8  # segments whose index is in memory: the rows of a part refer to very few


class Exchanges:
    """Finds the records of pages. A row names the response; its request is the record before it."""

    def __init__(self) -> None:
        self._segments: dict[Path, _Segment] = {}  # the one used last is last

    def find(self, folder: Path, warc_file: str, offset: int, length: int) -> bytes:
        """Return the gzip members of a request, if there is one, and its response."""
        segment = folder / names.WARC / warc_file
        try:
            return self._segment(segment).exchange(offset, length)
        except FileNotFoundError:
            raise damaged(f"{segment} does not exist", folder) from None
        except EOFError:
            raise damaged(f"{segment} has no complete record at {offset}", folder) from None

    def _segment(self, path: Path) -> _Segment:
        segment = self._segments.pop(path, None) or _Segment(path)
        self._segments[path] = segment
        if len(self._segments) > _MAX_KNOWN:
            del self._segments[next(iter(self._segments))]
        return segment


class _Segment:
    """A segment and where its responses end, by its index: between two responses is one request."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ends = [0, *sorted(_response_ends(path))]

    def exchange(self, offset: int, length: int) -> bytes:
        with self._path.open("rb") as file:
            start = self._request_before(file, offset)
            file.seek(start)
            members = file.read(offset + length - start)
        if len(members) < offset + length - start:
            raise EOFError
        return members

    def _request_before(self, file: BinaryIO, offset: int) -> int:
        """Return where the request of the response at `offset` begins, or `offset` if it has none.

        Records that are not in the index (the newest of a running crawl) are read one by one.
        """
        at = self._ends[bisect_right(self._ends, offset) - 1]
        while at < offset:
            record = record_at(file, at)
            if record is None:
                return offset
            if at + record.length == offset and record.headers.get("warc-type") == "request":
                return at
            at += record.length
        return offset


def _response_ends(segment: Path) -> list[int]:
    for index in (names.index_of(segment), names.open_index_of(segment)):
        try:
            with index.open("rb") as lines:
                return _ends(lines)
        except OSError:  # there is none, or `verify` says what is wrong with it
            continue
    return []


def _ends(lines: BinaryIO) -> list[int]:
    return [int(said["offset"]) + int(said["length"]) for said in map(read_line, lines) if said]
