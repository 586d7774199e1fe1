"""Which contents have been stored of late, to know a page that has the same as another. Pure.

A cache, never the truth: a worker knows only what it has stored itself since it started, and forgets what it has not
met for longest. A duplicate that is not known for one is stored like any other page.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from gossamer.records import PageRow

_ENTRY_BYTES: Final = 500  # what an entry takes of memory beside the characters of its URL


class Original(NamedTuple):
    """A stored page by whose content others are known."""

    url: str
    fetched_at: float  # Unix seconds
    payload_digest: str  # empty if it was not archived


class Contents:
    """The contents that were met last, exactly, within so many bytes of memory."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._originals: OrderedDict[bytes, Original] = OrderedDict()  # by content hash; the one met last is last

    def __len__(self) -> int:
        return len(self._originals)

    def find(self, row: PageRow) -> Original | None:
        """Return another page that has the content of this one, if such a page is known."""
        if not _is_comparable(row):
            return None
        original = self._originals.get(row.content_hash)
        if original is None or original.url == row.url:
            return None
        self._originals.move_to_end(row.content_hash)
        return original

    def note(self, row: PageRow) -> None:
        """Know a page from now on: one that was stored, and is no duplicate."""
        if not _is_comparable(row):
            return
        if replaced := self._originals.pop(row.content_hash, None):
            self._bytes -= _size(replaced)
        digest = row.payload_digest if row.warc_file else ""
        self._originals[row.content_hash] = new = Original(row.url, row.fetched_at, digest)
        self._bytes += _size(new)
        while self._bytes > self._max_bytes:
            _, oldest = self._originals.popitem(last=False)
            self._bytes -= _size(oldest)


def _is_comparable(row: PageRow) -> bool:
    """Tell whether a page has a content to compare: what is incomplete has none, and what is empty says nothing."""
    return bool(row.body_bytes and row.content_hash and not row.truncated)


def _size(original: Original) -> int:
    return _ENTRY_BYTES + len(original.url)
