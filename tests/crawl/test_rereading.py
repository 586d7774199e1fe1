"""The links of stored pages, read again from what a crawl has kept."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from gossamer.crawl.rereading import Rereading
from gossamer.crawl.settings import SECTIONS, Settings
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.records import Done, Fetched, LinkRow, PageRow, Scope
from gossamer.rules.scope import ScopeSettings
from gossamer.store.store import Store, StoreSettings
from gossamer.store.warc import encode_exchange
from gossamer.urls import hash_url, site_of
from tests.frontier.samples import claim, complete, link

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from gossamer.frontier import Frontier

HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"


def answer(url: str, head: bytes, body: bytes = b"") -> Fetched:
    status = int(head.split()[1])
    return Fetched(
        url=url, status=status, head=head, body=body, address="192.0.2.1", request_head=b"GET / HTTP/1.1\r\n\r\n",
        started_at=1_800_000_000.0, duration_s=0.1,
    )  # fmt: skip


def keep(store: Store, url: str, depth: int, *links: str) -> None:
    """Store a page with these links."""
    body = "".join(f'<a href="{one}">x</a>' for one in links).encode()
    came = answer(url, HTML, body)
    encoded = encode_exchange(came)
    row = PageRow(
        url_hash=hash_url(url), url=url, site=site_of(url), depth=depth, fetched_at=came.started_at, status=200,
        content_type="text/html", charset="utf-8", lang="", title="", text="", links=len(links), content_hash=body[:16],
        canonical="", signals="", truncated=False, body_bytes=len(body), payload_digest=encoded.payload_digest,
        warc_file="", warc_offset=0, warc_length=0,
    )  # fmt: skip
    store.keep_page(row, encoded.archive, encoded.response_offset, answer=came)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A crawl's folder with pages at three depths, one of them a duplicate, and a redirect."""
    with Store(tmp_path, "w1", StoreSettings(), operator="a@b.test", user_agent="x") as store:
        keep(store, "https://a.test/", 0, "/one", "https://b.test/")
        keep(store, "https://a.test/one", 1, "deep/two", "/three", "/four?page=1")
        keep(store, "https://a.test/copy/one", 1, "deep/two", "/three", "/four?page=1")
        keep(store, "https://a.test/deep/two", 2, "/five")
        keep(store, "https://a.test/alone", 1)
        moved = answer("https://a.test/old", b"HTTP/1.1 301 Moved\r\nLocation: https://c.test/new\r\n\r\n")
        encoded = encode_exchange(moved)
        row = PageRow(
            url_hash=hash_url(moved.url), url=moved.url, site="a.test", depth=1, fetched_at=moved.started_at,
            status=301, content_type="", charset="", lang="", title="", text="", links=0, content_hash=b"",
            canonical="", signals="", truncated=False, body_bytes=0, payload_digest=encoded.payload_digest,
            warc_file="", warc_offset=0, warc_length=0,
        )  # fmt: skip
        store.keep_answer(row, encoded.archive, encoded.response_offset)
    return tmp_path


@pytest.fixture
def frontier(folder: Path) -> Iterator[SqliteFrontier]:
    """Where only the redirect is known, and done."""
    with SqliteFrontier(folder / "frontier.sqlite") as frontier:
        frontier.resume(delay_s=0)
        frontier.join("test")
        frontier.add([link("a.test/old", 1)])
        complete(frontier, claim(frontier)[0], Done(page=False))
        yield frontier


def reread(
    frontier: Frontier,
    folder: Path,
    *,
    done: Collection[str] = (),
    least_depth: int = 0,
    say: Callable[[str], None] = lambda _: None,
    **scope: object,
) -> list[str]:
    """Read everything again; return the files that were read."""
    chosen = ScopeSettings(**{"scope": Scope.WEB, **scope})  # type: ignore[arg-type]
    settings = Settings(**{name: section() for name, section in SECTIONS.items()} | {"scope": chosen})
    files: list[str] = []
    reading = Rereading(frontier, folder, settings, least_depth=least_depth, hooks=None)
    asyncio.run(reading.run(done, note=files.append, say=say))
    return files


def queued(frontier: Frontier) -> dict[str, int]:
    return {one.url.removeprefix("https://"): one.depth for one in frontier.all_queued()}


def test_links_of_pages_of_duplicates_and_of_redirects_are_found_again(frontier: SqliteFrontier, folder: Path) -> None:
    files = reread(frontier, folder)
    assert queued(frontier) == {
        "a.test/one": 1, "b.test/": 1, "a.test/deep/two": 2, "a.test/copy/deep/two": 2, "a.test/three": 2,
        "a.test/four?page=1": 2, "a.test/five": 3, "c.test/new": 1,
    }  # fmt: skip
    assert len(files) == 2, "a part of pages, and an index of redirects"
    known = frontier.stats().known
    reread(frontier, folder)
    assert frontier.stats().known == known, "whatever is repeated adds nothing"


def test_what_the_rules_do_not_admit_is_not_taken(frontier: SqliteFrontier, folder: Path) -> None:
    reread(frontier, folder, max_depth=2, exclude=("/*?",), include=("/d", "/t", "/c", "/new", "/four"), least_depth=1)
    assert set(queued(frontier)) == {"a.test/deep/two", "a.test/copy/deep/two", "a.test/three", "c.test/new"}


def test_files_that_were_read_before_are_not_read_again(frontier: SqliteFrontier, folder: Path) -> None:
    pages, redirects = reread(frontier, folder)
    with SqliteFrontier(folder / "other.sqlite") as other:
        other.resume(delay_s=0)
        assert reread(other, folder, done=[pages]) == [redirects]
        assert queued(other) == {}


def test_pages_without_archives_are_done_when_the_table_of_links_is_read(tmp_path: Path) -> None:
    with Store(tmp_path, "w1", StoreSettings(warc=False), operator="a@b.test", user_agent="x") as store:
        keep(store, "https://a.test/", 0, "/one", "/two")
        anchors = [("https://a.test/one", "x", ""), ("https://a.test/two", "x", "nofollow")]
        store.keep_links([LinkRow(hash_url("https://a.test/"), 1_800_000_000.0, *anchor) for anchor in anchors])
    with SqliteFrontier(tmp_path / "frontier.sqlite") as frontier:
        frontier.resume(delay_s=0)
        assert reread(frontier, tmp_path) == [], "a start that is cut off before reads them again"
        assert queued(frontier) == {"a.test/one": 1}


def test_a_page_whose_archive_is_gone_is_counted_and_costs_only_itself(folder: Path) -> None:
    for segment in (folder / "warc").iterdir():
        segment.unlink()
    said: list[str] = []
    with SqliteFrontier(folder / "frontier.sqlite") as frontier:
        frontier.resume(delay_s=0)
        reread(frontier, folder, say=said.append)
        assert queued(frontier) == {}
    assert "4 could not be read" in said[-1]
