"""How long Prometheus waits for the metrics of a crawl with very many queued URLs, while the crawl runs.

    python -m bench scrape --urls 1000000

Builds a frontier of this size, SQLite's or PostgreSQL's, starts a crawl on it that pauses at once, and scrapes its
metrics, in both formats. Nothing is requested from anywhere.
"""

from __future__ import annotations

import argparse
import http.client
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import move
from bench.postgres import building
from gossamer.crawl.folder import FRONTIER_FILE
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.records import CrawlState
from tests.frontier import postgres_server

SCRAPES = 200
PAUSE_S = 0.05  # between two: Prometheus leaves seconds
OPEN_METRICS = "application/openmetrics-text; version=1.0.0"
SERVED = re.compile(r"http://127\.0\.0\.1:(\d+)/metrics")
START_S = 120.0


def scrape(folder: Path, *options: str) -> None:
    """Start a paused crawl, and print how long scrapes take."""
    flags = ("--email", "bench@example.org", "--workers", "2", "--metrics", "127.0.0.1:0", "--data-dir", str(folder))
    process = subprocess.Popen(
        [sys.executable, "-m", "gossamer", "crawl", *flags, *options], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        port = next(int(found[1]) for line in process.stdout if (found := SERVED.search(line)))
        wait_for_figures(port)
        for kind, accept in (("text", "*/*"), ("OpenMetrics", OPEN_METRICS)):
            took_ms = sorted(1000 * timed(port, accept)[0] for _ in range(SCRAPES))
            _, size = timed(port, accept)
            print(
                f"  {kind}: median {statistics.median(took_ms):.1f} ms, 99 % within "
                f"{took_ms[SCRAPES * 99 // 100]:.1f} ms, longest {took_ms[-1]:.1f} ms, {size / 1000:.0f} kB",
                flush=True,
            )
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def timed(port: int, accept: str) -> tuple[float, int]:
    """Return how long a scrape took, connecting included, and its size."""
    time.sleep(PAUSE_S)
    began_s = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/metrics", headers={"Accept": accept})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert answer.status == 200
    return time.perf_counter() - began_s, len(body)


def wait_for_figures(port: int) -> None:
    """Wait until both workers have reported."""
    until_s = time.monotonic() + START_S
    while time.monotonic() < until_s:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        if "gossamer_max_loop_lag_seconds" in text and 'gossamer_workers{state="alive"} 2' in text:
            print("  " + next(line for line in text.splitlines() if 'urls{state="queued"}' in line))
            return
        time.sleep(0.5)
    sys.exit("the workers have not reported")


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="bench scrape", description=__doc__)
    parser.add_argument("--urls", type=int, default=100_000)
    urls = parser.parse_args(arguments).urls
    with tempfile.TemporaryDirectory(dir=".bench" if Path(".bench").is_dir() else None) as base:
        folder = Path(base) / "sqlite"
        folder.mkdir()
        move.build(folder, urls * 20 // 14)  # of which so many are queued
        with SqliteFrontier(folder / FRONTIER_FILE) as frontier:
            frontier.order(CrawlState.PAUSED)
        print("SQLite")
        scrape(folder)
        address = postgres_server.new_database()
        building.build(address, "bench", urls=urls, sites=urls // 10)
        with PostgresFrontier(address, "bench") as frontier:
            frontier.order(CrawlState.PAUSED)
        print("PostgreSQL")
        scrape(Path(base) / "postgres", "--frontier", address, "--crawl-name", "bench", "--scope", "web")
