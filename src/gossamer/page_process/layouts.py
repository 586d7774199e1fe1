"""Layouts of messages: a fixed number of fields of fixed types, without nesting. Pure.

A message that does not have exactly its layout is refused before any value is built from it. A hostile page may have
taken over the process that sent it, so `marshal`, `pickle` or anything else that follows the message's own description
of itself must not read it.

    numbers, lengths of the texts, bytes and lists       all of fixed size
    texts, bytes and lists                               one after the other, to the end of the message
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from gossamer.records.rows import HASH_BYTES, ColumnType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_ITEMS: Final = 50_000  # of a list: as many as a sitemap may have; a page has fewer links
LATEST_S: Final = 253_402_300_799.0  # Unix seconds: the end of the year 9999, beyond which no library can write a time

_SEPARATOR: Final = "\0"  # of the items of a list: no URL contains it, and an HTML parser removes it from texts


class FrameError(ValueError):
    """A message that does not have its layout."""


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """The type of a field. Numbers have a code of `struct`; of all else, only the length is there."""

    code: str
    encode: Callable[[Any], bytes] | None = None
    decode: Callable[[memoryview], Any] | None = None


class Layout:
    """The types of a message's fields, in order."""

    def __init__(self, *fields: Field) -> None:
        self._fixed = struct.Struct("<" + "".join(field.code for field in fields))
        self._count = len(fields)
        self._encoders = [(place, field.encode) for place, field in enumerate(fields) if field.encode]
        self._decoders = [(place, field.decode) for place, field in enumerate(fields) if field.decode]
        self._times = [place for place, field in enumerate(fields) if field is TIME]

    def pack(self, values: Sequence[Any]) -> bytes:
        """Return a message; raise an exception if a value does not have its type."""
        fixed, parts = list(values), [b""]
        for place, encode in self._encoders:
            data = encode(values[place])
            fixed[place] = len(data)
            parts.append(data)
        parts[0] = self._fixed.pack(*fixed)
        return b"".join(parts)

    def unpack(self, message: memoryview) -> list[Any]:
        """Return the values of a message; raise FrameError if it does not have this layout."""
        at = self._fixed.size
        if len(message) < at:
            raise FrameError("too short")
        values: list[Any] = list(self._fixed.unpack_from(message))
        if at + sum([values[place] for place, _ in self._decoders]) != len(message):
            raise FrameError("its lengths do not add up")
        for place in self._times:
            if not 0 <= values[place] <= LATEST_S:  # nor is NaN
                raise FrameError("a time that cannot be stored")
        for place, decode in self._decoders:
            start, at = at, at + values[place]
            values[place] = decode(message[start:at])
        return values


def _encode_text(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _decode_text(data: memoryview) -> str:
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError:
        raise FrameError("a text that is not UTF-8") from None


def _encode_bytes(data: bytes) -> bytes:
    if not isinstance(data, bytes):
        raise TypeError(f"{type(data).__name__} instead of bytes")
    return data


def _decode_hash(data: memoryview) -> bytes:
    if len(data) != HASH_BYTES:
        raise FrameError("a hash of another length")
    return bytes(data)


def _encode_texts(texts: Sequence[str]) -> bytes:
    """Join texts, each followed by a separator."""
    joined = _SEPARATOR.join((*texts, ""))
    if joined.count(_SEPARATOR) != len(texts):
        joined = _SEPARATOR.join((*(text.replace(_SEPARATOR, "\N{REPLACEMENT CHARACTER}") for text in texts), ""))
    return _encode_text(joined)


def _decode_texts(data: memoryview) -> list[str]:
    joined = _decode_text(data)
    if joined.count(_SEPARATOR) > MAX_ITEMS:  # before the list is built, which takes many times the memory
        raise FrameError(f"more than {MAX_ITEMS:,} items")
    texts = joined.split(_SEPARATOR)
    if texts.pop():
        raise FrameError("a list without its end")
    return texts


FLAG: Final = Field("?")
INT16: Final = Field("h")
INT32: Final = Field("i")
INT64: Final = Field("q")
UINT64: Final = Field("Q")
FLOAT: Final = Field("d")
TIME: Final = Field("d")  # Unix seconds that can be stored
TEXT: Final = Field("I", _encode_text, _decode_text)
BYTES: Final = Field("I", _encode_bytes, bytes)
HASH: Final = Field("I", _encode_bytes, _decode_hash)
TEXTS: Final = Field("I", _encode_texts, _decode_texts)

OF_COLUMNS: Final = {
    ColumnType.BYTES: BYTES,
    ColumnType.HASH: HASH,
    ColumnType.TEXT: TEXT,
    ColumnType.FLAG: FLAG,
    ColumnType.INT16: INT16,
    ColumnType.INT32: INT32,
    ColumnType.INT64: INT64,
    ColumnType.UINT64: UINT64,
    ColumnType.DOUBLE: FLOAT,
    ColumnType.TIME: TIME,
}  # the fields whose values a column of this type can store
