"""A file of which ranges are read, by several threads at once."""

from __future__ import annotations

import io
import os
import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

AHEAD_BYTES: Final = 8 << 20  # read at most ahead of a program that reads a file from its begin to its end


class _Place(threading.local):
    """Where a thread is in a file. DuckDB lets its threads share a file, and each of them seeks before it reads."""

    at = 0
    ahead = b""  # read, and not asked for yet; begins at `ahead_at`
    ahead_at = -1
    next_bytes = 0  # to read ahead


class RangeReader(io.RawIOBase):
    """A file to read: each read is one request, for as much as is asked for; in sequence, for more and more."""

    def __init__(self, read_range: Callable[[int, int], bytes], size: int) -> None:
        """`read_range` returns a range, given its start and its length."""
        super().__init__()
        self.size = size
        self._read_range = read_range
        self._place = _Place()

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return that any range can be read."""
        return True

    def tell(self) -> int:
        """Return where the next read begins."""
        return self._place.at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place; this asks for nothing."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place.at, io.SEEK_END: self.size}[whence]
        self._place.at = max(0, start + offset)
        return self._place.at

    def readinto(self, buffer: Any) -> int:
        """Read as many bytes as there is room for."""
        data = self._read(len(memoryview(buffer).cast("B")))
        memoryview(buffer).cast("B")[: len(data)] = data
        return len(data)

    def read(self, size: int | None = -1) -> bytes:
        """Return this many bytes, or all that follow."""
        return self._read(self.size if size is None or size < 0 else size)

    def readall(self) -> bytes:
        """Return all bytes that follow."""
        return self._read(self.size)

    def _read(self, length: int) -> bytes:
        place = self._place
        length = min(length, self.size - place.at)
        if length <= 0:
            return b""
        skipped = place.at - place.ahead_at
        if not (skipped >= 0 and skipped + length <= len(place.ahead)):
            is_in_sequence = place.at == place.ahead_at + len(place.ahead)
            place.next_bytes = min(AHEAD_BYTES, 2 * max(place.next_bytes, length)) if is_in_sequence else 0
            wanted = min(max(length, place.next_bytes), self.size - place.at)
            place.ahead, place.ahead_at, skipped = self._read_range(place.at, wanted), place.at, 0
        data = place.ahead[skipped : skipped + length]
        place.at += len(data)
        return data


class LocalRangeReader(RangeReader):
    """A file of this machine, read the same way."""

    def __init__(self, descriptor: int) -> None:
        """It closes the descriptor."""
        self._descriptor = descriptor
        super().__init__(self._pread, os.fstat(descriptor).st_size)

    @classmethod
    def open(cls, path: Path) -> LocalRangeReader:
        """Open a file; raise OSError if there is none."""
        return cls(os.open(path, os.O_RDONLY | os.O_CLOEXEC))

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            os.close(self._descriptor)
        super().close()

    def _pread(self, start: int, length: int) -> bytes:
        pieces = []
        while length and (piece := os.pread(self._descriptor, length, start)):
            pieces.append(piece)
            start, length = start + len(piece), length - len(piece)
        return b"".join(pieces)
