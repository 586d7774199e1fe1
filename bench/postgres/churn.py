"""Rows come and go for a long time: do claims stay as cheap, do the tables stay as small?

    nohup python -m bench postgres churn --seconds 600 &

One worker claims, completes and adds without pause, with autovacuum as the schema sets it. Pages touched per claim of
100 sites are told for every tenth of the time; fails if the last tenth's exceed the second's 1.3 times.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time

from bench.postgres.building import Meter, build, database, load_average, page, server
from bench.postgres.claims import CLAIM_SITES, CRAWL, finish
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.records import Batch, Claimed

PARTS = 10
MOST_GROWTH = 1.3
LINKS_PER_PAGE = 10
KNOWN_SHARE = 0.7
SIZES = """
    SELECT c.relname, pg_size_pretty(pg_table_size(c.oid)) AS rows, pg_size_pretty(pg_indexes_size(c.oid)) AS indexes,
           s.n_live_tup, s.n_dead_tup, s.autovacuum_count
    FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid
    WHERE c.relname IN ('site', 'queue', 'seen', 'tally') ORDER BY c.relname
"""


def churn(frontier: PostgresFrontier, urls: int, sites: int, seconds: float) -> list[float]:
    """Claim and complete for this long; return the pages touched per claim in each tenth of the time."""
    meter = Meter(frontier)
    draw = random.Random(8)
    fresh = urls
    began_s = time.monotonic()
    parts: list[list[int]] = [[] for _ in range(PARTS)]
    fetched = told = 0
    while (part := int((time.monotonic() - began_s) / seconds * PARTS)) < PARTS:
        if part > told:
            assert parts[told], "the machine is too busy to measure: give it more --seconds"
            claim = f"{statistics.median(parts[told]):,.0f} pages per claim"
            came = f"{fetched:,} URLs fetched, {fresh - urls:,} new"
            print(
                f"    after {time.monotonic() - began_s:4.0f} s         {claim}; {came}; {load_average()}", flush=True
            )
            told = part
        before = meter.pages()
        claimed = frontier.claim(CLAIM_SITES)
        assert isinstance(claimed, Claimed)
        if len(claimed.claims) == CLAIM_SITES:
            parts[part].append(meter.pages() - before)
        batch = finish(claimed)
        pages = sum(len(claim.urls) for claim in claimed.claims)
        new = round(pages * LINKS_PER_PAGE * (1 - KNOWN_SHARE))
        links = [page(draw.randrange(urls), sites) for _ in range(pages * LINKS_PER_PAGE - new)]
        links += [page(fresh + step, sites) for step in range(new)]
        frontier.complete(Batch(visits=batch.visits, links=links))
        fresh += new
        fetched += pages
    return [statistics.median(part) for part in parts]


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench postgres churn", description=__doc__)
    parser.add_argument("--address", help="a server to use instead of one of our own")
    parser.add_argument("--urls", type=int, default=100_000)
    parser.add_argument("--sites", type=int, default=5_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args(arguments)
    with database(server(options.address)) as place:
        build(place, CRAWL, options.urls, options.sites, delay_s=1)
        print(f"{options.urls:,} URLs, {options.sites:,} sites, {options.seconds:.0f} s", flush=True)
        with PostgresFrontier(place, CRAWL) as frontier:
            frontier.join("bench")
            parts = churn(frontier, options.urls, options.sites, options.seconds)
            for name, table, indexes, live, dead, vacuums in frontier._database._connected().execute(SIZES):  # noqa: SLF001
                print(f"    {name:<20} {table}, indexes {indexes}; {live:,} rows, {dead:,} dead, {vacuums} vacuums")
    growth = parts[-1] / parts[1]
    print(f"a claim touches {growth:.2f} times as many pages in the last tenth as in the second")
    assert growth <= MOST_GROWTH
