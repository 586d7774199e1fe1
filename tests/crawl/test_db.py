"""`gossamer db` on a real PostgreSQL."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import psycopg

from gossamer.cli import run
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.inspect.as_json import DatabaseJson
from gossamer.records import CrawlState, Done
from tests.frontier.postgres_server import new_database
from tests.frontier.samples import claim, complete, links
from tests.inspect.test_json import mismatch

if TYPE_CHECKING:
    import pytest


def test_a_database_is_prepared_once_and_says_what_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    address = new_database()
    for too_soon in ("stats", "migrate"):
        assert run(["db", too_soon, "--frontier", address]) == 2
        assert "` prepares it" in capsys.readouterr().err
    assert run(["db", "init", "--frontier", address]) == 0
    assert "is ready: schema version" in capsys.readouterr().out
    assert run(["db", "init", "--frontier", address]) == 0
    assert "was ready before" in capsys.readouterr().out
    with PostgresFrontier(address, "my crawl") as frontier:
        frontier.resume(delay_s=1)
        frontier.join("somewhere:1")
        frontier.add(links("a.test", 1_234))
        assert run(["db", "stats", "--frontier", address]) == 0
    crawls, _, tables = capsys.readouterr().out.partition("\n\n")
    assert crawls.splitlines()[2].split() == ["my", "crawl", "running", "1", "1,234", "1,234", "0", "0", "0", "1"]
    rows = {line.split()[0]: line.split()[1:] for line in tables.splitlines()[2:]}
    assert rows.keys() >= {"site", "queue", "seen", "worker"}
    assert rows["queue"][0] == "1,234", "a small table is counted"
    assert rows["queue"][1].startswith("~"), "dead rows are always an estimate"
    assert run(["db", "migrate", "--frontier", address]) == 0
    assert "before, it had" in capsys.readouterr().out


def test_a_crawl_is_finished_or_stopped_where_no_worker_lives(capsys: pytest.CaptureFixture[str]) -> None:
    address = new_database()
    for name in ("over", "half done", "silent", "paused", "full"):
        with PostgresFrontier(address, name) as frontier:
            frontier.resume(delay_s=0, page_limit=1 if name == "full" else None, terms={"lease": "30.0"})
            worker = frontier.join("somewhere:1")
            frontier.add(links("a.test", 1 if name == "over" else 2))
            if name in ("over", "full"):
                complete(frontier, claim(frontier)[0], Done())
            if name in ("over", "half done", "full"):
                frontier.recover(worker)
            if name == "paused":
                frontier.order(CrawlState.PAUSED)
    with psycopg.connect(address) as connection:
        connection.execute(
            "UPDATE gossamer.worker w SET beat_at = beat_at - interval '31 s' FROM gossamer.crawl c "
            "WHERE c.crawl = w.crawl AND c.name = 'silent'"
        )
    assert run(["db", "stats", "--json", "--frontier", address]) == 0
    found = json.loads(capsys.readouterr().out)
    assert not mismatch(found, DatabaseJson)
    assert {crawl["name"]: (crawl["state"], crawl["workers"]) for crawl in found["crawls"]} == {
        "over": ("finished", 0),
        "half done": ("stopped", 0),
        "silent": ("stopped", 0),
        "paused": ("paused", 1),
        "full": ("finished", 0),
    }


def test_a_large_table_is_estimated_and_says_when_it_was_vacuumed_and_analyzed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    address = new_database()
    with PostgresFrontier(address, "large") as frontier:
        frontier.resume(delay_s=1)
        frontier.add(links("a.test", 2_000))
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO gossamer.queue (site_id, seq, rank, depth, shard, crawl, hops, kind, url_hash, url) "
            "SELECT 1, n, 0, 0, 0, 99, 0, 0, decode(md5(n::text), 'hex'), repeat('x', 500) "
            "FROM generate_series(1, 20000) n"
        )
        connection.execute("VACUUM ANALYZE gossamer.queue")
    assert run(["db", "stats", "--json", "--frontier", address]) == 0
    (queue,) = [table for table in json.loads(capsys.readouterr().out)["tables"] if table["name"] == "queue"]
    assert not queue["rows_are_exact"]
    assert queue["rows"] == 22_000, "just analyzed"
    assert min(queue["vacuumed_at"], queue["analyzed_at"]) > 1.7e9
    assert run(["db", "stats", "--frontier", address]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^queue +~22,000 +~\d+ +\d+\.\d MB  20\d\d-\d\d-\d\d ", shown, re.MULTILINE)


def test_the_address_may_come_from_the_environment_and_a_server_that_is_not_there_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_FRONTIER", "postgresql://me:sesame@127.0.0.1:1/crawls")
    monkeypatch.setenv("PGPASSWORD", "")  # which is set meanwhile, and put back
    assert run(["db", "stats"]) == 2
    said = capsys.readouterr().err
    assert "The frontier cannot be opened: PostgreSQL database crawls on 127.0.0.1" in said
    assert "sesame" not in said


def test_without_an_address_one_is_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOSSAMER_FRONTIER", raising=False)
    assert run(["db", "stats"]) == 2
    assert "Name the database: --frontier postgresql://user@host/database" in capsys.readouterr().err
