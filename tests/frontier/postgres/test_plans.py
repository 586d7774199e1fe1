"""Every hot statement finds its rows by their keys, in one shard, at any size of the crawl."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    "create_stage", "stage_links", "seeded_sites", "seeded_hosts", "missing_sites", "add_sites", "mark_seeded_hosts",
    "unseen", "add_seen", "add_queue", "due_sites",
}  # fmt: skip
OVERVIEWS = {
    "saved_clock", "standing", "first_ready", "declare_home_gone", "live_workers", "dead_owners", "owned_sites",
    "is_home", "workers", "figures", "given_up", "seed_outcomes", "any_unsettled", "analyze", "audit_sites",
    "wake_spent", "count_spent", "count_troubled", "count_troubled_hosts", "audit_barred",
}  # fmt: skip
SHARDED = r"\b(?:FROM|JOIN|UPDATE|INTO|USING)\s+(site|queue|seen|barred|host|worker|tally|given_up|seed_outcome)\b"


@pytest.fixture(scope="module")
def large(version: str) -> Iterator[PostgresFrontier]:
    """A worker in a crawl with 20,000 sites and 200,000 URLs."""
    address = postgres_server.new_database(version)
    build(address, "large", urls=200_000, sites=20_000)
    with PostgresFrontier(address, "large") as frontier:
        frontier.join("test")
        yield frontier


def plan(frontier: PostgresFrontier, name: str, **values: object) -> list[dict[str, Any]]:
    """Return all nodes of a statement's plan; nothing of what it does stays."""
    db = frontier._database
    connection = db._connected()
    with connection.transaction(force_rollback=True), psycopg.ClientCursor(connection) as cursor:
        explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + SQL[name]
        cursor.execute(explain.encode(), {"crawl": db.crawl, "worker": db.worker, **values})
        (found,) = cursor.fetchone() or (None,)
    return list(nodes((found if isinstance(found, list) else json.loads(str(found)))[0]["Plan"]))


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from nodes(child)


CLAIM = {
    "shard": 7,
    "now_ms": 1 << 50,
    "delay_ms": 70_000,
    "sites": 50,
    "left": 1 << 62,
    "more_hosts": 8,
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
    assert owned[0]["Actual Rows"] == 50
    assert steps[0]["Shared Hit Blocks"] + steps[0]["Shared Read Blocks"] < 50 * 40


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("settle", {"sites": [7, 263], "hashes": [b"a" * 16, b"b" * 16], "outcomes": ["", ""]}),
        ("first_queued", {"sites": [7, 263]}), ("lock_visited", {"sites": [7, 263]}),
        ("hold_awake", {"sites": [7, 263]}),
        ("lock_to_rest", {"sites": [7, 263], "owner": 1}), ("lock_idle", {"sites": [7, 263]}),
        ("release", {
            "sites": [7], "epochs": [1], "delays": [0], "failures": [0], "paced_at": [0], "has_work": [True],
            "ready_at": [0], "pages": [0], "owner": 1, "site_limit": 1,
        }),
        ("retry_later", {"sites": [7], "hashes": [b"a" * 16], "not_before": [5], "counted": [1]}),
        ("known", {"site_id": 7, "url_hash": b"a" * 16}), ("find_site", {"site_id": 7}),
    ],
)  # fmt: skip
def test_hot_statements_find_their_rows_by_whole_keys(
    large: PostgresFrontier, name: str, values: dict[str, object]
) -> None:
    steps = plan(large, name, shard=7, **values)
    walked = [step for step in steps if "Scan" in step["Node Type"] and "Relation Name" in step]
    assert walked
    for step in walked:
        assert re.search("site_id|owner", step.get("Index Cond", "")), step


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
        "excluded": True, "writes": 0, "clock_ms": 0, "known": 0, "done": 0, "pages": 0, "in_hand": 0, "owned": 0,
        "with_work": 0, "reasons": ["r"], "silent": 0, "given_up": None, "outcome": "", "seeds": 1, "example": "u",
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
