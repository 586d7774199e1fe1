"""Answers of servers, as short as a test wants to write them."""

from __future__ import annotations

from gossamer.records import Failed, Fetched, Reason, Truncation

NOW_AT = 1_800_000_000.0  # 2027-01-15 08:00:00 UTC
URL = "https://www.example.org/page"


def fetched(
    status: int = 200,
    *headers: str,
    body: bytes = b"",
    url: str = URL,
    truncated: Truncation | None = None,
    type_refused: bool = False,
) -> Fetched:
    """Return an answer with this status and these header lines."""
    lines = [f"HTTP/1.1 {status} Whatever", *headers, "", ""]
    return Fetched(
        url=url,
        status=status,
        head="\r\n".join(lines).encode("latin-1"),
        body=body,
        truncated=truncated,
        type_refused=type_refused,
        address="192.0.2.1",
        request_head=b"",
        started_at=NOW_AT - 0.1,
        duration_s=0.1,
    )


def failed(reason: Reason, *, url: str = URL) -> Failed:
    """Return a request that got no answer."""
    return Failed(url=url, reason=reason, started_at=NOW_AT - 0.1, duration_s=0.1)
