"""`gossamer show`: shows what a crawl knows and stores about a URL."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

import click

from gossamer.cli.data_dir import data_dirs_option
from gossamer.cli.printing import print_facts
from gossamer.cli.wording import plain
from gossamer.crawl.engines import open_if_any
from gossamer.crawl.naming import read_url
from gossamer.errors import GossamerError
from gossamer.inspect.as_json import trace_as_json
from gossamer.inspect.facts import found_on_url
from gossamer.inspect.stored import archived, headers_of, links_of, read_body, trace
from gossamer.inspect.trace_facts import trace_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gossamer.inspect.stored import Trace
    from gossamer.records import PageRow

NOT_FOUND = 1  # exit status
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
    with open_if_any(folders) as frontier:
        found = trace(frontier, folders, named)
    if what == "json":
        _print_json(folders, found)
        return
    if not found.is_known:
        _say_there_is_nothing(f"{named.url} is not known to the crawl in {folders[0]}.")
    if what is None:
        print_facts((*trace_facts(found, folders), *_contents(folders, found.pages)), label=10)
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
            headers = headers_of(folders, found.pages[-1])
            links = links_of(folders, found.pages[-1])
    via = found_on_url(folders, found.requests[-1].via) if found.requests else None
    click.echo(json.dumps(trace_as_json(found, found_on=via, headers=headers, links=links)))
    if not found.is_known:
        raise click.exceptions.Exit(NOT_FOUND)


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


def _contents(folders: Sequence[Path], pages: Sequence[PageRow]) -> Iterator[tuple[str, str]]:
    """Yield the headers, how the text begins, and some links of the last of a URL's pages."""
    if not pages:
        return
    page, head, links = pages[-1], ["-"], ["-"]
    with suppress(GossamerError):  # no archive record, or none any more: --raw says which
        head = headers_of(folders, page)
        links = links_of(folders, page) or ["none"]
    yield from zip(["headers", *[""] * len(head)], map(plain, head), strict=False)
    shown = page.text[:MAX_TEXT_CHARS].splitlines() or ["-"]
    yield from zip(["text", *[""] * len(shown)], map(plain, shown), strict=False)
    if len(page.text) > MAX_TEXT_CHARS:
        yield "", "... --text prints all of it"
    yield from zip(["links", *[""] * MAX_LINKS], map(plain, links[:MAX_LINKS]), strict=False)
    if len(links) > MAX_LINKS:
        yield "", f"... {len(links) - MAX_LINKS:,} more: --links prints all"
