"""`gossamer export`: complete, readable by other programs, and the same after it was killed."""

from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import warnings
from base64 import b32encode
from collections import Counter
from contextlib import closing
from hashlib import sha1
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

from gossamer.cli import run
from gossamer.errors import GossamerError
from gossamer.inspect.export import Export
from gossamer.inspect.selection import Selection, read_since
from gossamer.store.reading import last_pages
from gossamer.store.repair import repair
from gossamer.urls import hash_url
from tests.inspect.crawls import BEGAN_AT, Crawl
from tests.store.samples import refusals

FORMATS = ["jsonl", "csv", "parquet", "txt", "warc", "wet", "cc-index", "wacz", "sqlite"]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl with several parts, an open journal, and pages that were fetched again."""
    folder = tmp_path_factory.mktemp("crawled") / "crawl"
    with Crawl(folder, part_rows=7) as crawl:
        for number in range(40):
            crawl.keep(f"https://{'abcd'[number % 4]}.test/{number}")
            crawl.store.sync()
        for number in (3, 11):
            crawl.keep(f"https://{'abcd'[number % 4]}.test/{number}")
    crash = Crawl(folder, worker="w2")
    crash._number = 100
    crash.keep("https://a.test/0")
    crash.keep("https://e.test/new")
    crash.store.sync()
    crash.crash()
    return folder


@pytest.fixture
def many(crawled: Path, tmp_path: Path) -> Path:
    """A copy of it, to be resumed."""
    return Path(shutil.copytree(crawled, tmp_path / "crawl"))


def export(folder: Path, form: str, output: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert run(["export", "--data-dir", str(folder), "--format", form, "-o", str(output), *options]) == 0, (
        capsys.readouterr().err
    )
    out, said = capsys.readouterr()
    assert out == ""
    return said


def urls(form: str, output: Path) -> list[str]:
    """The URLs of an export, read by other libraries."""
    match form:
        case "jsonl":
            return [json.loads(line)["url"] for line in output.read_text().splitlines()]
        case "csv":
            with output.open(newline="") as file:
                return [row["url"] for row in csv.DictReader(file)]
        case "parquet" | "cc-index":
            return list(pq.read_table(output)["url"].to_pylist())
        case "txt":
            with (output / "index.csv").open(newline="") as file:
                return [row["url"] for row in csv.DictReader(file)]
        case "sqlite":
            with closing(sqlite3.connect(output)) as database:
                return [url for (url,) in database.execute("select url from pages order by id")]
        case "wacz":
            with ZipFile(output) as package:
                _, *lines = package.read("pages/pages.jsonl").splitlines()
            return [json.loads(line)["url"] for line in lines]
        case "wet":
            with output.open("rb") as file:
                _, *found = [record.rec_headers["WARC-Target-URI"] for record in ArchiveIterator(file)]
            return found
        case _:
            with output.open("rb") as file:
                records = [(record.rec_type, record.rec_headers["WARC-Target-URI"]) for record in ArchiveIterator(file)]
            assert records[0][0] == "warcinfo"
            assert records[1::2] == [("request", url) for _, url in records[2::2]]
            assert all(kind == "response" for kind, _ in records[2::2])
            return [url for _, url in records[2::2]]


@pytest.mark.parametrize("form", FORMATS)
def test_every_stored_page_is_exported_once(many: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    output = many.parent / f"export-{form}"
    said = export(many, form, output, capsys)
    stored = [row.url for row in last_pages(many)]
    assert sorted(urls(form, output)) == sorted(stored)
    assert len(stored) == 41
    assert said == f"41 pages exported to {output}, of 44 rows.\n"
    assert not list(many.parent.glob("*.partial*")) + list(output.glob("*.partial*") if form == "txt" else [])


def test_all_columns_come_out_as_they_are_stored(many: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export(many, "parquet", many.parent / "out.parquet", capsys)
    table = pq.read_table(many.parent / "out.parquet")
    stored = {row.url_hash: row for row in last_pages(many)}
    for found in table.to_pylist():
        row = stored[found["url_hash"]]
        assert found.pop("fetched_at").timestamp() == row.fetched_at
        assert found == {name: value for name, value in row._asdict().items() if name != "fetched_at"}
    (part, *_) = (many / "pages").iterdir()
    assert table.schema.equals(pq.read_schema(part))
    export(many, "jsonl", many.parent / "out.jsonl", capsys)
    for line in (many.parent / "out.jsonl").read_text().splitlines():
        said = json.loads(line)
        row = stored[bytes.fromhex(said["url_hash"])]
        assert (said["text"], said["content_hash"], said["warc_offset"]) == (
            row.text,
            row.content_hash.hex(),
            row.warc_offset,
        )


def test_text_files_have_names_of_our_own_and_an_index(many: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = many.parent / "texts"
    export(many, "txt", output, capsys)
    with (output / "index.csv").open(newline="") as file:
        index = list(csv.DictReader(file))
    assert {row["file"] for row in index} == {str(path.relative_to(output)) for path in output.glob("*/*/*.txt")}
    for row in index:
        name = hash_url(row["url"]).hex()
        assert row["file"] == f"{name[:2]}/{name[2:4]}/{name}.txt"
        assert (output / row["file"]).read_text() == "Ein paar Wörter."


def payload_digest(payload: bytes) -> str:
    return "sha1:" + b32encode(sha1(payload).digest()).decode()


def payloads_seen_by_fastwarc(archive: Path) -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the library warns of itself when imported
        from fastwarc.warc import ArchiveIterator, WarcRecordType
    with archive.open("rb") as file:
        return {
            record.headers["WARC-Target-URI"]: payload_digest(record.reader.read())
            for record in ArchiveIterator(file, record_types=WarcRecordType.response, parse_http=True)
        }


def test_archived_records_are_copied_byte_for_byte_and_others_find_the_same_payloads(
    many: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = many.parent / "pages.warc.gz"
    export(many, "warc", output, capsys)
    stored = {row.url: row for row in last_pages(many)}
    copy = output.read_bytes()
    for row in stored.values():
        segment = (many / "warc" / row.warc_file).read_bytes()
        response = segment[row.warc_offset : row.warc_offset + row.warc_length]
        assert copy.count(response) == 1
        # Seeking there with nothing but gzip gives the payload whose digest the row names.
        block = gzip.decompress(response).partition(b"\r\n\r\n")[2].removesuffix(b"\r\n\r\n")
        assert payload_digest(block.partition(b"\r\n\r\n")[2]) == row.payload_digest
    with output.open("rb") as file:
        by_warcio = {
            record.rec_headers["WARC-Target-URI"]: payload_digest(record.raw_stream.read())
            for record in ArchiveIterator(file, no_record_parse=False, check_digests="raise")
            if record.rec_type == "response"
        }
    assert by_warcio == payloads_seen_by_fastwarc(output) == {url: row.payload_digest for url, row in stored.items()}
    assert refusals(output) == {}


def test_the_index_leads_other_tools_to_the_same_payloads(folder: Path) -> None:
    stored = {row.url: row.payload_digest for row in last_pages(folder)}
    found = {}
    for index in (folder / "warc").glob("*.cdxj"):
        for line in index.read_text().splitlines():
            said = json.loads(line.split(" ", 2)[2])
            with (folder / "warc" / said["filename"]).open("rb") as segment:
                segment.seek(int(said["offset"]))
                member = BytesIO(segment.read(int(said["length"])))
            record = next(iter(ArchiveIterator(member)))
            found[record.rec_headers["WARC-Target-URI"]] = payload_digest(record.raw_stream.read())
            assert said["digest"] == found[said["url"]]
    assert found == stored


def test_filters_pick_pages(many: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = many.parent / "picked.jsonl"

    def picked(*options: str) -> int:
        export(many, "jsonl", output, capsys, *options)
        return len(urls("jsonl", output))

    assert picked("--site", "a.test") == 10
    assert picked("--site", "A.test", "--site", "e.test") == 11
    assert picked("--status", "200") == picked("--status", "2xx") == 41
    assert picked("--status", "404") == picked("--status", "3xx") == 0
    assert picked("--status", "404", "--status", "2xx") == 41
    assert picked("--lang", "de") == 41
    assert picked("--lang", "d") == picked("--lang", "en") == 0
    assert picked("--since", "2026-01-01T00:00:41Z") == 4
    assert picked("--where", "url like '%/1%' -- a comment") == 11
    assert picked("--where", "site in (select site from sites where pages = 1)") == 1
    assert picked("--site", "a.test", "--where", "depth > 0 or url = 'https://a.test/4'") == 1


def test_a_moment_is_a_date_a_time_or_how_long_ago() -> None:
    assert read_since("2026-01-01", 0) == BEGAN_AT
    assert read_since("2026-01-01T02:00+02:00", 0) == BEGAN_AT
    assert read_since("2d", BEGAN_AT) == BEGAN_AT - 172_800
    assert read_since("1.5h", BEGAN_AT) == BEGAN_AT - 5_400
    for nonsense in ("yesterday", "2x", "", "-1d"):
        with pytest.raises(GossamerError, match="is not a time"):
            read_since(nonsense, 0)


def test_a_language_is_matched_with_its_variants() -> None:
    import duckdb

    condition = Selection(langs=("de",)).condition()
    tags = ["de", "DE", "de-AT", "den", "", "nl"]
    found = duckdb.execute(f"select lang from (select unnest(?) as lang) where {condition}", [tags]).fetchall()
    assert [lang for (lang,) in found] == ["de", "DE", "de-AT"]


def test_standard_output_gets_the_same_bytes_as_a_file(many: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    for form in ("jsonl", "csv"):
        output = many.parent / "out"
        assert run(["export", "--data-dir", str(many), "--format", form, "-o", str(output)]) == 0
        capfdbinary.readouterr()
        assert run(["export", "--data-dir", str(many), "--format", form]) == 0
        out, said = capfdbinary.readouterr()
        assert out == output.read_bytes()
        assert said == b"41 pages exported, of 44 rows.\n"
    assert run(["export", "--data-dir", str(many), "--format", "warc"]) == 0
    kinds = Counter(record.rec_type for record in ArchiveIterator(BytesIO(capfdbinary.readouterr().out)))
    assert kinds == {"warcinfo": 1, "request": 41, "response": 41}


def test_pages_without_a_record_are_counted_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Crawl(tmp_path / "crawl", warc=False) as crawl:
        crawl.keep("https://a.test/1")
    said = export(crawl.folder, "warc", tmp_path / "out.warc.gz", capsys)
    assert said.endswith(
        "0 pages exported to " + str(tmp_path / "out.warc.gz") + ", of 1 row; without archive record: 1 more.\n"
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--format", "parquet"], "parquet cannot go to standard output: add --output."),
        (["--format", "wacz"], "wacz cannot go to standard output: add --output."),
        (["--format", "txt"], "txt cannot go to standard output: add --output."),
        (["--where", "titel = ''"], "there is no column titel; did you mean title?"),
        (["--where", "true) union (select 1"], "the query cannot be run: "),
        (["--where", "exists (select * from read_text('/etc/passwd'))"], "a query reads only the crawl's own tables: "),
        (["--where", "true; copy pages to 'x'"], "the query cannot be run: syntax error"),
        (["--status", "ok"], "--status ok is not a status: write 200, or 2xx for all from 200 to 299."),
        (["--since", "then"], "--since then is not a time: "),
    ],
)
def test_a_mistake_is_answered_in_one_sentence_and_makes_nothing(
    folder: Path, options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = [] if "--format" in options else ["-o", str(folder.parent / "out")]
    before = sorted(folder.parent.rglob("*"))
    assert run(["export", "--data-dir", str(folder), *options, *output]) == 2
    out, said = capsys.readouterr()
    assert out == ""
    assert said.startswith(f"gossamer: {sentence}")
    assert said.count("\n") == 1
    assert sorted(folder.parent.rglob("*")) == before


KILLED = """
import os, signal, sys
from gossamer.cli import run
from gossamer.inspect.export import Export
files = int(sys.argv[1])
copy = Export._copy
def die_in_the_middle(self, database, part, originals, target, progress):
    copy(self, database, part, originals, target, progress)
    if progress.files_done == files:  # written, not yet settled
        getattr(target, "_file", sys.stdout).flush()
        os.kill(os.getpid(), signal.SIGKILL)
Export._copy = die_in_the_middle
run(sys.argv[2:])
"""


@pytest.mark.parametrize("form", FORMATS)
def test_an_export_that_was_killed_goes_on_and_is_the_same_although_the_crawl_went_on(
    many: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    undisturbed, output = many.parent / "undisturbed", many.parent / "output"
    export(many, form, undisturbed, capsys, "--since", "200000d")
    arguments = ["export", "--data-dir", str(many), "--format", form, "-o", str(output), "--since", "200000d"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    died = subprocess.run([sys.executable, "-c", KILLED, "3", *arguments], env=environment)
    assert died.returncode == -signal.SIGKILL
    assert not (output / "index.csv" if form == "txt" else output).exists()
    assert run([*arguments, "--lang", "de"]) == 2
    assert "was started with other arguments" in capsys.readouterr().err
    with Crawl(many, worker="w3") as crawl:  # every page again, and the dead worker's journal becomes a part
        repair(many, ["w2"])
        crawl._number = 500
        for number in range(40):
            crawl.keep(f"https://{'abcd'[number % 4]}.test/{number}")
    assert "41 pages exported" in export(many, form, output, capsys, "--since", "200000d")
    if form == "txt":
        files_of = {path.relative_to(output): path.read_bytes() for path in output.rglob("*") if path.is_file()}
        assert files_of == {
            path.relative_to(undisturbed): path.read_bytes() for path in undisturbed.rglob("*") if path.is_file()
        }
    elif form in ("parquet", "cc-index"):
        assert pq.read_table(output).equals(pq.read_table(undisturbed))
    elif form in ("warc", "wet", "wacz", "sqlite"):  # with the time of the export, or new identities
        assert urls(form, output) == urls(form, undisturbed)
    else:
        assert output.read_bytes() == undisturbed.read_bytes()
    assert not list(many.parent.rglob("*.partial*"))


def test_how_far_it_is_can_be_told(many: Path) -> None:
    told = []
    export_ = Export(folders=(many,), selection=Selection(sites=("a.test",)), form="csv", output=many.parent / "x.csv")
    done = export_.run(BytesIO(), lambda progress: told.append((progress.rows_done, progress.pages)))
    assert told == sorted(told)
    assert told[0] == (0, 0)
    assert told[-1] == (44, 10) == (done.rows_total, done.pages)
