"""Journals lose nothing that was synced, wherever they are cut, and their conversion to parts can be repeated."""

from __future__ import annotations

import errno
import io
import os
import random
from itertools import count
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gossamer.records import PageRow, RequestRow
from gossamer.store import journals
from gossamer.store.frames import BrokenRange
from gossamer.store.journal_files import JournalFile, JournalReader
from gossamer.store.journals import Journal, as_batches
from gossamer.store.names import FOLDERS, journal_path
from gossamer.store.parts import convert
from gossamer.store.schemas import PAGES, REQUESTS, TABLES, Table
from gossamer.store.warc import encode_exchange
from tests.store.samples import fetched, page_row, request_row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def page(number: int) -> PageRow:
    answer = fetched(number, body=b"")
    return page_row(answer, encode_exchange(answer))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FOLDERS:
        (tmp_path / name).mkdir()
    return tmp_path


def new_journal(folder: Path, clock: Callable[[], float] = lambda: 0.0) -> Journal[PageRow]:
    stems = (f"20260101000000000-w-{number:05d}" for number in count(1))
    return Journal(PAGES, lambda _: journal_path(folder, "pages", next(stems)), clock)


def write_journal(folder: Path, batches: int) -> tuple[Path, list[int]]:
    """A journal of batches with three rows each, and how long it was after the schema and each batch."""
    journal = new_journal(folder)
    lengths = [0]
    for batch in range(batches):
        for number in range(3 * batch, 3 * batch + 3):
            journal.rows.append(page(number))
        journal.sync(3)
        assert journal._file is not None
        lengths.append(journal._file.length)
    (path,) = journal.take()
    return path, lengths


def read(path: Path) -> pa.Table:
    with JournalFile(path) as journal:
        sound = [found for found in journal.read() if not isinstance(found, BrokenRange)]
    return pa.Table.from_batches(sound, schema=PAGES.schema)


@pytest.mark.parametrize(("table", "row"), [(PAGES, PageRow), (REQUESTS, RequestRow)])
def test_a_table_has_the_columns_of_its_row(table: Table, row: type[PageRow | RequestRow]) -> None:
    assert tuple(column.name for column in table.columns) == row._fields
    assert all(column.meaning for column in table.columns)
    assert TABLES[table.name] is table


def test_a_frame_of_a_journal_is_an_arrow_stream_that_any_reader_understands(folder: Path) -> None:
    """As docs/data.md says it: the length of the frame, and then an Arrow stream."""
    path, _ = write_journal(folder, 4)
    data, at, tables = path.read_bytes(), 0, []
    while length := int.from_bytes(data[at + 24 : at + 32], "little"):
        tables.append(pa.ipc.open_stream(data[at + 56 : at + 56 + length]).read_all())
        at += 56 + length
    table = pa.concat_tables(tables)
    assert table.schema == PAGES.schema
    assert table["url"].to_pylist() == [page(number).url for number in range(12)]
    assert table["text"][0].as_py() == page(0).text
    assert table["fetched_at"].cast(pa.int64())[1].as_py() == 1_767_225_601_250_000
    assert table["truncated"].to_pylist() == [False] * 12


def test_a_journal_cut_anywhere_gives_every_whole_batch_and_nothing_else(folder: Path) -> None:
    path, lengths = write_journal(folder, 8)
    whole, data = read(path), path.read_bytes()
    assert len(whole) == 24
    draw = random.Random(5)
    for size in [0, 1, *lengths, *(draw.randrange(len(data)) for _ in range(400))]:
        path.write_bytes(data[:size])
        expected = sum(length <= size for length in lengths[1:])
        assert read(path).equals(whole.slice(0, 3 * expected))
        path.write_bytes(data[:size] + b"\0" * 3_000)  # what some file systems leave after a power cut
        if size in lengths:
            assert read(path).equals(whole.slice(0, 3 * expected))


def test_a_disk_that_fails_is_not_taken_for_the_end_of_a_journal() -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError(errno.EIO, "planted")

        def fileno(self) -> int:
            return os.open(__file__, os.O_RDONLY)

    with pytest.raises(OSError, match="planted"):
        list(JournalReader(Failing()).read())


def test_a_journal_becomes_a_part_with_the_same_rows(folder: Path) -> None:
    path, _ = write_journal(folder, 5)
    rows = read(path)
    part = convert(path)
    assert part == folder / "pages" / "part-20260101000000000-w-00001.parquet"
    assert pq.read_table(part).equals(rows)
    assert pq.ParquetFile(part).metadata.num_row_groups == 1  # not one per sync
    assert pq.ParquetFile(part).metadata.row_group(0).column(0).compression == "ZSTD"
    assert not path.exists()


def test_a_large_journal_is_converted_piece_by_piece(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.store.parts._GROUP_BYTES", 10_000)
    path, _ = write_journal(folder, 20)
    rows = read(path)
    part = convert(path)
    assert pq.ParquetFile(part).metadata.num_row_groups > 3
    assert pq.read_table(part).equals(rows)


def test_a_journal_without_a_whole_batch_becomes_nothing(folder: Path) -> None:
    path, lengths = write_journal(folder, 1)
    data = path.read_bytes()
    for size in (0, 5, lengths[0], lengths[1] - 1):
        path.write_bytes(data[:size])
        assert convert(path) is None
        assert not path.exists()
    assert [found for found in folder.rglob("*") if found.is_file()] == []


def test_a_journal_whose_part_exists_only_goes(folder: Path) -> None:
    path, _ = write_journal(folder, 2)
    data = path.read_bytes()
    part = convert(path)
    assert part is not None
    before = part.read_bytes()
    path.write_bytes(data[:500])
    assert convert(path) == part
    assert part.read_bytes() == before
    assert not path.exists()
    assert convert(path) == part  # and when there is nothing left to do, nothing is done


def test_a_journal_is_due_by_rows_by_bytes_and_by_age(folder: Path) -> None:
    now = 100.0
    journal = new_journal(folder, lambda: now)
    assert not journal.is_due(max_rows=0, max_bytes=0, max_age_s=0)  # there is none yet
    journal.rows.append(page(0))
    journal.rows.append(page(1))
    journal.sync(2)
    large = 1 << 40
    assert journal.is_due(max_rows=2, max_bytes=large, max_age_s=300)
    assert journal.is_due(max_rows=3, max_bytes=1_000, max_age_s=300)
    due = {}
    for now in (100.0, 399.0, 400.0, 99.0):  # the last: the clock was set back
        due[now] = journal.is_due(max_rows=3, max_bytes=large, max_age_s=300)
    assert due == {100.0: False, 399.0: False, 400.0: True, 99.0: True}
    journal.close()


def test_every_journal_has_a_file_of_its_own(folder: Path) -> None:
    journal = new_journal(folder)
    paths = []
    for number in range(3):
        journal.rows.append(page(number))
        journal.sync(1)
        paths += journal.take()
        assert journal.take() == []
    assert len(set(paths)) == 3
    assert [len(read(path)) for path in paths] == [1, 1, 1]


def test_text_without_a_utf_8_form_is_kept_with_marks_in_its_place() -> None:
    rows = [page(0), page(1)._replace(title="half \ud83d a pair"), page(2)]
    batches = list(as_batches(PAGES, rows))
    titles = [title for batch in batches for title in batch["title"].to_pylist()]
    assert titles == ["A page", "half ? a pair", "A page"]


@pytest.mark.parametrize(
    "wrong", [{"status": 1 << 40}, {"ended_at": float("nan")}, {"url": None}, {"url_hash": b"short"}]
)
def test_a_row_that_does_not_fit_costs_only_itself(caplog: pytest.LogCaptureFixture, wrong: dict[str, Any]) -> None:
    rows = [request_row(0), request_row(1)._replace(**wrong), request_row(2)]
    batches = list(as_batches(REQUESTS, rows))
    kept = [url for batch in batches for url in batch["url"].to_pylist()]
    assert kept == [rows[0].url, rows[2].url]
    assert "cannot be stored" in caplog.text


def test_a_flood_of_text_goes_into_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "_BATCH_CHARS", 1_000)
    rows = [page(number)._replace(text="x" * 400) for number in range(7)]
    batches = list(as_batches(PAGES, rows))
    assert [batch.num_rows for batch in batches] == [3, 3, 1]
    assert [url for batch in batches for url in batch["url"].to_pylist()] == [row.url for row in rows]
