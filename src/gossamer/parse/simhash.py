"""Simhash: a fingerprint of 64 bits. Texts that are nearly the same differ in few bits. Pure.

Each run of three words has a hash of 64 bits. A bit of the fingerprint is 1 if it is 1 in most of these hashes. Only
the first words count, so that a long text costs no more than a short one.
"""

from __future__ import annotations

from typing import Final

from xxhash import xxh3_64_digest

MAX_WORDS: Final = 128

_MAX_CHARS: Final = 16 * MAX_WORDS  # if words are longer on average, fewer of them count
_HASH_BYTES: Final = 8
# A run's hash: the hash of its first word, xor those of the next two, each shifted, so that order matters.
_NEXT_BITS: Final = 64 + 21


def _word_bytes() -> bytes:
    """Return a translation table for bytes of UTF-8: to lower case, and to a blank where a word ends.

    For languages without blanks (Chinese, Japanese, Thai), words end at some bytes that occur every few characters.
    """
    table = bytearray(bytes(range(256)).lower())
    for byte in range(0x80):
        if not chr(byte).isalnum():
            table[byte] = ord(" ")
    for byte in range(0x80, 0x88):
        table[byte] = ord(" ")
    return bytes(table)


_WORD_BYTES: Final = _word_bytes()
_BITS: Final = [int.from_bytes(bytes([1 << bit]) * MAX_WORDS) for bit in range(7, -1, -1)]  # one bit of every byte


def simhash(text: str) -> int:
    """Return the fingerprint of a text; 0 if it has no words."""
    words = text[:_MAX_CHARS].encode("utf-8", "replace").translate(_WORD_BYTES).split(None, MAX_WORDS)[:MAX_WORDS]
    hashes = b"".join(map(xxh3_64_digest, words))
    # One number holds all hashes: three Python operations instead of thousands.
    all_hashes = int.from_bytes(hashes)
    all_hashes ^= all_hashes >> _NEXT_BITS ^ all_hashes >> 2 * _NEXT_BITS
    hashes = all_hashes.to_bytes(len(hashes))
    half = len(words) // 2
    columns = [int.from_bytes(hashes[place::_HASH_BYTES]) for place in range(_HASH_BYTES)]
    return int("".join(["01"[(column & bit).bit_count() > half] for column in columns for bit in _BITS]), 2)
