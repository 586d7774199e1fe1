"""A page with the same content as another is marked as its duplicate, and archived as a reference to it."""

from __future__ import annotations

import gzip
import io
from typing import TYPE_CHECKING, Any

import pytest
from warcio.archiveiterator import ArchiveIterator
from xxhash import xxh3_128_digest

from gossamer.records import Truncation
from gossamer.store.cdxj import read_line
from gossamer.store.checking import Flaw, check
from gossamer.store.duplicates import DuplicateIndex, Original
from gossamer.store.names import index_of, open_index_of
from gossamer.store.reading import find_record, find_response, pages
from gossamer.store.repair import repair
from gossamer.store.warc import encode_exchange, encode_revisit, warc_date
from tests.store.samples import (
    HTML,
    fetched,
    kinds_seen_by_fastwarc,
    new_store,
    page_row,
    read_record,
    refusals,
    segments,
)

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.records import Fetched, PageRow
    from gossamer.store.store import Store

CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
GZIPPED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"


def keep(store: Store, answer: Fetched, content: bytes = HTML, **changes: Any) -> PageRow:
    encoded = encode_exchange(answer)
    row = page_row(answer, encoded)._replace(
        content_hash=xxh3_128_digest(content), mime_detected="text/html", **changes
    )
    return store.keep_page(row, encoded.archive, encoded.response_offset, answer=answer)


@pytest.fixture
def crawl(tmp_path: Path) -> tuple[Path, PageRow, PageRow]:
    """A folder with a page, its duplicate, and another page."""
    with new_store(tmp_path) as store:
        first = keep(store, fetched(1))
        second = keep(store, fetched(2, head=CHUNKED))
        keep(store, fetched(3, body=HTML + b"more"), HTML + b"more")
    return tmp_path, first, second


def test_a_duplicate_names_the_page_it_equals_and_keeps_its_own_row(crawl: tuple[Path, PageRow, PageRow]) -> None:
    folder, first, second = crawl
    assert [row.duplicate_of for row in pages(folder)] == ["", first.url, ""]
    assert second.text == first.text
    assert second.warc_length < first.warc_length


def test_the_record_of_a_duplicate_is_a_revisit_that_leads_to_the_payload(
    crawl: tuple[Path, PageRow, PageRow],
) -> None:
    folder, first, second = crawl
    record = find_record(folder, second.warc_file, second.warc_offset)
    assert record.headers["warc-type"] == "revisit"
    assert record.headers["warc-profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert record.headers["warc-identified-payload-type"] == "text/html"
    assert record.headers["warc-target-uri"] == second.url
    assert record.headers["warc-refers-to-target-uri"] == first.url
    original = find_record(folder, first.warc_file, first.warc_offset)
    assert record.headers["warc-refers-to-date"] == original.headers["warc-date"] == warc_date(first.fetched_at)
    assert record.headers["warc-payload-digest"] == original.headers["warc-payload-digest"]
    assert record.block == CHUNKED.replace(b"Transfer", b"X-Crawler-Transfer")
    assert record.payload == b""


def test_what_the_server_sent_for_a_duplicate_is_its_own_head_and_the_others_body(
    crawl: tuple[Path, PageRow, PageRow],
) -> None:
    folder, first, second = crawl
    assert read_record(folder, first) == fetched(1).head + HTML
    assert read_record(folder, second) == CHUNKED.replace(b"Transfer", b"X-Crawler-Transfer") + HTML
    assert find_response(folder, second).payload == HTML


def test_readers_of_other_makes_read_revisits(crawl: tuple[Path, PageRow, PageRow]) -> None:
    folder, first, _ = crawl
    (segment,) = segments(folder)
    kinds = ["warcinfo", "request", "response", "request", "revisit", "request", "response"]
    assert kinds_seen_by_fastwarc(segment) == kinds
    assert refusals(segment) == {}
    found = []
    for record in ArchiveIterator(io.BytesIO(segment.read_bytes())):
        found.append(record.rec_type)
        if record.rec_type == "revisit":
            assert record.http_headers.get_statuscode() == "200"
            assert record.rec_headers["WARC-Refers-To-Target-URI"] == first.url
    assert found == kinds


def test_the_index_says_which_records_are_revisits(crawl: tuple[Path, PageRow, PageRow]) -> None:
    folder, _, second = crawl
    (segment,) = segments(folder)
    written = index_of(segment).read_bytes()
    lines = [read_line(line) for line in written.splitlines(keepends=True)]
    assert [line and line["mime"] for line in lines] == ["text/html", "warc/revisit", "text/html"]
    assert lines[1] is not None
    assert (lines[1]["digest"], lines[1]["status"]) == (second.payload_digest, "200")
    index_of(segment).unlink()  # rebuilt from the records, it is the same
    repair(folder)
    assert index_of(segment).read_bytes() == written
    assert not open_index_of(segment).exists()
    assert check(folder).problems == []


def test_a_duplicate_whose_payload_is_gone_is_named(crawl: tuple[Path, PageRow, PageRow]) -> None:
    folder, first, second = crawl
    assert check(folder).problems == []
    assert check(folder).records == 3
    other = folder / "other"
    with new_store(other) as store:
        keep(store, fetched(3))  # the same payload, but not the page that is named
        encoded = encode_revisit(fetched(2), second, same_as=first.url, same_at=first.fetched_at)
        row = page_row(fetched(2), encoded)
        row = store._segments.keep(row, encoded.archive, encoded.response_offset, is_revisit=True)
    (problem,) = check(other).problems
    assert problem.flaw is Flaw.MISSING_PAYLOAD
    assert first.url in problem.detail
    with pytest.raises(ValueError, match="is a duplicate of"):
        find_response(other, row)


def test_the_same_content_sent_in_another_encoding_is_a_duplicate_with_a_record_of_its_own(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        first = keep(store, fetched(1))
        second = keep(store, fetched(2, head=GZIPPED, body=gzip.compress(HTML)))
        third = keep(store, fetched(3))
    assert second.duplicate_of == third.duplicate_of == first.url
    assert find_record(tmp_path, second.warc_file, second.warc_offset).headers["warc-type"] == "response"
    assert find_record(tmp_path, third.warc_file, third.warc_offset).headers["warc-type"] == "revisit"
    assert check(tmp_path).problems == []


def test_without_archives_duplicates_are_named_all_the_same(tmp_path: Path) -> None:
    with new_store(tmp_path, warc=False) as store:
        rows = [keep(store, fetched(number)) for number in range(3)]
    assert [row.duplicate_of for row in rows] == ["", rows[0].url, rows[0].url]
    assert not list((tmp_path / "warc").iterdir())


def test_a_page_fetched_again_is_no_duplicate_of_itself(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        rows = [keep(store, fetched(1)), keep(store, fetched(1)), keep(store, fetched(2))]
    assert [row.duplicate_of for row in rows] == ["", "", rows[0].url]
    for row in rows:
        assert read_record(tmp_path, row).endswith(HTML)
    assert check(tmp_path).problems == []


@pytest.mark.parametrize("changes", [{"truncated": True}, {"body_bytes": 0}])
def test_what_is_cut_or_empty_is_compared_with_nothing(tmp_path: Path, changes: dict[str, Any]) -> None:
    with new_store(tmp_path) as store:
        rows = [
            keep(store, fetched(1, truncated=Truncation.LENGTH), **changes),
            keep(store, fetched(2)),
            keep(store, fetched(3), **changes),
        ]
    assert [row.duplicate_of for row in rows] == ["", "", ""]


def test_no_memory_means_that_every_page_is_stored_in_full(tmp_path: Path) -> None:
    with new_store(tmp_path, duplicates_memory_bytes=0) as store:
        rows = [keep(store, fetched(number)) for number in range(3)]
    assert {row.duplicate_of for row in rows} == {""}
    assert kinds_seen_by_fastwarc(segments(tmp_path)[0]).count("response") == 3


def numbered(number: int) -> PageRow:
    """A page with unique content."""
    row = page_row(fetched(1), encode_exchange(fetched(1)))._replace(warc_file="x", body_bytes=1)
    return row._replace(
        url=f"https://a.test/{number}", content_hash=xxh3_128_digest(b"%d" % number), fetched_at=float(number)
    )


def is_known(contents: DuplicateIndex, row: PageRow) -> bool:
    found = contents.find(row._replace(url="https://b.test/"))
    assert found in (None, Original(row.url, row.fetched_at, row.payload_digest))
    return found is not None


def test_the_contents_met_last_are_the_ones_that_are_known() -> None:
    contents, often, stored = DuplicateIndex(100_000), numbered(0), 0
    for number in range(1, 5_000):
        contents.note(numbered(number))
        assert is_known(contents, numbered(number))
        if not is_known(contents, often):
            contents.note(often)
            stored += 1
    assert stored < 10, "what is met again and again is forgotten only for one that comes to its very place"
    known = [number for number in range(1, 5_000) if is_known(contents, numbered(number))]
    assert len(known) > 500, "a record takes some 120 bytes"
    assert min(known) > 5_000 - 100_000 // 100, "what was not met for longest is forgotten"


def test_the_memory_of_contents_is_taken_at_once_and_bounded() -> None:
    contents = DuplicateIndex(10_000)
    before = len(contents._ring), len(contents._places)
    assert 9_000 < len(contents._ring) + 8 * len(contents._places) <= 10_000
    for number in range(1_000):
        contents.note(numbered(number))
    contents.note(numbered(1_000)._replace(url="https://a.test/" + "x" * 9_999))  # larger than all there is
    assert (len(contents._ring), len(contents._places)) == before
    assert is_known(contents, numbered(999))
