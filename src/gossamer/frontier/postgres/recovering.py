"""Taking over from the dead: who among others is silent, and what becomes of the sites and counters they leave."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gossamer.frontier import FrontierError
from gossamer.frontier.postgres.keys import worker_shard
from gossamer.frontier.postgres.releasing import free_sites, owned_sites
from gossamer.frontier.postgres.transaction import COUNTERS
from gossamer.frontier.postgres.watch import Silent, Watch
from gossamer.records import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.frontier.clock import Clock
    from gossamer.frontier.postgres.database import Database
    from gossamer.frontier.postgres.transaction import Transaction

FREE_SITES = 2_000  # per transaction
LOOK_S = 1.0  # between two looks at whether others live
RESTART_S = 120.0  # a database that is away for longer does not just restart


def silent_others(
    database: Database, home: str, lease_s: float, clock: Clock, show_wait: Callable[[Waiting], None] | None
) -> list[Silent]:
    """Look at workers of other homes until one shows life, or none did for a lease: those are returned.

    A database that goes away meanwhile is waited for; the lease is counted from its return.
    """
    watch = Watch(lease_s)
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
            continue
        trouble, answered_s = "", clock()
        if watch.has_moved(beats):
            break
        if silent := watch.look(beats, clock()):
            return silent
    return []


def _others(database: Database, home: str) -> tuple[tuple[str, ...], list[tuple[int, int]]]:
    """Return the labels and the heartbeat counters of the workers of other homes."""
    rows = [row for row in database.rows("live_workers") if row.home != home]
    return tuple(row.label for row in rows), [(row.worker, row.beats) for row in rows]


def reap(database: Database, watch: Watch, clock: Clock) -> None:
    """End workers that were silent for a lease, and recover what the dead own, also what came after their end."""
    others = [(row.worker, row.beats) for row in database.rows("live_workers")]
    for worker, beats in watch.look(others, clock()):
        if worker != database.worker:
            database.run("reap", lambda tx: tx.run(
                "end_silent", shard=worker_shard(worker), worker=worker, beats=beats  # noqa: B023 - run at once
            ))  # fmt: skip
    recover_the_dead(database)


def recover_the_dead(database: Database) -> None:
    """Free what anybody owns who is dead."""
    for row in database.rows("dead_owners"):
        free_all(database, row.worker)


def free_all(database: Database, worker: int) -> int:
    """Free what a dead worker owns, put its figures with those of all the dead, and return how many sites it was."""
    freed = 0
    while True:
        owned, some = database.run("recover", lambda tx: _free_some(tx, worker))
        freed += some
        if not owned:
            return freed


def _free_some(tx: Transaction, worker: int) -> tuple[int, int]:
    """Return how many sites were found and how many of them were freed by us; none if somebody else is at it."""
    if not tx.run("lock_dead", shard=worker_shard(worker), worker=worker):
        tx.has_written = False
        return 0, 0
    owned = owned_sites(tx, worker, FREE_SITES)
    if not owned and worker != tx.worker:
        _inherit_figures(tx, worker)
    return len(owned), free_sites(tx, worker, owned)


def _inherit_figures(tx: Transaction, worker: int) -> None:
    """Take over what a dead worker counted: what has to be summed up must not grow with every restart."""
    shard = worker_shard(worker)
    for row in tx.run("take_tally", shard=shard, worker=worker):
        tx.mine.update({name: getattr(row, name) for name in COUNTERS})
        tx.clock_ms = max(tx.clock_ms, row.clock_ms)
    for row in tx.run("take_given_up", shard=shard, worker=worker):
        tx.given_up[row.reason] += row.urls
    for row in tx.run("take_seed_outcomes", shard=shard, worker=worker):
        tx.count_seeds(row.outcome, row.example, row.seeds)
