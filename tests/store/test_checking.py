"""A check names every flaw of stored files, and finds none in intact files."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from gossamer.store.checking import Checked, Flaw, check
from gossamer.store.names import index_of
from gossamer.store.reading import pages
from tests.store.samples import keep, new_store, segments

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """A stopped crawl of 20 pages in one segment."""
    with new_store(tmp_path) as store:
        for number in range(20):
            keep(store, number)
    return tmp_path


def flaws(folder: Path) -> list[Flaw]:
    return [problem.flaw for problem in check(folder).problems]


def test_a_good_folder_has_no_problems(crawl: Path) -> None:
    assert check(crawl) == Checked(pages=20, requests=20, records=20, problems=[])


def test_a_folder_in_which_nothing_was_stored_has_no_problems(tmp_path: Path) -> None:
    assert check(tmp_path) == Checked()


def test_a_crawl_that_goes_on_is_unfinished_and_otherwise_good(tmp_path: Path) -> None:
    with new_store(tmp_path, segment_size_bytes=9_000) as store:
        for number in range(30):
            keep(store, number)
        store.sync()
        checked = check(tmp_path)
    assert (checked.pages, checked.requests, checked.records) == (30, 30, 30)
    assert {problem.flaw for problem in checked.problems} == {Flaw.UNFINISHED}


def test_a_torn_segment_and_the_pages_it_costs_are_named(crawl: Path) -> None:
    (segment,) = segments(crawl)
    segment.write_bytes(segment.read_bytes()[:-5])
    problems = check(crawl).problems
    assert [problem.flaw for problem in problems] == [
        Flaw.TORN_SEGMENT,
        Flaw.WRONG_INDEX,
        Flaw.WRONG_INDEX,
        Flaw.MISSING_RECORD,
    ]
    assert problems[0].file == f"warc/{segment.name}"
    assert "https://site-19.test/page?n=19" in problems[-1].detail


def test_a_damaged_record_is_named(crawl: Path) -> None:
    (segment,) = segments(crawl)
    row = next(pages(crawl))
    data = bytearray(segment.read_bytes())
    data[row.warc_offset + 100] ^= 0xFF
    segment.write_bytes(data)
    assert flaws(crawl) == [Flaw.DAMAGED_SEGMENT, Flaw.WRONG_INDEX, Flaw.WRONG_INDEX, Flaw.MISSING_RECORD]


def test_a_record_whose_content_was_changed_is_named(crawl: Path) -> None:
    (segment,) = segments(crawl)
    row = list(pages(crawl))[-1]
    data = segment.read_bytes()
    record = gzip.decompress(data[row.warc_offset :]).replace(b"more words", b"less words")
    segment.write_bytes(data[: row.warc_offset] + gzip.compress(record))
    details = [problem.detail for problem in check(crawl).problems if problem.flaw is Flaw.WRONG_DIGEST]
    assert details == [
        f"warc-block-digest of the record at {row.warc_offset}",
        f"warc-payload-digest of the record at {row.warc_offset}",
    ]


def test_a_missing_segment_is_named_once(crawl: Path) -> None:
    (segment,) = segments(crawl)
    segment.unlink()
    (problem,) = check(crawl).problems
    assert problem.flaw is Flaw.MISSING_SEGMENT
    assert problem.file == f"warc/{segment.name}"
    assert problem.detail == "named by 20 rows"


@pytest.mark.parametrize("how", ["a line less", "another order", "another offset", "not an index"])
def test_an_index_that_tells_something_else_is_named(crawl: Path, how: str) -> None:
    (segment,) = segments(crawl)
    lines = index_of(segment).read_bytes().splitlines(keepends=True)
    match how:
        case "a line less":
            lines.pop(3)
        case "another order":
            lines.reverse()
        case "another offset":
            lines[4] = lines[4].replace(b'"offset": "', b'"offset": "1')
        case "not an index":
            lines = [b"hello\n"]
    index_of(segment).write_bytes(b"".join(lines))
    assert flaws(crawl) == [Flaw.WRONG_INDEX]


def test_a_row_that_points_at_another_pages_record_is_named(crawl: Path) -> None:
    with new_store(crawl, "x", warc=False) as store:
        first, second = list(pages(crawl))[:2]
        store.keep_page(first._replace(warc_offset=second.warc_offset, warc_length=second.warc_length))
    assert flaws(crawl) == [Flaw.MISSING_RECORD]


@pytest.mark.parametrize("table", ["pages", "requests"])
def test_a_part_that_cannot_be_read_is_named(crawl: Path, table: str) -> None:
    (part,) = (crawl / table).iterdir()
    data = bytearray(part.read_bytes())
    data[50:300] = b"\xff" * 250
    part.write_bytes(data)
    assert flaws(crawl) == [Flaw.UNREADABLE_TABLE]
    part.write_bytes(data[:200])
    assert flaws(crawl) == [Flaw.UNREADABLE_TABLE]
