"""Frames: what a journal consists of. Each has a checksum, says where it begins, and how much was synced before it.

    mark, offset, synced, length, rows, checksum of the payload, checksum of the header; then the payload

A frame is written by one sync. `synced` is how much of the file was durable when the frame was made, so that a reader
can tell rot from a crash: damage that a later frame calls synced was complete once. Damage that none calls synced is
the torn end that a crash leaves. After every sync a frame without a payload follows, unsynced, which the next frame
overwrites: it calls the last frame synced, too, also if the process is killed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from struct import Struct
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from xxhash import xxh3_64, xxh3_64_intdigest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MARK: Final = b"\xd5GSMRJ1\n"
_HEADER: Final = Struct("<8sQQQQQ")
_SUM: Final = Struct("<Q")
HEADER_BYTES: Final = _HEADER.size + _SUM.size
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


def encode_frame(payload: Sequence[bytes], *, offset: int, synced: int, rows: int) -> bytes:
    """Return a frame for this offset of a file of which `synced` bytes are durable."""
    checksum = xxh3_64()
    for piece in payload:
        checksum.update(piece)
    header = _HEADER.pack(MARK, offset, synced, sum(map(len, payload)), rows, checksum.intdigest())
    return b"".join((header, _SUM.pack(xxh3_64_intdigest(header)), *payload))


def end_frame(length: int) -> bytes:
    """Return the frame that follows a sync: all `length` bytes of the file are durable."""
    return encode_frame((), offset=length, synced=length, rows=0)


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
        if len(data) < HEADER_BYTES or _SUM.unpack_from(data, _HEADER.size)[0] != xxh3_64_intdigest(
            data[: _HEADER.size]
        ):
            return None
        mark, own_offset, *said = _HEADER.unpack_from(data)
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
