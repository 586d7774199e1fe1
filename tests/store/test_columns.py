"""A stored table has exactly these columns, and a new column of `pages` needs changes in few files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import gossamer_simweb as simweb
from gossamer.records import FigureRow, LinkRow, PageRow, RequestRow
from gossamer.store.schemas import FIGURES, LINKS, PAGES, REQUESTS, TICKS, Table
from gossamer_simweb import plain_web

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer_simweb import WebServer

ROOT = Path(__file__).resolve().parents[2]
HASH, TIME = "fixed_size_binary[16]", "timestamp[us, tz=UTC]"

# What lies on disk. A column may be added at the end; to change or remove one breaks every existing crawl.
COLUMNS = {
    "pages": [
        ("url_hash", HASH), ("url", "string"), ("site", "string"), ("depth", "int32"), ("fetched_at", TIME),
        ("status", "int16"), ("content_type", "string"), ("charset", "string"), ("lang", "string"), ("title", "string"),
        ("text", "string"), ("links", "int32"), ("content_hash", "binary"), ("canonical", "string"),
        ("signals", "string"), ("truncated", "bool"), ("body_bytes", "int64"), ("payload_digest", "string"),
        ("warc_file", "string"), ("warc_offset", "int64"), ("warc_length", "int64"), ("duplicate_of", "string"),
        ("simhash", "uint64"), ("lang_declared", "string"), ("lang_detected", "string"), ("lang_score", "double"),
        ("last_modified", "string"), ("etag", "string"), ("published", "string"), ("published_from", "string"),
        ("modified", "string"), ("modified_from", "string"), ("via", HASH), ("mime_detected", "string"),
    ],
    "requests": [
        ("url_hash", HASH), ("url", "string"), ("site", "string"), ("kind", "string"), ("started_at", TIME),
        ("ended_at", TIME), ("status", "int16"), ("reason", "string"), ("bytes", "int64"), ("address", "string"),
        ("robots", "string"), ("attempt", "int16"), ("worker", "string"), ("wait_s", "double"),
        ("redirect_to", "string"), ("via", HASH), ("blocked", "string"), ("parallel", "int16"),
    ],
    "links": [
        ("from_hash", HASH), ("fetched_at", TIME), ("to_url", "string"), ("text", "string"), ("rel", "string"),
    ],
    "figures": [
        ("time", TIME), ("worker", "string"), ("name", "string"), ("labels", "string"), ("value", "double"),
    ],
}  # fmt: skip
DICTIONARIES = {
    "pages": {
        "site",
        "content_type",
        "charset",
        "lang",
        "signals",
        "warc_file",
        "lang_declared",
        "lang_detected",
        "published_from",
        "modified_from",
        "mime_detected",
    },
    "requests": {"site", "kind", "reason", "address", "robots", "worker", "wait_s", "blocked", "parallel"},
    "links": {"from_hash", "fetched_at", "to_url", "text", "rel"},
    "figures": {"time", "worker", "name", "labels"},
}
COLUMNS["ticks"], DICTIONARIES["ticks"] = COLUMNS["figures"], DICTIONARIES["figures"]

# What it takes to add a column: the edits of a maintainer, as text that is replaced. The third file is this test.
ROWS, PARSER, THIS = "src/gossamer/records/rows.py", "src/gossamer/parse/page.py", "tests/store/test_columns.py"
EDITS = {
    ROWS: (
        "\n\n\nclass RequestRow",
        '\n    words: Annotated[int, Stored(INT32, "how many words the text has")] = 0\n\n\nclass RequestRow',
    ),
    PARSER: ("        simhash=simhash(text),\n", "        simhash=simhash(text),\n        words=len(text.split()),\n"),
}
PROGRAM = """
import sys, gossamer
from tools.reference import pages

folder, seeds, nameserver = sys.argv[1], sys.argv[2:-1], sys.argv[-1]
settings = {"nameserver": nameserver, "allow_network": "127.0.0.0/8", "batch": 0.06}
with gossamer.Crawl(seeds, email="tests@example.org", delay=0, data_dir=folder, **settings) as crawl:
    fetched = {page.url: page.words for page in crawl}
stored = {page.url: (page.words, len(page.text.split())) for page in gossamer.open(folder).pages()}
assert stored == {url: (words, words) for url, words in fetched.items()}, (fetched, stored)
assert min(fetched.values()) > 0
assert "| `words` | INTEGER | int32 | how many words the text has |" in pages()["tables.md"]
print(gossamer.__file__, len(fetched))
"""


@pytest.mark.parametrize(
    ("table", "row"),
    [(PAGES, PageRow), (REQUESTS, RequestRow), (LINKS, LinkRow), (FIGURES, FigureRow), (TICKS, FigureRow)],
)
def test_the_schema_on_disk_is_this(table: Table, row: type[PageRow | RequestRow | LinkRow | FigureRow]) -> None:
    assert [(field.name, str(field.type)) for field in table.schema] == COLUMNS[table.name]
    assert not any(field.nullable for field in table.schema)
    assert {column.name for column in table.columns if column.repeats} == DICTIONARIES[table.name]
    assert all(column.meaning for column in table.columns)
    assert tuple(table.schema.names) == row._fields


def test_a_row_that_lacks_a_column_reads_as_its_default() -> None:
    other = pa.RecordBatch.from_arrays([pa.array([1])], names=["unknown"])
    (empty,) = PAGES.complete(other).to_pylist()
    expected = PageRow()._asdict()
    assert {name: value for name, value in empty.items() if name != "fetched_at"} == {
        name: value for name, value in expected.items() if name != "fetched_at"
    }
    assert empty["fetched_at"].timestamp() == expected["fetched_at"]


@pytest.fixture
def server() -> Iterator[WebServer]:
    with simweb.serve(plain_web(sites=1, pages=3)) as running:
        yield running


def test_a_new_column_of_pages_needs_two_files_and_this_one(server: WebServer, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name, (old, new) in EDITS.items():
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert old in text
        (tmp_path / name).write_text(text.replace(old, new), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "data"), *server.seeds(1), server.dns],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{tmp_path / 'src'}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    path, pages = done.stdout.split()[-2:]
    assert Path(path).is_relative_to(tmp_path)
    assert int(pages) >= 3


def test_the_architecture_names_these_files() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"(?m)^\| a column of the table `pages` .*$", text)
    assert re.findall(r"`([\w/]+\.py)`", line) == [ROWS, PARSER, THIS]


def test_no_other_file_knows_a_column_that_only_readers_of_the_tables_use() -> None:
    knowing = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "src" / "gossamer").rglob("*.py")
        if re.search(r"\bsimhash\b", path.read_text(encoding="utf-8"))
    }
    assert knowing == {ROWS, PARSER, "src/gossamer/parse/simhash.py"}
