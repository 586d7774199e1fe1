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
from operator import itemgetter
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
    """The types of a message's fields, in order.

    A message has the numbers, then the length of each block, then the blocks: first all short texts in one, because
    encoding and decoding them one at a time costs more than all the rest, then one for each other field.
    """

    def __init__(self, *fields: Field) -> None:
        numbers = [place for place, field in enumerate(fields) if field.encode is None]
        texts = [place for place, field in enumerate(fields) if field is TEXT]
        others = [place for place, field in enumerate(fields) if field.encode is not None and field is not TEXT]
        sent = [*numbers, *texts, *others]
        self._fixed = struct.Struct("<" + "".join([fields[place].code for place in numbers]) + "I" * (1 + len(others)))
        self._numbers = len(numbers)
        self._texts = len(texts)
        self._encoders = [fields[place].encode for place in others]
        self._decoders = [fields[place].decode for place in others]
        self._times = [index for index, place in enumerate(numbers) if fields[place] is TIME]
        self._in_message = _picker(sent)
        self._in_order = _picker([sent.index(place) for place in range(len(fields))])

    def pack(self, values: Sequence[Any]) -> list[bytes]:
        """Return a message in pieces; raise an exception if a value does not have its type."""
        values = self._in_message(values)
        texts_end = self._numbers + self._texts
        blocks = [_encode_texts(values[self._numbers : texts_end])]
        blocks += [encode(value) for encode, value in zip(self._encoders, values[texts_end:], strict=True) if encode]
        return [self._fixed.pack(*values[: self._numbers], *map(len, blocks)), *blocks]

    def unpack(self, message: memoryview) -> Sequence[Any]:
        """Return the values of a message; raise FrameError if it does not have this layout."""
        at = self._fixed.size
        if len(message) < at:
            raise FrameError("too short")
        fixed = self._fixed.unpack_from(message)
        numbers, (texts_bytes, *lengths) = fixed[: self._numbers], fixed[self._numbers :]
        if at + texts_bytes + sum(lengths) != len(message):
            raise FrameError("its lengths do not add up")
        for place in self._times:
            if not 0 <= numbers[place] <= LATEST_S:  # nor is NaN
                raise FrameError("a time that cannot be stored")
        texts = _decode_texts(message[at : (at := at + texts_bytes)], self._texts)
        if len(texts) != self._texts:
            raise FrameError("another number of texts")
        others = []
        for decode, length in zip(self._decoders, lengths, strict=True):
            others.append(decode(message[at : (at := at + length)]) if decode else None)
        return self._in_order((*numbers, *texts, *others))


def _picker(places: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return a function that returns the values at these places."""
    return itemgetter(*places) if len(places) > 1 else lambda values: [values[place] for place in places]


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


def _decode_texts(data: memoryview, max_items: int = MAX_ITEMS) -> list[str]:
    joined = _decode_text(data)
    if joined.count(_SEPARATOR) > max_items:  # before the list is built, which takes many times the memory
        raise FrameError(f"more than {max_items:,} items")
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
TEXT: Final = Field("I", _encode_text, _decode_text)  # a short one, without NUL
LONG_TEXT: Final = Field("I", _encode_text, _decode_text)
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
