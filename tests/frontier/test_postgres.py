"""What only the PostgreSQL engine promises: plans, shards, neighbours, what it does when the database fails."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from bench import claimers
from gossamer import metrics
from gossamer.errors import GossamerError
from gossamer.frontier import FrontierError
from gossamer.frontier.postgres import PostgresFrontier, database, migrating
from gossamer.frontier.postgres.administering import prepare
from gossamer.frontier.postgres.arrays import array_of_numbers, array_of_texts
from gossamer.frontier.postgres.keys import SHARDS, site_key
from gossamer.frontier.postgres.migrating import migrate
from gossamer.records import GONE, Batch, Claimed, Orders, Release, Visit
from gossamer.urls import NORMALISER_VERSION, SUFFIX_LIST_VERSION
from tests.frontier import postgres_server
from tests.frontier.labs import PostgresLab
from tests.frontier.samples import beating, claim, complete, link, links, names, wait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SQL = database.SQL

# Statements on links that are on their way in join their tables to the batch by shard; those that look over a whole
# crawl, for a start, an end or an overview, join them to the list of its shards. All others name one shard.
BATCHES = {
    "create_stage", "stage_links", "seeded_sites", "seeded_hosts", "missing_sites", "add_sites", "mark_seeded_hosts",
    "unseen", "add_seen", "add_queue", "due_sites",
}  # fmt: skip
OVERVIEWS = {
    "saved_clock", "standing", "first_ready", "declare_home_gone", "live_workers", "dead_owners", "owned_sites",
    "workers", "figures", "given_up", "any_unsettled", "analyze", "audit_sites",
    "wake_spent", "count_spent", "audit_barred",
}  # fmt: skip
SHARDED = r"\b(?:FROM|JOIN|UPDATE|INTO|USING)\s+(site|queue|seen|barred|host|worker|tally|given_up)\b"


@pytest.fixture(scope="module", params=postgres_server.versions())
def version(request: pytest.FixtureRequest) -> str:
    """The major version of the server; empty for whichever there is."""
    return str(request.param)


@pytest.fixture
def lab(tmp_path: Path, version: str) -> Iterator[PostgresLab]:
    lab = PostgresLab(tmp_path, version=version)
    lab.open().resume(delay_s=70)
    yield lab
    lab.close()


@pytest.fixture
def outsider(lab: PostgresLab) -> Iterator[psycopg.Connection[Any]]:
    """Somebody else who is connected to the same database."""
    with psycopg.connect(lab.address, autocommit=True, options="-c search_path=gossamer") as connection:
        yield connection


# ---------------------------------------------------------------------- plans and shards


@pytest.fixture(scope="module")
def large(version: str) -> Iterator[PostgresFrontier]:
    """A crawl with 20,000 sites and 200,000 URLs, made by the server itself."""
    address = postgres_server.new_database(version)
    with PostgresFrontier(address, "large") as frontier:
        frontier.resume(delay_s=70)
        frontier.join("test")
        with psycopg.connect(address, autocommit=True, options="-c search_path=gossamer") as connection:
            fill(connection, frontier._database.crawl, sites=20_000, urls=200_000)
        yield frontier


_OPEN = "INSERT INTO open_shard (crawl, shard) SELECT %(crawl)s, s FROM generate_series(0, 255) s"
_SITES = """
    INSERT INTO site (shard, crawl, site_id, name, arrival, paced_at, ready_at)
    SELECT n %% 256, %(crawl)s, n, 'site-' || n || '.test', n, 0, 0 FROM generate_series(1, %(sites)s) n
"""
_QUEUE = """
    INSERT INTO queue (shard, crawl, site_id, seq, rank, depth, hops, kind, url_hash, url)
    SELECT s %% 256, %(crawl)s, s, n, 0, 1, 0, 0, decode(md5(n::text), 'hex'), 'https://site-' || s || '.test/' || n
    FROM generate_series(1, %(urls)s) n, LATERAL (SELECT 1 + n %% %(sites)s AS s) site
"""
_SEEN = """
    INSERT INTO seen (shard, crawl, site_id, url_hash, depth)
    SELECT shard, crawl, site_id, url_hash, depth FROM queue WHERE crawl = %(crawl)s
"""
_TALLY = """
    INSERT INTO tally (shard, crawl, worker, sites, with_work, known)
    VALUES (1, %(crawl)s, 257, %(sites)s, %(sites)s, %(urls)s)
"""


def fill(connection: psycopg.Connection[Any], crawl: int, *, sites: int, urls: int) -> None:
    """Fill a crawl without sending it anything."""
    values = {"crawl": crawl, "sites": sites, "urls": urls}
    for statement in (_OPEN, _SITES, _QUEUE, _SEEN, _TALLY):
        connection.execute(statement.encode(), values)
    connection.execute("VACUUM ANALYZE")


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
    "now_ms": 1,
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
    tables = ("site", "queue", "seen", "barred", "host", "worker", "tally", "given_up")
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
        "with_work": 0, "reasons": ["r"],
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


# ---------------------------------------------------------------------- neighbours


def test_ten_first_comers_create_one_schema_and_one_crawl(version: str) -> None:
    address = postgres_server.new_database(version)
    failures: list[BaseException] = []
    barrier = threading.Barrier(10)

    def come() -> None:
        try:
            barrier.wait()
            with PostgresFrontier(address, "the crawl") as frontier:
                frontier.add(links("a.test", 3))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=come) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with PostgresFrontier(address, "the crawl") as frontier, PostgresFrontier(address, "another") as other:
        assert frontier.stats().known == 3
        assert other.stats().known == 0


def test_a_hundred_workers_that_start_in_one_second_do_not_stampede_and_none_starves() -> None:
    """Nobody has made the schema or the crawl before; the first who is in brings the seeds."""
    workers, sites_each = 100, 5
    address = postgres_server.new_database(postgres_server.versions()[-1])
    seeds = [link(f"s{number}.test/", 0) for number in range(workers * sites_each)]
    barrier = threading.Barrier(workers)
    seeded = threading.Event()
    connections: list[int] = []

    def work(number: int) -> tuple[float, int, list[str]]:
        barrier.wait()
        began_s = time.monotonic()
        with PostgresFrontier(address, "the crawl", home=f"machine {number % 4}") as frontier:
            frontier.join(f"worker {number}")
            assert isinstance(frontier.heartbeat({}), Orders)
            if number == 0:
                frontier.add(seeds)
                seeded.set()
            ready_s = time.monotonic() - began_s
            barrier.wait()  # as many as there are: what is fair depends on it
            assert seeded.wait(10)
            asked = 1
            while not (mine := names(claim(frontier, 50))) and asked < 10:
                asked += 1  # all that it looked at was being taken by others
            assert isinstance(frontier.heartbeat({}), Orders)
            barrier.wait()
            return ready_s, asked, mine

    def count_connections() -> None:
        with psycopg.connect(address, autocommit=True) as outside:
            count = (
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            while not seeded.wait(0.02):
                connections.append((outside.execute(count).fetchone() or (0,))[0])

    before = metrics.snapshot()
    counting = threading.Thread(target=count_connections)
    counting.start()
    with ThreadPoolExecutor(workers) as pool:
        found = list(pool.map(work, range(workers)))
    counting.join()
    after = metrics.snapshot()
    counted = [name for name in after if name.startswith("gossamer_frontier_statement_seconds_count")]
    statements = sum(after[name] - before.get(name, 0) for name in counted) / workers
    ready_s, asked, mine = zip(*found, strict=True)
    claimed = [site for sites in mine for site in sites]
    shares = [len(sites) for sites in mine]
    print(
        f"ready within {max(ready_s):.1f} s; {min(shares)} to {max(shares)} sites with {max(asked)} claims at most; "
        f"{max(connections)} connections at most; {statements:.0f} statements each"
    )
    assert len(set(claimed)) == len(claimed)
    assert min(shares) >= 1
    assert max(shares) <= 2 * sites_each
    assert max(connections) <= workers
    assert statements < 40


def test_crawls_in_one_database_know_nothing_of_each_other(lab: PostgresLab) -> None:
    first, _ = lab.join()
    first.add(links("a.test", 3))
    with PostgresFrontier(lab.address, lab.crawl + " too", clock=lab.clock, server_clock=lambda: 1e12) as other:
        other.resume(delay_s=1)
        assert other.find_site("a.test") is None
        assert other.drained()
        other.exclude(["a.test"])
        other.join("there")
        assert [state.worker for state in first.workers()] != [state.worker for state in other.workers()]
    assert names(claim(first)) == ["a.test"]


def test_many_processes_own_no_site_twice_lose_nothing_and_leave_no_site_asleep(lab: PostgresLab) -> None:
    lab.crawl += " of many"
    history = claimers.run(lab.opener(), processes=4, turns_each=600)
    assert history.turns >= 2_400
    assert history.owned_twice == []
    assert (history.lost, history.settled_twice) == (0, 0)
    with lab.opener()() as frontier:
        assert frontier.audit() == []


def test_a_site_whose_claim_is_not_committed_is_nobody_elses(lab: PostgresLab) -> None:
    here, there = lab.join()[0], lab.join()[0]
    here.add([link("a.test/1")])
    claimed: list[object] = []
    thread = threading.Thread(target=lambda: claimed.append(claim(there)))

    def claim_meanwhile() -> None:
        thread.start()
        thread.join(1)  # were the site not locked but only changed, it would wait for us

    when(here, "save_tally", claim_meanwhile)
    assert names(claim(here)) == ["a.test"]
    thread.join()
    assert claimed == [()]


def test_a_transaction_that_deadlocks_is_tried_again(lab: PostgresLab, outsider: psycopg.Connection[Any]) -> None:
    frontier, worker = lab.join()
    frontier.add(links("a.test", 2))
    (owned,) = claim(frontier)
    outsider.execute("SET deadlock_timeout = '60s'")  # so that it is not the one that gives way
    has_locked = threading.Event()
    timed = frontier._database._timed

    def announce(name: str) -> Any:
        if name == "save_tally":
            has_locked.set()
        return timed(name)

    frontier._database._timed = announce  # type: ignore[method-assign]
    done: list[object] = []
    with outsider.transaction():
        outsider.execute("SELECT 1 FROM tally WHERE worker = %s FOR UPDATE", (worker,))
        thread = threading.Thread(target=lambda: done.append(complete(frontier, owned)))
        thread.start()
        has_locked.wait()  # it holds the site's row and is about to wait for ours
        outsider.execute("UPDATE site SET failures = failures WHERE name = 'a.test'")
    thread.join()
    assert done
    assert frontier.stats().done == 1
    assert frontier.audit() == []


def test_a_site_is_not_put_to_rest_while_a_link_for_it_is_on_its_way(lab: PostgresLab) -> None:
    """The link is not committed when its last URL is settled: the site stays awake."""
    frontier, _ = lab.join()
    adder = lab.open()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)
    done: list[object] = []
    thread = threading.Thread(target=lambda: done.append(complete(frontier, owned, wait_s=0)))
    reached = threading.Event()
    when(frontier, "lock_to_rest", reached.set)

    def release_meanwhile() -> None:
        thread.start()
        assert reached.wait(10), "it has looked and found nothing"
        thread.join(10)
        assert done, "it does not wait for us"

    when(adder, "save_tally", release_meanwhile)
    assert adder.add([link("a.test/2")]) == 1
    thread.join()
    assert done
    assert names(claim(frontier)) == ["a.test"]
    assert frontier.audit() == []


def test_a_link_that_comes_just_before_its_site_is_locked_to_be_put_to_rest_is_seen(lab: PostgresLab) -> None:
    """The queue was empty at the first look, and is not at the second."""
    frontier, _ = lab.join()
    adder = lab.open()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)
    when(frontier, "lock_to_rest", lambda: adder.add([link("a.test/2")]))
    complete(frontier, owned, wait_s=0)
    assert names(claim(frontier)) == ["a.test"]
    assert frontier.audit() == []


def test_two_completions_that_link_to_each_others_sites_do_not_wait_for_each_other(
    lab: PostgresLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.frontier.postgres.database.TRIES", 1)  # a deadlock would be an error
    here, there = lab.join()[0], lab.join()[0]
    here.add([link("a.test/1"), link("b.test/1")])
    claims = [*claim(here, 1), *claim(there, 1)]
    assert names(claims) in (["a.test", "b.test"], ["b.test", "a.test"])
    both_hold = threading.Barrier(2, timeout=10)
    for frontier in (here, there):
        when(frontier, "lock_to_rest", both_hold.wait)
    with ThreadPoolExecutor(2) as pool:
        new = [link(f"{one.site}/2") for one in claims]
        ends = [
            pool.submit(complete, here, claims[0], links=[new[1]], wait_s=0),
            pool.submit(complete, there, claims[1], links=[new[0]], wait_s=0),
        ]
        assert [end.result().new_links for end in ends] == [1, 1]
    assert here.audit() == []
    assert sorted(names([*claim(here), *claim(there)])) == ["a.test", "b.test"]


def test_a_site_that_stayed_awake_for_a_link_that_never_came_is_put_to_rest_by_a_claim(lab: PostgresLab) -> None:
    frontier, _ = lab.join()
    adder = lab.open()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)

    def release_and_fail() -> None:
        complete(frontier, owned, wait_s=0)
        raise psycopg.OperationalError("the adder dies")

    when(adder, "save_tally", release_and_fail)
    with pytest.raises(FrontierError):
        adder.add([link("a.test/2")])
    assert frontier.stats().sites_with_work == 1
    assert claim(frontier) == ()
    assert frontier.stats().sites_with_work == 0
    assert frontier.drained()
    assert frontier.audit() == []


def test_a_link_that_comes_while_its_site_is_being_put_to_rest_wakes_it(lab: PostgresLab) -> None:
    """The rest is not committed when the link comes: adding waits for it, and wakes the site."""
    frontier, _ = lab.join()
    adder = lab.open()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)
    added: list[int] = []
    thread = threading.Thread(target=lambda: added.append(adder.add([link("a.test/2")])))
    reached = threading.Event()
    when(adder, "hold_awake", reached.set)

    def add_meanwhile() -> None:
        thread.start()
        assert reached.wait(10), "its link is in, though not committed"
        thread.join(0.3)  # were it not made to wait for us, it would be done by then

    when(frontier, "save_tally", add_meanwhile)
    complete(frontier, owned, wait_s=0)
    thread.join()
    assert added == [1]
    assert names(claim(frontier)) == ["a.test"]
    assert frontier.audit() == []


@pytest.mark.parametrize(
    ("column", "what", "other"),
    [
        ("normaliser", "URL normaliser", "other"),
        ("suffix_list", "public suffix list", "other"),
        ("shards", "shard count", "64"),
    ],
)
def test_a_crawl_that_names_or_places_sites_differently_is_refused(
    lab: PostgresLab, outsider: psycopg.Connection[Any], column: str, what: str, other: str
) -> None:
    outsider.execute(f"UPDATE crawl SET {column} = '{other}' WHERE name = %s".encode(), (lab.crawl,))
    with pytest.raises(GossamerError, match=f"made with {what} {other} and this Gossamer has "):
        lab.open()


def test_an_older_database_is_upgraded_when_none_of_its_workers_shows_life(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = migrating._SCRIPTS
    for number in ("0001", "0002"):
        (script,) = [file for file in scripts.iterdir() if file.name.startswith(number)]
        (tmp_path / script.name).write_bytes(script.read_bytes())
    address = postgres_server.new_database(version)
    with psycopg.connect(address, autocommit=True) as old:
        monkeypatch.setattr(migrating, "_SCRIPTS", tmp_path)
        migrate(old, "there")
        monkeypatch.undo()
        old.execute("SET search_path = gossamer")
        crawl = (1, "x", NORMALISER_VERSION, SUFFIX_LIST_VERSION, json.dumps({"lease": "0.5"}))
        old.execute(
            "INSERT INTO crawl (crawl, name, normaliser, suffix_list, terms) VALUES (%s, %s, %s, %s, %s)", crawl
        )
        old.execute("INSERT INTO worker (shard, crawl, worker, home, label) VALUES (1, 1, 1, 'there', 'an older one')")
        with beating(lambda: old.execute("UPDATE worker SET beats = beats + 1")):
            for opening in (lambda: PostgresFrontier(address, "x"), lambda: prepare(address)):
                with pytest.raises(GossamerError, match="workers of an older Gossamer are at work in it: stop that"):
                    opening()
        assert migrating.schema_version(old) == 2, "nothing was changed"
    with PostgresFrontier(address, "x", lease_s=0.5) as frontier:
        assert [state.label for state in frontier.workers()] == ["an older one"]
        frontier.resume(delay_s=0)
        assert frontier.audit() == []


def test_a_database_of_a_newer_gossamer_is_left_alone(version: str) -> None:
    address = postgres_server.new_database(version)
    PostgresFrontier(address, "x").__exit__()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("UPDATE gossamer.schema_version SET version = 999")
    with pytest.raises(GossamerError, match="written by a newer Gossamer: upgrade"):
        PostgresFrontier(address, "x")


# ---------------------------------------------------------------------- when the database fails


def when(frontier: PostgresFrontier, statement: str, act: Callable[[], object]) -> None:
    """Do something just before a statement is sent, once."""
    timed = frontier._database._timed

    def first(name: str) -> Any:
        if name == statement:
            frontier._database._timed = timed  # type: ignore[method-assign]
            act()
        return timed(name)

    frontier._database._timed = first  # type: ignore[method-assign]


@pytest.mark.parametrize("statement", ["crawl", "claim", "save_tally"])
def test_a_backend_that_is_terminated_mid_claim_leaves_nothing_half_claimed(
    lab: PostgresLab, outsider: psycopg.Connection[Any], statement: str
) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 2) + links("b.test", 2))
    pid = frontier._database._connected().info.backend_pid
    when(frontier, statement, lambda: outsider.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,)))
    with pytest.raises(FrontierError, match=r"terminat|closed"):
        frontier.claim(10)
    assert frontier.reconcile({}) == (), "over a new connection"
    assert sorted(names(claim(frontier))) == ["a.test", "b.test"]


def test_a_claim_whose_reply_was_lost_is_given_back_at_a_full_delay(
    lab: PostgresLab, outsider: psycopg.Connection[Any]
) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 2))
    assert claim(frontier)  # suppose that nobody heard
    pid = frontier._database._connected().info.backend_pid
    outsider.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
    with pytest.raises(FrontierError):
        frontier.heartbeat({})
    assert frontier.reconcile({}) == ()
    assert wait(frontier) == 70


def test_a_statement_that_takes_too_long_fails_and_the_next_one_works(
    lab: PostgresLab, outsider: psycopg.Connection[Any]
) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 2))
    (owned,) = claim(frontier)
    frontier._database._connected().execute("SET statement_timeout = 50")
    with outsider.transaction():
        outsider.execute("SELECT 1 FROM site WHERE name = 'a.test' FOR UPDATE")
        with pytest.raises(FrontierError, match="canceling statement due to statement timeout"):
            complete(frontier, owned, links=[link("b.test/")])
    assert frontier.reconcile({owned.site: owned.epoch}) == ()
    assert complete(frontier, owned, links=[link("b.test/")]).new_links == 1, "nothing of it was believed to be known"


def test_a_server_that_takes_no_writes_is_told_in_one_sentence(lab: PostgresLab, version: str) -> None:
    read_only = make_conninfo(lab.address, options="-c default_transaction_read_only=on")
    with PostgresFrontier(read_only, lab.crawl) as frontier:
        assert frontier.stats().known == 0, "reading works"
        with pytest.raises(FrontierError, match=r"it takes no writes: give the address of the primary"):
            frontier.add([link("a.test/")])
    empty = make_conninfo(postgres_server.new_database(version), options="-c default_transaction_read_only=on")
    with pytest.raises(GossamerError, match=r"cannot be opened: .*it takes no writes.*\.$"):
        PostgresFrontier(empty, "x")


def test_a_database_that_is_away_is_tried_again_with_patience(
    lab: PostgresLab, outsider: psycopg.Connection[Any], version: str
) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 2))
    name = str(conninfo_to_dict(lab.address)["dbname"])
    with psycopg.connect(postgres_server.server(version), autocommit=True) as elsewhere:
        elsewhere.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        try:
            elsewhere.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s AND pid <> %s",
                (name, outsider.info.backend_pid),
            )
            refused = "not currently accepting connections"
            for expected, tries in (("terminat|closed", 0), (refused, 1), (refused, 1), (refused, 1)):
                with pytest.raises(FrontierError, match=expected):
                    frontier.claim(1)
                assert frontier._database._failures == tries
            for tries in range(2, 10):
                lab.advance(4)  # longer than that it never waits
                with pytest.raises(FrontierError, match=refused):
                    frontier.claim(1)
                assert frontier._database._failures == tries
        finally:
            elsewhere.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
    lab.advance(10)
    assert names(claim(frontier)) == ["a.test"]


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://gossamer:very%20secret@{host}:{port}/{db}",
        "host={host} port={port} dbname={db} user=gossamer password='very secret'",
        "postgresql://gossamer:very%20secret@nowhere.invalid/{db}",
        "postgresql://gossamer:very%2secret@{host}/{db}",
        "postgresql://gossamer:very secret@{host}/{db}?nonsense=1",
    ],
)
def test_no_error_tells_the_password(lab: PostgresLab, address: str) -> None:
    parts = conninfo_to_dict(lab.address)
    with pytest.raises(GossamerError) as caught:
        PostgresFrontier(address.format(host="127.0.0.1", port=parts["port"], db=parts["dbname"]), "x")
    text = str(caught.value)
    assert "secret" not in text
    assert text.endswith(".")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_statement_that_holds_its_connection_is_logged_with_its_name_and_caller(
    lab: PostgresLab, caplog: pytest.LogCaptureFixture
) -> None:
    counted = "gossamer_frontier_statement_seconds_count{statement=unseen}"
    with PostgresFrontier(lab.address, lab.crawl, slow_s=0.0) as frontier, caplog.at_level(logging.WARNING):
        before = metrics.snapshot().get(counted, 0.0)
        frontier.add([link("a.test/")])
    assert metrics.snapshot()[counted] == before + 1
    (said,) = [record.getMessage() for record in caplog.records if "Statement unseen" in record.getMessage()]
    assert "test_a_statement_that_holds_its_connection_is_logged" in said


# ---------------------------------------------------------------------- clocks and leases


def test_a_jump_of_the_servers_clock_is_followed_by_nobody(lab: PostgresLab) -> None:
    for jump_ms in (3_600_000.0, -7_200_000.0, 30_000.0):
        old, worker = lab.join()
        old.add(links("a.test", 9))
        (owned,) = claim(old)
        complete(old, owned, wait_s=70)
        lab._server_ms += jump_ms
        assert wait(old) == 70, "it counts by itself"
        new, newer = lab.join()
        assert wait(new) == pytest.approx(70, abs=0.002), "whoever joins later counts with the others"
        lab.advance(69)
        assert not claim(new)
        lab.advance(1.002)
        (owned,) = claim(new)
        complete(new, owned, wait_s=70)
        assert wait(old) == pytest.approx(70, abs=0.004)
        lab.advance(70.1)
        for one in (worker, newer):
            old.recover(one)
        lab.advance(70)


def test_a_clock_that_drifts_is_followed_slowly(lab: PostgresLab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 9))
    (owned,) = claim(frontier)
    complete(frontier, owned, wait_s=100)
    for _ in range(50):
        lab.advance(1)
        lab._server_ms += 0.5  # runs fast by half a thousandth
        frontier.heartbeat({})
    left = wait(frontier)
    assert left is not None
    assert 49.97 < left < 49.99


def test_a_worker_that_is_silent_for_the_lease_is_ended_by_others_and_its_sites_recovered(lab: PostgresLab) -> None:
    silent, dead = lab.join()
    observer, alive = lab.join()
    third, _ = lab.join()
    silent.add(links("a.test", 2) + links("b.test", 2) + links("c.test", 2))
    assert len(claim(silent, 1)) == 1
    for _ in range(7):
        observer.heartbeat({})
        third.heartbeat({})
        assert all(not state.gone for state in observer.workers())
        lab.advance(9)
    observer.heartbeat({})
    assert [(state.worker, state.gone) for state in observer.workers()][:2] == [(dead, True), (alive, False)]
    assert silent.heartbeat({}) is GONE
    assert observer.stats().sites_in_hand == 0
    assert sorted(names(claim(observer) + claim(third))) == ["b.test", "c.test"]
    lab.advance(70)
    assert names(claim(third)) == ["a.test"]


def test_nobody_is_dead_because_the_database_was_away_for_longer_than_the_lease(lab: PostgresLab) -> None:
    observer, other = lab.join()[0], lab.join()[0]
    for frontier in (other, observer):
        frontier.heartbeat({})
    lab.advance(300)
    for _ in range(7):
        assert isinstance(observer.heartbeat({}), Orders)
        lab.advance(9)
        assert not any(state.gone for state in observer.workers())
    assert isinstance(other.heartbeat({}), Orders)


def test_a_claim_that_commits_after_its_worker_was_ended_is_recovered_too(lab: PostgresLab) -> None:
    late, dead = lab.join()
    other, _ = lab.join()
    other.add(links("a.test", 2))
    # It has seen that it lives, and is then held up while others end it.
    when(late, "claim", lambda: other.recover(dead))
    assert isinstance(late.claim(1), Claimed)
    assert other.stats().sites_in_hand == 1
    other.heartbeat({})
    assert other.stats().sites_in_hand == 0
    assert wait(other) == 70
    assert other.audit() == []


def test_figures_of_the_dead_are_kept_and_do_not_pile_up(lab: PostgresLab, outsider: psycopg.Connection[Any]) -> None:
    for number in range(5):
        frontier, worker = lab.join()
        frontier.add(links(f"s{number}.test", 2))
        (owned,) = claim(frontier, 1)
        complete(frontier, owned)
        lab.open().recover(worker)
    assert lab.open().stats().done == 5
    assert lab.open().audit() == []
    (rows,) = outsider.execute(
        "SELECT count(*) FROM tally t JOIN crawl USING (crawl) WHERE name = %s", (lab.crawl,)
    ).fetchone() or (0,)
    assert rows <= 2


def test_a_start_leaves_living_workers_of_other_homes_alone(lab: PostgresLab) -> None:
    there = PostgresFrontier(lab.address, lab.crawl, home="there", lease_s=5)
    there.resume(delay_s=0)
    theirs = there.join("there")
    there.add(links("a.test", 2))
    (owned,) = claim(there)
    stop = threading.Event()

    def live() -> None:
        while not stop.wait(0.05):
            assert isinstance(there.heartbeat({}), Orders)

    with there, PostgresFrontier(lab.address, lab.crawl, home="here", lease_s=5) as here:
        thread = threading.Thread(target=live)
        thread.start()
        began = time.monotonic()
        here.resume(delay_s=0)
        assert time.monotonic() - began < 4, "one sign of life is enough"
        stop.set()
        thread.join()
        assert [(state.worker, state.gone) for state in here.workers()] == [(theirs, False)]
        visit = Visit(site="a.test", epoch=owned.epoch, release=Release(wait_s=0))
        assert there.complete(Batch(visits=[visit])).lost == ()


def test_nobody_but_its_home_declares_a_living_worker_dead(lab: PostgresLab) -> None:
    """Labels are made of host names and process ids, which two machines may share."""
    with (
        PostgresFrontier(lab.address, lab.crawl, home="there") as there,
        PostgresFrontier(lab.address, lab.crawl, home="here") as here,
    ):
        worker = there.join("localhost:7")
        there.add([link("a.test/1")])
        assert names(claim(there)) == ["a.test"]
        assert here.recover(worker) == 0
        assert isinstance(there.heartbeat({}), Orders)
        assert there.recover(worker) == 1
        assert there.heartbeat({}) is GONE


def test_a_start_ends_workers_of_other_homes_that_were_silent_for_the_lease(lab: PostgresLab) -> None:
    with PostgresFrontier(lab.address, lab.crawl, home="there") as there:
        there.resume(delay_s=0)
        there.join("there")
        there.add(links("a.test", 2))
        assert claim(there)
    with PostgresFrontier(lab.address, lab.crawl, home="here", lease_s=0.3) as here:
        here.resume(delay_s=0)
        assert [state.gone for state in here.workers()] == [True]
        assert here.stats().sites_in_hand == 0


# ---------------------------------------------------------------------- audit


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("DELETE FROM queue WHERE url LIKE '%later%'", "of later.test is neither settled nor queued"),
        ("DELETE FROM seen WHERE outcome IS NULL", "https://later.test/1 is queued but not among the accepted URLs"),
        ("UPDATE seen SET outcome = '' WHERE outcome IS NULL", "https://later.test/1 is queued though it is settled"),
        ("UPDATE seen SET outcome = 'tired' WHERE outcome = ''", "a reason that does not exist: tired"),
        ("DELETE FROM site WHERE name = 'later.test'", "belongs to a site that is not there"),
        (
            "UPDATE site SET has_work = false WHERE name = 'later.test'",
            "site later.test has queued URLs or an owner but",
        ),
        ("UPDATE site SET ready_at = ready_at + 900000000 WHERE name = 'later.test'", "later.test is due later than"),
        ("UPDATE site SET owner = NULL WHERE name = 'held.test'", "site held.test has URLs in hand but no owner"),
        ("UPDATE site SET owner = 99999 WHERE name = 'held.test'", "site held.test is owned by a worker that never"),
        ("UPDATE site SET excluded = true WHERE name = 'later.test'", "site later.test is marked as excluded or not"),
        ("UPDATE tally SET done = done + 1 WHERE done > 0", "counter done says 2, and 1 were found"),
        ("UPDATE tally SET known = known - 1 WHERE known > 0", "counter known says 2, and 3 were found"),
        ("UPDATE tally SET in_hand = 0 WHERE in_hand > 0", "counter in_hand says 0, and 1 were found"),
    ],
)
def test_every_kind_of_damage_is_named(
    lab: PostgresLab, outsider: psycopg.Connection[Any], statement: str, sentence: str
) -> None:
    frontier, _ = lab.join()
    frontier.add([link(f"{site}.test/1") for site in ("done", "later", "held")])
    by_site = {one.site: one for one in claim(frontier)}
    complete(frontier, by_site["done.test"])
    frontier.complete(Batch(visits=[Visit(site="later.test", epoch=1, release=Release(wait_s=70))]))
    assert frontier.audit() == []
    crawl = frontier._database.crawl
    assert outsider.execute(f"{statement} AND crawl = {crawl}".encode()).rowcount > 0
    assert sentence in "\n".join(frontier.audit())


def test_every_statement_is_run_by_somebody() -> None:
    folder = Path(database.__file__).parent
    code = "".join(file.read_text() for file in folder.glob("*.py"))
    assert [name for name in SQL if f'"{name}"' not in code] == []


@pytest.mark.parametrize("texts", [["a"], ["null", "NULL", ""], ['"', "\\", '\\"', "{},", " x ", "é\n"], ["a"] * 3])
def test_arrays_arrive_as_they_were(outsider: psycopg.Connection[Any], texts: list[str]) -> None:
    statement = "SELECT %s::text[], %s::int8[], %s::bool[]"
    values = (array_of_texts(texts), array_of_numbers([-(2**63), 0, 7]), array_of_numbers([True, False]))
    assert outsider.execute(statement, values).fetchone() == (texts, [-(2**63), 0, 7], [True, False])
