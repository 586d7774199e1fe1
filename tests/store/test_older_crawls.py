"""Files of an older version, with fewer columns, can be read, and the crawl can be resumed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.records import PageRow
from gossamer.store.checking import Flaw, check
from gossamer.store.names import journal_path
from gossamer.store.reading import find_pages, last_pages, pages, row_files
from gossamer.store.repair import repair
from gossamer.store.schemas import PAGES
from gossamer.store.warc import encode_exchange
from tests.store.samples import fetched, keep, new_store, numbers

if TYPE_CHECKING:
    from pathlib import Path

NEW = ["duplicate_of", "simhash"]


def make_older(folder: Path) -> None:
    """Rewrite the only part of `pages` as a version without the new columns wrote it."""
    (part,) = (folder / "pages").glob("*.parquet")
    pq.write_table(pq.read_table(part).drop_columns(NEW), part)


def test_columns_that_a_part_lacks_are_empty(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        rows = [keep(store, number) for number in range(3)]
    make_older(tmp_path)
    with new_store(tmp_path) as store:  # the crawl is resumed
        rows.append(keep(store, 3))
    assert list(pages(tmp_path)) == rows
    assert numbers(last_pages(tmp_path)) == [0, 1, 2, 3]
    assert find_pages(tmp_path, rows[0].url_hash) == rows[:1]
    assert (rows[0].duplicate_of, rows[0].simhash) == ("", 0)
    assert check(tmp_path).problems == []
    for source in row_files(tmp_path, PAGES):
        for batch in source.batches(["url", "simhash"]):
            assert batch.schema.names == ["url", "simhash"]
            assert batch["simhash"].null_count == 0


def test_a_journal_that_an_older_version_left_becomes_a_part_with_all_columns(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        rows = [keep(store, number) for number in range(3)]
        store.sync()
        (source,) = row_files(tmp_path, PAGES)
        older = [batch.select([name for name in batch.schema.names if name not in NEW]) for batch in source.batches()]
    (part,) = (tmp_path / "pages").glob("*.parquet")
    part.unlink()
    journal = journal_path(tmp_path, "pages", "20260101000000000-w-00099").with_suffix(".arrows")
    with pa.OSFile(str(journal), "wb") as file, pa.ipc.new_stream(file, older[0].schema) as stream:
        for batch in older:
            stream.write_batch(batch)
    assert list(pages(tmp_path)) == rows
    assert repair(tmp_path).parts == 1
    (part,) = (tmp_path / "pages").glob("*.parquet")
    assert pq.read_schema(part).names == PAGES.schema.names
    assert list(pages(tmp_path)) == rows


def test_columns_of_a_newer_version_are_left_alone(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        rows = [keep(store, number) for number in range(3)]
    (part,) = (tmp_path / "pages").glob("*.parquet")
    pq.write_table(pq.read_table(part).append_column("mood", pa.array(["good"] * 3)), part)
    assert list(pages(tmp_path)) == rows


def test_every_type_of_column_has_an_empty_value() -> None:
    lacking = pa.RecordBatch.from_arrays([pa.array(["a", "b"])], names=["url"])
    completed = PAGES.complete(lacking)
    completed.validate(full=True)
    assert completed.schema == PAGES.schema
    assert completed["url"].to_pylist() == ["a", "b"]
    assert sum(column.null_count for column in completed.columns) == 0


def test_an_index_with_keys_of_version_0_1_is_sound_and_one_with_any_other_key_is_not(tmp_path: Path) -> None:
    url = "https://www.example.org:8443/a%2Fb//?b=1&a-b=2&a=3"
    exchange = encode_exchange(replace(fetched(0), url=url))
    with new_store(tmp_path) as store:
        row = PageRow(url=url, fetched_at=fetched(0).started_at, status=200, content_type="text/html")
        row = row._replace(payload_digest=exchange.payload_digest)
        store.keep_page(row, exchange.archive, exchange.response_offset)
    (index,) = (tmp_path / "warc").glob("*.cdxj")
    line = index.read_bytes()
    assert line.startswith(b"org,example:8443)/a/b?a=3&a-b=2&b=1 ")
    details = line.partition(b" ")[2]
    index.write_bytes(b"org,example:8443)/a%2fb?a-b=2&a=3&b=1 " + details)
    assert check(tmp_path).problems == []
    index.write_bytes(b"org,example:8443)/a%2fb?a-b=2&a=3&b=0 " + details)
    assert [problem.flaw for problem in check(tmp_path).problems] == [Flaw.WRONG_INDEX]
