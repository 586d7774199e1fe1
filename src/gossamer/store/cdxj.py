"""CDXJ: the index of a segment, with which other tools find a page's record. Pure.

One line per answer, sorted as bytes: `<surt> <timestamp> {"url": …, "mime": …, "status": …, "digest": …,
"length": …, "offset": …, "filename": …}`. The key is the URL with its host reversed, so that the pages of a
site are adjacent.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from functools import lru_cache
from json.encoder import encode_basestring_ascii as _text
from urllib.parse import quote_from_bytes, unquote_to_bytes
from zlib import crc32

REVISIT_TYPE = "warc/revisit"  # replaces the media type of a record whose payload is in another record

_FIELDS = {"url", "mime", "status", "digest", "length", "offset", "filename"}
_WWW = re.compile(r"www\d*\.")
_SLASHES = re.compile("/{2,}")
# Escapes that a key keeps: of controls, blank, # and everything beyond ASCII. A key has no others.
_KEPT_ESCAPES = re.compile("(?:[^%]|%(?:[018-9a-f][0-9a-f]|2[03]|7f))*+")
_UNESCAPED = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"  # besides letters and digits
_PATH_SESSIONS = tuple(
    re.compile(rf"(.*/)\({session}\)/([^?]+\.aspx)") for session in (r"(?:[a-z]\([0-9a-z]{24}\))+", "[0-9a-z]{24}")
)
_QUERY_SESSIONS = tuple(
    re.compile(f"(.*){session}(?:&|$)")
    for session in (
        "jsessionid=[0-9a-z]{32}",
        "phpsessid=[0-9a-z]{32}",
        "sid=[0-9a-z]{32}",
        "aspsessionid[a-z]{8}=[a-z]{24}",
        "cfid=[^&]+&cftoken=[^&]+",
    )
)


def surt(url: str) -> str:
    """Return the key of a normalised URL: `org,example)/path?a=1&b=2`.

    The same as that of other archives' indexes (`cdxj-indexer`, pywb): without scheme and `www.`, in lower case,
    unescaped where possible, query sorted, no session ids that are known, no slash at the end.
    """
    _, _, rest = url.lower().partition("://")
    authority, _, rest = rest.partition("/")
    path, _, query = rest.partition("?")
    if authority.startswith("["):
        key = authority.replace("[", "").replace("]", "")
    else:
        name, colon, port = authority.partition(":")
        if www := _WWW.match(name):
            name = name[www.end() :]
        key = ",".join(reversed(name.split("."))) + colon + port
    key = f"{key.removesuffix(':0')})/{_path_key(path)}"
    return f"{key}?{query}" if query and (query := _query_key(query)) else key


def _path_key(path: str) -> str:
    """Return the path of a key, without its slashes at both ends."""
    if "%" in path and _KEPT_ESCAPES.fullmatch(path) is None:
        path = _without_dots(_unescaped(path))
    if "//" in path or path.startswith("/"):
        path = _SLASHES.sub("/", path).removeprefix("/")
    if ")/" in path and ".aspx" in path:
        path = "/" + path
        for session in _PATH_SESSIONS:
            path = session.sub(r"\1\2", path, count=1)
        path = path[1:]
    return path.removesuffix("/")


def _query_key(query: str) -> str:
    if "%" in query and _KEPT_ESCAPES.fullmatch(query) is None:
        query = _unescaped(query)
    if "sid=" in query or "sessionid" in query or "cfid=" in query:
        for session in _QUERY_SESSIONS:
            query = session.sub(r"\1", query, count=1)
    if "&" not in query:
        return query
    return "&".join(map("=".join, sorted(argument.split("=", 1) for argument in query.split("&"))))


def _unescaped(text: str) -> str:
    """Unescape a text until nothing is left to unescape, then escape once what a key keeps escaped."""
    data = text.encode()
    while (inner := unquote_to_bytes(data)) != data:
        data = inner
    return quote_from_bytes(data, safe=_UNESCAPED).lower()


def _without_dots(path: str) -> str:
    """Resolve the segments `.` and `..` that unescaping has uncovered; a `..` at the top stays."""
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == ".." and kept:
            kept.pop()
        elif segment != ".":
            kept.append(segment)
    return "/".join(kept)


def index_line(
    *, url: str, at: float, status: int, content_type: str, digest: str, offset: int, length: int, filename: str
) -> bytes:
    """Return the line of one response or revisit record; `at` (Unix seconds) is when the request began."""
    mime = content_type.partition(";")[0].strip().lower() or "unk"
    return (
        f'{surt(url)} {_moment(int(round(at, 6)))} {{"url": {_text(url)}, "mime": {_text(mime)}, "status": "{status}", '
        f'"digest": {_text(digest)}, "length": "{length}", "offset": "{offset}", "filename": {_text(filename)}}}\n'
    ).encode()


@lru_cache(maxsize=64)
def _moment(at: int) -> str:
    """Return a second of the wall clock as an index has it; many pages are fetched in the same one."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y%m%d%H%M%S")


def with_checksum(line: bytes) -> bytes:
    """Return a line as the index of an open segment has it: with its checksum at the end."""
    return b"%s %08x\n" % (line[:-1], crc32(line))


def without_checksum(line: bytes) -> bytes | None:
    """Return a line of any index as the index of a closed segment has it; None if it has changed."""
    if line.endswith(b"}\n"):  # of a closed segment, or of an open one by version 0.1
        return line
    bare, _, checksum = line.rstrip(b"\n").rpartition(b" ")
    bare += b"\n"
    return bare if checksum == b"%08x" % crc32(bare) else None


def read_line(line: bytes) -> dict[str, str] | None:
    """Return the fields of a line, or None if the line is incomplete or damaged."""
    bare = without_checksum(line)
    if bare is None:
        return None
    try:
        details = json.loads(bare.split(b" ", 2)[2])
    except (ValueError, LookupError, RecursionError):
        return None
    if not isinstance(details, dict) or not details.keys() >= _FIELDS:
        return None
    is_sound = all(isinstance(value, str) for value in details.values())
    return details if is_sound and details["offset"].isdecimal() and details["length"].isdecimal() else None
