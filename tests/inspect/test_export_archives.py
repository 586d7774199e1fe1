"""Exports in the forms that archives and other programs expect: their own tools accept them."""

from __future__ import annotations

import gzip
import json
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import md5, sha256
from io import BytesIO
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_STORED, ZipFile

import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

from gossamer.cli import run
from gossamer.inspect.cc_index import SCHEMA
from gossamer.inspect.language_codes import three_letters
from gossamer.inspect.wacz import write_index
from gossamer.records import Truncation
from gossamer.store.reading import last_pages
from gossamer.store.warc import encode_exchange
from tests.inspect.crawls import BEGAN_AT, Crawl, html_answer, page_row
from tests.store.samples import refusals
from tools.environments import MissingError, python_with

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The columns of the public table, in its order.
PUBLIC_COLUMNS = [
    "url_surtkey", "url", "url_host_name", "url_host_tld", "url_host_2nd_last_part", "url_host_3rd_last_part",
    "url_host_4th_last_part", "url_host_5th_last_part", "url_host_registry_suffix", "url_host_registered_domain",
    "url_host_private_suffix", "url_host_private_domain", "url_protocol", "url_port", "url_path", "url_query",
    "fetch_time", "fetch_status", "fetch_redirect", "content_digest", "content_mime_type",
    "content_mime_detected", "content_charset", "content_languages", "content_truncated", "warc_filename",
    "warc_record_offset", "warc_record_length", "warc_segment", "crawl", "subset",
]  # fmt: skip


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    """A crawl that writes a part for every page."""
    with Crawl(tmp_path / "crawl", part_rows=1) as crawl:
        yield crawl


def keep(crawl: Crawl, url: str, html: str, **changes: Any) -> None:
    """Store a page as a worker does, which recognises duplicates."""
    crawl.pass_time(1)
    answer = replace(html_answer(url, crawl._number, html), **changes)
    encoded = encode_exchange(answer)
    row = page_row(answer, encoded.payload_digest)._replace(
        mime_detected="text/html",
        content_hash=md5(html.encode(), usedforsecurity=False).digest(),
        truncated=answer.truncated is not None,
    )
    crawl.store.keep_page(row, encoded.archive, encoded.response_offset, answer=answer)
    crawl.store.sync()


def export(crawl: Crawl, form: str, output: Path, *options: str) -> None:
    assert run(["export", "--data-dir", str(crawl.folder), "--format", form, "-o", str(output), *options]) == 0


def tool(*arguments: str | Path) -> str:
    """Run a program of others; return what it prints."""
    try:
        python = python_with("replay")
    except MissingError as error:
        pytest.skip(f"there are no tools for archives: {error}")
    ended = subprocess.run([python, "-W", "ignore", "-m", *map(str, arguments)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def records(archive: Path) -> list[tuple[str, str, str]]:
    """The type, URL and time of every record but the first."""
    with archive.open("rb") as file:
        found = [(each.rec_type, each.rec_headers) for each in ArchiveIterator(file, check_digests="raise")]
    return [(type_, headers["WARC-Target-URI"], headers["WARC-Date"]) for type_, headers in found[1:]]


def revisits(archive: Path) -> dict[str, tuple[str, str]]:
    """What each revisit refers to: URL and time."""
    with archive.open("rb") as file:
        return {
            each.rec_headers["WARC-Target-URI"]: (
                each.rec_headers["WARC-Refers-To-Target-URI"],
                each.rec_headers["WARC-Refers-To-Date"],
            )
            for each in ArchiveIterator(file)
            if each.rec_type == "revisit"
        }


def test_a_duplicate_brings_its_original_although_that_was_not_selected(
    crawl: Crawl, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(crawl, "https://a.test/original", "<p>the same")
    keep(crawl, "https://b.test/1", "<p>the same")
    keep(crawl, "https://b.test/2", "<p>the same")
    keep(crawl, "https://a.test/original", "<p>changed meanwhile")  # the original is no longer its last page
    keep(crawl, "https://c.test/", "<p>the same")
    output = crawl.folder.parent / "b.warc.gz"
    export(crawl, "warc", output, "--site", "b.test")
    found = records(output)
    assert [url for type_, url, _ in found if type_ == "response"] == ["https://a.test/original"]
    assert [url for type_, url, _ in found if type_ == "revisit"] == ["https://b.test/1", "https://b.test/2"]
    assert {("response", *place) for place in revisits(output).values()} <= set(found)
    assert refusals(output) == {}
    assert capsys.readouterr().err == (
        f"2 pages exported to {output}, of 5 rows; with the content of duplicates: 1 more.\n"
    )


def test_an_original_that_is_selected_too_is_there_once(crawl: Crawl, capsys: pytest.CaptureFixture[str]) -> None:
    keep(crawl, "https://a.test/original", "<p>the same")
    keep(crawl, "https://b.test/", "<p>the same")
    output = crawl.folder.parent / "all.warc.gz"
    export(crawl, "warc", output)
    assert [type_ for type_, *_ in records(output)] == ["request", "response", "request", "revisit"]
    assert capsys.readouterr().err == f"2 pages exported to {output}, of 2 rows.\n"


def test_a_duplicate_whose_original_is_lost_is_left_out(crawl: Crawl, capsys: pytest.CaptureFixture[str]) -> None:
    keep(crawl, "https://a.test/original", "<p>the same")
    keep(crawl, "https://b.test/", "<p>the same")
    # Another duplicate, but sent with other bytes: its record is complete.
    keep(crawl, "https://c.test/", "<p>the same", body=b"<p>the same", head=b"HTTP/1.1 200 OK\r\n\r\n")
    crawl.store.close()
    first, *_ = sorted((crawl.folder / "pages").iterdir())
    first.unlink()
    output = crawl.folder.parent / "out.warc.gz"
    export(crawl, "warc", output)
    assert [type_ for type_, *_ in records(output)] == ["request", "response"]
    assert capsys.readouterr().err == f"1 page exported to {output}, of 2 rows; without archive record: 1 more.\n"


def test_a_wacz_is_accepted_by_its_own_tool_and_leads_to_every_record(crawl: Crawl) -> None:
    keep(crawl, "https://b.test/z", "<p>the same")
    keep(crawl, "https://a.test/", "<p>the same")
    keep(crawl, "https://a.test/?b=1&a=2", "<p>another")
    output = crawl.folder.parent / "a.wacz"
    export(crawl, "wacz", output, "--site", "a.test")
    assert "Validation succeeded" in tool("wacz.main", "validate", "-f", output)
    with ZipFile(output) as package:
        archive = package.read("archive/data.warc.gz")
        index = gzip.decompress(package.read("indexes/index.cdx.gz")).decode()
        _, *pages = map(json.loads, package.read("pages/pages.jsonl").splitlines())
        assert package.getinfo("archive/data.warc.gz").compress_type == ZIP_STORED
        package.extract("archive/data.warc.gz", output.parent)
    assert [page["url"] for page in pages] == ["https://a.test/", "https://a.test/?b=1&a=2"]  # without the original
    assert pages[0] == {"url": "https://a.test/", "title": "Größe", "ts": "2026-01-01T00:00:02Z"}
    made = tool("cdxj_indexer.main", "--sort", output.parent / "archive" / "data.warc.gz")
    assert entries(made) == entries(index)
    for _, _, said in entries(index):
        member = archive[int(said["offset"]) :][: int(said["length"])]
        (record,) = ArchiveIterator(BytesIO(member))
        assert record.rec_headers["WARC-Target-URI"] == said["url"]


def entries(index: str) -> list[tuple[str, str, dict[str, str]]]:
    split = [line.split(" ", 2) for line in index.splitlines()]
    return [(key, moment, json.loads(details)) for key, moment, details in split]


def test_the_summary_of_a_long_index_leads_to_each_of_its_blocks() -> None:
    lines = [b'test,a)/%06d 20260101000000 {"url": "x"}\n' % number for number in range(7_000)]
    blocks, summary = BytesIO(), BytesIO()
    write_index(BytesIO(b"".join(lines)), blocks, summary)
    assert gzip.decompress(blocks.getvalue()) == b"".join(lines)
    head, *places = summary.getvalue().splitlines()
    assert head.startswith(b"!meta 0 {")
    assert [place.partition(b" {")[0] for place in places] == [
        b"test,a)/%06d 20260101000000" % number for number in (0, 3_000, 6_000)
    ]
    for place in places:
        said = json.loads(place.split(b" ", 2)[2])
        member = blocks.getvalue()[said["offset"] :][: said["length"]]
        assert said["digest"] == f"sha256:{sha256(member).hexdigest()}"
        assert gzip.decompress(member).startswith(place.partition(b" {")[0])


def test_each_row_of_a_cc_index_seeks_to_its_record(crawl: Crawl) -> None:
    keep(crawl, "https://www.blog.example.co.uk:8443/a/b?q=1&p=2", "<p>one")
    keep(crawl, "https://alice.github.io/", "<p>one")
    keep(crawl, "http://192.0.2.7/x", "<p>two", truncated=Truncation.TIME)
    output = crawl.folder.parent / "index.parquet"
    export(crawl, "cc-index", output)
    table = pq.read_table(output)
    assert table.schema.names == SCHEMA.names == PUBLIC_COLUMNS
    rows = table.to_pylist()
    assert len(rows) == 3
    for row in rows:
        with (crawl.folder / row["warc_filename"]).open("rb") as archive:
            archive.seek(row["warc_record_offset"])
            (record,) = ArchiveIterator(BytesIO(archive.read(row["warc_record_length"])), check_digests="raise")
        assert record.rec_headers["WARC-Target-URI"] == row["url"]
        assert record.rec_headers["WARC-Payload-Digest"] == f"sha1:{row['content_digest']}"
        assert record.rec_headers["WARC-Truncated"] == row["content_truncated"]
    assert [row["content_truncated"] for row in rows] == [None, None, "time"]
    assert [row["content_mime_type"] for row in rows] == ["text/html", "warc/revisit", "text/html"]


def test_a_cc_index_has_the_parts_of_urls_as_the_public_one_has_them(crawl: Crawl) -> None:
    keep(crawl, "https://www.blog.example.co.uk:8443/a/b?q=1&p=2", "<p>one")
    keep(crawl, "https://alice.github.io/", "<p>two")
    keep(crawl, "http://192.0.2.7/x", "<p>three")
    output = crawl.folder.parent / "index.parquet"
    export(crawl, "cc-index", output)
    one, two, three = pq.read_table(output).to_pylist()
    expected = {
        "url_surtkey": "uk,co,example,blog:8443)/a/b?p=2&q=1",
        "url_host_name": "www.blog.example.co.uk",
        "url_host_tld": "uk",
        "url_host_2nd_last_part": "co",
        "url_host_3rd_last_part": "example",
        "url_host_4th_last_part": "blog",
        "url_host_5th_last_part": "www",
        "url_host_registry_suffix": "co.uk",
        "url_host_registered_domain": "example.co.uk",
        "url_host_private_suffix": "co.uk",
        "url_host_private_domain": "example.co.uk",
        "url_protocol": "https",
        "url_port": 8443,
        "url_path": "/a/b",
        "url_query": "q=1&p=2",
        "fetch_time": datetime.fromtimestamp(BEGAN_AT + 1, UTC),
        "fetch_status": 200,
        "content_charset": "MACINTOSH",
        "content_languages": "deu",
        "content_mime_detected": "text/html",
        "crawl": "crawl",
        "subset": "warc",
    }
    assert {name: one[name] for name in expected} == expected
    assert two["url_host_registered_domain"] == "github.io"
    assert two["url_host_private_domain"] == "alice.github.io"
    assert two["url_port"] is two["url_query"] is None
    assert three["url_host_name"] == "192.0.2.7"
    assert three["url_host_tld"] is three["url_host_registered_domain"] is None


def test_a_wet_file_has_the_text_of_each_page_its_language_and_its_source(crawl: Crawl) -> None:
    keep(crawl, "https://a.test/1", "<p>one")
    keep(crawl, "https://a.test/2", "<p>two")
    output = crawl.folder.parent / "pages.warc.wet.gz"
    export(crawl, "wet", output)
    with output.open("rb") as file:
        info, *found = [
            (each.rec_type, each.rec_headers, each.content_stream().read())
            for each in ArchiveIterator(file, check_digests="raise")
        ]
    assert info[0] == "warcinfo"
    assert info[1]["WARC-Filename"] == output.name
    responses = {}
    for row in last_pages(crawl.folder):
        with (crawl.folder / "warc" / row.warc_file).open("rb") as archive:
            archive.seek(row.warc_offset)
            responses[row.url] = next(iter(ArchiveIterator(archive))).rec_headers["WARC-Record-ID"]
    for number, (type_, headers, text) in enumerate(found, 1):
        assert (type_, headers.protocol) == ("conversion", "WARC/1.0")
        assert headers["WARC-Target-URI"] == f"https://a.test/{number}"
        assert headers["WARC-Date"] == f"2026-01-01T00:00:0{number}Z"
        assert headers["WARC-Refers-To"] == responses[headers["WARC-Target-URI"]]
        assert headers["WARC-Identified-Content-Language"] == "deu"
        assert headers["Content-Type"] == "text/plain"
        assert text.decode() == "Größe\nEin paar Wörter."
    assert refusals(output) == {}


def test_languages_have_three_letters_in_archives() -> None:
    assert [three_letters(tag) for tag in ("de", "de-AT", "EN", "zh", "gsw", "", "x", "no")] == [
        "deu", "deu", "eng", "zho", "gsw", "", "", "nor",
    ]  # fmt: skip


def test_datasette_serves_a_sqlite_export_and_searches_it(crawl: Crawl) -> None:
    keep(crawl, "https://a.test/1", "<p>one")
    crawl.pass_time(1)
    answer = html_answer("https://b.test/2", 5)
    row = page_row(answer, "")._replace(title="Ein Fluss", text="Das Wasser der Elbe", simhash=(1 << 64) - 1)
    crawl.store.keep_page(row)
    crawl.store.sync()
    output = crawl.folder.parent / "pages.db"
    export(crawl, "sqlite", output)

    def ask(path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(tool("datasette", output, "--get", path))
        return found

    (elbe,) = ask("/pages/pages.json?_search=elbe&_shape=array")
    assert elbe["url"] == "https://b.test/2"
    assert elbe["url_hash"] == row.url_hash.hex()
    assert elbe["fetched_at"] == "2026-01-01T00:00:05.000000Z"
    assert elbe["simhash"] == "f" * 16
    assert elbe["truncated"] == 0
    assert [each["url"] for each in ask("/pages/pages.json?_search=große&_shape=array")] == ["https://a.test/1"]
    assert [each["url"] for each in ask("/pages/pages.json?site=b.test&_shape=array")] == ["https://b.test/2"]
