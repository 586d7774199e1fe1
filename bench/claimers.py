"""Many processes claim, add and complete at once; the recorded history is then checked.

    python -m bench claimers --processes 8 --claims 20000

Every process notes when it owned which site at which epoch, on the machine's own clock. Afterwards: was a site
ever owned twice, was a URL lost, how long did the longest transaction take?
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gossamer import metrics
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.records import Batch, Claimed, Done, Link, Release, Visit
from gossamer.urls import identify

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.frontier import Frontier

SITES = 3_000
CLAIM_SITES = 20
SLOW_S = 0.2


class Turn(NamedTuple):
    """One ownership: from when the claim was answered until its completion was about to be sent."""

    site: str
    epoch: int
    owned_s: float
    given_back_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one process did."""

    turns: list[Turn]
    urls: list[bytes]  # settled
    links: set[bytes]  # added
    transactions: float
    slow_transactions: float  # over 200 ms
    transaction_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What all of them did, judged."""

    turns: int
    owned_twice: list[str]
    lost: int
    settled_twice: int
    transactions: int
    slow_transactions: int
    mean_transaction_ms: float
    wall_s: float


def page(site: int, number: int) -> Link:
    """Return a link to a page of the stress web."""
    return Link(*identify(f"https://site-{site}.test/{number}"), 1)


def work(open_frontier: Callable[[], Frontier], number: int, turns_wanted: int) -> Report:
    """Claim, pretend to fetch, add a few links, complete, until enough turns are done."""
    draw = random.Random(number)
    turns: list[Turn] = []
    urls: list[bytes] = []
    added: set[bytes] = set()
    with open_frontier() as frontier:
        frontier.join(f"claimer {number}")
        while len(turns) < turns_wanted:
            claimed = frontier.claim(CLAIM_SITES)
            owned_s = time.monotonic()
            assert isinstance(claimed, Claimed)
            links = [page(draw.randrange(SITES), draw.randrange(1_000_000)) for _ in range(2 * CLAIM_SITES)]
            visits = [
                Visit(
                    site=claim.site,
                    epoch=claim.epoch,
                    outcomes=[(url.url_hash, Done()) for url in claim.urls],
                    release=Release(wait_s=0),
                )
                for claim in claimed.claims
            ]
            given_back_s = time.monotonic()
            completion = frontier.complete(Batch(links=links, visits=visits))
            assert not completion.lost
            turns += [Turn(c.site, c.epoch, owned_s, given_back_s) for c in claimed.claims]
            urls += [url.url_hash for claim in claimed.claims for url in claim.urls]
            added.update(link.url_hash for link in links)
    figures = metrics.snapshot()
    transactions = sum(v for k, v in figures.items() if k.startswith("gossamer_frontier_operation_seconds_count"))
    spent_s = sum(v for k, v in figures.items() if k.startswith("gossamer_frontier_operation_seconds_sum"))
    return Report(
        turns=turns,
        urls=urls,
        links=added,
        transactions=transactions,
        slow_transactions=transactions - _within(SLOW_S),
        transaction_s=spent_s,
    )


def _within(seconds: float) -> float:
    histogram = metrics.FRONTIER_OPERATION_SECONDS
    buckets = histogram.buckets.index(seconds) + 1
    return sum(sum(cell.numbers()[1 : buckets + 1]) for cell in histogram.cells.values())


def run(open_frontier: Callable[[], Frontier], processes: int, turns_each: int) -> History:
    """Run this many processes on a new frontier, and judge their history."""
    first = [page(site, number) for site in range(SITES) for number in range(3)]
    with open_frontier() as frontier:
        frontier.resume(delay_s=0)
        frontier.add(first)
    began = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        runs = [pool.apply_async(work, (open_frontier, number, turns_each)) for number in range(processes)]
        reports = [one.get(timeout=600) for one in runs]
    wall_s = time.monotonic() - began
    turns = sorted((turn for report in reports for turn in report.turns), key=lambda turn: (turn.site, turn.epoch))
    settled = [url for report in reports for url in report.urls]
    links = set().union({link.url_hash for link in first}, *(report.links for report in reports))
    with open_frontier() as frontier:
        stats = frontier.stats()
    transactions = sum(report.transactions for report in reports)
    return History(
        turns=len(turns),
        owned_twice=[
            later.site
            for earlier, later in pairwise(turns)
            if earlier.site == later.site and (earlier.epoch == later.epoch or later.owned_s < earlier.given_back_s)
        ],
        lost=len(links) - stats.queued - len(set(settled)),
        settled_twice=len(settled) - len(set(settled)),
        transactions=int(transactions),
        slow_transactions=int(sum(report.slow_transactions for report in reports)),
        mean_transaction_ms=sum(report.transaction_s for report in reports) / transactions * 1000,
        wall_s=wall_s,
    )


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench claimers", description=__doc__)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--claims", type=int, default=20_000, help="sites each process claims")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=".bench" if Path(".bench").is_dir() else None) as folder:
        history = run(partial(SqliteFrontier, Path(folder) / "frontier.sqlite"), options.processes, options.claims)
    print(f"{options.processes} processes, {history.turns:,} claims in {history.wall_s:.1f} s")
    print(f"    sites owned twice      {len(history.owned_twice)}")
    print(f"    URLs lost              {history.lost}")
    print(f"    URLs settled twice     {history.settled_twice}")
    print(f"    transactions           {history.transactions:,}, mean {history.mean_transaction_ms:.1f} ms")
    print(f"    over 200 ms            {history.slow_transactions}")
