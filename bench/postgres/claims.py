"""Claims as the frontier grows: the pages that one touches, how long it takes, and how many claimers get per second.

    python -m bench postgres claims --urls 1000000 10000000 40000000 --claimers 1 8 50

Every size has a million sites (or as many as URLs, if fewer) and a database of its own. A claim is the whole
operation, of 100 sites; pages are those of tables and indexes, in memory or not, as the server counts them. Rates are
wall time with all of them on one machine. Fails if a claim sorts or scans, or touches more than 1.2 times as many pages
at the largest size as at the smallest.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.postgres.building import Meter, build, database, load_average, server
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.frontier.postgres.database import SQL
from gossamer.frontier.postgres.transaction import NO_SITE_LIMIT
from gossamer.records import Batch, Claimed, Done, Release, Visit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.synchronize import Barrier

CLAIM_SITES = 100
MOST_GROWTH = 1.2
MOST_PROCESSES = 8
TIMEOUT_S = 120  # of claimers: many on few cores are slow
CRAWL = "bench"


class Work(NamedTuple):
    """What one claimer did, on the machine's monotonic clock."""

    began_s: float
    ended_s: float
    claims_ms: list[float]
    completions_ms: list[float]
    urls: int


def finish(claimed: Claimed) -> Batch:
    """Return the report that all of a claim was fetched."""
    return Batch(
        visits=[
            Visit(
                site=claim.site,
                epoch=claim.epoch,
                outcomes=[(url.url_hash, Done()) for url in claim.urls],
                release=Release(wait_s=claim.delay_s),
            )
            for claim in claimed.claims
        ]
    )


def pages_per_claim(frontier: PostgresFrontier, claims: int = 20) -> tuple[float, float]:
    """Return how many pages a claim and a completion touch. No other process may use the server meanwhile."""
    meter = Meter(frontier)
    touched = [0, 0]
    for _ in range(claims):
        looks = [meter.pages()]
        claimed = frontier.claim(CLAIM_SITES)
        looks.append(meter.pages())
        assert isinstance(claimed, Claimed)
        assert len(claimed.claims) == CLAIM_SITES
        frontier.complete(finish(claimed))
        looks.append(meter.pages())
        for step in (0, 1):
            touched[step] += looks[step + 1] - looks[step]
    return touched[0] / claims, touched[1] / claims


def claim_plan(frontier: PostgresFrontier, shard: int) -> list[dict[str, Any]]:
    """Return the steps of a claim in one shard, planned as for a worker: once, for any values; nothing of it stays."""
    db = frontier._database  # noqa: SLF001 - plans are not part of the contract
    connection = db._connected()  # noqa: SLF001
    values = {
        "crawl": db.crawl, "worker": db.worker, "shard": shard, "sites": CLAIM_SITES, "left": 1 << 62,
        "now_ms": 1 << 50, "delay_ms": 70_000, "more_hosts": 8, "most_urls": NO_SITE_LIMIT, "site_limit": NO_SITE_LIMIT,
    }  # fmt: skip
    places = {name: f"${number}" for number, name in enumerate(values, start=1)}
    types = ", ".join(["int8"] * len(values))
    execute = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE looked_at ({', '.join(map(str, values.values()))})"
    with connection.transaction(force_rollback=True):
        connection.execute(f"PREPARE looked_at ({types}) AS {SQL['claim'] % places}".encode())
        (found,) = connection.execute(execute.encode()).fetchone() or (None,)
        connection.execute("DEALLOCATE looked_at")
    return list(_steps((found if isinstance(found, list) else json.loads(str(found)))[0]["Plan"]))


def _steps(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield step
    for part in step.get("Plans", ()):
        yield from _steps(part)


def check_plan(steps: list[dict[str, Any]]) -> None:
    """Fail unless the ready list is walked, without a sort and without a scan of a table."""
    kinds = {step["Node Type"] for step in steps}
    assert not kinds & {"Sort", "Incremental Sort", "Seq Scan", "Bitmap Heap Scan", "Hash Join"}, kinds
    indexes = [step["Index Name"] for step in steps if "Index Name" in step]
    assert "site_ready" in indexes, indexes


def share(address: str, claimers: int, rounds: int, start: Barrier) -> list[Work]:
    """Run several claimers, each with its own thread and connection."""
    with ThreadPoolExecutor(claimers) as pool:
        return [job.result() for job in [pool.submit(work, address, rounds, start) for _ in range(claimers)]]


def work(address: str, rounds: int, start: Barrier) -> Work:
    """Claim and complete, after all claimers are ready."""
    claims: list[float] = []
    completions: list[float] = []
    urls = 0
    with PostgresFrontier(address, CRAWL, slow_s=TIMEOUT_S, lease_s=3 * TIMEOUT_S) as frontier:
        frontier.join("bench")
        start.wait()
        began_s = time.monotonic()
        for _ in range(rounds):
            at = time.perf_counter()
            claimed = frontier.claim(CLAIM_SITES)
            claims.append((time.perf_counter() - at) * 1000)
            assert isinstance(claimed, Claimed)
            urls += sum(len(claim.urls) for claim in claimed.claims)
            at = time.perf_counter()
            frontier.complete(finish(claimed))
            completions.append((time.perf_counter() - at) * 1000)
        return Work(began_s, time.monotonic(), claims, completions, urls)


def many(address: str, claimers: int, rounds: int) -> str:
    """Run many claimers at once; return what they got."""
    spawning = multiprocessing.get_context("spawn")
    processes = min(claimers, MOST_PROCESSES)
    shares = [claimers // processes + (number < claimers % processes) for number in range(processes)]
    with spawning.Manager() as manager, spawning.Pool(processes) as pool:
        start = manager.Barrier(claimers)
        jobs = [(address, one, rounds, start) for one in shares]
        done = [one for some in pool.starmap(share, jobs, chunksize=1) for one in some]
    wall_s = max(one.ended_s for one in done) - min(one.began_s for one in done)
    claim_ms = statistics.median(ms for one in done for ms in one.claims_ms)
    complete_ms = statistics.median(ms for one in done for ms in one.completions_ms)
    urls = sum(one.urls for one in done)
    return f"p50 claim {claim_ms:.1f} ms, completion {complete_ms:.1f} ms; {urls / wall_s:,.0f} URLs/s"


def measure(address: str, claimers: Sequence[int], rounds: int) -> float:
    """Print what claims do in a crawl that was built; return the pages that one touches."""
    with PostgresFrontier(address, CRAWL) as frontier:
        frontier.join("bench")
        for shard in (3, 120, 250):
            check_plan(claim_plan(frontier, shard))
        frontier.claim(1)  # from here on its statements are prepared
        claim, completion = pages_per_claim(frontier)
        print(
            f"    pages touched        {claim:,.0f} per claim of {CLAIM_SITES} sites, {completion:,.0f} per completion"
        )
    for count in claimers:
        print(
            f"    {count:>2} claimers          {many(address, count, max(2, rounds // count))}; {load_average()}",
            flush=True,
        )
    return claim


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench postgres claims", description=__doc__)
    parser.add_argument("--address", help="a server to use instead of one of our own")
    parser.add_argument("--urls", type=int, nargs="+", default=[100_000, 300_000])
    parser.add_argument("--claimers", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--rounds", type=int, default=100, help="claims of all claimers together")
    options = parser.parse_args(arguments)
    address = server(options.address)
    pages: list[float] = []
    for urls in options.urls:
        sites = min(urls, max(min(options.urls), 20_000), 1_000_000)
        with database(address) as place:
            began = time.perf_counter()
            build(place, CRAWL, urls, sites)
            print(f"{urls:>11,} URLs, {sites:,} sites, built in {time.perf_counter() - began:.0f} s", flush=True)
            pages.append(measure(place, options.claimers, options.rounds))
    growth = pages[-1] / pages[0]
    print(f"a claim at {options.urls[-1]:,} URLs touches {growth:.2f} times as many pages as at {options.urls[0]:,}")
    assert growth <= MOST_GROWTH
