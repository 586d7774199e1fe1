"""Ranges of objects that were read lately, in a bounded amount of memory: a query reads some of its columns twice.

An object never changes, so that a range of it stays true.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gossamer.bucket.objects import Bucket

MAX_BYTES: Final = 64 << 20
_LARGEST_BYTES: Final = 4 << 20  # a larger range is text, or a file that is read from its begin to its end


class RangeCache:
    """Reads ranges of the objects of a bucket; the range that was not used for longest is forgotten first."""

    def __init__(self, bucket: Bucket, max_bytes: int = MAX_BYTES) -> None:
        self._bucket = bucket
        self._left_bytes = max_bytes
        self._lock = threading.Lock()
        self._ranges: OrderedDict[tuple[str, int], bytes] = OrderedDict()  # by key and start
        self._starts: defaultdict[str, set[int]] = defaultdict(set)  # by key

    def read(self, key: str, start: int, length: int) -> bytes:
        """Return a range of an object."""
        with self._lock:
            if (found := self._find(key, start, length)) is not None:
                return found
        data = self._bucket.read_range(key, start, length)
        if len(data) <= _LARGEST_BYTES:
            with self._lock:
                self._keep(key, start, data)
        return data

    def _find(self, key: str, start: int, length: int) -> bytes | None:
        for begin in self._starts.get(key, ()):
            data = self._ranges[key, begin]
            if begin <= start and start + length <= begin + len(data):
                self._ranges.move_to_end((key, begin))
                return data[start - begin : start - begin + length]
        return None

    def _keep(self, key: str, start: int, data: bytes) -> None:
        self._left_bytes += len(self._ranges.pop((key, start), b"")) - len(data)
        self._ranges[key, start] = data
        self._starts[key].add(start)
        while self._left_bytes < 0:
            (old_key, old_start), old = self._ranges.popitem(last=False)
            self._starts[old_key].discard(old_start)
            self._left_bytes += len(old)
