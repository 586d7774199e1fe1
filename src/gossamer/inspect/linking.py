"""Finds a stored page that links to a URL, and why the crawl did not follow that link. Reads only.

A refused link leaves no trace, so stored pages are read again, and the functions that judge links in a crawl judge
this one. What they remember of other links is not stored: the counts of the workers stand in for it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from gossamer.errors import GossamerError
from gossamer.inflate import Inflated, inflate
from gossamer.inspect.stored import head_of, stored_answer
from gossamer.parse.head import read_head
from gossamer.parse.page import is_markup, read_page
from gossamer.records import Fetched, ParseFailed
from gossamer.rules.scope import may_follow_links
from gossamer.rules.traps import Trap, TrapGuard, strip_session
from gossamer.store.damage import DamagedError
from gossamer.store.reading import find_pages, find_record, row_files
from gossamer.store.schemas import LINKS, PAGES
from gossamer.urls import identify, name_of_host
from gossamer.worker.figures import TRAP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.frontier import FrontierReader
    from gossamer.inspect.facts import Terms
    from gossamer.store.reading import Folders
    from gossamer.urls import Url

SEARCH_S: Final = 5.0  # how long stored pages are read to find one that links to a URL
# Limits that depend on links and pages before: only the worker that refused a link knows about it.
REMEMBERED: Final = (
    Trap.FOREIGN_LINKS,
    Trap.FOREIGN_NAMES,
    Trap.MANY_HOSTS,
    Trap.PARAMETER_SETS,
    Trap.SAME_CONTENT,
    Trap.SITE_BUDGET,
)
_SMALL: Final = 10  # halvings of the tables of a guard that judges one link


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkingPage:
    """A stored page that links to a URL, and how."""

    page: Url
    depth: int
    says_nofollow: bool
    is_marked: bool  # every such link says nofollow


class Found(NamedTuple):
    """The first page that links to a URL, if there is one, and how far the search came."""

    linking: LinkingPage | None
    pages: int  # that were looked at
    is_complete: bool  # all stored pages were


class _Row(NamedTuple):
    url: str
    site: str
    depth: int
    warc_file: str
    warc_offset: int


def find_linking_page(folders: Folders, url: Url, *, agent: str, search_s: float = SEARCH_S) -> Found:
    """Return a stored page that links to a URL: by the table `links`, else from archives, pages of its site first."""
    looked = 0
    for page_hash in _by_table(folders, url):
        for page in find_pages(folders, page_hash)[-1:]:
            looked += 1
            if page.warc_file and (found := _linking(stored_answer(folders, page), page.depth, url, agent)):
                return Found(found, looked, is_complete=True)
    until_s = time.monotonic() + search_s
    for row in _archived(folders, url.site):
        if time.monotonic() > until_s:
            return Found(None, looked, is_complete=False)
        looked += 1
        answer = _may_link(folders, row, url)
        if answer is not None and (found := _linking(answer, row.depth, url, agent)):
            return Found(found, looked, is_complete=True)
    return Found(None, looked, is_complete=True)


def read_linking_page(folders: Folders, page: Url, url: Url, *, agent: str) -> LinkingPage:
    """Return how a page that the operator names links to a URL; refuse a page that is not stored or does not."""
    rows = [row for row in find_pages(folders, page.url_hash) if row.warc_file]
    if not rows:
        raise GossamerError(f"{page.url} is not stored with its source: name an archived page with --from.")
    found = _linking(stored_answer(folders, rows[-1]), rows[-1].depth, url, agent)
    if found is None:
        raise GossamerError(f"{page.url} does not link to {url.url}: name a page that does with --from.")
    return found


def refusal_by_page(linking: LinkingPage, terms: Terms) -> tuple[str, str] | None:
    """Return why none of the links of this kind on a page is followed: the name of the cause, and a sentence."""
    page = linking.page.url
    if linking.says_nofollow:
        return "nofollow", f"It is linked from {page}, which says nofollow: none of its links is followed."
    if linking.is_marked:
        return "nofollow", f"The link on {page} is marked nofollow."
    if not may_follow_links(linking.depth, terms.scope.max_depth):
        return (
            "too deep",
            f"It is linked from {page}, at depth {linking.depth}, and --max-depth is {terms.scope.max_depth}.",
        )
    return None


def trap_on_page(frontier: FrontierReader, linking: LinkingPage, url: Url, terms: Terms) -> Trap | None:
    """Return which limit against traps refuses the link, as far as the link and the stored pages of its site show."""
    site = frontier.find_site(linking.page.site)
    guard = TrapGuard(terms.traps, halvings=_SMALL)
    _, refused = guard.select(
        [url], host=linking.page.host, site=linking.page.site, pages=site.pages if site else 0, year=terms.year
    )
    return next(iter(refused), None)


def remembered_refusals(frontier: FrontierReader) -> dict[str, int]:
    """Return how many links each limit that needs a memory has refused, by what all workers counted."""
    counted: dict[str, int] = {}
    for worker in frontier.workers():
        for trap in REMEMBERED:
            if times := int(worker.figures.get(TRAP + trap, 0)):
                counted[trap] = counted.get(trap, 0) + times
    return counted


def _by_table(folders: Folders, url: Url) -> list[bytes]:
    """Return the pages that link to a URL, by the table `links`, which a crawl with --links has."""
    found: dict[bytes, None] = {}
    for source in row_files(folders, LINKS):
        for batch in source.batches(["from_hash", "to_url"]):
            found |= dict.fromkeys(batch.filter(pc.equal(batch["to_url"], url.url))["from_hash"].to_pylist())
    return list(found)


def _archived(folders: Folders, site: str) -> Iterator[_Row]:
    """Yield all archived pages, first those of a site."""
    for is_own in (True, False):
        for source in row_files(folders, PAGES):
            try:
                for batch in source.batches(_Row._fields):
                    same = pc.equal(batch["site"], pa.scalar(site, pa.string()))
                    chosen = batch.filter(same if is_own else pc.invert(same))
                    columns = (chosen[name].to_pylist() for name in _Row._fields)
                    yield from (row for row in map(_Row._make, zip(*columns, strict=True)) if row.warc_file)
            except DamagedError:  # `verify` names it
                continue


def _may_link(folders: Folders, row: _Row, url: Url) -> Fetched | None:
    """Return a page whose source holds the last part of a URL; a page without it is not worth parsing."""
    try:
        record = find_record(folders, row.warc_file, row.warc_offset)
    except (FileNotFoundError, ValueError):
        return None
    head = read_head(head_of(record))
    if record.is_revisit or not is_markup(head.media_type):  # a duplicate has the links of its original
        return None
    path = url.url[len(url.host) :].partition("?")[0].rstrip("/")
    part = path.rpartition("/")[2] or name_of_host(url.host)
    if "%" not in part:
        inflated = inflate(record.payload, head.encodings, max_bytes=8_000_000)
        if isinstance(inflated, Inflated) and part.encode() not in inflated.body:
            return None
    return Fetched(
        url=row.url,
        status=200,
        head=head_of(record),
        body=record.payload,
        address="",
        request_head=b"",
        started_at=0.0,
        duration_s=0.0,
    )


def _linking(answer: Fetched, depth: int, url: Url, agent: str) -> LinkingPage | None:
    parsed = read_page(answer, agent=agent, max_bytes=8_000_000, anchors=True)
    if isinstance(parsed, ParseFailed):
        return None
    wanted = {url.url}
    rels = [anchor.rel for anchor in parsed.anchors if anchor.url in wanted or strip_session(anchor.url) in wanted]
    is_read = any(link.url in wanted or strip_session(link.url) in wanted for link in parsed.links)
    if not rels and not is_read:
        return None
    return LinkingPage(
        page=identify(answer.url),
        depth=depth,
        says_nofollow=parsed.nofollow,
        is_marked=bool(rels) and not is_read and all("nofollow" in rel.lower().split() for rel in rels),
    )
