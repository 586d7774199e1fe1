"""Reads the headers of an answer that describe its body."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_LINE: Final = re.compile(
    rb"^(content-type|content-encoding|content-language|x-robots-tag|tdm-reservation|tdm-policy|content-usage"
    rb"|content-signal|refresh|last-modified|etag)[ \t]*:[ \t]*([^\r\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_FOLD: Final = re.compile(rb"\r?\n[ \t]+")
_TYPE_END: Final = re.compile(r"[;,\s]")  # a comma: a proxy joined two header lines
_CHARSET: Final = re.compile(r""";\s*charset\s*=\s*["']?([^"';\s]+)""", re.IGNORECASE)


class ResponseHead(NamedTuple):
    """The headers that matter for reading a body."""

    content_type: str  # as declared first: lower case, without parameters; empty if there is none
    media_type: str  # the one that counts, without what a proxy joined to it
    charset: str  # the label as sent; empty if there is none
    encodings: str  # content encodings, in the order in which they were applied
    language: str
    refresh: str
    last_modified: str
    etag: str
    robots: tuple[str, ...]  # the values of X-Robots-Tag
    signals: tuple[tuple[str, str], ...]  # other headers about how the page may be used


def read_head(head: bytes) -> ResponseHead:
    """Read a status line with headers, as sent."""
    if b"\n " in head or b"\n\t" in head:
        head = _FOLD.sub(b" ", head)  # obsolete: such a line continues the previous one
    declared: str | None = None
    content_type = language = refresh = last_modified = etag = ""
    encodings, robots, signals = [], [], []
    for raw_name, raw_value in _LINE.findall(head):
        name, value = raw_name.lower(), raw_value.decode("latin-1")
        match name:
            case b"content-type":
                content_type = value
                declared = value if declared is None else declared
            case b"content-encoding":
                encodings.append(value)
            case b"content-language":
                language = value
            case b"refresh":
                refresh = value
            case b"last-modified":
                last_modified = value
            case b"etag":
                etag = value
            case b"x-robots-tag":
                robots.append(value)
            case _:
                signals.append((name.decode(), value))
    return ResponseHead(
        (declared or "").partition(";")[0].strip().lower(),
        _TYPE_END.split(content_type, 1)[0].lower(),
        label_in(content_type),
        ",".join(encodings),
        language,
        refresh,
        last_modified,
        etag,
        tuple(robots),
        tuple(signals),
    )


def label_in(content_type: str) -> str:
    """Return the charset label of a content type, as spelled there; empty if there is none."""
    found = _CHARSET.search(content_type)
    return found[1] if found else ""
