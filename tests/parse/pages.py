"""Pages for tests: an answer around a body, and its parsed content."""

from __future__ import annotations

from gossamer.parse.page import read_page
from gossamer.records import Anchor, Fetched, ParsedPage, ParseFailed

URL = "https://example.org/dir/page.html"
CAP = 8 << 20


def answer(
    body: bytes | str,
    content_type: str | None = "text/html",
    *,
    url: str = URL,
    headers: tuple[str, ...] = (),
) -> Fetched:
    """An answer with a body; text is sent as UTF-8."""
    lines = ["HTTP/1.1 200 OK", *headers]
    if content_type is not None:
        lines.append(f"Content-Type: {content_type}")
    return Fetched(
        url=url,
        status=200,
        head="\r\n".join([*lines, "", ""]).encode("latin-1"),
        body=body if isinstance(body, bytes) else body.encode(),
        address="192.0.2.1",
        request_head=b"GET /dir/page.html HTTP/1.1\r\nHost: example.org\r\n\r\n",
        started_at=1_700_000_000.25,
        duration_s=0.5,
    )


def read(
    body: bytes | str, content_type: str | None = "text/html", *, url: str = URL, headers: tuple[str, ...] = ()
) -> ParsedPage:
    """The content of a page that can be parsed."""
    found = read_page(answer(body, content_type, url=url, headers=headers), agent="Gossamer", max_bytes=CAP)
    assert not isinstance(found, ParseFailed), found
    return found


def links(body: bytes | str, content_type: str | None = "text/html", *, url: str = URL) -> list[str]:
    """The URLs of a page's links."""
    return [link.url for link in read(body, content_type, url=url).links]


def anchors(body: bytes | str, content_type: str | None = "text/html") -> list[Anchor]:
    """The links of a page with their texts."""
    found = read_page(answer(body, content_type), agent="Gossamer", max_bytes=CAP, anchors=True)
    assert not isinstance(found, ParseFailed), found
    return [*found.anchors]
