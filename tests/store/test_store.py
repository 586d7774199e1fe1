"""A store keeps what it synced on disk, and what it could not write in memory."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from gossamer.records import LinkRow
from gossamer.store import files
from gossamer.store.checking import Flaw, check
from gossamer.store.names import index_of, open_index_of
from gossamer.store.reading import links, pages, requests, row_files
from gossamer.store.repair import repair
from gossamer.store.scanning import Record, scan
from gossamer.store.schemas import PAGES
from gossamer.store.segments import with_warcinfo
from gossamer.store.warc import encode_exchange, opening
from tests.store.samples import (
    HTML,
    fetched,
    keep,
    new_store,
    numbers,
    page_row,
    read_record,
    request_row,
    segments,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.records import PageRow
    from gossamer.store.store import Store


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small disk needs root; the limit on file sizes is tried in any case")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_what_is_kept_reaches_the_disk_with_the_next_sync(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        rows = [keep(store, number) for number in range(5)]
        assert list(pages(tmp_path)) == []
        store.sync()
        assert list(pages(tmp_path)) == rows
        assert list(requests(tmp_path)) == [request_row(number) for number in range(5)]
        for number, row in enumerate(rows):
            assert read_record(tmp_path, row) == fetched(number).head + HTML


def test_a_row_names_the_place_of_its_record(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        before = keep(store, 0)
        encoded = encode_exchange(fetched(1))
        row = store.keep_page(page_row(fetched(1), encoded), encoded.archive, encoded.response_offset)
        store.sync()
        data = segments(tmp_path)[0].read_bytes()
    assert row.warc_file == before.warc_file == segments(tmp_path)[0].name
    place = slice(row.warc_offset, row.warc_offset + row.warc_length)
    (info, *_) = scan(segments(tmp_path)[0])
    assert isinstance(info, Record)
    info_id = info.headers["warc-record-id"].removeprefix("<urn:uuid:").removesuffix(">")
    archive = with_warcinfo(encoded.archive, encoded.response_offset, opening(info_id))
    assert data[place] == archive[encoded.response_offset :]
    assert row.warc_offset == before.warc_offset + before.warc_length + encoded.response_offset


@pytest.mark.parametrize("settings", [{}, {"robots_archive": False}, {"warc": False}])
def test_a_robots_txt_is_archived_apart_unless_the_operator_says_no(tmp_path: Path, settings: dict[str, bool]) -> None:
    answer = fetched(1, body=b"User-agent: *\nDisallow:\n")
    with new_store(tmp_path, "w", **settings) as store:
        store.keep_robots(answer, request_row(1))
        store.sync()
    assert check(tmp_path).problems == []
    found = [each for segment in segments(tmp_path) for each in scan(segment) if isinstance(each, Record)]
    if settings:
        assert found == []
        return
    assert [each.headers["warc-type"] for each in found] == ["warcinfo", "request", "response"]
    assert found[-1].payload == answer.body
    assert segments(tmp_path)[0].name.startswith("gossamer-robots-2")
    assert index_of(segments(tmp_path)[0]).exists()
    assert list(pages(tmp_path)) == []


def test_a_stopped_store_leaves_only_finished_files(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        for number in range(5):
            keep(store, number)
    assert sorted(path.suffix for path in tmp_path.rglob("*") if path.is_file()) == [
        ".cdxj",
        ".gz",
        ".parquet",
        ".parquet",
    ]
    assert numbers(pages(tmp_path)) == list(range(5))
    assert check(tmp_path).problems == []


def test_a_store_that_kept_nothing_leaves_no_files(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        store.sync()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_without_archives_there_are_rows_and_no_segments(tmp_path: Path) -> None:
    with new_store(tmp_path, warc=False) as store:
        row = keep(store, 0)
    assert (row.warc_file, row.warc_offset, row.warc_length) == ("", 0, 0)
    assert list(pages(tmp_path)) == [row]
    assert list((tmp_path / "warc").iterdir()) == []
    assert check(tmp_path).problems == []


def test_a_page_may_come_without_an_archive(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        row = store.keep_page(page_row(fetched(0), encode_exchange(fetched(0))))
    assert row.warc_file == ""
    assert list(pages(tmp_path)) == [row]


def test_an_answer_that_is_no_page_has_a_record_and_no_row(tmp_path: Path) -> None:
    answer = fetched(1, head=b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n", status=404)
    encoded = encode_exchange(answer)
    with new_store(tmp_path) as store:
        keep(store, 0)
        row = store.keep_answer(page_row(answer, encoded), encoded.archive, encoded.response_offset)
        assert store.archives
    assert numbers(pages(tmp_path)) == [0]
    assert read_record(tmp_path, row) == answer.head + HTML
    assert b'"status": "404"' in index_of(segments(tmp_path)[0]).read_bytes()
    assert check(tmp_path).problems == []
    with new_store(tmp_path / "none", warc=False) as store:
        assert not store.archives
        assert store.keep_answer(row, encoded.archive, encoded.response_offset) == row
    assert not list((tmp_path / "none" / "warc").iterdir())


def test_links_are_a_table_of_their_own(tmp_path: Path) -> None:
    rows = [LinkRow(bytes(16), 1_767_225_600.25, f"https://a.test/{number}", "möre", "nofollow") for number in range(9)]
    with new_store(tmp_path) as store:
        store.keep_links([])
        store.keep_links(rows[:4])
        assert list(links(tmp_path)) == []
        store.sync()
        assert list(links(tmp_path)) == rows[:4]
        store.keep_links(rows[4:])
    assert list(links(tmp_path)) == rows
    assert len(list((tmp_path / "links").glob("*.parquet"))) == 1
    assert (check(tmp_path).links, check(tmp_path).problems) == (9, [])


def test_the_same_page_twice_has_two_rows_and_two_records(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        rows = [keep(store, 7), keep(store, 7)]
    assert list(pages(tmp_path)) == rows
    assert rows[0].warc_offset != rows[1].warc_offset
    assert len(index_of(segments(tmp_path)[0]).read_bytes().splitlines()) == 2
    assert check(tmp_path).problems == []


def test_journals_become_parts_beside_the_worker(tmp_path: Path) -> None:
    with new_store(tmp_path, part_rows=10, segment_size_bytes=5_000) as store:
        for number in range(10):
            keep(store, number)
        store.sync()
        process = store._finisher._process
        assert process is not None
        for number in range(10, 15):  # the worker continues meanwhile
            keep(store, number)
        store.sync()
        assert process.wait() == 0
        assert len(list((tmp_path / "pages").glob("*.parquet"))) == 1
        assert index_of(segments(tmp_path)[0]).exists()
        assert [source.path.suffix for source in row_files(tmp_path, PAGES)] == [".parquet", ".journal"]
        assert numbers(pages(tmp_path)) == list(range(15))
    assert numbers(pages(tmp_path)) == list(range(15))


def test_what_could_not_be_finished_is_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with new_store(tmp_path, part_rows=3) as store:
        for number in range(3):
            keep(store, number)
        obstacle = tmp_path / "requests"
        obstacle.rmdir()  # no place for the part
        store.sync()
        assert store._finisher._process is not None
        assert store._finisher._process.wait() == 1
        store.sync()
        assert "trying again later" in caplog.text
        assert numbers(requests(tmp_path)) == [0, 1, 2]
        obstacle.mkdir()
        store._finisher._next_try_s = 0.0
        store.sync()
        assert store._finisher._process is not None
        assert store._finisher._process.wait() == 0
    assert numbers(requests(tmp_path)) == [0, 1, 2]
    assert check(tmp_path).problems == []


def test_the_finisher_dies_with_its_worker(tmp_path: Path) -> None:
    store = new_store(tmp_path, part_rows=1)
    store._hand_over = lambda *, everything: None  # type: ignore[method-assign]
    keep(store, 0)
    store.sync()
    fifo = tmp_path / "journal" / "pages-20260101000000000-w-00009.journal"
    os.mkfifo(fifo)  # it will wait here for ever
    store._finisher.add([fifo])
    store._finisher.turn()
    process = store._finisher._process
    assert process is not None
    assert process.poll() is None
    assert process.stdin is not None
    process.stdin.close()  # as the worker's end does
    assert process.wait() == 1
    fifo.unlink()
    store._finisher.files.clear()
    store.close()


def sync_with_files_up_to(limit: int, store: Store) -> int:
    """Sync while no file may be larger than `limit` bytes; return the error number, or 0."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        store.sync()
    except OSError as error:
        return error.errno or -1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    return 0


@pytest.mark.parametrize("limit", [500, 2_000, 4_000, 7_000, 12_000, 20_000])
def test_a_write_that_fails_loses_nothing_and_tears_nothing(tmp_path: Path, limit: int) -> None:
    with new_store(tmp_path, segment_size_bytes=15_000) as store:
        rows, failures = [], 0
        for number in range(40):
            rows.append(keep(store, number))
            if number % 4 == 3:
                failed = sync_with_files_up_to(limit, store)
                assert failed in (0, errno.EFBIG)
                failures += failed != 0
                # Nothing is torn, and every row that can be seen has its record.
                assert {problem.flaw for problem in check(tmp_path).problems} <= {Flaw.UNFINISHED}
                seen = list(pages(tmp_path))
                assert seen == (rows[: len(seen)] if failed else rows)
                if number == 27:  # there is room for once
                    store.sync()
                    assert list(pages(tmp_path)) == rows
        assert failures > 1
    assert list(pages(tmp_path)) == rows
    assert numbers(requests(tmp_path)) == list(range(40))
    assert check(tmp_path).problems == []


def test_a_full_disk_stops_the_store_until_there_is_room(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 700_000)
    store = new_store(small_disk)
    rows: list[PageRow] = []

    def crawl() -> None:
        while True:
            rows.append(keep(store, len(rows)))
            if len(rows) % 10 == 0:
                store.sync()

    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        crawl()
    for _ in range(3):  # it does not get worse by trying
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            store.sync()
    seen = list(pages(small_disk))
    assert len(seen) >= len(rows) - 20
    assert {problem.flaw for problem in check(small_disk).problems} <= {Flaw.UNFINISHED}
    ballast.unlink()
    store.sync()
    assert list(pages(small_disk)) == rows
    store.close()
    assert check(small_disk).problems == []


def test_a_store_that_cannot_be_closed_is_like_one_that_crashed(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    for number in range(4):
        keep(store, number)
    store.sync()
    for number in range(4, 40):
        keep(store, number)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, hard))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
            store.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    repair(tmp_path)
    assert numbers(pages(tmp_path)) == list(range(4))
    assert check(tmp_path).problems == []


def test_what_is_kept_during_a_sync_never_reaches_the_disk_before_its_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync_data = files.sync_data
    rows: list[PageRow] = []

    def interrupted(descriptor: int) -> None:
        """Do what another thread may do at any moment of a sync."""
        sync_data(descriptor)
        if len(rows) < 40:
            rows.append(keep(store, len(rows)))
        (segment,) = segments(tmp_path)
        size = segment.stat().st_size
        seen = list(pages(tmp_path))
        assert seen == rows[: len(seen)]
        assert all(row.warc_offset + row.warc_length <= size for row in seen)
        index = open_index_of(segment)
        assert not index.exists() or len(index.read_bytes().splitlines()) <= len(list(scan(segment))) // 2

    with new_store(tmp_path) as store:
        rows.append(keep(store, 0))
        monkeypatch.setattr(files, "sync_data", interrupted)
        while len(rows) < 40:
            store.sync()
        monkeypatch.undo()
    assert list(pages(tmp_path)) == rows


def test_keeping_in_one_thread_while_another_syncs_loses_nothing(tmp_path: Path) -> None:
    stopped = threading.Event()
    with new_store(tmp_path, segment_size_bytes=20_000, part_rows=100_000) as store:

        def sync() -> None:
            while not stopped.is_set():
                store.sync()

        thread = threading.Thread(target=sync)
        thread.start()
        rows = []
        encoded = encode_exchange(fetched(0))
        for number in range(3_000):
            row = page_row(fetched(number), encoded)
            rows.append(store.keep_page(row, encoded.archive, encoded.response_offset))
            store.keep_request(request_row(number))
            if number % 500 == 0:
                # Whatever row is on disk, its record is.
                for seen in pages(tmp_path):
                    read_record(tmp_path, seen)
        stopped.set()
        thread.join()
        store.sync()
        assert list(pages(tmp_path)) == rows
    assert numbers(requests(tmp_path)) == list(range(3_000))
    assert len(segments(tmp_path)) > 50
