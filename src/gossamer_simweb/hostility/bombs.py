"""Small files that inflate to large ones. Pure."""

from __future__ import annotations

import struct
import zlib
from functools import lru_cache

import brotli
import zstandard
from isal import isal_zlib

BOMB_BYTES = 64_000_000
_BLOCK_BYTES = 1_000_000


def _block(line: bytes) -> bytes:
    return line * (_BLOCK_BYTES // len(line))


def _deflated(data: bytes) -> bytes:
    """Return a piece of a deflate stream that can stand anywhere in it, any number of times."""
    stream = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return stream.compress(data) + stream.flush(zlib.Z_FULL_FLUSH)


@lru_cache(maxsize=8)
def gzip_bomb(line: bytes, size_bytes: int = BOMB_BYTES, start: bytes = b"") -> bytes:
    """Return a gzip file that inflates to one line, over and over."""
    block = _block(line)
    times = size_bytes // len(block)
    checksum = zlib.crc32(start)
    for _ in range(times):
        checksum = zlib.crc32(block, checksum)
    sizes = struct.pack("<II", checksum, (len(start) + times * len(block)) % (1 << 32))
    return _GZIP_HEAD + _deflated(start) + _deflated(block) * times + _LAST_BLOCK + sizes


@lru_cache(maxsize=1)
def deflate_bomb(line: bytes) -> bytes:
    """Return the same in the format of zlib."""
    block = _block(line)
    times = BOMB_BYTES // len(block)
    checksum = 1
    for _ in range(times):
        checksum = zlib.adler32(block, checksum)
    return b"\x78\xda" + _deflated(block) * times + _LAST_BLOCK + struct.pack(">I", checksum)


@lru_cache(maxsize=1)
def brotli_bomb(line: bytes) -> bytes:
    """Return the same in brotli: a few hundred bytes."""
    return bytes(brotli.compress(_block(line) * (BOMB_BYTES // _BLOCK_BYTES), quality=1, lgwin=24))


@lru_cache(maxsize=1)
def zstd_bomb(line: bytes) -> bytes:
    """Return the same in zstd."""
    return zstandard.ZstdCompressor(level=1).compress(_block(line) * (BOMB_BYTES // _BLOCK_BYTES))


@lru_cache(maxsize=1)
def gzip_members(count: int) -> bytes:
    """Return this many small gzip files in a row, which is one gzip file."""
    return isal_zlib.compress(b"<p>member</p>\n", 1, zlib.MAX_WBITS | 16) * count


@lru_cache(maxsize=1)
def gzip_layers(data: bytes, layers: int) -> bytes:
    """Return data that was compressed this many times."""
    for _ in range(layers):
        data = isal_zlib.compress(data, 1, zlib.MAX_WBITS | 16)
    return data


def gzip_page(data: bytes) -> bytes:
    """Compress a page."""
    return isal_zlib.compress(data, 1, zlib.MAX_WBITS | 16)


_GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_LAST_BLOCK = b"\x03\x00"  # an empty one
