"""What is written down about requests and pages. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.parse.blocks import block_in_error, block_in_head
from gossamer.records import ROBOTS_KINDS, Failed, LinkRow, PageRow, RequestKind, RequestRow
from gossamer.records.rows import NO_HASH
from gossamer.rules.answers import REDIRECTS, location_of, retry_after_of
from gossamer.rules.heads import header
from gossamer.urls import hash_url, normalise

if TYPE_CHECKING:
    from gossamer.records import Fetched, ParsedPage, QueuedUrl

MAX_LOCATION_CHARS: Final = 2_000  # of a target that is no URL


def request_row(
    answer: Fetched | Failed,
    *,
    site: str,
    kind: RequestKind,
    attempt: int,
    worker: str,
    delay_s: float,
    via: bytes = NO_HASH,
    url_hash: bytes | None = None,
    parallel: int = 0,
) -> RequestRow:
    """Return a line of the crawl log. Whether a page is a block page is known only when it was parsed."""
    status, reason, size = (
        (0, answer.reason, 0) if isinstance(answer, Failed) else (answer.status, "", len(answer.body))
    )
    ended_at = answer.started_at + answer.duration_s
    is_page = kind is RequestKind.PAGE and 200 <= status < 300
    return RequestRow(
        url_hash=url_hash or hash_url(answer.url),
        url=answer.url,
        site=site,
        kind=kind,
        started_at=answer.started_at,
        ended_at=ended_at,
        status=status,
        reason=reason,
        bytes=size,
        address=answer.address,
        robots="unchecked" if kind in ROBOTS_KINDS else "allowed",
        attempt=attempt,
        worker=worker,
        wait_s=delay_s if is_page else max(delay_s, retry_after_of(answer, ended_at) or 0.0),
        redirect_to="" if is_page else _target_of(answer),
        via=via,
        blocked="" if is_page else _block_of(answer, kind),
        parallel=parallel,
    )


def page_row(url: QueuedUrl, site: str, answer: Fetched, parsed: ParsedPage) -> PageRow:
    """Return a stored page's row; the store fills in where its record lies."""
    return _of_request(parsed.row, url, site, answer, parsed.payload_digest)


def link_rows(url: QueuedUrl, answer: Fetched, parsed: ParsedPage) -> list[LinkRow]:
    """Return the edges of the link graph that begin at a stored page; none unless the page process looked for them."""
    if not parsed.anchors:
        return []
    return [LinkRow(url.url_hash, answer.started_at, *anchor) for anchor in parsed.anchors]


def answer_row(url: QueuedUrl, site: str, answer: Fetched, payload_digest: str) -> PageRow:
    """Return the row of an answer that is archived but is no page: a redirect, an error."""
    return _of_request(PageRow(content_type=content_type(answer)), url, site, answer, payload_digest)


def _of_request(row: PageRow, url: QueuedUrl, site: str, answer: Fetched, payload_digest: str) -> PageRow:
    """Return a row with the columns that the request decides; the others are as the page process found them."""
    return row._replace(
        url_hash=url.url_hash,
        url=url.url,
        site=site,
        depth=url.depth,
        via=url.via or NO_HASH,
        fetched_at=answer.started_at,
        status=answer.status,
        truncated=answer.truncated is not None or row.truncated,
        payload_digest=payload_digest,
    )


def _target_of(answer: Fetched | Failed) -> str:
    """Return where an answer redirects to; empty if it does not."""
    if isinstance(answer, Failed) or answer.status not in REDIRECTS:
        return ""
    location = location_of(answer)
    target = normalise(location, answer.url) if location else ""
    return target if isinstance(target, str) else location[:MAX_LOCATION_CHARS]


def _block_of(answer: Fetched | Failed, kind: RequestKind) -> str:
    """Return the mark of a block page, as far as the answer shows it before it is parsed."""
    if isinstance(answer, Failed) or kind in ROBOTS_KINDS:
        return ""
    is_page = 200 <= answer.status < 300
    return block_in_head(answer.head, answer.status) if is_page else block_in_error(answer)


def content_type(answer: Fetched) -> str:
    """Return the media type an answer declares, without its parameters."""
    return (header(answer.head, "Content-Type") or "").partition(";")[0].strip().lower()
