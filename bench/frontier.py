"""How the frontier behaves as it grows: links added, URLs claimed and completed, bytes on disk.

    python -m bench frontier --urls 100000 1000000 10000000

Builds a frontier of each size (a tenth as many sites, a million at most; queues Zipf-like), then measures with
the batches a crawl uses: 2,000 links per add of which 70 % are known, claims of 100 sites, one completion each.
Rates are wall time, so compare them within one run; CPU per link and URL is what to watch.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.frontier.clock import boot_seconds
from gossamer.frontier.sqlite import SqliteFrontier, engine
from gossamer.frontier.sqlite.database import SQL
from gossamer.records import Batch, Claimed, Done, Link, Release, Visit
from gossamer.urls import hash_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.frontier import Frontier

BUILD_LINKS = 50_000
ADD_LINKS = 2_000
KNOWN_SHARE = 0.7
CLAIM_SITES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a number of things took."""

    things: int
    wall_s: float
    cpu_s: float

    def __str__(self) -> str:
        return f"{self.things / self.wall_s:9,.0f}/s {self.cpu_s / self.things * 1e6:7.1f} µs CPU"


def link(site: int, page: int) -> Link:
    """Return page number `page` of site number `site`."""
    name = f"site-{site}.test"
    host = f"https://www.{name}"
    url = f"{host}/articles/2026/{page % 12 + 1:02d}/a-headline-of-common-length-{page}"
    return Link(url, hash_url(url), name, host, 1 + page % 9)


def links(urls: int, sites: int, draw: random.Random) -> Iterator[Link]:
    """Yield distinct links: every site has a first page, the rest goes to sites by a power law."""
    sizes = [1] * sites
    for site in range(sites):
        yield link(site, 0)
    for _ in range(urls - sites):
        site = int(sites * draw.random() ** 3)
        yield link(site, sizes[site])
        sizes[site] += 1


def measure_add(frontier: Frontier, known: list[Link], sites: int, draw: random.Random, batches: int) -> Cost:
    """Add batches in which most links are known already, as a crawl does."""
    number = 10_000_000
    offered = []
    for _ in range(batches):
        batch = [draw.choice(known) for _ in range(int(ADD_LINKS * KNOWN_SHARE))]
        while len(batch) < ADD_LINKS:
            number += 1
            batch.append(link(int(sites * draw.random() ** 3), number))
        draw.shuffle(batch)
        offered.append(batch)
    wall, cpu = time.perf_counter(), time.process_time()
    for batch in offered:
        frontier.add(batch)
    return Cost(things=batches * ADD_LINKS, wall_s=time.perf_counter() - wall, cpu_s=time.process_time() - cpu)


def measure_turns(frontier: Frontier, rounds: int) -> tuple[Cost, Cost]:
    """Claim a hundred sites and complete them, over and over."""
    urls = 0
    wall = [0.0, 0.0]
    cpu = [0.0, 0.0]
    for _ in range(rounds):
        times = [(time.perf_counter(), time.process_time())]
        claimed = frontier.claim(CLAIM_SITES)
        times.append((time.perf_counter(), time.process_time()))
        assert isinstance(claimed, Claimed)
        urls += sum(len(claim.urls) for claim in claimed.claims)
        frontier.complete(Batch(visits=[
            Visit(
                site=claim.site, epoch=claim.epoch, release=Release(wait_s=claim.delay_s),
                outcomes=[(url.url_hash, Done()) for url in claim.urls],
            )
            for claim in claimed.claims
        ]))  # fmt: skip
        times.append((time.perf_counter(), time.process_time()))
        for step in (0, 1):
            wall[step] += times[step + 1][0] - times[step][0]
            cpu[step] += times[step + 1][1] - times[step][1]
    return Cost(things=urls, wall_s=wall[0], cpu_s=cpu[0]), Cost(things=urls, wall_s=wall[1], cpu_s=cpu[1])


def claim_plan(frontier: SqliteFrontier) -> str:
    """Return how SQLite walks the ready list."""
    rows = frontier._database.connection.execute(  # noqa: SLF001 - the plan is not part of the contract
        "EXPLAIN QUERY PLAN " + SQL["due_sites"], {"delay_ms": 0, "now_ms": 0, "sites": 1}
    )
    return "; ".join(row["detail"] for row in rows)


def run(urls: int, folder: Path) -> None:
    """Build a frontier of this size and print what it does."""
    draw = random.Random(7)
    sites = min(urls // 10, 1_000_000)
    path = folder / f"frontier-{urls}.sqlite"
    with SqliteFrontier(path, clock=boot_seconds) as frontier:
        frontier.resume(delay_s=70)
        frontier.join("bench")
        known: list[Link] = []
        engine.ADD_LINKS = BUILD_LINKS
        wall = time.perf_counter()
        batch: list[Link] = []
        for number, one in enumerate(links(urls, sites, draw), start=1):
            batch.append(one)
            if len(batch) == BUILD_LINKS or number == urls:
                frontier.add(batch)
                known += draw.sample(batch, max(1, len(batch) // 50))
                batch = []
        built_s = time.perf_counter() - wall
        engine.ADD_LINKS = ADD_LINKS
        frontier.recent.clear()  # measure the frontier, not the cache in front of it
        added = measure_add(frontier, known, sites, draw, batches=60)
        claimed, completed = measure_turns(frontier, rounds=60)
        size = sum(f.stat().st_size for f in folder.glob(path.name + "*"))
        both = Cost(
            things=claimed.things,
            wall_s=claimed.wall_s + completed.wall_s,
            cpu_s=claimed.cpu_s + completed.cpu_s,
        )
        print(f"{urls:>10,} URLs, {sites:,} sites: built at {urls / built_s:,.0f}/s, {size / 1e6:,.0f} MB on disk, "
              f"{size / urls:,.0f} bytes per URL")  # fmt: skip
        print(f"    add, 70 % known    {added}")
        print(f"    claim              {claimed}")
        print(f"    complete           {completed}")
        print(f"    claim + complete   {both}")
        print(f"    plan               {claim_plan(frontier)}")
        print(
            f"    peak memory        {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB",
            flush=True,
        )


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench frontier", description=__doc__)
    parser.add_argument("--urls", type=int, nargs="+", default=[100_000, 1_000_000])
    sizes = parser.parse_args(arguments).urls
    with tempfile.TemporaryDirectory(dir=".bench" if Path(".bench").is_dir() else None) as folder:
        for urls in sizes:
            run(urls, Path(folder))
