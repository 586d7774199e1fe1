"""Links added to a large frontier, most of them known, by one process or several.

    python -m bench postgres adds --urls 10000000 --adders 1 2 4

Known links are drawn from all of the frontier's pages, new ones lie on its sites. Each adder is a process with the
settings of a worker. CPU is the client's and the server's, background processes included: on a busy machine that, and
not the rate, is to be compared. Batches are as large as those of `add`, unless `--batch` says otherwise.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import random
import time
from typing import TYPE_CHECKING, NamedTuple

from bench.postgres.building import Meter, build, database, load_average, page, server, warm
from gossamer.crawl.worker_process import GARBAGE_OBJECTS
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.frontier.postgres.engine import ADD_LINKS

if TYPE_CHECKING:
    from multiprocessing.synchronize import Barrier

KNOWN_SHARE = 0.7
CRAWL = "bench"


class Work(NamedTuple):
    """What one adder did, on the machine's monotonic clock."""

    began_s: float
    ended_s: float
    cpu_s: float
    links: int
    new: int


def work(address: str, number: int, urls: int, sites: int, batch: int, seconds: float, start: Barrier) -> Work:
    """Add in a process of its own for a while; making the links is not measured."""
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS, 50, 100)
    draw = random.Random(number)
    fresh = urls + number * 10_000_000  # no other process adds these
    wall_s = cpu_s = 0.0
    links = new = 0
    with PostgresFrontier(address, CRAWL) as frontier:
        frontier.join("bench")
        start.wait()
        began_s = time.monotonic()
        while wall_s < seconds:
            offered = [page(draw.randrange(urls), sites) for _ in range(round(batch * KNOWN_SHARE))]
            for _ in range(batch - len(offered)):
                fresh += 1
                offered.append(page(fresh, sites))
            draw.shuffle(offered)
            times = time.perf_counter(), time.process_time()
            new += frontier.add(offered)
            links += batch
            wall_s += time.perf_counter() - times[0]
            cpu_s += time.process_time() - times[1]
    return Work(began_s, began_s + wall_s, cpu_s, links, new)


def measure(address: str, urls: int, sites: int, adders: int, first: int, batch: int, seconds: float) -> str:
    """Run this many adders at once; return what they did."""
    spawning = multiprocessing.get_context("spawn")
    with (
        PostgresFrontier(address, CRAWL) as frontier,
        spawning.Manager() as manager,
        spawning.Pool(adders) as pool,
    ):
        meter = Meter(frontier)
        start = manager.Barrier(adders)
        before = meter.cpu_s(), meter.pages()
        jobs = [(address, first + number, urls, sites, batch, seconds, start) for number in range(adders)]
        done: list[Work] = pool.starmap(work, jobs, chunksize=1)
        links = sum(one.links for one in done)
        server_us = (meter.cpu_s() - before[0]) / links * 1e6
        pages = (meter.pages() - before[1]) / links
    rate = sum(one.links / (one.ended_s - one.began_s) for one in done)
    client_us = sum(one.cpu_s for one in done) / links * 1e6
    return (
        f"{rate:9,.0f} links/s; CPU per link {client_us:.1f} µs client, {server_us:.1f} µs server; {pages:.1f} pages "
        f"touched; {sum(one.new for one in done) / links:.0%} new of {links:,}"
    )


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench postgres adds", description=__doc__)
    parser.add_argument("--address", help="a server to use instead of one of our own")
    parser.add_argument("--urls", type=int, default=200_000)
    parser.add_argument("--adders", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--batch", type=int, default=ADD_LINKS)
    parser.add_argument("--seconds", type=float, default=5.0, help="spent adding by each")
    options = parser.parse_args(arguments)
    sites = max(1, min(options.urls // 10, 1_000_000))
    with database(server(options.address)) as place:
        build(place, CRAWL, options.urls, sites)
        warm(place)
        print(
            f"{options.urls:,} URLs, {sites:,} sites, {KNOWN_SHARE:.0%} of the links known, {options.batch:,} at a time"
        )
        first = 1
        for adders in options.adders:
            done = measure(place, options.urls, sites, adders, first, options.batch, options.seconds)
            print(f"    {adders:>2} adders            {done}; {load_average()}", flush=True)
            first += adders
