"""The frontier on PostgreSQL as it grows: claims, adds, and how both fare while rows come and go.

    python -m bench postgres --urls 1000000 10000000 40000000 --claimers 1 8 --churn 600

Starts a server of its own, durable and with the settings it comes with, unless `--address` names one. Sites and their
queues are made by the server; a tenth as many sites as URLs, a million at most. Then the batches of a crawl: claims of
100 sites and their completion, 2,000 links per add of which 70 % are known. Rates are wall time, so compare them within
one run. `--churn` adds, claims and completes for so many seconds with autovacuum on.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import statistics
import time
from typing import TYPE_CHECKING, Any

import psycopg

from bench.frontier import CLAIM_SITES, measure_add, measure_turns
from bench.frontier import link as page
from gossamer import metrics
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.frontier.postgres.database import SQL
from gossamer.frontier.postgres.keys import site_key
from gossamer.records import Batch, Claimed, Done, Release, Visit
from tests.frontier import postgres_server

if TYPE_CHECKING:
    from collections.abc import Sequence

SETTINGS = {"shared_buffers": "1GB", "max_wal_size": "4GB", "max_connections": "200", "log_min_messages": "fatal"}

# As many URLs per site as the average asks for, few for most and many for some.
QUEUE = """
    INSERT INTO queue (shard, crawl, site_id, seq, rank, depth, hops, kind, url_hash, url)
    SELECT s.shard, s.crawl, s.site_id, s.arrival * 100000 + n, 0, 1 + n %% 9, 0, 0,
           decode(md5(s.arrival || '/' || n), 'hex'),
           'https://www.' || s.name || '/articles/2026/a-headline-of-common-length-' || n
    FROM (SELECT *, 1 + (3 * %(more)s * power(random(), 2))::int AS pages FROM site WHERE crawl = %(crawl)s OFFSET 0) s,
         generate_series(1, s.pages) n
"""
SEEN = """
    INSERT INTO seen (shard, crawl, site_id, url_hash, depth)
    SELECT shard, crawl, site_id, url_hash, depth FROM queue WHERE crawl = %(crawl)s
"""
COUNT = """
    INSERT INTO tally (shard, crawl, worker, sites, with_work, known)
    SELECT 1, %(crawl)s, 257, %(sites)s, %(sites)s, count(*) FROM queue WHERE crawl = %(crawl)s
"""


def build(connection: psycopg.Connection[Any], crawl: int, urls: int, sites: int) -> None:
    """Fill a crawl: site keys are ours, the rest is made where it stays."""
    with connection.cursor() as cursor:
        shards = "INSERT INTO open_shard (crawl, shard) SELECT %s, s FROM generate_series(0, 255) s"
        cursor.execute(shards, (crawl,))
        copy_sites = "COPY site (shard, crawl, site_id, name, arrival, paced_at, ready_at) FROM STDIN"
        with cursor.copy(copy_sites) as copy:
            for number in range(sites):
                name = f"site-{number}.test"
                copy.write_row((*_place(crawl, name), name, number, number, number))
        values = {"crawl": crawl, "more": urls / sites - 1, "sites": sites}
        for statement in (QUEUE, SEEN, COUNT):
            cursor.execute(statement.encode(), values)
    connection.commit()
    connection.autocommit = True
    connection.execute("VACUUM ANALYZE")


def _place(crawl: int, name: str) -> tuple[int, int, int]:
    key = site_key(crawl, name)
    return key.shard, crawl, key.site_id


def claim_buffers(frontier: PostgresFrontier, shards: Sequence[int]) -> tuple[float, set[str]]:
    """Return the median of pages touched by a claim of 100 sites in one shard, and what kinds of steps it takes."""
    database = frontier._database  # noqa: SLF001 - plans are not part of the contract
    connection = database._connected()  # noqa: SLF001
    touched: list[int] = []
    kinds: set[str] = set()
    for shard in shards:
        values = {
            "crawl": database.crawl, "worker": database.worker, "shard": shard, "sites": CLAIM_SITES, "left": 1 << 62,
            "now_ms": 1 << 50, "delay_ms": 70_000, "more_hosts": 8,
        }  # fmt: skip
        with connection.transaction(force_rollback=True), psycopg.ClientCursor(connection) as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {SQL['claim']}".encode(), values)
            row = cursor.fetchone()
        assert row is not None
        plan = (row[0] if isinstance(row[0], list) else json.loads(row[0]))[0]["Plan"]
        touched.append(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
        kinds |= _kinds(plan)
    return statistics.median(touched), kinds


def _kinds(step: dict[str, Any]) -> set[str]:
    return {step["Node Type"]}.union(*map(_kinds, step.get("Plans", ())))


def work(address: str, crawl: str, rounds: int) -> tuple[float, float, int]:
    """Claim and complete in a process of its own; return medians of both in milliseconds, and the URLs had."""
    claims: list[float] = []
    completions: list[float] = []
    urls = 0
    with PostgresFrontier(address, crawl) as frontier:
        frontier.join("bench")
        for _ in range(rounds):
            began = time.perf_counter()
            claimed = frontier.claim(CLAIM_SITES)
            claims.append((time.perf_counter() - began) * 1000)
            assert isinstance(claimed, Claimed)
            urls += sum(len(claim.urls) for claim in claimed.claims)
            visits = [
                Visit(
                    site=claim.site,
                    epoch=claim.epoch,
                    outcomes=[(url.url_hash, Done()) for url in claim.urls],
                    release=Release(wait_s=claim.delay_s),
                )
                for claim in claimed.claims
            ]
            began = time.perf_counter()
            frontier.complete(Batch(visits=visits))
            completions.append((time.perf_counter() - began) * 1000)
    return statistics.median(claims), statistics.median(completions), urls


def run(address: str, urls: int, claimers: Sequence[int], rounds: int) -> None:
    """Build a frontier of this size and print what it does."""
    draw = random.Random(7)
    sites = min(urls // 10, 1_000_000)
    name = f"bench {urls} {os.getpid()}"
    with PostgresFrontier(address, name) as frontier:
        frontier.resume(delay_s=70)
        frontier.join("bench")
        with psycopg.connect(address, options="-c search_path=gossamer") as connection:
            began = time.perf_counter()
            build(connection, frontier._database.crawl, urls, sites)  # noqa: SLF001
            print(f"{urls:>11,} URLs, {sites:,} sites, built in {time.perf_counter() - began:.0f} s", flush=True)
        known = [page(int(sites * draw.random() ** 3), 20_000_000 + number) for number in range(50_000)]
        frontier.add(known)
        frontier._recent.clear()  # noqa: SLF001 - measure the frontier, not the cache in front of it
        added = measure_add(frontier, known, sites, draw, batches=30)
        print(f"    add, 70 % known      {added}")
        buffers, kinds = claim_buffers(frontier, draw.sample(range(256), 20))
        print(f"    pages per claim      {buffers:,.0f} for {CLAIM_SITES} sites of a shard; {', '.join(sorted(kinds))}")
    for processes in claimers:
        with multiprocessing.get_context("spawn").Pool(processes) as pool:
            began = time.perf_counter()
            reports = pool.starmap(work, [(address, name, rounds)] * processes, chunksize=1)
            wall_s = time.perf_counter() - began
        claim_ms, complete_ms = (statistics.median(report[part] for report in reports) for part in (0, 1))
        total = sum(report[2] for report in reports)
        print(f"    {processes:>2} claimers          p50 claim {claim_ms:.1f} ms, complete {complete_ms:.1f} ms; "
              f"{total / wall_s:,.0f} URLs/s with their start", flush=True)  # fmt: skip


def churn(address: str, seconds: float) -> None:
    """Let rows come and go for a while, and compare what a claim touches at the beginning and at the end."""
    draw = random.Random(8)
    name = f"churn {os.getpid()}"
    with PostgresFrontier(address, name) as frontier:
        frontier.resume(delay_s=0)
        frontier.join("bench")
        known = [page(site, number) for site in range(5_000) for number in range(6)]
        frontier.add(known)
        frontier.mark_seeds_loaded("bench")
        figures: list[float] = []
        turns = 0
        ends = time.monotonic() + seconds
        next_look = time.monotonic() + seconds / 10
        while time.monotonic() < ends:
            measure_add(frontier, known, 5_000, draw, batches=1)
            claimed, _ = measure_turns(frontier, rounds=1)
            turns += claimed.things
            if time.monotonic() >= next_look:
                next_look += seconds / 10
                figures.append(claim_buffers(frontier, draw.sample(range(256), 10))[0])
        print(
            f"churn for {seconds:.0f} s: {turns:,} URLs; pages per claim {', '.join(f'{one:,.0f}' for one in figures)}"
        )
        sizes = frontier._database._connected().execute(  # noqa: SLF001
            "SELECT relname, pg_size_pretty(pg_total_relation_size(oid)) FROM pg_class"
            " WHERE relnamespace = 'gossamer'::regnamespace AND relkind = 'r' AND relname IN ('site', 'queue', 'seen')"
        )
        print("    " + ", ".join(f"{table} {size}" for table, size in sizes))


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench postgres", description=__doc__)
    parser.add_argument("--address", help="a database to use, and to leave full")
    parser.add_argument("--urls", type=int, nargs="*", default=[200_000])
    parser.add_argument("--claimers", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--rounds", type=int, default=20, help="claims of each claimer")
    parser.add_argument("--churn", type=float, default=5.0, metavar="SECONDS")
    options = parser.parse_args(arguments)
    address = options.address or postgres_server.start(postgres_server.binaries_of(""), SETTINGS)
    for urls in options.urls:
        run(address, urls, options.claimers, options.rounds)
    if options.churn:
        churn(address, options.churn)
    figures = metrics.snapshot()
    spent = {key: value for key, value in figures.items() if key.startswith("gossamer_frontier_statement_seconds_sum")}
    slowest = sorted(spent, key=lambda key: -spent[key])[:5]
    print("most time in: " + ", ".join(f"{key.split('=')[1][:-1]} {spent[key]:.1f} s" for key in slowest))
