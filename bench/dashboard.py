"""How long the pages of the dashboard take on a large finished crawl: the first time, and every time after that.

    python -m bench dashboard --rows 2000000

Writes the tables of a crawl (`pages` as in `bench query`, and a request for each) and a frontier whose URLs are done.
Opens each page of `gossamer serve` as a browser does. "First" is the first time after the dashboard was started: it
makes what later pages use.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.query import FIRST_AT_US, PART_ROWS, SITES, nothing, pages_of, url_of
from bench.query import build as build_pages
from gossamer.crawl.folder import FRONTIER_FILE, gather_settings, write_settings
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.records import Batch, Done, Link, Visit
from gossamer.store import names
from gossamer.store.schemas import REQUESTS
from gossamer.urls import identify
from tests.serve.dashboards import dashboard

AGAIN = 3  # times, of which the slowest counts
LINKS = 5_000  # of a batch


def build(folder: Path, rows: int) -> None:
    """Write a crawl of this many pages."""
    build_pages(folder, rows)
    (folder / REQUESTS.name).mkdir()
    (folder / "logs").mkdir()
    for first in range(0, rows, PART_ROWS):
        path = names.part_path(folder, REQUESTS.name, f"{20260101000000000 + first}-w1-00001")
        repeated = [column.name for column in REQUESTS.columns if column.repeats]
        table = _requests(np.arange(first, min(first + PART_ROWS, rows)))
        pq.write_table(table, path, compression="zstd", use_dictionary=repeated)
    write_settings(folder, gather_settings(None, environment={}, flags={"email": "bench@example.org"}))
    with SqliteFrontier(folder / FRONTIER_FILE) as frontier:
        frontier.resume(delay_s=70)
        links = [_link(number) for number in range(min(rows, SITES))]
        for first in range(0, len(links), LINKS):
            some = links[first : first + LINKS]
            frontier.add(some)
            visits = [Visit(site=link.site, epoch=-1, outcomes=[(link.url_hash, Done(page=True))]) for link in some]
            frontier.complete(Batch(visits=visits))


def _link(page: int) -> Link:
    return Link(*identify(url_of(page)), depth=0, seeded=True)


def _requests(numbers: np.ndarray) -> pa.Table:
    pages, hashes = pages_of(numbers)
    known = {
        "url_hash": hashes,
        "url": pa.array(map(url_of, pages)),
        "site": pa.array([f"site{page % SITES}.test" for page in pages]),
        "kind": pa.repeat("page", len(numbers)),
        "started_at": pa.array(FIRST_AT_US + numbers * 1_000 - 200_000),
        "ended_at": pa.array(FIRST_AT_US + numbers * 1_000),
        "status": pa.array(np.full(len(numbers), 200)),
        "bytes": pa.array(pages * 7_919 % 100_003),
        "attempt": pa.array(np.full(len(numbers), 1)),
        "worker": pa.repeat("w1", len(numbers)),
    }
    arrays = [
        known[column.name].cast(column.type) if column.name in known else nothing(column.type, len(numbers))
        for column in REQUESTS.columns
    ]
    return pa.table(arrays, schema=REQUESTS.schema)


def main(arguments: list[str]) -> None:
    """Build the crawl, and open all pages."""
    parser = argparse.ArgumentParser(prog="bench dashboard", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args(arguments).rows
    paths = (
        "/", "/history", "/sites", "/sites?search=site1", f"/url?url={quote(url_of(SITES // 2))}",
        "/site?name=site77.test", "/report",
    )  # fmt: skip
    with tempfile.TemporaryDirectory(dir=".bench" if Path(".bench").is_dir() else None) as base:
        folder, begun_s = Path(base) / "crawl", time.monotonic()
        builder = get_context("spawn").Process(target=build, args=(folder, rows))
        builder.start()
        builder.join()
        print(f"{rows:,} pages written in {time.monotonic() - begun_s:.0f} s")
        with dashboard(folder, Path(base) / "keys" / "tokens") as served:
            for path in paths:
                took_s = []
                for _ in range(1 + AGAIN):
                    began_s = time.monotonic()
                    answer = served.ask(path, as_="viewer")
                    took_s.append(time.monotonic() - began_s)
                    assert answer.status == 200, answer.body
                print(f"first {took_s[0]:6.2f} s, then at most {max(took_s[1:]):5.2f} s  {path}", flush=True)
