"""Readers see everything that is on disk, each row once, also while a worker writes and converts."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from gossamer.store.reading import find_pages, last_pages, pages, requests, row_files
from gossamer.store.schemas import PAGES
from gossamer.store.warc import encode_exchange
from gossamer.urls import hash_url
from tests.store.samples import HTML, fetched, keep, new_store, numbers, page_row, read_record

if TYPE_CHECKING:
    from pathlib import Path


def test_no_row_is_missed_or_seen_twice_while_journals_become_parts(tmp_path: Path) -> None:
    done = threading.Event()
    synced = 0

    def work() -> None:
        nonlocal synced
        with new_store(tmp_path, part_rows=9) as store:
            # Converting right here, not in a process, makes it happen far more often.
            store._finisher.turn = store._finisher.finish_all  # type: ignore[method-assign]
            for number in range(400):
                keep(store, number)
                if number % 3 == 2:
                    store.sync()
                    synced = number + 1
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    readings = 0
    while not done.is_set():
        before = synced
        for rows in (pages(tmp_path), requests(tmp_path)):
            found = sorted(numbers(rows))
            assert found == list(range(len(found)))
            assert len(found) >= before
        readings += 1
    thread.join()
    assert readings > 3
    assert len(row_files(tmp_path, PAGES)) > 40


def test_a_journal_is_read_even_if_it_goes_meanwhile(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        keep(store, 0)
        store.sync()
        (source,) = row_files(tmp_path, PAGES)
    assert not source.path.exists()
    assert [batch["url"].to_pylist() for batch in source.batches()] == [[fetched(0).url]]
    assert [batch.schema.names for batch in source.batches(["url", "depth"])] == [["url", "depth"]]


@pytest.fixture
def machines(tmp_path: Path) -> list[Path]:
    """The folders of two machines: pages 0-9 and 5-14, each fetched again later; one of them is still crawling."""
    folders = [tmp_path / "a", tmp_path / "b"]
    for place, (folder, first) in enumerate(zip(folders, (0, 5), strict=True)):
        store = new_store(folder, f"w{place}")
        for turn in range(2):
            for number in range(first, first + 10):
                answer = fetched(number)
                encoded = encode_exchange(answer)
                row = page_row(answer, encoded)._replace(
                    fetched_at=answer.started_at + 1_000 * turn + 100 * place, title=f"turn {turn} on {folder.name}"
                )
                store.keep_page(row, encoded.archive, encoded.response_offset)
            store.sync()
        if place == 0:
            store.close()
    return folders


def test_several_machines_folders_read_as_one(machines: list[Path]) -> None:
    assert sorted(numbers(pages(machines))) == sorted([*range(10), *range(5, 15)] * 2)
    for row in pages(machines):
        assert read_record(machines, row).endswith(HTML)


def test_the_last_row_of_each_url_is_the_one_that_counts(machines: list[Path]) -> None:
    last = {number: row.title for row in last_pages(machines) for number in numbers([row])}
    assert last == {number: "turn 1 on a" if number < 5 else "turn 1 on b" for number in range(15)}
    assert len(list(last_pages(machines))) == 15


def test_nothing_stored_reads_as_nothing(tmp_path: Path) -> None:
    assert [*pages(tmp_path), *last_pages(tmp_path), *requests(tmp_path)] == []


def test_all_rows_of_one_url_are_found(machines: list[Path]) -> None:
    rows = find_pages(machines, hash_url(fetched(7).url))
    assert [row.title for row in rows] == ["turn 0 on a", "turn 0 on b", "turn 1 on a", "turn 1 on b"]
    assert find_pages(machines, hash_url("https://nowhere.test/")) == []


def test_a_record_that_is_not_there_is_told_from_a_segment_that_is_not(machines: list[Path]) -> None:
    row = next(pages(machines))
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_record(machines[1], row)
    with pytest.raises(ValueError, match="no complete record at"):
        read_record(machines, row._replace(warc_offset=row.warc_offset + 1))
    with pytest.raises(ValueError, match="no complete record at"):
        read_record(machines, row._replace(warc_offset=1 << 40))


def test_parts_are_plain_parquet(machines: list[Path]) -> None:
    (part,) = (machines[0] / "pages").iterdir()
    table = pq.read_table(part)
    assert table.schema.equals(PAGES.schema)
    assert table["title"].to_pylist() == ["turn 0 on a"] * 10 + ["turn 1 on a"] * 10
