"""`gossamer query` over the frontier: its queue, its sites and its workers, on both engines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import gossamer
from gossamer.cli import run
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.inspect import frontier_tables
from gossamer.records import Retry
from tests.frontier.postgres_server import new_database
from tests.frontier.samples import claim, complete, link, links
from tests.inspect.crawls import Crawl

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.frontier import Frontier


def fill(frontier: Frontier) -> None:
    """Queue three URLs of two sites; one of them failed once and waits, and its site is in hand again."""
    frontier.resume(delay_s=0)
    frontier.join("here:7")
    frontier.add([link("a.test/1", 3, rank=5), link("a.test/2", 1), link("b.test/1", 0, seeded=True)])
    frontier.exclude(["b.test"])
    (owned,) = claim(frontier)
    complete(frontier, owned, Retry(wait_s=3_600), wait_s=0)
    frontier.heartbeat({"pages": 12.0})


@pytest.fixture(params=["sqlite", "postgres"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "crawl"
    (folder / "pages").mkdir(parents=True)
    settings = ""
    if request.param == "sqlite":
        with SqliteFrontier(folder / "frontier.sqlite") as frontier:
            fill(frontier)
    else:
        address = new_database()
        settings = f'frontier = "{address}"\n'
        with PostgresFrontier(address, "crawl", home="here") as frontier:
            fill(frontier)
    (folder / "crawl.toml").write_text(settings)
    return folder


def ask(folder: Path, sql: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    assert run(["query", sql, "--format", "jsonl", "--data-dir", str(folder)]) == 0, capsys.readouterr().err
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_queue_its_sites_and_its_workers_can_be_queried(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ask(folder, "select * exclude (not_before, added) from queue order by url", capsys)
    assert [(row["url"], row["depth"], row["rank"], row["via"]) for row in rows] == [
        ("https://a.test/1", 3, 5, ""), ("https://a.test/2", 1, 0, ""), ("https://b.test/1", 0, 0, ""),
    ]  # fmt: skip
    assert [row["tries"] for row in rows] == [1, 1, 0]
    waits = ask(
        folder, "select not_before > now() + interval 50 minute as later, added > now() - interval 1 hour as new "
        "from queue order by url", capsys,
    )  # fmt: skip
    assert [tuple(row.values()) for row in waits] == [(True, True), (True, True), (None, True)]
    sites = ask(folder, "select site, ready_in_s, owner, queued, excluded from frontier_sites order by site", capsys)
    assert [(row["site"], row["queued"], row["excluded"]) for row in sites] == [
        ("a.test", 2, False),
        ("b.test", 1, True),
    ]
    assert sites[1]["ready_in_s"] is None
    (worker,) = ask(folder, "select label, (figures ->> 'pages')::double as pages, gone from workers", capsys)
    assert worker == {"label": "here:7", "pages": 12.0, "gone": False}


def test_tables_of_the_frontier_join_each_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "select s.site, count(*) as urls from frontier_sites s join queue q using (site) group by 1 order by 1"
    assert ask(folder, sql, capsys) == [{"site": "a.test", "urls": 2}, {"site": "b.test", "urls": 1}]


def test_too_large_a_table_is_refused_with_one_sentence_and_never_cut(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frontier_tables, "MAX_ROWS", 1)
    for sql, name in (("select count(*) from queue", "queue has 3"), ("from frontier_sites", "frontier_sites has 2")):
        assert run(["query", sql, "--data-dir", str(folder)]) == 2
        said = capsys.readouterr().err
        assert f"The table {name} rows, too many to read them all: add `where site = '...'` or `limit N`" in said
        assert said.count("\n") == 1
    assert ask(folder, "select count(*) as n from queue where site = 'a.test'", capsys) == [{"n": 2}]
    assert len(ask(folder, "from queue limit 2", capsys)) == 2
    assert ask(folder, "select url from queue order by url desc limit 1", capsys) == [{"url": "https://b.test/1"}]
    assert len(ask(folder, "select worker from workers", capsys)) == 1


def test_a_query_from_python_reads_the_queue_too(folder: Path) -> None:
    assert sorted(row["url"] for row in gossamer.open(folder).query("select url from queue where site = 'a.test'")) == [
        "https://a.test/1",
        "https://a.test/2",
    ]


def test_via_is_the_url_of_the_page_that_links(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Crawl(tmp_path) as crawl:
        crawl.add("https://a.test/")
        crawl.run()
        crawl.frontier.add([link("a.test/next", 1, via=link("a.test/").url_hash)])
        (row,) = ask(tmp_path, "from queue", capsys)
        assert (row["url"], row["via"]) == ("https://a.test/next", "https://a.test/")
        assert ask(tmp_path, "select count(*) as n from pages p join queue q on p.url = q.via", capsys) == [{"n": 1}]


def test_only_the_sites_that_a_query_names_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pages").mkdir()
    with SqliteFrontier(tmp_path / "frontier.sqlite") as frontier:
        frontier.resume(delay_s=0)
        frontier.add(links("a.test", 3) + links("b.test", 2))
    read: list[str | None] = []
    listed = SqliteFrontier.list_queue

    def watch(self: SqliteFrontier, site: str | None = None) -> object:
        read.append(site)
        return listed(self, site)

    monkeypatch.setattr(SqliteFrontier, "list_queue", watch)
    assert ask(tmp_path, "select count(*) as n from queue where site = 'b.test'", capsys) == [{"n": 2}]
    assert read == ["b.test"]
