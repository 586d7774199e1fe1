"""Finds everything that a crawl knows and has stored of one URL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from gossamer.errors import GossamerError
from gossamer.inflate import Inflated, inflate
from gossamer.inspect.folder_errors import damaged
from gossamer.inspect.requests import requests_of
from gossamer.parse.charset import decode
from gossamer.parse.head import read_head
from gossamer.parse.page import read_page
from gossamer.records import Fetched, ParseFailed
from gossamer.store.reading import find_pages, find_response, row_files
from gossamer.store.schemas import LINKS

if TYPE_CHECKING:
    from gossamer.frontier import FrontierReader
    from gossamer.records import PageRow, RequestRow, SiteState, UrlState
    from gossamer.store.reading import Folders
    from gossamer.store.scanning import Record
    from gossamer.urls import Url

_AGENT = "gossamer"  # the crawler's name in robots directives of pages


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Everything about a URL."""

    url: Url
    state: UrlState | None  # None: never accepted
    site: SiteState | None  # None: no URL of its site was ever accepted
    requests: tuple[RequestRow, ...]  # oldest first
    pages: tuple[PageRow, ...]  # oldest first; the last one counts
    elsewhere: bool  # other machines may have more

    @property
    def is_known(self) -> bool:
        """Whether the crawl knows the URL at all."""
        return bool(self.state or self.requests or self.pages)


def trace(frontier: FrontierReader | None, folders: Folders, url: Url) -> Trace:
    """Return everything about a URL; without a frontier, what is stored."""
    return Trace(
        url=url,
        state=frontier.find_url(url.site, url.url_hash) if frontier else None,
        site=frontier.find_site(url.site) if frontier else None,
        requests=tuple(requests_of(folders, url.url_hash)),
        pages=tuple(find_pages(folders, url.url_hash)),
        elsewhere=frontier is not None and frontier.lease_s is not None,
    )


def archived(folders: Folders, page: PageRow) -> Record:
    """Return the archive record of a stored page."""
    if not page.warc_file:
        raise GossamerError(f"{page.url} was stored without an archive record (--no-warc); --text prints its text")
    try:
        return find_response(folders, page)
    except (FileNotFoundError, ValueError) as error:
        raise damaged(str(error), folders) from None


def links_of(folders: Folders, page: PageRow) -> list[str]:
    """Return the links of a stored page: from the table `links`, or else from its archived body."""
    if stored := _stored_links(folders, page):
        return stored
    content = read_page(stored_answer(folders, page), agent=_AGENT, max_bytes=max(1, page.body_bytes))
    return [] if isinstance(content, ParseFailed) else [link.url for link in content.links]


def stored_answer(folders: Folders, page: PageRow) -> Fetched:
    """Return the answer of a stored page, from its archive record."""
    record = archived(folders, page)
    return Fetched(
        url=page.url,
        status=page.status,
        head=head_of(record),
        body=record.payload,
        address="",
        request_head=b"",
        started_at=page.fetched_at,
        duration_s=0.0,
    )


def _stored_links(folders: Folders, page: PageRow) -> list[str]:
    found: dict[str, None] = {}
    page_hash = pa.scalar(page.url_hash, pa.binary(16))
    fetched_at = pa.scalar(round(page.fetched_at * 1e6), pa.timestamp("us", tz="UTC"))
    for source in row_files(folders, LINKS):
        for batch in source.batches(["from_hash", "fetched_at", "to_url"]):
            of_page = pc.and_(pc.equal(batch["from_hash"], page_hash), pc.equal(batch["fetched_at"], fetched_at))
            found |= dict.fromkeys(batch.filter(of_page)["to_url"].to_pylist())
    return list(found)


def head_of(record: Record) -> bytes:
    """Return the status line and the headers of an archived answer."""
    return record.block[: len(record.block) - len(record.payload)]


def headers_of(folders: Folders, page: PageRow) -> list[str]:
    """Return the status line and the headers of a stored page, one line each."""
    return head_of(archived(folders, page)).decode("latin-1").rstrip().splitlines()


def read_body(record: Record, page: PageRow) -> str:
    """Return the text of an archived body, inflated and decoded as by the crawl."""
    return decode_body(head_of(record), record.payload, page)


def decode_body(raw_head: bytes, body: bytes, page: PageRow) -> str:
    """Return the text of a body as sent, inflated and decoded as by the crawl."""
    head = read_head(raw_head)
    inflated = inflate(body, head.encodings, max_bytes=page.body_bytes)
    if not isinstance(inflated, Inflated):
        raise GossamerError(f"the body of {page.url} cannot be inflated ({inflated.detail}); --raw prints it as it is")
    return decode(inflated.body, head.charset).text
