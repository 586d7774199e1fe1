"""Shows what a crawl would keep of one page, and why: a file, or a page that a crawl has stored. Makes no request."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from gossamer.cli.printing import print_facts
from gossamer.cli.wording import count, plain, size
from gossamer.commands import to_type
from gossamer.crawl.engines import open_existing
from gossamer.crawl.naming import read_url
from gossamer.crawl.settings import DEFAULT_AGENT
from gossamer.errors import GossamerError
from gossamer.inspect.stored import stored_answer, trace
from gossamer.parse.content import Removed
from gossamer.parse.head import read_head
from gossamer.parse.page import is_markup, read_page
from gossamer.parse.text import ChosenText, text_finder
from gossamer.records import Fetched, ParseFailed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.page_process.settings import PageSettings
    from gossamer.records import PageRow, ParsedPage

STANDARD_INPUT: Final = "-"
MAX_SHOWN: Final = 30  # elements that were left out
_TAG: Final = re.compile(rb"<[!a-z]", re.IGNORECASE)
_NO_TEXT: Final = (b"%PDF", b"\x1f\x8b", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"PK\x03\x04")
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")  # how a page in UTF-16 begins


def check_page(page: str, settings: PageSettings, folders: Sequence[Path]) -> None:
    """Print what would be kept of a page, and why, and then its text."""
    noted: list[Removed | ChosenText] = []
    find_text = text_finder(settings.text, markdown=settings.markdown, note=noted.append)
    answer = _stored(page, folders) if "://" in page else _in_file(page, settings.max_inflated_bytes)
    read = read_page(answer, agent=DEFAULT_AGENT, max_bytes=settings.max_inflated_bytes, find_text=find_text)
    if isinstance(read, ParseFailed):
        raise GossamerError(f"{page} cannot be read: {read.detail}.")
    print_facts(_facts(page, read, noted), label=10)
    click.echo(f"\n{read.row.text}")


def _facts(name: str, read: ParsedPage, noted: Sequence[Removed | ChosenText]) -> Iterator[tuple[str, str]]:
    row = read.row
    yield (
        "page",
        f"{plain(name) if name != STANDARD_INPUT else 'standard input'}, {size(row.body_bytes)}, {row.charset}",
    )
    yield "title", plain(row.title) or "-"
    yield "language", _language(row)
    if why := _why_not_stored(read):
        yield "stored", f"no: {why}"
    chars = count(len(row.text), "character")
    kept = [each for each in noted if isinstance(each, ChosenText)]
    for each in kept:
        yield "text by", f"{each.by}, {chars}"
        yield "kept", f"{plain(each.element)}: {each.reason}" if each.element else each.reason
    if not kept:
        yield "kept", f"{chars} of a frameset: what it says where frames are not shown"
    removed = [each for each in noted if isinstance(each, Removed)]
    lines = [f"{plain(each.element)} ({plain(each.reason)}), {count(each.chars, 'character')}" for each in removed]
    if len(lines) > MAX_SHOWN:
        lines[MAX_SHOWN:] = [f"... {len(lines) - MAX_SHOWN:,} more"]
    yield from zip(["left out", *[""] * len(lines)], lines, strict=False)


def _why_not_stored(read: ParsedPage) -> str:
    if read.blocked:
        return f"a protection service sent it in place of the page ({plain(read.blocked)})"
    if read.noindex:
        return "the page says noindex"
    return f"it leads on to {plain(read.refresh)}" if read.refresh else ""


def _language(row: PageRow) -> str:
    declared = f"declared {plain(row.lang_declared)}" if row.lang_declared else "not declared"
    detected = f"detected {row.lang_detected} ({row.lang_score:.2f})" if row.lang_detected else "not detected"
    return f"{plain(row.lang) or 'not known'} ({declared}, {detected})"


def _stored(url: str, folders: Sequence[Path]) -> Fetched:
    named = read_url(url)
    with open_existing(*folders) as frontier:
        found = trace(frontier, folders, named)
    if not found.is_known:
        raise GossamerError(f"{named.url} is not known to the crawl in {folders[0]}: name a stored page, or a file.")
    if not found.pages:
        why = to_type("explain", named.url, folders=folders)
        raise GossamerError(f"{named.url} is known, but no page is stored: `{why}` says why.")
    page = found.pages[-1]
    if not page.warc_file:
        raise GossamerError(f"{named.url} was stored without its source (--no-warc): only its text is left.")
    answer = stored_answer(folders, page)
    if not is_markup(media_type := read_head(answer.head).media_type):
        raise GossamerError(f"{named.url} is not HTML but {media_type}: it is stored as it is.")
    return answer


def _in_file(name: str, max_bytes: int) -> Fetched:
    try:
        if name == STANDARD_INPUT:
            body = sys.stdin.buffer.read(max_bytes)
        else:
            with Path(name).open("rb") as file:
                body = file.read(max_bytes)
    except FileNotFoundError:
        raise GossamerError(f"{name} does not exist: name a file, or a stored page by its URL (https://…).") from None
    except OSError as error:
        raise GossamerError(f"{name} cannot be read ({error.strerror}): name a file that can.") from None
    if not _looks_like_html(body):
        raise GossamerError(f"{'Standard input' if name == STANDARD_INPUT else name} is not HTML: it has no tags.")
    return Fetched(
        url="https://localhost/",
        status=200,
        head=b"HTTP/1.1 200 OK\r\n\r\n",
        body=body,
        address="",
        request_head=b"",
        started_at=0.0,
        duration_s=0.0,
    )


def _looks_like_html(body: bytes) -> bool:
    """Return whether a file may be a page: a crawl goes by the content type, which a file has not."""
    if body.startswith(_WIDE):
        return True
    return not body.startswith(_NO_TEXT) and b"\0" not in body[:1024] and _TAG.search(body) is not None
