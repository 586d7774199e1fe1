"""Dead workers: how others find them, and what becomes of the sites and counters that they leave.

An observer remembers when it last saw each worker's heartbeat counter move. It counts ages on its own boot clock only,
so that a jump of a clock makes no worker look dead. Neither does an outage of the database: an observer whose
look failed or came late begins to count again.
"""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING, NamedTuple

from gossamer.errors import GossamerError
from gossamer.frontier import FrontierError
from gossamer.frontier.postgres.keys import worker_shard
from gossamer.frontier.postgres.releasing import free_sites, owned_sites
from gossamer.frontier.postgres.transaction import COUNTERS
from gossamer.records import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gossamer.frontier.clock import Clock
    from gossamer.frontier.postgres.database import PostgresDatabase
    from gossamer.frontier.postgres.transaction import PostgresTransaction

BLIND_S = 2.0  # between two looks, at least; or a quarter of the lease
FREE_SITES = 2_000  # per transaction
LOOK_S = 1.0  # between two looks at whether others live
RESTART_S = 120.0  # a database that is away for longer does not just restart


class Silent(NamedTuple):
    """A worker whose counter stood still for the whole lease, and where it stood."""

    worker: int
    beats: int


class LeaseWatch:
    """One observer's memory: compares each look at the heartbeat counters with the one before."""

    def __init__(self, lease_s: float) -> None:
        self._lease_s = lease_s
        self._blind_s = max(BLIND_S, lease_s / 4)
        self._looked_s = -math.inf
        self._since: dict[int, tuple[int, float]] = {}

    def look(self, beats: Iterable[tuple[int, int]], now_s: float) -> list[Silent]:
        """Take in the counters of all live workers; return the workers that have been silent for the lease."""
        if now_s - self._looked_s > self._blind_s:
            self._since = {}
        self._looked_s = now_s
        since = {
            worker: before if (before := self._since.get(worker)) and before[0] == count else (count, now_s)
            for worker, count in beats
        }
        self._since = since
        return [Silent(worker, count) for worker, (count, at_s) in since.items() if now_s - at_s >= self._lease_s]

    def look_failed(self) -> None:
        """Note that the counters could not be read: the next look begins every lease again."""
        self._looked_s = -math.inf

    def left_s(self, now_s: float) -> float:
        """Return how long until the most silent worker has been silent for the lease."""
        if self._looked_s == -math.inf:
            return self._lease_s
        return max(0.0, self._lease_s - max((now_s - at_s for _, at_s in self._since.values()), default=0.0))

    def has_moved(self, beats: Iterable[tuple[int, int]]) -> bool:
        """Return whether any counter differs from the last look, or any worker is new."""
        return any(worker not in self._since or self._since[worker][0] != count for worker, count in beats)


# ---------------------------------------------------------------------- a start


def silent_others(
    database: PostgresDatabase, home: str, lease_s: float, clock: Clock, show_wait: Callable[[Waiting], None] | None
) -> list[Silent]:
    """Watch the workers of other homes until one shows life, or return those that were silent for a lease.

    If the database goes away meanwhile, this waits for it, and counts the lease from its return.
    """
    watch = LeaseWatch(lease_s)
    labels, beats = _others(database, home)
    watch.look(beats, clock())
    trouble, answered_s = "", clock()
    while beats:
        if show_wait is not None:
            show_wait(Waiting(workers=labels, left_s=watch.left_s(clock()), trouble=trouble))
        time.sleep(min(LOOK_S, lease_s / 10))
        try:
            labels, beats = _others(database, home)
        except FrontierError as error:
            if clock() - answered_s > RESTART_S:
                raise
            trouble = str(error)
            watch.look_failed()
            continue
        trouble, answered_s = "", clock()
        if watch.has_moved(beats):
            break
        if silent := watch.look(beats, clock()):
            return silent
    return []


def _others(database: PostgresDatabase, home: str) -> tuple[tuple[str, ...], list[tuple[int, int]]]:
    """Return the labels and the heartbeat counters of the workers of other homes."""
    rows = [row for row in database.rows("live_workers") if row.home != home]
    return tuple(row.label for row in rows), [(row.worker, row.beats) for row in rows]


def take_over(tx: PostgresTransaction, home: str, silent: Iterable[tuple[int, int]], terms: Mapping[str, str]) -> None:
    """Declare provably dead workers gone. If others live, check that their terms match; otherwise restart the clock.

    `silent` are the workers of other machines, with their heartbeat counters, that were silent for their lease.
    """
    tx.has_written = False  # do not save the clock: it may have to be set first
    tx.run("lock_crawl")
    tx.refuse_moved()  # a move may have begun before the lock was granted
    tx.run("declare_home_gone", home=home)
    for worker, beats in silent:
        tx.run("end_silent", shard=worker_shard(worker), worker=worker, beats=beats)
    if tx.run("live_workers"):
        check_terms(tx, terms)
    else:
        (saved,) = tx.run("saved_clock")
        tx.run("restart_clock", offset_ms=saved.clock_ms - tx.reading.server_ms)
    tx.run("keep_terms", terms=json.dumps(dict(terms)))


def check_terms(tx: PostgresTransaction, ours: Mapping[str, str]) -> None:
    """Raise GossamerError if the crawl runs under other terms."""
    theirs: dict[str, str] = json.loads(tx.run("terms")[0].terms)
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            raise GossamerError(
                f"The crawl runs on other machines with {name} = {theirs.get(name, 'unknown')}, here it would be "
                f"{ours.get(name, 'unknown')}: give all machines the same, or stop it there first."
            )


# ---------------------------------------------------------------------- a heartbeat


def reap(database: PostgresDatabase, watch: LeaseWatch, clock: Clock) -> None:
    """End workers that were silent for a lease, and recover the sites of all dead workers."""
    others = [(row.worker, row.beats) for row in database.rows("live_workers")]
    for worker, beats in watch.look(others, clock()):
        if worker != database.worker:
            database.run("reap", lambda tx: tx.run(
                "end_silent", shard=worker_shard(worker), worker=worker, beats=beats  # noqa: B023 - run at once
            ))  # fmt: skip
    recover_dead_workers(database)


def recover_dead_workers(database: PostgresDatabase) -> None:
    """Free every site owned by a dead worker."""
    for row in database.rows("dead_owners"):
        free_all(database, row.worker)


def free_all(database: PostgresDatabase, worker: int) -> int:
    """Free the sites of a dead worker and take over its counters; return how many sites this call freed."""
    freed = 0
    while True:
        owned, some = database.run("recover", lambda tx: _free_some(tx, worker))
        freed += some
        if not owned:
            return freed


def _free_some(tx: PostgresTransaction, worker: int) -> tuple[int, int]:
    """Return how many sites were found and how many this call freed; 0 if another worker is freeing them."""
    if not tx.run("lock_dead", shard=worker_shard(worker), worker=worker):
        tx.has_written = False
        return 0, 0
    owned = owned_sites(tx, worker, FREE_SITES)
    if not owned and worker != tx.worker:
        _inherit_figures(tx, worker)
    return len(owned), free_sites(tx, worker, owned)


def _inherit_figures(tx: PostgresTransaction, worker: int) -> None:
    """Take over a dead worker's counters, so that the rows to sum up do not grow with every restart."""
    shard = worker_shard(worker)
    for row in tx.run("take_tally", shard=shard, worker=worker):
        tx.mine.update({name: getattr(row, name) for name in COUNTERS})
        tx.clock_ms = max(tx.clock_ms, row.clock_ms)
    for row in tx.run("take_given_up", shard=shard, worker=worker):
        tx.given_up[row.reason] += row.urls
    for row in tx.run("take_seed_outcomes", shard=shard, worker=worker):
        tx.count_seeds(row.outcome, row.example, row.seeds)
