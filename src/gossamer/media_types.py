"""What a body is by its first bytes, whatever its server declares. Pure.

The patterns are those of the WHATWG's MIME Sniffing, and a few more. What begins like text may be any kind of text, so
there, and where the bytes say nothing, the declared type counts.
"""

from __future__ import annotations

import re
from typing import Final

_START_BYTES: Final = 1_445  # as many as WHATWG looks at
_MARKUP: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*+<(?:(?P<html>!--|!doctype\s+html\b|(?:html|head|body|title|meta|link|script|style"
    rb"|base|iframe|h1|div|font|table|a|b|br|p|center|span|main|nav|section|article|header|ul)(?=[\s/>]))"
    rb"|(?P<xml>\?xml\s|!doctype\s|[a-z]))",
    re.IGNORECASE,
)
_ROOT: Final = re.compile(rb"<(?:[a-z][\w.-]*:)?([a-z][\w.-]*)", re.IGNORECASE)
_ROOTS: Final = {
    b"html": "application/xhtml+xml", b"rss": "application/rss+xml", b"feed": "application/atom+xml",
    b"rdf": "application/rdf+xml", b"svg": "image/svg+xml",
}  # fmt: skip
_SIGNATURES: Final = (
    (b"%PDF-", "application/pdf"), (b"%!PS-Adobe-", "application/postscript"), (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8[79]a", "image/gif"), (b"RIFF....WEBP", "image/webp"),
    (b"RIFF....WAVE", "audio/wav"), (b"\0\0\1\0", "image/x-icon"), (b"II\\*\0|MM\0\\*", "image/tiff"),
    (b"ID3", "audio/mpeg"), (b"OggS\0", "application/ogg"), (b"fLaC\0", "audio/flac"),
    (b"\x1a\x45\xdf\xa3", "video/webm"), (b"....ftyp", "video/mp4"), (b"PK\3\4", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"), (b"Rar!\x1a\7", "application/vnd.rar"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"), (b"wOFF", "font/woff"), (b"wOF2", "font/woff2"),
    (b"\0\1\0\0|OTTO", "font/sfnt"), (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"\0asm", "application/wasm"),
)  # fmt: skip
_SIGNATURE: Final = re.compile(b"|".join(b"(%b)" % pattern for pattern, _ in _SIGNATURES), re.DOTALL)
_BINARY: Final = re.compile(rb"[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*")
_TEXT: Final = re.compile(r"text/.+|.+\+(?:xml|json)|application/(?:xml|json|javascript|x-javascript|ecmascript|x-sh)")
_XML: Final = re.compile(r".+\+xml|(?:text|application)/xml")
_PACKED: Final = re.compile(r".+\+zip|.*(?:openxmlformats|opendocument|java-archive|ms-).*")  # in ZIP, or in OLE


def media_type_of(body: bytes, declared: str = "") -> str:
    """Return the type of an inflated body; `declared` is in lower case and without parameters. Empty of no body."""
    start = body[:_START_BYTES]
    if not start:
        return ""
    declared = declared if _TYPE.fullmatch(declared) else ""
    if found := _MARKUP.match(start):
        if found["html"]:
            return "application/xhtml+xml" if declared == "application/xhtml+xml" else "text/html"
        if markup := _xml_type(start, declared):
            return markup
    elif found := _SIGNATURE.match(start):
        assert found.lastindex is not None, "each signature is a group"
        type_ = _SIGNATURES[found.lastindex - 1][1]
        is_container = type_ in ("application/zip", "application/x-ole-storage")
        return declared if is_container and _PACKED.fullmatch(declared) else type_
    is_text = _TEXT.fullmatch(declared) is not None
    if _BINARY.search(start) and not start.startswith(_UTF_16):
        return "application/octet-stream" if is_text or not declared else declared
    return declared if is_text else "text/plain"


def _xml_type(start: bytes, declared: str) -> str:
    """Return the type of an XML document by its root; empty if it may be something else."""
    root = _ROOT.search(start)
    type_ = _ROOTS.get(root[1].lower(), "") if root else ""
    if type_ or _XML.fullmatch(declared):
        return type_ or declared
    return "application/xml" if start.lstrip(b"\xef\xbb\xbf\t\n\f\r ").startswith(b"<?xml") else ""
