"""Every hot statement finds its rows by their keys, in one shard, at any size of the crawl."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg
import pytest

from bench.postgres.building import build
from gossamer.frontier.postgres import PostgresFrontier, database
from gossamer.frontier.postgres.keys import SHARDS, site_key
from tests.frontier import postgres_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.frontier.labs import PostgresLab

SQL = database.SQL

# Statements on links that are on their way in join their tables to the batch by shard; those that look over a whole
# crawl, for a start, an end or an overview, join them to the list of its shards. All others name one shard.
BATCHES = {
    "create_stage", "stage_links", "seeded_sites", "seeded_names", "missing_sites", "add_sites", "mark_seeded_hosts",
    "unseen", "add_seen", "add_queue", "due_sites",
}  # fmt: skip
OVERVIEWS = {
    "saved_clock", "standing", "first_ready", "declare_home_gone", "live_workers", "dead_owners", "owned_sites",
    "is_home", "workers", "figures", "given_up", "seed_outcomes", "any_unsettled", "analyze", "audit_sites",
    "wake_spent", "count_spent", "count_troubled", "count_troubled_hosts", "audit_barred", "shares",
}  # fmt: skip
SHARDED = r"\b(?:FROM|JOIN|UPDATE|INTO|USING)\s+(site|queue|seen|barred|host|worker|tally|given_up|seed_outcome)\b"


class Shape(NamedTuple):
    """A crawl as its tables' statistics describe it."""

    urls: int  # that are really there
    sites: int
    times: int  # as many URLs and sites, in the statistics


SHAPES = {
    "skewed, 1M": Shape(100_000, 10_000, 10),
    "skewed, 40M": Shape(100_000, 10_000, 400),
    "even, 1M": Shape(20_000, 20_000, 50),
    "even, 40M": Shape(20_000, 20_000, 2_000),
}
TABLES = "site", "queue", "seen", "barred", "host"
BARRED = """
    INSERT INTO barred (shard, crawl, site_id, url_hash, rank, depth, hops, kind, via, url, reason)
    SELECT shard, crawl, site_id, url_hash, rank, depth, hops, kind, via, url, 'r' FROM queue
"""


@pytest.fixture(scope="module", params=SHAPES.values(), ids=list(SHAPES))
def large(version: str, request: pytest.FixtureRequest) -> Iterator[PostgresFrontier]:
    """A worker in a large crawl, whose connection reports the plan of each statement that it runs."""
    shape: Shape = request.param
    address = postgres_server.new_database(version)
    build(address, "large", urls=shape.urls, sites=shape.sites)
    with psycopg.connect(address, autocommit=True, options="-c search_path=gossamer") as connection:
        connection.execute(BARRED)
        connection.execute("ANALYZE barred")
        multiply_statistics(connection, shape.times)
    with PostgresFrontier(address, "large") as frontier:
        frontier.join("test")
        connection = frontier._database._connected()
        try:
            connection.execute("LOAD 'auto_explain'")
        except psycopg.errors.UndefinedFile:
            pytest.skip(f"PostgreSQL {version} has no auto_explain here")
        wanted = {"log_min_duration": "0", "log_analyze": "on", "log_buffers": "on", "log_format": "json"}
        for setting, value in {**wanted, "log_level": "notice"}.items():
            connection.execute(f"SET auto_explain.{setting} = {value}".encode())
        yield frontier


def multiply_statistics(connection: psycopg.Connection[Any], times: int) -> None:
    """Make the planner believe that there are as many times more rows, and values of each key."""
    for table in TABLES:
        connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)".encode())
    connection.execute(
        "UPDATE pg_class SET reltuples = reltuples * %s WHERE relnamespace = 'gossamer'::regnamespace"
        " AND (relname = ANY (%s) OR oid IN (SELECT indexrelid FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
        " WHERE c.relname = ANY (%s)))",
        (times, list(TABLES), list(TABLES)),
    )
    # A number of values that the schema sets stays as it is.
    connection.execute(
        "UPDATE pg_statistic SET stadistinct = stadistinct * %s FROM pg_attribute a WHERE a.attrelid = starelid"
        " AND a.attnum = staattnum AND a.attname IN ('site_id', 'url_hash', 'arrival') AND a.attoptions IS NULL"
        " AND stadistinct > 0",
        (times,),
    )


def plan(frontier: PostgresFrontier, name: str, **values: object) -> list[dict[str, Any]]:
    """Run a statement as a worker does; return all nodes of its plan. Nothing of what it does stays."""
    db = frontier._database
    connection = db._connected()
    reports: list[str] = []

    def report(diagnostic: psycopg.errors.Diagnostic) -> None:
        reports.append(diagnostic.message_primary or "")

    with connection.transaction(force_rollback=True):
        connection.add_notice_handler(report)
        db.execute(name, {"crawl": db.crawl, "worker": db.worker, **values})
        connection.execute("SHOW jit")  # has no plan; the server reports one when the next statement comes
        connection.remove_notice_handler(report)
    (found,) = [json.loads(text.partition("plan:")[2]) for text in reports if "plan:" in text]
    return list(nodes(found["Plan"]))


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from nodes(child)


CLAIM = {
    "shard": 7,
    "now_ms": 1 << 50,
    "delay_ms": 70_000,
    "sites": 25,
    "left": 1 << 62,
    "more_hosts": 8,
    "most_urls": 1 << 62,
    "site_limit": 1 << 40,
}


def test_a_claim_walks_the_ready_list_without_a_sort_or_a_scan(large: PostgresFrontier) -> None:
    steps = plan(large, "claim", **CLAIM)
    assert "site_ready" in {step.get("Index Name") for step in steps}
    assert not {"Sort", "Incremental Sort", "Seq Scan", "Bitmap Heap Scan"} & {step["Node Type"] for step in steps}
    for step in steps:
        if step["Node Type"].startswith("Index") and step["Index Name"] != "site_ready":
            assert "site_id" in step["Index Cond"], "no step walks over a whole shard"
    owned = [step for step in steps if step.get("Subplan Name") == "CTE owned"]
    assert owned[0]["Actual Rows"] == 25
    assert steps[0]["Shared Hit Blocks"] + steps[0]["Shared Read Blocks"] < 25 * 40


HASHES = {"sites": [7, 263], "hashes": [b"a" * 16, b"b" * 16]}
ONE_URL = {"site_id": 7, "url_hash": b"a" * 16}
BY_KEY: dict[str, dict[str, object]] = {
    "settle": {**HASHES, "outcomes": ["", ""]},
    "retry_later": {**HASHES, "not_before": [5, 5], "counted": [1, 1]},
    "bar": {**HASHES, "reasons": ["r", "r"]},
    "forget_done": HASHES,
    "unbar": {**HASHES, "reasons": ["r", "r"]},
    "lower_seen": {**ONE_URL, "depth": 1},
    "lower_queue": {**ONE_URL, "depth": 1},
    "known": ONE_URL,
    "find_seen": ONE_URL,
    "find_barred": ONE_URL,
    "wake_deferred": {"site_id": 7, "now_ms": 1 << 50, "at_most": 100},
    "defer_blocked": {"site_id": 7, "host": "h", "blocked_until": 1, "at_most": 100},
    "give_up_host": {"site_id": 7, "host": "h", "reason": "r", "at_most": 100},
    "find_site": {"site_id": 7},
    "first_queued": {"sites": [7, 263]},
    "lock_visited": {"sites": [7, 263]},
    "hold_awake": {"sites": [7, 263]},
    "lock_to_rest": {"sites": [7, 263], "owner": 1},
    "lock_idle": {"sites": [7, 263]},
    "release": {
        "sites": [7, 263], "epochs": [1, 1], "delays": [0, 0], "failures": [0, 0], "paced_at": [0, 0],
        "has_work": [True, True], "ready_at": [0, 0], "pages": [0, 0], "owner": 1, "site_limit": 1,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", BY_KEY)
def test_hot_statements_find_their_rows_by_whole_keys(large: PostgresFrontier, name: str) -> None:
    steps = plan(large, name, shard=7, **BY_KEY[name])
    walked = [step for step in steps if "Scan" in step["Node Type"] and "Relation Name" in step]
    assert walked
    for step in walked:
        assert "site_id" in step.get("Index Cond", ""), step
        left_over = step.get("Filter", "") + step.get("Join Filter", "")
        assert "url_hash" not in left_over, f"it walks over other URLs of the site: {step}"
        assert step["Index Name"] != "site_owner", "it walks over all sites of the worker for each site"


def test_every_statement_that_names_a_url_is_planned_here() -> None:
    by_hash = {name for name, text in SQL.items() if re.search(r"url_hash\s*=", text)}
    whole_sites = {"walk_seen", "audit_queue"}
    assert by_hash - BATCHES - whole_sites <= BY_KEY.keys()


def test_every_hot_statement_names_one_shard_for_every_table_it_touches() -> None:
    assert set(SQL) > BATCHES | OVERVIEWS
    for name in SQL.keys() - BATCHES - OVERVIEWS:
        text = re.sub(r"DO UPDATE SET", "", SQL[name])
        touched = len(re.findall(SHARDED, text))
        named = len(re.findall(r"(?:shard = |VALUES \(|SELECT )%\(shard\)s", text))
        assert named == touched, f"{name} touches {touched} tables and names a shard {named} times"
    for name in BATCHES - {"create_stage", "stage_links", "add_queue"}:
        touched = len(re.findall(r"\b(?:FROM|JOIN)\s+(site|queue|seen|host)\b", SQL[name]))
        assert len(re.findall(r"\.shard = \w\.shard", SQL[name])) == touched, name


def test_on_a_partitioned_copy_every_hot_statement_touches_one_partition(
    lab: PostgresLab, outsider: psycopg.Connection[Any]
) -> None:
    """Hash partitions stand for nodes: a statement that needs a second one would have to be planned across machines."""
    tables = ("site", "queue", "seen", "barred", "host", "worker", "tally", "given_up", "seed_outcome")
    outsider.execute("CREATE SCHEMA IF NOT EXISTS parted")
    for table in tables:
        outsider.execute(
            f"CREATE TABLE parted.{table} (LIKE gossamer.{table} INCLUDING ALL) PARTITION BY HASH (shard)".encode()
        )
        for part in range(4):
            outsider.execute(
                f"CREATE TABLE parted.{table}_{part} PARTITION OF parted.{table}"
                f" FOR VALUES WITH (MODULUS 4, REMAINDER {part})".encode()
            )
    values: dict[str, object] = {
        **CLAIM, "crawl": 1, "worker": 1, "sites": [1], "site_id": 1, "url_hash": b"x", "depth": 1, "owner": 1,
        "host": "h", "blocked_until": 0, "at_most": 5, "urls": 5, "has_work": True, "ready_at": 0, "hashes": [b"x"],
        "outcomes": [""], "not_before": [1], "counted": [1], "name": "n", "rules": "", "expires_at": 0.0, "failures": 0,
        "failing_since": None, "beats": 1, "figures": "{}", "home": "", "label": "", "reason": "r", "rows": 5,
        "parts": 1, "version": 1, "with_queued": True,
        "excluded": True, "writes": 0, "clock_ms": 0, "known": 0, "done": 0, "pages": 0, "in_hand": 0, "owned": 0,
        "with_work": 0, "reasons": ["r"], "silent": 0, "given_up": None, "outcome": "", "seeds": 1, "example": "u",
        "epoch": 1,
    }  # fmt: skip
    special: dict[str, dict[str, object]] = {
        "claim": {"sites": 5},
        "save_tally": {"sites": 0},
        "release": {
            "epochs": [1],
            "delays": [1],
            "failures": [1],
            "paced_at": [1],
            "has_work": [True],
            "ready_at": [1],
            "pages": [1],
        },
        "count_pages": {"pages": [1]},
    }
    seen = 0
    with outsider.transaction(force_rollback=True), psycopg.ClientCursor(outsider) as cursor:
        cursor.execute("SET LOCAL search_path = parted, gossamer")
        for name in sorted(SQL.keys() - BATCHES - OVERVIEWS):
            if not re.search(SHARDED, SQL[name]):
                continue
            cursor.execute(f"EXPLAIN (FORMAT JSON) {SQL[name]}".encode(), {**values, **special.get(name, {})})
            (found,) = cursor.fetchone() or (None,)
            assert found is not None
            steps = nodes(found[0]["Plan"])
            parts = {step["Relation Name"][-2:] for step in steps if re.search(r"_\d$", step.get("Relation Name", ""))}
            is_insert = SQL[name].startswith("INSERT")  # its plan names no partition: the row's shard does
            assert len(parts) == 1 - is_insert, f"{name} touches {parts}"
            seen += 1
    assert seen > 25
    outsider.execute("DROP SCHEMA parted CASCADE")


def test_sites_spread_over_all_shards_and_differently_for_every_crawl() -> None:
    keys = [site_key(1, f"site-{n}.test") for n in range(20_000)]
    assert {key.shard for key in keys} == set(range(SHARDS))
    assert len({key.site_id for key in keys}) == 20_000
    assert site_key(2, "a.test") != site_key(1, "a.test")


def test_every_statement_is_run_by_somebody() -> None:
    folder = Path(database.__file__).parent
    code = "".join(file.read_text() for file in folder.glob("*.py"))
    assert [name for name in SQL if f'"{name}"' not in code] == []
