"""Finds the frames of a journal, and says which damage is rot. `journals` writes frames and says what they hold.

A reader can tell rot from a crash: damage that a later frame calls synced was complete once. Damage that none calls
synced is the torn end that a crash leaves.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from xxhash import xxh3_64_intdigest

from gossamer.store.journals import HEADER, HEADER_BYTES, MARK, SUM

if TYPE_CHECKING:
    from collections.abc import Iterator

_WINDOW_BYTES: Final = 1 << 20  # searched at a time for the next frame


class _Header(NamedTuple):
    """What a frame says about itself."""

    synced: int
    length: int  # of the payload
    rows: int
    checksum: int  # of the payload


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A complete frame."""

    offset: int
    rows: int
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenRange:
    """A range of a journal that holds no complete frame."""

    offset: int
    length: int
    rows: int | None  # lost; None: unknown
    is_rot: bool  # it was synced and has changed since; else a crash may have left it so
    is_cut: bool = False  # the file ends inside a frame, as it does if the process is killed while it writes


class JournalFrames:
    """Reads a journal's frames; `read` may be repeated for a journal that has grown, and yields only what is new.

    After `read`, `is_sealed` says whether the file ends as a sync leaves it.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._read_to = 0  # all before is read
        self.is_sealed = False

    def read(self) -> Iterator[Frame | BrokenRange]:
        """Yield complete frames, and ranges of rot in their place; at the end, ranges that a crash may have left."""
        size = os.fstat(self._file.fileno()).st_size
        at, doubtful = self._read_to, list[BrokenRange]()
        self.is_sealed = False
        while at < size:
            header = self._header_at(at)
            if header is None:
                end = self._next_header(at + 1, size)
                is_cut = size - at < HEADER_BYTES
                doubtful.append(BrokenRange(offset=at, length=end - at, rows=None, is_rot=False, is_cut=is_cut))
                at = end
                continue
            yield from (replace(broken, is_rot=True) for broken in doubtful if broken.offset < header.synced)
            doubtful = [broken for broken in doubtful if broken.offset >= header.synced]
            end = at + HEADER_BYTES + header.length
            if not header.length:
                self.is_sealed = end == size and not doubtful
            elif (payload := self._payload(header)) is not None:
                if not doubtful:
                    self._read_to = end
                yield Frame(offset=at, rows=header.rows, payload=payload)
            else:
                is_cut = end > size
                end = end if self._header_at(end) else self._next_header(at + 1, size)
                doubtful.append(BrokenRange(offset=at, length=end - at, rows=header.rows, is_rot=False, is_cut=is_cut))
            at = end
        yield from doubtful

    def has_end_frame(self) -> bool:
        """Return whether the file ends as a sync leaves it."""
        at = os.fstat(self._file.fileno()).st_size - HEADER_BYTES
        header = self._header_at(at) if at >= 0 else None
        return header is not None and not header.length

    def _payload(self, header: _Header) -> bytes | None:
        """Return the payload that follows the header just read, or None if it is incomplete or has changed."""
        payload = self._file.read(header.length)
        is_whole = len(payload) == header.length and xxh3_64_intdigest(payload) == header.checksum
        return payload if is_whole else None

    def _header_at(self, offset: int) -> _Header | None:
        """Return the header at an offset, or None if there is no complete one."""
        self._file.seek(offset)
        data = self._file.read(HEADER_BYTES)
        if len(data) < HEADER_BYTES or SUM.unpack_from(data, HEADER.size)[0] != xxh3_64_intdigest(data[: HEADER.size]):
            return None
        mark, own_offset, *said = HEADER.unpack_from(data)
        return _Header(*said) if (mark, own_offset) == (MARK, offset) else None

    def _next_header(self, start: int, size: int) -> int:
        """Return where the next complete header begins, or the file's end."""
        while start < size:
            self._file.seek(start)
            window = self._file.read(_WINDOW_BYTES)
            place = window.find(MARK)
            if place < 0:
                start += max(1, len(window) - len(MARK) + 1)
            elif self._header_at(start + place) is not None:
                return start + place
            else:
                start += place + 1
        return size
