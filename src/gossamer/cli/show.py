"""`gossamer show`: shows what a crawl knows and stores about a URL."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

import click

from gossamer.cli.data_dir import data_dirs_option
from gossamer.cli.log import request_line
from gossamer.cli.naming import read_url
from gossamer.cli.printing import print_facts
from gossamer.cli.wording import count, moment, plain, size, wait
from gossamer.crawl.engines import open_existing
from gossamer.errors import GossamerError
from gossamer.inspect.as_json import trace_as_json
from gossamer.inspect.facts import found_on, found_on_url
from gossamer.inspect.stored import Trace, archived, head_of, links_of, read_body, trace
from gossamer.records import UrlStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gossamer.records import PageRow

NOT_FOUND = 1  # exit status
MAX_REQUESTS = 10
MAX_TEXT_CHARS = 300
MAX_LINKS = 10


@click.command("show")
@click.argument("url")
@data_dirs_option
@click.option("--text", "what", flag_value="text", help="Print the page's main text, and nothing else.")
@click.option("--html", "what", flag_value="html", help="Print the archived body, inflated and decoded.")
@click.option("--raw", "what", flag_value="raw", help="Print the archived answer byte for byte, head and body.")
@click.option("--links", "what", flag_value="links", help="Print the URLs that the page leads to, one per line.")
@click.option("--json", "what", flag_value="json", help="Print one JSON object with everything.")
def command(url: str, folders: Sequence[Path], what: str | None) -> None:
    """Show what a crawl knows and stores about a URL.

    The URL is normalised as in a crawl; without a scheme it means https. The exit status is 1 if nothing is found.

    \b
    Example:
      gossamer show https://example.org/ --text
    """
    named = read_url(url)
    with open_existing(*folders) as frontier:
        found = trace(frontier, folders, named)
    if what == "json":
        _print_json(folders, found)
        return
    if not found.is_known:
        _say_there_is_nothing(f"{named.url} is not known to the crawl in {folders[0]}.")
    if what is None:
        print_facts((*_lines(found, folders), *_contents(folders, found.pages)), label=10)
    elif not found.pages:
        _say_there_is_nothing(f"{named.url} is known, but no page is stored; without --{what} you see why.")
    else:
        _print_content(folders, found.pages[-1], what)


def _say_there_is_nothing(sentence: str) -> NoReturn:
    click.echo(sentence, err=True)
    raise click.exceptions.Exit(NOT_FOUND)


def _print_json(folders: Sequence[Path], found: Trace) -> None:
    headers: list[str] | None = None
    links: list[str] | None = None
    if found.pages:
        with suppress(GossamerError):  # no archive record, or none any more
            headers = _headers(folders, found.pages[-1])
            links = links_of(folders, found.pages[-1])
    via = found_on_url(folders, found.requests[-1].via) if found.requests else None
    click.echo(json.dumps(trace_as_json(found, found_on=via, headers=headers, links=links)))
    if not found.is_known:
        raise click.exceptions.Exit(NOT_FOUND)


def _headers(folders: Sequence[Path], page: PageRow) -> list[str]:
    return head_of(archived(folders, page)).decode("latin-1").rstrip().splitlines()


def _print_content(folders: Sequence[Path], page: PageRow, what: str) -> None:
    if what == "text":
        content = page.text.encode() + b"\n"
    elif what == "links":
        content = "".join(f"{plain(link)}\n" for link in links_of(folders, page)).encode()
    elif what == "html":
        content = read_body(archived(folders, page), page).encode("utf-8", "replace")
    else:
        content = archived(folders, page).block
    click.echo(content, nl=False)


def _lines(found: Trace, folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
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


def _contents(folders: Sequence[Path], pages: Sequence[PageRow]) -> Iterator[tuple[str, str]]:
    """Yield the headers, how the text begins, and some links of the last of a URL's pages."""
    if not pages:
        return
    page, head, links = pages[-1], ["-"], ["-"]
    with suppress(GossamerError):  # no archive record, or none any more: --raw says which
        head = _headers(folders, page)
        links = links_of(folders, page) or ["none"]
    yield from zip(["headers", *[""] * len(head)], map(plain, head), strict=False)
    shown = page.text[:MAX_TEXT_CHARS].splitlines() or ["-"]
    yield from zip(["text", *[""] * len(shown)], map(plain, shown), strict=False)
    if len(page.text) > MAX_TEXT_CHARS:
        yield "", "... --text prints all of it"
    yield from zip(["links", *[""] * MAX_LINKS], map(plain, links[:MAX_LINKS]), strict=False)
    if len(links) > MAX_LINKS:
        yield "", f"... {len(links) - MAX_LINKS:,} more: --links prints all"


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
