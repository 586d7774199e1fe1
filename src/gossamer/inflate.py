"""Undoes content encodings within a cap on what comes out. Pure; never raises, whatever the bytes.

What cannot be read to its end yields what could be read. A bomb costs no more than the cap lets it: about
`max_bytes` in memory for each layer (brotli and zstd may go to the next power of two, or 16 MB beyond), and
the time to write them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import brotli
import zstandard
from isal import isal_zlib

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_LAYERS: Final = 4  # honest servers encode once; hostile ones may nest encodings
MAX_MEMBERS: Final = 1_000  # gzip members or zstd frames in a body; the rest is left out

_PIECE_BYTES: Final = 4_096  # at most so much input before the damage in a stream is lost
# The zstd library has no cap on output, so it gets little at a time: four bytes can stand for 128 KB.
_ZSTD_PIECE_BYTES: Final = 512
_ZSTD_WINDOW_BYTES: Final = 8 << 20  # RFC 9659: what a content encoding may ask of its reader's memory

_GZIP_MAGIC: Final = b"\x1f\x8b"
_ZSTD_MAGICS: Final = (b"\x28\xb5\x2f\xfd", *(bytes((n, 0x2A, 0x4D, 0x18)) for n in range(0x50, 0x60)))
_NO_ENCODING: Final = frozenset({"", "identity", "none"})
_ERRORS: Final[tuple[type[Exception], ...]] = (
    isal_zlib.error,  # type: ignore[assignment]  # it is a class, though its stub says otherwise
    brotli.error,
    zstandard.ZstdError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inflated:
    """A body without its content encodings."""

    body: bytes
    truncated: bool  # there was more: cut at the cap, or the stream stopped early or was damaged


@dataclass(frozen=True, slots=True, kw_only=True)
class NotInflated:
    """A body whose encoding is unknown, or that does not have the encoding it claims."""

    detail: str


def inflate(body: bytes, encodings: str, *, max_bytes: int) -> Inflated | NotInflated:
    """Undo the encodings that a Content-Encoding header names, the last one first."""
    layers = [name for name in (part.strip().lower() for part in encodings.split(",")) if name not in _NO_ENCODING]
    if len(layers) > MAX_LAYERS:
        return NotInflated(detail=f"{len(layers)} content encodings on top of each other")
    truncated = False
    for name in reversed(layers):
        if name not in _DECODERS:
            return NotInflated(detail=f"unknown content encoding {name[:40]!r}")
        if not body:
            break  # servers send `gzip` with empty bodies too
        found = _DECODERS[name](body, max_bytes)
        if not found.body and found.truncated:
            return NotInflated(detail=f"not {name}, or cut before anything could be read")
        body, truncated = found.body, truncated or found.truncated
    if len(body) > max_bytes:
        return Inflated(body=body[:max_bytes], truncated=True)
    return Inflated(body=body, truncated=truncated)


class _Stream(Protocol):
    """A decoder of one gzip member, zstd frame or brotli stream."""

    def feed(self, data: bytes | memoryview, room_bytes: int) -> bytes:
        """Return the decoded data, at most about `room_bytes`; a stream that fills the room is not used again."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the stream has ended."""
        ...

    @property
    def unused_bytes(self) -> int:
        """How many bytes of the last data follow the end of the stream."""
        ...


class _Deflate:
    def __init__(self, window_bits: int) -> None:
        self._inner = isal_zlib.decompressobj(window_bits)

    def feed(self, data: bytes | memoryview, room_bytes: int) -> bytes:
        return self._inner.decompress(data, room_bytes)

    @property
    def ended(self) -> bool:
        return self._inner.eof

    @property
    def unused_bytes(self) -> int:
        return len(self._inner.unused_data)


class _Brotli:
    unused_bytes = 0  # bytes behind the end are an error to this library

    def __init__(self) -> None:
        self._inner = brotli.Decompressor()

    def feed(self, data: bytes | memoryview, room_bytes: int) -> bytes:
        first: bytes = self._inner.process(data, output_buffer_limit=room_bytes)
        parts, got_bytes = [first], len(first)
        while got_bytes < room_bytes and not self._inner.is_finished():  # a truncated stream has a rest
            part = self._inner.process(b"", output_buffer_limit=room_bytes - got_bytes)
            if not part:
                break
            parts.append(part)
            got_bytes += len(part)
        return b"".join(parts)

    @property
    def ended(self) -> bool:
        return bool(self._inner.is_finished())


class _Zstd:
    def __init__(self) -> None:
        self._inner = _ZSTD.decompressobj()

    def feed(self, data: bytes | memoryview, room_bytes: int) -> bytes:  # noqa: ARG002  (the pieces are small)
        return self._inner.decompress(data)

    @property
    def ended(self) -> bool:
        return self._inner.eof

    @property
    def unused_bytes(self) -> int:
        return len(self._inner.unused_data)


_ZSTD: Final = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)


def _gunzip(body: bytes, max_bytes: int) -> Inflated:
    return _whole(lambda: _Deflate(31), body, max_bytes, magics=(_GZIP_MAGIC,))


def _undeflate(body: bytes, max_bytes: int) -> Inflated:
    """Read `deflate`, which means zlib's format, but which some servers send without its header."""
    found = _whole(lambda: _Deflate(15), body, max_bytes)
    if not found.body and found.truncated:
        found = _whole(lambda: _Deflate(-15), body, max_bytes)
    return found


def _unbrotli(body: bytes, max_bytes: int) -> Inflated:
    return _whole(_Brotli, body, max_bytes)


def _unzstd(body: bytes, max_bytes: int) -> Inflated:
    return _piecewise(_Zstd, body, max_bytes, piece_bytes=_ZSTD_PIECE_BYTES, magics=_ZSTD_MAGICS)


_DECODERS: Final[dict[str, Callable[[bytes, int], Inflated]]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _undeflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}


def _whole(start: Callable[[], _Stream], body: bytes, max_bytes: int, *, magics: tuple[bytes, ...] = ()) -> Inflated:
    """Decode a body as one stream at once, and again in pieces if that fails."""
    stream = start()
    try:
        found = stream.feed(body, max_bytes + 1)
    except _ERRORS:
        return _piecewise(start, body, max_bytes, piece_bytes=_PIECE_BYTES, magics=magics)
    if stream.unused_bytes and body.startswith(magics, len(body) - stream.unused_bytes):
        return _piecewise(start, body, max_bytes, piece_bytes=_PIECE_BYTES, magics=magics)
    return Inflated(body=found, truncated=not stream.ended)


def _piecewise(
    start: Callable[[], _Stream], body: bytes, max_bytes: int, *, piece_bytes: int, magics: tuple[bytes, ...]
) -> Inflated:
    """Decode streams that follow each other, up to the first error; bytes after the last stream are ignored."""
    view = memoryview(body)
    parts: list[bytes] = []
    at, got_bytes, members = 0, 0, 1
    stream = start()
    while at < len(body) and got_bytes <= max_bytes:
        piece = view[at : at + piece_bytes]
        try:
            part = stream.feed(piece, max_bytes + 1 - got_bytes)
        except _ERRORS:
            return Inflated(body=b"".join(parts), truncated=True)
        parts.append(part)
        got_bytes += len(part)
        at += len(piece)
        if stream.ended:
            at -= stream.unused_bytes
            if not body.startswith(magics, at):
                break
            members += 1
            if members > MAX_MEMBERS:
                return Inflated(body=b"".join(parts), truncated=True)
            stream = start()
    return Inflated(body=b"".join(parts), truncated=not stream.ended)
