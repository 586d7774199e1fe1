"""Every command that reads a crawl reads the same from its folder, its folder and its bucket, and its bucket alone."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import polars as pl
import pyarrow.dataset as ds
import pytest

import gossamer
from gossamer.store import names
from gossamer.store.checking import check
from tests.bucket.crawls import contents, listed, make_crawl, uploader
from tests.end_to_end.crawls import said
from tests.inspect.crawls import Crawl

if TYPE_CHECKING:
    from pathlib import Path

QUERIES = (
    "select url, title, text, warc_file from pages order by url",
    "select site, pages, requests, errors from sites order by site",
    "select count(*) as n, min(status) as least, max(via) as via from requests",
    "select url from pages where via = '' order by all limit 3",
)
PAGE = "https://b.test/2"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_crawl(tmp_path / "data")


@pytest.fixture
def places(folder: Path, tmp_path: Path) -> dict[str, list[str]]:
    """Where a crawl can be read from: the same in all places."""
    whole = tmp_path / "whole"
    shutil.copytree(folder, whole)
    store = f"file://{tmp_path}/store"
    uploading = uploader(store, folder)
    uploading.upload()
    uploading.end()
    assert contents(folder) == {}
    return {
        "whole folder": ["--data-dir", str(whole)],
        "folder and its bucket": ["--data-dir", str(folder)],
        "both": ["--data-dir", str(folder), "--data-dir", store],
        "bucket": ["--data-dir", store],
    }


def test_a_query_returns_the_same_rows(places: dict[str, list[str]]) -> None:
    for query in QUERIES:
        rows = {place: said("query", query, *where, "--format", "csv") for place, where in places.items()}
        assert len(set(rows.values())) == 1, rows
        assert rows["bucket"].count("\n") > 1


@pytest.mark.parametrize("what", ["--text", "--html", "--links", "--json", ""])
def test_show_prints_the_same_page(places: dict[str, list[str]], what: str) -> None:
    shown = {place: said("show", PAGE, *filter(None, [what]), *where) for place, where in places.items()}
    if what in ("--json", ""):  # the state of a URL is in the frontier
        assert '"state": null' in shown["bucket"] if what else "not known" in shown["bucket"].lower()
        del shown["bucket"]
    assert len(set(shown.values())) == 1, shown


@pytest.mark.parametrize("form", ["jsonl", "csv", "warc", "wet", "parquet", "cc-index", "wacz", "sqlite", "txt"])
def test_an_export_has_the_same_pages(places: dict[str, list[str]], form: str, tmp_path: Path) -> None:
    for place, where in places.items():
        output = tmp_path / f"export-{place}"
        assert "9 pages exported" in said("export", "--format", form, "-o", str(output), *where)
    if form in ("jsonl", "csv"):
        written = {(tmp_path / f"export-{place}").read_bytes() for place in places}
        assert len(written) == 1


def test_the_rows_of_a_cc_index_name_the_objects(places: dict[str, list[str]], tmp_path: Path) -> None:
    output = tmp_path / "index.parquet"
    said("export", "--format", "cc-index", "-o", str(output), *places["bucket"])
    for row in pl.read_parquet(output).to_dicts():
        with (tmp_path / "store" / row["warc_filename"]).open("rb") as segment:
            segment.seek(row["warc_record_offset"])
            assert segment.read(2) == b"\x1f\x8b"


def test_a_report_can_be_made_of_each(places: dict[str, list[str]], tmp_path: Path) -> None:
    for place, where in places.items():
        said("report", *where, "-o", str(tmp_path / f"{place}.html"))
        assert "<svg" in (tmp_path / f"{place}.html").read_text()


def test_a_program_reads_a_bucket(places: dict[str, list[str]]) -> None:
    crawl = gossamer.open(places["bucket"][1])
    pages = {page.url: page for page in crawl.pages("site = 'a.test'")}
    assert sorted(pages) == [f"https://a.test/{n}" for n in (1, 2, 3)]
    assert "Ein paar Wörter." in pages["https://a.test/1"].html
    assert len(gossamer.open(places["folder and its bucket"][1]).to_polars()) == 9


def test_pyarrow_and_polars_read_the_layout_without_us(places: dict[str, list[str]], tmp_path: Path) -> None:
    table = ds.dataset(tmp_path / "store" / "pages", partitioning="hive").to_table()
    assert table.num_rows == 9
    assert "date" in table.column_names
    frame = pl.scan_parquet(tmp_path / "store" / "pages" / "**" / "*.parquet", hive_partitioning=True).collect()
    assert sorted(frame["url"]) == sorted(table["url"].to_pylist())
    assert json.loads((tmp_path / "store" / "_gossamer.json").read_text())["schema"] == 1


def test_open_files_of_a_folder_are_read_beside_the_bucket(places: dict[str, list[str]], folder: Path) -> None:
    with Crawl(folder, worker="w2") as crawl:
        crawl.add("https://z.test/1")
        crawl.run()
        for place, rows in (("folder and its bucket", 10), ("both", 10), ("bucket", 9)):
            query = said("query", "select count(*) as n from pages", *places[place], "--format", "csv")
            assert query == f"n\n{rows}\n"


def test_a_file_that_is_uploaded_while_it_is_read_is_not_missed(folder: Path, tmp_path: Path) -> None:
    store = f"file://{tmp_path}/store"
    uploading = uploader(store, folder)
    from gossamer.bucket.paths import with_bucket
    from gossamer.store.reading import row_files
    from gossamer.store.schemas import PAGES

    files = row_files(with_bucket(folder), PAGES)
    uploading.upload()
    assert contents(folder) == {}
    assert sum(batch.num_rows for file in files for batch in file.batches()) == 9
    assert check(with_bucket(folder)).problems == []


# ---------------------------------------------------------------------- verify


def test_verify_finds_no_problem(places: dict[str, list[str]]) -> None:
    for place, where in places.items():
        assert said("verify", *where).endswith("No problems.\n"), place
    assert "bucket    ok: " in said("verify", *places["bucket"])


def _damage(store: Path, kind: str, key: str, other: str) -> None:
    path = store / key
    match kind:
        case "deleted":
            path.unlink()
        case "truncated":
            path.write_bytes(path.read_bytes()[:-10])
        case "swapped":
            path.write_bytes((store / other).read_bytes())
        case "changed":
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes(data)


@pytest.mark.parametrize("kind", ["deleted", "truncated", "swapped", "changed"])
@pytest.mark.parametrize("what", ["pages", "warc"])
def test_verify_finds_damaged_objects(places: dict[str, list[str]], tmp_path: Path, kind: str, what: str) -> None:
    suffix = names.PART_SUFFIX if what == "pages" else names.SEGMENT_SUFFIX
    keys = [file.key for file in listed(places["bucket"][1]).values() if file.file.startswith(what)]
    key, other = next(key for key in keys if key.endswith(suffix)), keys[-1]
    _damage(tmp_path / "store", kind, key, other)
    for place in ("bucket", "folder and its bucket"):
        found = said("verify", *places[place], status=1)
        assert "1 of them missing or damaged" in found
        expected = {"deleted": "is not in the bucket", "truncated": "in place of", "changed": "not what was uploaded"}
        assert expected.get(kind, "") in found


def test_verify_waits_for_archives_of_a_crawl_that_runs(folder: Path, tmp_path: Path) -> None:
    store = f"file://{tmp_path}/store"
    segment = next(iter((folder / names.WARC).glob("*.warc.gz")))
    index = names.index_of(segment)
    index.rename(names.open_index_of(segment))  # it is still open
    uploading = uploader(store, folder)
    uploading.upload()
    checked = said("verify", "--data-dir", store)
    assert "is not uploaded yet" in checked
    assert checked.endswith("No problems.\n")
    names.open_index_of(segment).rename(index)
    uploading.upload()
    uploading.end()
    assert "not uploaded yet" not in said("verify", "--data-dir", store)


# ---------------------------------------------------------------------- bad input


def test_a_place_without_a_crawl_is_refused_in_one_sentence(tmp_path: Path) -> None:
    for address, sentence in {
        "gs://bucket/prefix": "'gs://bucket/prefix' is not a place to store files: write it like s3://bucket/prefix",
        f"file://{tmp_path}": f"No crawl in file://{tmp_path}: name the prefix that a crawl has as its store.",
        f"file://{tmp_path}/none": f"The bucket of file://{tmp_path}/none does not exist: create it, or name another.",
    }.items():
        assert sentence in said("query", "select 1", "--data-dir", address, status=2)
    assert not (tmp_path / "none").exists()


def test_a_bucket_has_no_frontier_to_query(places: dict[str, list[str]]) -> None:
    refused = said("query", "select * from queue", *places["bucket"], status=2)
    assert "A bucket holds no frontier: name the crawl's folder too" in refused


def test_a_query_cannot_open_other_objects(places: dict[str, list[str]], tmp_path: Path) -> None:
    path = f"gossamer://{tmp_path}/store/_gossamer.json"
    for query in (f"select * from read_text('{path}')", f"select * from read_parquet('{path}')"):
        assert "a query reads only the crawl's own tables" in said("query", query, *places["bucket"], status=2)


def test_a_newer_layout_is_refused(places: dict[str, list[str]], tmp_path: Path) -> None:
    key = next(iter((tmp_path / "store" / "_manifests").iterdir()))
    key.write_text(key.read_text().replace('"schema": 1', '"schema": 2'))
    assert "written by a newer version of Gossamer" in said("query", "select 1", *places["bucket"], status=2)
