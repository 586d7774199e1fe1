"""Finds pages with the same content as a page stored before. Pure.

A cache: a worker knows only the pages that it stored itself since it started, and forgets those that it has not met
for longest. A duplicate that it does not recognise is stored like any other page.
"""

from __future__ import annotations

from array import array
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from gossamer.records import PageRow

_HEAD: Final = Struct("<16sdHH")  # content hash, time of fetching, lengths of the URL and the digest that follow
_BYTES_PER_PLACE: Final = 32  # a quarter of a record's size, so that few records share a slot
_NOWHERE: Final = -1  # an empty slot


class Original(NamedTuple):
    """A stored page of which others may be duplicates."""

    url: str
    fetched_at: float  # Unix seconds
    payload_digest: str  # empty if it was not archived


class DuplicateIndex:
    """An index of recently met contents in a fixed amount of memory, allocated at the start.

    Records are in a ring buffer; the newest overwrites the oldest. A hash table of slots holds where each record
    begins, counted in all bytes ever written; a new entry overwrites the old entry of its slot.
    """

    def __init__(self, max_bytes: int) -> None:
        places = 1 << (max_bytes // _BYTES_PER_PLACE).bit_length() >> 1
        self._places = array("q", [_NOWHERE]) * places
        self._size = max_bytes - 8 * places
        self._ring = bytearray(b"\xff") * self._size
        self._end = 0

    def take(self, row: PageRow, *, is_archived: bool) -> Original | None:
        """Return another page with the same content; if the index knows none, add this one, which is stored now."""
        original = self.find(row)
        if original is None:
            self.note(row, is_archived=is_archived)
        return original

    def find(self, row: PageRow) -> Original | None:
        """Return another page with the same content, if the index knows one. The index keeps it for longer then."""
        if not _is_comparable(row) or (begin := self._begin_of(row.content_hash)) is None:
            return None
        original = self._read(begin)
        if original.url == row.url:
            return None
        if begin < self._end - self._size // 2:  # renew it, so that it is not forgotten soon
            self._write(row.content_hash, original)
        return original

    def note(self, row: PageRow, *, is_archived: bool = True) -> None:
        """Add a page that is stored and is no duplicate."""
        if _is_comparable(row):
            digest = row.payload_digest if is_archived else ""
            self._write(row.content_hash, Original(row.url, row.fetched_at, digest))

    def _place(self, content_hash: bytes) -> int:
        return int.from_bytes(content_hash[:8], "little") & (len(self._places) - 1)

    def _begin_of(self, content_hash: bytes) -> int | None:
        """Return where the record of a content begins, if it was not overwritten."""
        if not self._places:
            return None
        begin = self._places[self._place(content_hash)]
        if begin == _NOWHERE or begin < self._end - self._size:
            return None
        at = begin % self._size
        return begin if self._ring[at : at + len(content_hash)] == content_hash else None

    def _read(self, begin: int) -> Original:
        at = begin % self._size
        _, fetched_at, url_bytes, digest_bytes = _HEAD.unpack_from(self._ring, at)
        url_at = at + _HEAD.size
        digest_at = url_at + url_bytes
        url = self._ring[url_at:digest_at].decode()
        return Original(url, fetched_at, self._ring[digest_at : digest_at + digest_bytes].decode())

    def _write(self, content_hash: bytes, original: Original) -> None:
        url, digest = original.url.encode(), original.payload_digest.encode()
        record = _HEAD.pack(content_hash, original.fetched_at, len(url), len(digest)) + url + digest
        if len(record) > self._size:
            return
        at = self._end % self._size
        if at + len(record) > self._size:  # a record never wraps around the end
            self._end += self._size - at
            at = 0
        self._ring[at : at + len(record)] = record
        self._places[self._place(content_hash)] = self._end
        self._end += len(record)


def _is_comparable(row: PageRow) -> bool:
    """Return whether a page's content can be compared: not if it is empty or truncated."""
    return bool(row.body_bytes and row.content_hash and not row.truncated)
