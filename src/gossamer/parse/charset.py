"""Decodes bytes to text, with the labels and decoders of the WHATWG Encoding Standard.

The first of these that applies decides: a byte-order mark, the header's label, whether the bytes are UTF-8, a `<meta>`
or XML declaration, a guess from the bytes. Labels are often wrong, and text wrongly decoded as UTF-8 is unreadable, so
the label UTF-8 is trusted only if nearly all bytes are UTF-8.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from turbohtml import parse
from turbohtml.detect import detect  # registers the standard's decoders as Python codecs named `whatwg-…`

from gossamer.parse.head import label_in

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARKS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16le"), (codecs.BOM_UTF16_BE, "utf-16be"))
_UTF_16: Final = frozenset({"utf-16le", "utf-16be"})
_DECLARATION_BYTES: Final = 16_384  # the standard requires 1,024; many pages declare it later
_SAMPLE_BYTES: Final = 65_536  # for guessing; starts shortly before the first byte that is not UTF-8
_SNIFF_BYTES: Final = 64  # for UTF-16 without a mark: markup begins with ASCII in any language
_MAX_LABEL_CHARS: Final = 40  # the longest known label has 19; longer ones would only fill the cache
_XML_DECLARATION: Final = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]+)["']""")


class Decoded(NamedTuple):
    """A decoded text and its charset."""

    text: str
    charset: str  # the standard's name in lower case, as TextDecoder spells it


def decode(body: bytes, label: str = "") -> Decoded:
    """Return the text of a body; `label` is the charset that its header names, if any."""
    for mark, charset in _MARKS:
        if body.startswith(mark):
            return _decoded(body[len(mark) :], charset)
    declared = charset_of(label)
    if declared not in ("", "utf-8") and (declared not in _UTF_16 or b"\0" in body[:_SNIFF_BYTES]):
        return _decoded(body, declared)
    if charset := _unmarked_utf_16(body[:_SNIFF_BYTES]):
        return _decoded(body, charset)
    if not declared and b"\x1b" in body and b"\x1b$" in body and body.isascii():  # searching one byte is fast
        return _decoded(body, "iso-2022-jp")
    try:
        # Not final: a page cut in the middle of a character is still UTF-8.
        text, _ = codecs.utf_8_decode(body, "strict", False)
    except UnicodeDecodeError as error:
        return _decode_other(body, error.start)
    return Decoded(text, "utf-8")


def charset_of(label: str) -> str:
    """Return the charset of a label; empty if the standard does not know the label."""
    label = label.strip()
    return _charset_of(label) if 0 < len(label) <= _MAX_LABEL_CHARS else ""


@lru_cache(maxsize=1_024)
def _charset_of(label: str) -> str:
    try:
        name = parse(b"", encoding=label).encoding
    except LookupError:
        return ""
    # `replacement` means charsets that no browser decodes: guessing is better than nothing.
    return "" if name is None or name == "replacement" else name.lower()


def _decode_other(body: bytes, first_fault: int) -> Decoded:
    """Decode a body that is not entirely UTF-8."""
    text = body.decode("utf-8", "replace")
    beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
    if 5 * text.count("\ufffd") <= beyond_ascii:  # a few wrong bytes among many characters
        return Decoded(text, "utf-8")
    declared = _declared_charset(body[:_DECLARATION_BYTES])
    if declared not in ("", "utf-8", *_UTF_16):  # a declaration that we can read as ASCII is not in UTF-16
        return _decoded(body, declared)
    start = max(0, first_fault - 1_000)
    sample = body[start : start + _SAMPLE_BYTES].replace(b"<", b" ")  # so that no declaration is found again
    return _decoded(body, (detect(sample).encoding or "windows-1252").lower())


def _decoded(body: bytes, charset: str) -> Decoded:
    return Decoded(body.decode(f"whatwg-{charset}", "replace"), charset)


def _unmarked_utf_16(start: bytes) -> str:
    """Return the UTF-16 charset of bytes of which every other one is zero; empty for other bytes."""
    if b"\0" not in start:
        return ""
    zeros = start[::2].count(0), start[1::2].count(0)
    if min(zeros) or 3 * max(zeros) < len(start):
        return ""
    return "utf-16be" if zeros[0] else "utf-16le"


def _declared_charset(start: bytes) -> str:
    """Return the first charset that a page declares and the standard knows; empty if there is none."""
    return next(filter(None, map(charset_of, _declared_labels(start))), "")


def _declared_labels(start: bytes) -> Iterator[str]:
    if found := _XML_DECLARATION.match(start):
        yield found[1].decode()
    for meta in parse(start.decode("latin-1"), positions=False).select("meta"):
        if label := meta.attr("charset"):
            yield label
        elif (meta.attr("http-equiv") or "").strip().lower() == "content-type":
            yield label_in(";" + (meta.attr("content") or ""))
