"""Many workers claim, add and complete at once while processes are killed; the recorded history is then judged.

    python -m bench postgres owners --processes 8 --workers 50 --sites 200000 --kills 8 --seconds 60

Every worker has its own connection. In a file that outlives it, it records at once what it owns since when, and what it
is about to release. A quarter of the sites is new: they are added while others are claimed, several workers adding the
same ones. Two processes at once recover the killed ones, as do the heartbeats of all others. Fails if a site ever had
two owners, a dead worker still owns one, a URL or a counter is wrong, or there was a deadlock.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import tempfile
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psycopg

from bench.postgres.building import database, load_average, server
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.records import Batch, Claimed, Done, Link, Release, Visit
from gossamer.urls import identify

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from multiprocessing.context import SpawnProcess
    from multiprocessing.synchronize import Event

CLAIM_SITES = 50
NEW_SHARE = 0.25
BEAT_ROUNDS = 20  # between two heartbeats
TIMEOUT_S = 120  # with the workers' start and end
CRAWL = "owners"


class Turn(NamedTuple):
    """One ownership, from when the claim was answered until the release was about to be sent, or the owner died."""

    site: str
    epoch: int
    owned_s: float
    given_back_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What all of them did, judged."""

    turns: int
    cut_short: int  # by the owner's death
    owned_twice: list[str]
    contradictions: list[str]  # of the frontier, afterwards
    left_behind: int  # sites that still have an owner
    deadlocks: int
    wall_s: float


def page(site: int, number: int) -> Link:
    """Return a page of the web that is crawled here."""
    return Link(*identify(f"https://site-{site}.test/{number}"), 1)


def _open(address: str) -> PostgresFrontier:
    """Open the crawl with long timeouts: fifty workers on two cores are slow."""
    return PostgresFrontier(address, CRAWL, slow_s=TIMEOUT_S, lease_s=3 * TIMEOUT_S)


# ---------------------------------------------------------------------- a process


def work(address: str, file: str, workers: int, sites: int, stop: Event) -> None:
    """Run several workers, each with its own thread and connection, until told to stop."""
    history = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(_claim_and_complete, address, history, sites, stop) for _ in range(workers)]
    for job in jobs:
        job.result()


def _claim_and_complete(address: str, history: int, sites: int, stop: Event) -> None:
    draw = random.Random()
    with _open(address) as frontier:
        _note(history, "worker", [(str(frontier.join("owner")), 0)])
        for number in range(1 << 30):
            if stop.is_set():
                break
            if number % BEAT_ROUNDS == 0:
                frontier.heartbeat({})
            claimed = frontier.claim(CLAIM_SITES)
            assert isinstance(claimed, Claimed)
            turns = [(claim.site, claim.epoch) for claim in claimed.claims]
            _note(history, "owned", turns)
            # New sites appear during the run; other workers add the same ones at the same time.
            known = int(sites * (1 - NEW_SHARE * draw.random() ** 2))
            links = [page(draw.randrange(known), draw.randrange(1_000_000)) for _ in range(CLAIM_SITES)]
            newest = int(sites * (1 - NEW_SHARE)) + int(time.monotonic() * 500) % int(sites * NEW_SHARE)
            links += [page(min(sites - 1, newest + step), 0) for step in range(10)]
            visits = [
                Visit(
                    site=claim.site,
                    epoch=claim.epoch,
                    outcomes=[(url.url_hash, Done()) for url in claim.urls[:2]],
                    release=Release(wait_s=0),
                )
                for claim in claimed.claims
            ]
            _note(history, "given back", turns)
            assert not frontier.complete(Batch(links=links, visits=visits)).lost


def _note(history: int, what: str, turns: Iterable[tuple[str, int]]) -> None:
    """Append an event to the history with one call, so that a kill can cut only the last line."""
    now_s = time.monotonic()
    os.write(history, "".join(f"{what}\t{site}\t{epoch}\t{now_s!r}\n" for site, epoch in turns).encode())


# ---------------------------------------------------------------------- all of them


class Life(NamedTuple):
    """One process: where it wrote, and when it was found dead if it was killed."""

    file: Path
    died_s: float


def run(address: str, *, processes: int, workers: int, sites: int, kills: int, seconds: float) -> History:
    """Run this many workers on a new crawl, kill some of their processes, and judge the history."""
    began_s = time.monotonic()
    old = int(sites * (1 - NEW_SHARE))
    with tempfile.TemporaryDirectory() as folder, _open(address) as frontier:
        frontier.resume(delay_s=0)
        frontier.add([page(site, number) for site in range(old) for number in range(2)])
        frontier.mark_seeds_loaded("owners")
        lives = _live_and_die(address, Path(folder), processes, workers, sites, kills, seconds)
        turns, cut_short = read_history(lives)
        ended = [int(one) for life in lives for one in _workers_of(life.file)]
        for worker in ended:
            frontier.recover(worker)
        return History(
            turns=len(turns),
            cut_short=cut_short,
            owned_twice=find_overlaps(turns),
            contradictions=frontier.audit(),
            left_behind=frontier.stats().sites_in_hand,
            deadlocks=_deadlocks(address),
            wall_s=time.monotonic() - began_s,
        )


def _live_and_die(
    address: str, folder: Path, processes: int, workers: int, sites: int, kills: int, seconds: float
) -> list[Life]:
    spawning = multiprocessing.get_context("spawn")
    stop = spawning.Event()
    shares = [workers // processes + (number < workers % processes) for number in range(processes)]
    draw = random.Random(5)
    lives: list[Life] = []

    def start(share: int) -> tuple[SpawnProcess, Path, int]:
        file = folder / os.urandom(8).hex()
        process = spawning.Process(target=work, args=(address, str(file), share, sites, stop))
        process.start()
        return process, file, share

    living = [start(share) for share in shares]
    _await_workers(living)
    for _ in range(kills):
        time.sleep(seconds / (kills + 1))
        process, file, share = living.pop(draw.randrange(len(living)))
        process.kill()
        process.join()
        lives.append(Life(file, time.monotonic()))
        _recover_twice(address, _workers_of(file))
        living.append(start(share))
        _await_workers(living[-1:])
    time.sleep(seconds / (kills + 1))
    stop.set()
    for process, file, _ in living:
        process.join(TIMEOUT_S)
        assert process.exitcode == 0, f"a worker process ended with {process.exitcode}"
        lives.append(Life(file, time.monotonic()))
    return lives


def _await_workers(living: Sequence[tuple[SpawnProcess, Path, int]]) -> None:
    ends_s = time.monotonic() + TIMEOUT_S
    for process, file, share in living:
        while not file.exists() or len(_workers_of(file)) < share:
            assert process.is_alive(), f"a worker process ended with {process.exitcode}"
            assert time.monotonic() < ends_s, "workers do not start"
            time.sleep(0.05)


def _recover_twice(address: str, workers: Sequence[str]) -> None:
    """Let two processes at once declare the same workers dead and free their sites."""
    together = threading.Barrier(2)

    def recover() -> None:
        with _open(address) as frontier:
            together.wait()
            for worker in workers:
                frontier.recover(int(worker))

    with ThreadPoolExecutor(2) as pool:
        for one in [pool.submit(recover) for _ in range(2)]:
            one.result()


# ---------------------------------------------------------------------- the judge


def _lines(file: Path) -> list[list[str]]:
    """Return the history of a process; its death may have cut off the last line."""
    return [line.split("\t") for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]


def _workers_of(file: Path) -> list[str]:
    return [site for what, site, _, _ in _lines(file) if what == "worker"]


def read_history(lives: Iterable[Life]) -> tuple[list[Turn], int]:
    """Return all turns, and how many of them ended by the death of their worker."""
    turns: list[Turn] = []
    cut_short = 0
    for life in lives:
        owned: dict[tuple[str, str], float] = {}
        for what, site, epoch, at_s in _lines(life.file):
            if what == "owned":
                owned[site, epoch] = float(at_s)
            elif what == "given back":
                turns.append(Turn(site, int(epoch), owned.pop((site, epoch)), float(at_s)))
        cut_short += len(owned)
        turns += [Turn(site, int(epoch), at_s, life.died_s) for (site, epoch), at_s in owned.items()]
    return turns, cut_short


def find_overlaps(turns: Iterable[Turn]) -> list[str]:
    """Return the sites that a worker owned before the previous owner had released them, or died."""
    by_site: defaultdict[str, list[Turn]] = defaultdict(list)
    for turn in turns:
        by_site[turn.site].append(turn)
    overlaps: list[str] = []
    for site, theirs in by_site.items():
        theirs.sort(key=lambda turn: turn.epoch)
        for earlier, later in pairwise(theirs):
            if later.epoch == earlier.epoch or later.owned_s < earlier.given_back_s:
                overlaps.append(site)
    return overlaps


def _deadlocks(address: str) -> int:
    with psycopg.connect(address) as connection:
        row = connection.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").fetchone()
    assert row is not None
    return int(row[0])


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench postgres owners", description=__doc__)
    parser.add_argument("--address", help="a server to use instead of one of our own")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--sites", type=int, default=3_000)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=6.0)
    options = parser.parse_args(arguments)
    with database(server(options.address)) as place:
        history = run(
            place,
            processes=options.processes,
            workers=options.workers,
            sites=options.sites,
            kills=options.kills,
            seconds=options.seconds,
        )
    print(f"{options.workers} workers in {options.processes} processes, {options.sites:,} sites, "
          f"{options.kills} processes killed: {history.wall_s:.0f} s; {load_average()}")  # fmt: skip
    print(f"    turns                {history.turns:,}, {history.cut_short:,} of them ended by death")
    print(f"    sites owned twice    {len(history.owned_twice)}")
    print(f"    left with the dead   {history.left_behind}")
    print(f"    contradictions       {len(history.contradictions)}")
    print(f"    deadlocks            {history.deadlocks}")
    assert not any((history.owned_twice, history.left_behind, history.contradictions, history.deadlocks))
