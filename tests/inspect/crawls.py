"""A small crawl with a real frontier and a real store, and no network: it writes what a worker writes, step by step."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Self

from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.records import (
    Batch,
    Claimed,
    Done,
    Fetched,
    GivenUp,
    Link,
    PageRow,
    Reason,
    Release,
    RequestRow,
    Visit,
)
from gossamer.store import Store, StoreSettings
from gossamer.store.warc import encode_exchange
from gossamer.urls import hash_url, identify, site_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gossamer.records import Claim, Outcome

BEGAN_AT = 1_767_225_600.0  # 2026-01-01, 00:00 UTC
HTML = "<html><title>Größe</title><p>Ein paar Wörter.</p></html>"
CHARSET = "macintosh"  # cannot be guessed from so few bytes


def html_answer(url: str, number: int, html: str = HTML) -> Fetched:
    """A page in an old charset, sent deflated."""
    return Fetched(
        url=url,
        status=200,
        head=b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=macintosh\r\nContent-Encoding: deflate\r\n\r\n",
        body=zlib.compress(html.encode(CHARSET)),
        address="192.0.2.7",
        request_head=b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        started_at=BEGAN_AT + number,
        duration_s=0.25,
    )


def page_row(answer: Fetched, digest: str) -> PageRow:
    """The row of such a page, without its place in the archive."""
    return PageRow(
        url_hash=hash_url(answer.url), url=answer.url, site=site_of(answer.url), depth=0,
        fetched_at=answer.started_at, status=200, content_type="text/html", charset="macintosh", lang="de",
        title="Größe", text="Ein paar Wörter.", links=0, content_hash=b"0" * 16, canonical="", signals="",
        truncated=False, body_bytes=len(HTML.encode(CHARSET)), payload_digest=digest, warc_file="",
        warc_offset=0, warc_length=0,
    )  # fmt: skip


class Crawl:
    """A crawl with one worker, which is this process. Without a delay, so that sites are due at once."""

    def __init__(self, folder: Path, *, worker: str = "w1", warc: bool = True, part_rows: int = 50_000) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.frontier = SqliteFrontier(folder / "frontier.sqlite")
        self.frontier.resume(delay_s=0)
        self.frontier.join(worker)
        self.store = Store(
            folder, worker, StoreSettings(warc=warc, part_rows=part_rows), operator="a@b.test", user_agent="T/1"
        )
        self._worker = worker
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Shut down gracefully."""
        self.store.close()
        self.frontier.__exit__(None, None, None)

    def crash(self) -> None:
        """End as a killed worker does: synced data is there, no file is finished."""
        self.frontier.__exit__(None, None, None)

    def add(self, *urls: str) -> None:
        """Accept URLs."""
        self.frontier.add([Link(*identify(url), 0, seeded=True) for url in urls])

    def claim(self) -> tuple[Claim, ...]:
        """Claim all sites; a site recovered in this millisecond is due in the next."""
        while True:
            claimed = self.frontier.claim(1_000)
            assert isinstance(claimed, Claimed)
            if claimed.claims or claimed.wait_s is None:
                return claimed.claims

    def keep(self, url: str, html: str = HTML) -> PageRow:
        """Store a page and its request."""
        self._number += 1
        self.ask(url, status=200)
        return self.store_page(url, html)

    def store_page(self, url: str, html: str = HTML) -> PageRow:
        """Store a page."""
        answer = html_answer(url, self._number, html)
        encoded = encode_exchange(answer)
        return self.store.keep_page(page_row(answer, encoded.payload_digest), encoded.archive, encoded.response_offset)

    def ask(self, url: str, *, status: int = 0, reason: str = "", kind: str = "page", duration_s: float = 0.25) -> None:
        """Write a request into the crawl log."""
        began = BEGAN_AT + self._number
        self.store.keep_request(
            RequestRow(
                hash_url(url), url, site_of(url), kind, began, began + duration_s, status, reason, 3_456, "192.0.2.7",
                "allowed", 1, self._worker,
            )
        )  # fmt: skip

    def pass_time(self, seconds: int) -> None:
        """Advance the start time of later requests."""
        self._number += seconds

    def complete(self, claim: Claim, outcomes: Sequence[Outcome], links: Sequence[Link] = ()) -> None:
        """Sync, then report: in that order, as a worker does."""
        self.store.sync()
        reports = list(zip((url.url_hash for url in claim.urls), outcomes, strict=False))
        visit = Visit(site=claim.site, epoch=claim.epoch, outcomes=reports, release=Release(wait_s=0))
        self.frontier.complete(Batch(links=links, visits=[visit]))

    def run(self) -> None:
        """Crawl until nothing is due: `/gone` is given up, `/moved` is a redirect, all else is a page."""
        while claims := self.claim():
            for claim in claims:
                outcomes = [self.visit(url.url) for url in claim.urls]
                self.complete(claim, outcomes)

    def visit(self, url: str) -> Outcome:
        """Do what a worker does with one URL, except completing it."""
        if url.endswith("/gone"):
            self._number += 1
            self.ask(url, status=404)
            return GivenUp(reason=Reason.HTTP_ERROR)
        if url.endswith("/moved"):
            self._number += 1
            self.ask(url, status=301)
            return Done(page=False)
        self.keep(url)
        return Done()
