"""What a crawl knows of one URL, and what it has kept of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gossamer.errors import GossamerError
from gossamer.inflate import Inflated, inflate
from gossamer.inspect.requests import requests_of
from gossamer.parse.charset import decode
from gossamer.parse.head import read_head
from gossamer.store.reading import find_pages, find_record

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.frontier import Frontier
    from gossamer.records import PageRow, RequestRow, SiteState, UrlState
    from gossamer.store.scanning import Record
    from gossamer.urls import Url


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Everything there is about a URL."""

    url: Url
    state: UrlState | None  # None: never accepted
    site: SiteState | None  # None: no URL of its site was ever accepted
    requests: tuple[RequestRow, ...]  # oldest first
    pages: tuple[PageRow, ...]  # oldest first; the last one counts

    @property
    def is_known(self) -> bool:
        """Whether there is anything at all."""
        return bool(self.state or self.requests or self.pages)


def trace(frontier: Frontier, folder: Path, url: Url) -> Trace:
    """Find everything there is about a URL."""
    return Trace(
        url=url,
        state=frontier.find_url(url.site, url.url_hash),
        site=frontier.find_site(url.site),
        requests=tuple(requests_of(folder, url.url_hash)),
        pages=tuple(find_pages(folder, url.url_hash)),
    )


def archived(folder: Path, page: PageRow) -> Record:
    """Return the archive record of a stored page."""
    if not page.warc_file:
        raise GossamerError(f"{page.url} was stored without an archive record (--no-warc); --text prints its text")
    try:
        return find_record(folder, page.warc_file, page.warc_offset)
    except (FileNotFoundError, ValueError) as error:
        raise GossamerError(f"{error}; gossamer verify tells what else is damaged") from None


def read_body(record: Record, page: PageRow) -> str:
    """Return the text of an archived body, inflated and decoded as the crawl did it."""
    body = record.payload
    head = read_head(record.block[: len(record.block) - len(body)])
    inflated = inflate(body, head.encodings, max_bytes=page.body_bytes)
    if not isinstance(inflated, Inflated):
        raise GossamerError(f"the body of {page.url} cannot be inflated ({inflated.detail}); --raw prints it as it is")
    return decode(inflated.body, head.charset).text
