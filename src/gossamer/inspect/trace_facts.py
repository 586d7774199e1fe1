"""Describes everything that is known and stored about a URL in a few words each, for `show` and the dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.inspect.facts import found_on
from gossamer.inspect.requests import request_line
from gossamer.records import UrlStatus
from gossamer.wording import count, moment, plain, size, wait

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gossamer.inspect.stored import Trace
    from gossamer.records import PageRow

MAX_REQUESTS: Final = 10


def trace_facts(found: Trace, folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Yield what is known of a URL, as names and texts; a fact without a name goes on with the one before."""
    yield "URL", found.url.url
    yield "state", _state(found)
    yield "site", _site(found)
    if found.requests and (via := found_on(folders, found.requests[-1].via)):
        yield "found on", plain(via.removeprefix(", found on "))
    for row in found.requests[-MAX_REQUESTS:]:
        yield "request", request_line(row).rpartition("  ")[0] + f"  attempt {row.attempt}, {plain(row.address) or '-'}"
    if not found.pages:
        hint = " in this folder; that of another machine takes one more --data-dir" if found.elsewhere else ""
        yield "page", f"not stored{hint}"
        return
    page = found.pages[-1]
    again = f" ({count(len(found.pages), 'time')}; this is the last)" if len(found.pages) > 1 else ""
    yield "page", f"stored, fetched {moment(page.fetched_at)}{again}"
    yield "title", plain(page.title) or "-"
    yield "content", f"{plain(page.content_type) or 'no type'}, {page.charset or 'no charset'}, {_language(page)}"
    cut = ", incomplete" if page.truncated else ""
    text = f"{count(len(page.text), 'character')} of text"
    yield "", f"{size(page.body_bytes)} inflated{cut}, {text}, {count(page.links, 'link')}"
    dates = [f"published {page.published} ({page.published_from})"] if page.published else []
    dates += [f"changed {page.modified} ({page.modified_from})"] if page.modified else []
    dates += [f"Last-Modified {page.last_modified}"] if page.last_modified else []
    if dates:
        yield "", ", ".join(dates)
    if page.warc_file:
        yield "archive", f"warc/{page.warc_file}"
        yield "", f"offset {page.warc_offset}, length {page.warc_length}, {page.payload_digest}"
    else:
        yield "archive", "none: stored without (--no-warc)"


def _language(page: PageRow) -> str:
    if not (page.lang_declared or page.lang_detected):  # of an older version, perhaps
        return f"language {plain(page.lang) or 'not known'}"
    declared = f"declared {plain(page.lang_declared)}" if page.lang_declared else "not declared"
    detected = f"detected {page.lang_detected} ({page.lang_score:.2f})" if page.lang_detected else "not detected"
    return f"language {plain(page.lang) or 'not known'} ({declared}, {detected})"


def _state(found: Trace) -> str:
    state = found.state
    if state is None:
        return "not among the accepted URLs"
    if state.status is UrlStatus.GIVEN_UP:
        return f"given up: {state.reason}, depth {state.depth}"
    if state.status is UrlStatus.DONE:
        return f"done, depth {state.depth}"
    waits = f", may be asked for {wait(state.wait_s)}" if state.wait_s else ""
    return f"queued, depth {state.depth}, {count(state.tries or 0, 'try', 'tries')} so far{waits}"


def _site(found: Trace) -> str:
    site = found.site
    if site is None:
        return f"{found.url.site}, not known"
    if site.excluded:
        turn = "excluded"
    elif site.owner is not None:
        turn = f"in hand of worker {site.owner}"
    else:
        turn = "nothing to do" if site.wait_s is None else f"next turn {wait(site.wait_s)}"
    return f"{site.site}, {site.queued:,} queued, {turn}"
