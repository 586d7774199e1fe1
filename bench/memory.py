"""Whether memory grows with the frontier: the process tree of a crawl with a small and with a large queue.

    python -m bench memory --urls 100000 2000000
    python -m bench memory --delay 0.2

Fills a frontier with queued URLs of 20,000 sites, crawls them and a simulated web for a while, and prints the tree's
peak memory (proportional set size, so that shared pages count once). At the default delay as much is in hand in both
cases; with short delays a claim brings ten URLs of a site, and a small frontier has fewer to bring.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

import gossamer_simweb as simweb
from bench.frontier import links
from gossamer.frontier.sqlite import SqliteFrontier

CRAWL_S = 25.0
SITES = 20_000  # the same for both, so that as much is in hand; only the queues differ


def tree_bytes(root: psutil.Process) -> int:
    """Return what a process and all below it hold in memory."""
    total = 0
    for process in [root, *root.children(recursive=True)]:
        try:
            total += process.memory_full_info().pss
        except psutil.Error:
            continue  # it has just ended
    return total


def peak(urls: int, delay: str) -> int:
    """Crawl with this many URLs queued; return the peak memory of the process tree."""
    with (
        simweb.serve(simweb.plain_web(sites=200, pages=100)) as server,
        tempfile.TemporaryDirectory(dir=".bench" if Path(".bench").is_dir() else None) as folder,
    ):
        data = Path(folder) / "data"
        data.mkdir()
        seeds = Path(folder) / "seeds.txt"
        seeds.write_text("\n".join(server.seeds()))
        with SqliteFrontier(data / "frontier.sqlite") as frontier:
            batch = []
            for one in links(urls, SITES, random.Random(7)):
                batch.append(one)
                if len(batch) == 50_000:
                    frontier.add(batch)
                    batch = []
            frontier.add(batch)
        crawl = subprocess.Popen(
            [
                sys.executable, "-m", "gossamer", "crawl", str(seeds), "--email", "bench@example.org",
                "--data-dir", str(data), "--delay", delay, "--scope", "web", "--workers", "2",
                "--nameserver", server.dns, "--allow-network", "127.0.0.0/8", "--max-duration", str(CRAWL_S),
            ],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        root = psutil.Process(crawl.pid)
        most = 0
        while crawl.poll() is None:
            try:
                most = max(most, tree_bytes(root))
            except psutil.Error:
                break
            time.sleep(0.5)
        if crawl.wait() != 0:
            raise SystemExit("the crawl failed")
    return most


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench memory", description=__doc__)
    parser.add_argument("--urls", type=int, nargs=2, default=[100_000, 2_000_000])
    parser.add_argument("--delay", default="70")
    options = parser.parse_args(arguments)
    few, many = options.urls
    small, large = peak(few, options.delay), peak(many, options.delay)
    print(
        f"peak of the process tree: {small / 1e6:.0f} MB with {few:,} URLs queued, {large / 1e6:.0f} MB with {many:,};"
    )
    print(f"    {(large - small) / 1e6:+.0f} MB")
