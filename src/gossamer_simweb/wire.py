"""HTTP/1.1 as bytes: parses request heads and formats responses. Pure."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gossamer_simweb.responses import PlannedResponse

_CHUNK_BYTES = 16_384
_TOKEN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~")


class RequestHead(NamedTuple):
    """The head of a request."""

    method: str
    target: str  # path and query
    host: str  # with the port, as sent
    keep_alive: bool
    http11: bool
    has_body: bool
    accepts: str  # Accept-Encoding
    agent: str  # User-Agent


def parse_head(head: bytes) -> RequestHead | int:
    """Parse a request head without its final empty line; return an error status if it is invalid."""
    line, *fields = head.decode("latin-1").split("\r\n")
    parts = line.split(" ")
    if len(parts) != 3 or not parts[0] or not _TOKEN.issuperset(parts[0]):
        return 400
    method, target, version = parts
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        return 505 if version.startswith("HTTP/") else 400
    headers: dict[str, str] = {}
    for field in fields:
        name, colon, value = field.partition(":")
        if not colon or not name or not _TOKEN.issuperset(name):
            return 400
        name = name.lower()
        if name == "host" and name in headers:
            return 400
        headers[name] = value.strip(" \t")
    host = headers.get("host", "")
    if target.startswith(("http://", "https://")):
        authority, slash, path = target.partition("://")[2].partition("/")
        host, target = authority, slash + path or "/"
    if not target.startswith("/") or not target.isascii() or (not host and version == "HTTP/1.1"):
        return 400
    connection = headers.get("connection", "").lower()
    return RequestHead(
        method,
        target,
        host,
        "close" not in connection if version == "HTTP/1.1" else "keep-alive" in connection,
        version == "HTTP/1.1",
        headers.get("content-length", "0") != "0" or "transfer-encoding" in headers,
        headers.get("accept-encoding", ""),
        headers.get("user-agent", "").replace("\t", " "),
    )


def status_line(status: int) -> bytes:
    """Return the status line of a response."""
    return _STATUS_LINES.get(status) or b"HTTP/1.1 %d Unknown\r\n" % status


def response(answer: PlannedResponse, head: RequestHead, *, keep_alive: bool) -> bytes:
    """Return a whole response as bytes."""
    connection = b"" if keep_alive == head.http11 else b"Connection: keep-alive\r\n" if keep_alive else _CLOSE
    if answer.chunked and head.http11:
        length, body = b"Transfer-Encoding: chunked\r\n", chunked(answer.body)
    else:
        length, body = b"Content-Length: %d\r\n" % len(answer.body), answer.body
    if head.method == "HEAD":
        body = b""
    return b"".join((status_line(answer.status), answer.head, length, connection, b"\r\n", body))


def chunked(body: bytes) -> bytes:
    """Encode a body in chunks."""
    pieces: list[bytes] = []
    for at in range(0, len(body), _CHUNK_BYTES):
        piece = body[at : at + _CHUNK_BYTES]
        pieces += (b"%x\r\n" % len(piece), piece, b"\r\n")
    return b"".join((*pieces, b"0\r\n\r\n"))


_CLOSE = b"Connection: close\r\n"
_STATUS_LINES = {status.value: b"HTTP/1.1 %d %s\r\n" % (status.value, status.phrase.encode()) for status in HTTPStatus}
