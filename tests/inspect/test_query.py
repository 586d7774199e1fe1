"""`gossamer query`: SQL over all data that is stored now, and over nothing else."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gossamer.cli import run
from gossamer.commands import to_type
from gossamer.inspect.views import views
from gossamer.records import RequestRow
from gossamer.store.reading import last_pages
from gossamer.store.schemas import TABLES
from gossamer.urls import hash_url, site_of
from tests.end_to_end.crawls import environment
from tests.inspect.conftest import URLS
from tests.inspect.crawls import BEGAN_AT, Crawl

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished crawl of three sites: nine pages, three URLs given up, three redirects."""
    with Crawl(tmp_path_factory.mktemp("crawled") / "crawl") as crawl:
        crawl.add(*URLS)
        crawl.run()
    return crawl.folder


@pytest.fixture
def folder(crawled: Path, tmp_path: Path) -> Path:
    """A copy of it, to be attacked."""
    return Path(shutil.copytree(crawled, tmp_path / "crawl"))


def ask(folder: Path | Sequence[Path], sql: str, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    folders = folder if isinstance(folder, list | tuple) else [folder]
    named = [word for one in folders for word in ("--data-dir", str(one))]
    assert run(["query", sql, *named, *options]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def rows(folder: Path | Sequence[Path], sql: str, capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    return list(csv.reader(io.StringIO(ask(folder, sql, capsys))))[1:]


def refused(folder: Path, sql: str, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert run(["query", sql, "--data-dir", str(folder), *options]) == 2, sql
    out, said = capsys.readouterr()
    assert out == ""
    assert said.startswith("gossamer: ")
    assert said.count("\n") == 1
    return said.removeprefix("gossamer: ").strip()


def test_everything_stored_is_counted_whether_in_parts_or_in_journals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Crawl(tmp_path, part_rows=4) as crawl:
        crawl.add(*(f"https://a.test/{number}" for number in range(10)))
        crawl.run()
        assert list((tmp_path / "journal").iterdir())
        assert rows(tmp_path, "select count(*), count(distinct url) from pages", capsys) == [["10", "10"]]
        assert rows(tmp_path, "select count(*) from requests where kind = 'page'", capsys) == [["10"]]
    assert rows(tmp_path, "select count(*) from pages", capsys) == [["10"]]


def test_what_a_crash_left_is_read_without_being_repaired(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crawl = Crawl(tmp_path)
    crawl.add("https://a.test/1", "https://b.test/2")
    crawl.run()
    crawl.crash()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    (journal,) = (tmp_path / "journal").glob("pages-*")
    journal.write_bytes(before[journal] + before[journal][-200:-100])  # torn
    assert rows(tmp_path, "select url from pages order by 1", capsys) == [["https://a.test/1"], ["https://b.test/2"]]
    journal.write_bytes(before[journal])
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_a_journal_whose_part_is_there_is_ignored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crawl = Crawl(tmp_path)
    crawl.add("https://a.test/1")
    crawl.run()
    (journal,) = (tmp_path / "journal").glob("pages-*")
    left_behind = journal.read_bytes()
    crawl.close()
    journal.write_bytes(left_behind)
    assert rows(tmp_path, "select count(*) from pages", capsys) == [["1"]]


def test_of_a_page_fetched_again_only_the_last_row_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Crawl(tmp_path, part_rows=3) as crawl:
        for number in (1, 2, 1, 3, 1, 2, 4):
            crawl.keep(f"https://a.test/{number}")
            crawl.store.sync()
        expected = {row.url: row.fetched_at for row in last_pages(tmp_path)}
        seen = rows(tmp_path, "select url, epoch(fetched_at) from pages", capsys)
        assert len(seen) == 4
        assert {url: float(at) for url, at in seen} == expected
    with Crawl(tmp_path, worker="w2") as crawl:
        crawl._number = 6  # the very moment of the last row of /4: the later file counts
        crawl.keep("https://a.test/4")
    places = {row.url: [row.warc_file, str(row.warc_offset)] for row in last_pages(tmp_path)}
    (place,) = rows(tmp_path, "select warc_file, warc_offset from pages where url like '%/4'", capsys)
    assert place == places["https://a.test/4"]
    assert "~w2." in place[0]


def test_several_folders_are_one_crawl_and_the_last_fetch_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [tmp_path / "one", tmp_path / "two [2]'s"]
    for number, folder in enumerate(folders):
        with Crawl(folder) as crawl:
            crawl._number = 10 * number
            for url in ("https://a.test/both", f"https://a.test/{number}"):
                crawl.keep(url)
    seen = dict(rows(folders, "select url, epoch(fetched_at)::bigint from pages", capsys))
    assert seen == {
        "https://a.test/both": str(int(BEGAN_AT) + 11),
        "https://a.test/0": str(int(BEGAN_AT) + 2),
        "https://a.test/1": str(int(BEGAN_AT) + 12),
    }
    assert run(["query", "select 1", "--data-dir", str(folders[0]), "--data-dir", f"{folders[0]}/"]) == 2
    assert "named twice" in capsys.readouterr().err


def test_sites_are_counted_from_the_other_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Turns of a.test: robots.txt and a page; a redirect and its target; an error; a page that is but a redirect, and
    # its target. Gaps between turns: 5 s, 3 s and 4 s. Where others' robots.txt redirect is in no turn.
    log = [
        ("robots", 200, 0, 1, False),
        ("page", 200, 2, 3, True),
        ("page", 301, 8, 9, False),
        ("page", 200, 10, 11, True),
        ("robots_elsewhere", 200, 12, 13, False),
        ("robots_elsewhere", 200, 13, 13, False),
        ("page", 404, 14, 15, False),
        ("page", 200, 19, 20, False),
        ("page", 200, 21, 22, True),
    ]
    with Crawl(tmp_path) as crawl:
        for kind, status, started_s, ended_s, is_stored in log:
            url = f"https://a.test/{started_s}"
            if is_stored:
                crawl.store_page(url)
            crawl.store.keep_request(
                RequestRow(hash_url(url), url, site_of(url), kind, BEGAN_AT + started_s, BEGAN_AT + ended_s, status, "",
                           100, "192.0.2.7", "allowed", 1, "w1")
            )  # fmt: skip
        crawl._number = 100
        crawl.keep("https://b.test/")
        crawl.keep("https://b.test/")
    found = rows(
        tmp_path, "select site, pages, requests, errors, bytes, mean_request_s, min_gap_s from sites order by 1", capsys
    )
    assert found == [
        ["a.test", "3", "9", "1", "900", "0.8888888888888888", "3.0"],
        ["b.test", "1", "2", "0", "6912", "0.25", "0.75"],
    ]


def test_every_table_has_the_columns_that_are_described(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["query", "--tables"]) == 0
    described = capsys.readouterr().out
    for view in views():
        found = rows(folder, f"select column_name, column_type from (describe {view.name})", capsys)
        assert [name for name, _ in found] == [column.name for column in view.columns]
        assert f"{view.name}: {view.meaning}\n" in described
        for (name, kind), column in zip(found, view.columns, strict=True):
            assert f"\n  {name:<17} {kind:<24} {column.meaning}\n" in described
    others = {"sites", "queue", "frontier_sites", "workers"}
    assert set(TABLES) - {"ticks"} | others == {view.name for view in views()}


def test_a_part_that_an_older_version_wrote_has_nothing_in_columns_that_came_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Crawl(tmp_path) as crawl:
        crawl.keep("https://a.test/1")
    (part,) = (tmp_path / "pages").iterdir()
    pq.write_table(pq.read_table(part).drop_columns(["canonical", "links", "truncated"]), part)
    with Crawl(tmp_path, worker="w2") as crawl:
        crawl.keep("https://a.test/2")
    found = rows(tmp_path, "select url, canonical, links, truncated from pages order by 1", capsys)
    assert found == [["https://a.test/1", "", "0", "false"], ["https://a.test/2", "", "0", "false"]]


def test_the_answer_comes_in_the_format_that_is_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "select url, url_hash, fetched_at, title, links, truncated from pages where url like '%a.test/1'"
    expected = {
        "url": "https://a.test/1",
        "url_hash": hash_url("https://a.test/1").hex(),
        "fetched_at": "2026-01-01T00:00:01.000000Z",
        "title": "Größe",
        "links": 0,
        "truncated": False,
    }
    assert json.loads(ask(folder, sql, capsys, "--format", "json")) == [expected]
    assert json.loads(ask(folder, sql, capsys, "--format", "jsonl")) == expected
    assert ask(folder, "select 1 as a where false", capsys, "--format", "json") == "[]\n"
    header, row = csv.reader(io.StringIO(ask(folder, sql, capsys, "--format", "csv")))
    assert header == list(expected)
    assert row == [*list(expected.values())[:4], "0", "false"]
    written = folder / "answer.parquet"
    assert ask(folder, sql, capsys, "--format", "parquet", "--output", str(written)) == ""
    (found,) = pq.read_table(written).to_pylist()
    assert found["fetched_at"] == datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert found["url_hash"] == hash_url("https://a.test/1")
    assert "add --output" in refused(folder, sql, capsys, "--format", "parquet")
    nowhere = ["--format", "csv", "-o", str(folder / "no" / "such.csv")]
    assert "cannot be written (No such file or directory)" in refused(folder, sql, capsys, *nowhere)


def test_csv_and_json_hold_any_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nasty = 'a "quoted", comma;\r\nnew\rline\ttab \x00 \u2028 ünïcödé 字'
    sql = "select " + " || ".join(f"chr({ord(char)})" for char in nasty) + " as \"na,me\", '' as empty, null as none"
    assert json.loads(ask(folder, sql, capsys, "--format", "jsonl")) == {"na,me": nasty, "empty": "", "none": None}
    read = list(csv.reader(io.StringIO(ask(folder, sql, capsys, "--format", "csv"), newline="")))
    assert read == [["na,me", "empty", "none"], [nasty, "", ""]]
    assert list(csv.reader(io.StringIO(ask(folder, "select '' as a", capsys)))) == [["a"], [""]]
    assert json.loads(ask(folder, "select 'inf'::double as i, 'nan'::double as n", capsys, "--format", "jsonl")) == {
        "i": None,
        "n": None,
    }


def test_a_table_is_aligned_cuts_long_cells_and_says_how_many_rows_it_leaves_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sql = "select i as number, repeat('字x', i) as wide, 'a' || chr(27) || '[2J' as evil from range(1, 1235) t(i)"
    lines = ask(folder, sql, capsys, "--format", "table").splitlines()
    assert lines[0].split() == ["number", "wide", "evil"]
    assert lines[2] == "     1  字x" + " " * 77 + "  a [2J"
    assert lines[101].count("…") == 1
    assert lines[102] == "... 1,134 more rows: --limit 0 or --format csv"
    assert len(ask(folder, sql, capsys, "--format", "table", "--limit", "0").splitlines()) == 1236
    assert ask(folder, sql, capsys, "--format", "csv", "--limit", "3").count("\n") == 4
    assert ask(folder, "select 1 as a where false", capsys, "--format", "table").splitlines()[-1] == "no rows"


def test_where_a_table_would_cut_much_each_column_has_its_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = ask(folder, "select * from pages order by url", capsys, "--format", "auto", "--limit", "2").splitlines()
    heading, *lines = wide
    assert heading.startswith("-- row 1 ---")
    assert lines[1] == "url             https://a.test/1"
    assert sum(line.startswith("-- row ") for line in wide) == 2
    assert wide[-1] == "... 7 more rows: --limit 0 or --format csv"
    narrow = ask(folder, "select url, status from pages", capsys, "--format", "auto", "--limit", "1").splitlines()
    assert narrow[0].split() == ["url", "status"]
    named = ask(folder, "select url, status from pages order by url", capsys, "--format", "lines", "--limit", "1")
    assert named.splitlines()[:3] == ["-- row 1 ------", "url     https://a.test/1", "status  200"]


@pytest.mark.parametrize(("columns", "form"), [("80", "lines"), ("700", "table")])
def test_on_a_terminal_the_form_depends_on_its_width(columns: str, form: str, folder: Path) -> None:
    command = [sys.executable, "-m", "gossamer", "query", "select * from pages limit 1", "--data-dir", str(folder)]
    own, theirs = pty.openpty()
    variables = environment() | {"COLUMNS": columns}
    with subprocess.Popen(command, env=variables, stdout=theirs) as query:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # that is how a terminal ends
            while some := os.read(own, 10_000):
                shown += some
        os.close(own)
    assert query.returncode == 0
    assert shown.startswith(b"-- row 1 " if form == "lines" else b"url_hash ")


@pytest.mark.parametrize(
    ("sql", "sentence"),
    [
        ("select titel from pages", "there is no column titel; did you mean title?"),
        ("select p.titel from pages p", "there is no column titel; did you mean title?"),
        ("select qqqqq from pages", "there is no column qqqqq; `gossamer query --tables` lists all tables and columns"),
        ("select * from pagse", "there is no table pagse; did you mean pages?"),
        ("selct 1", 'the query cannot be run: syntax error at or near "selct"'),
        ("select 'abc'::int", "the query cannot be run: Could not convert string 'abc' to INT32"),
    ],
)
def test_a_mistake_is_answered_in_one_sentence(
    folder: Path, sql: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(folder, sql, capsys) == sentence


def test_without_a_query_an_example_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = to_type("query", "select count(*) from pages", folders=folder)
    assert refused(folder, "", capsys) == f"Give a query: `{example}`; --tables lists the tables."


def test_a_crawl_without_rows_and_a_folder_without_a_crawl_are_mistakes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begin = to_type("crawl", "seeds.txt", "--email", "you@example.org", folders=tmp_path / "none")
    assert refused(tmp_path / "none", "select 1", capsys) == (
        f"No crawl in {tmp_path / 'none'}: name its folder with --data-dir, or start one with `{begin}`."
    )
    with Crawl(tmp_path):
        pass
    assert "Nothing is stored yet" in refused(tmp_path, "select count(*) from pages", capsys)


def test_a_damaged_part_is_a_mistake_that_names_verify(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (part,) = (folder / "pages").iterdir()
    part.write_bytes(part.read_bytes()[:100])
    said = refused(folder, "select count(*) from pages", capsys)
    assert f"`{to_type('verify', folders=folder)}` lists all damage" in said


READS_ELSEWHERE = [
    "select * from read_csv('{outside}')",
    "select * from read_text('{outside}')",
    "select * from read_blob('{outside}')",
    "select * from read_json('{outside}')",
    "select * from read_parquet('{outside}')",
    "select * from '{outside}.csv'",
    "select * from sniff_csv('{outside}')",
    "select * from glob('{folder}/*')",
    "select * from read_duckdb('{outside}')",
    "select * from read_text('{folder}/frontier.sqlite')",
    "select * from query('select * from read_text(''{outside}'')')",
    "select * from 'http://127.0.0.1:{port}/x.csv'",
    "select * from read_parquet('https://127.0.0.1:{port}/x.parquet')",
    "select getenv('HOME')",
]
OVERWRITES = "with x as (copy (select 1 a) to '{part}' (format parquet, use_tmp_file false)) select 1"
AS_TEXT = OVERWRITES.replace("'", "''")
WRITES = [
    "copy (select 1) to '{new}'",
    "copy pages to '{part}' (format parquet, use_tmp_file false)",
    OVERWRITES,
    f"select * from ({OVERWRITES})",
    f"from query('{AS_TEXT}')",
    f"from json_execute_serialized_sql(json_serialize_sql('{AS_TEXT}'))",
    f"select 1 where exists (from system.main.json_execute_serialized_sql(json_serialize_sql('{AS_TEXT}')))",
    "explain analyze copy (select 1 a) to '{part}' (format parquet, use_tmp_file false)",
    "select 1) to '{new}'; copy (select 1",
    "export database '{new}'",
    "attach '{new}'",
    "attach ':memory:' as other",
    "create table t as select 1",
    "create view pages as select 1",
    "drop view pages",
    "insert into pages select * from pages",
    "delete from requests",
    "with x as (insert into stored.superseded values ('', 0) returning *) select * from x",
    "install httpfs",
    "load httpfs",
    "set enable_external_access = true",
    "set lock_configuration = false",
    "reset allowed_paths",
    "pragma enable_profiling",
    "pragma memory_limit = '1TB'",
    "call enable_logging(storage = 'file', storage_path = '{new}')",
    "select * from enable_logging()",
    "create secret (type s3)",
    "checkpoint",
    "begin",
    "select 1; select 2",
]


@pytest.mark.parametrize("sql", READS_ELSEWHERE + WRITES)
def test_a_query_touches_nothing_but_the_tables(folder: Path, sql: str, capsys: pytest.CaptureFixture[str]) -> None:
    outside = folder.parent / "secret.txt"
    outside.write_text("not,for\nyour,eyes\n")
    (part,) = (folder / "pages").iterdir()
    before = {path: path.read_bytes() for path in folder.parent.rglob("*") if path.is_file()}
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        places = {"outside": outside, "folder": folder, "new": folder.parent / "new", "part": part}
        # The table is mentioned, so that its files may be opened.
        said = refused(folder, sql.format(port=server.getsockname()[1], **places) + " -- pages", capsys)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert "eyes" not in said
    assert {path: path.read_bytes() for path in folder.parent.rglob("*") if path.is_file()} == before


def test_variables_of_python_are_no_tables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secrets = pa.table({"a": [os.urandom(1)]})
    assert secrets is not None
    assert refused(folder, "select * from secrets", capsys).startswith("there is no table secrets")


def test_nothing_is_left_behind(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.chdir(scratch)
    assert rows(folder, "select count(*) from pages", capsys) == [["9"]]
    assert list(scratch.iterdir()) == []


def test_sql_can_come_from_standard_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("select count(*) from pages;\n"))
    assert rows(folder, "-", capsys) == [["9"]]
