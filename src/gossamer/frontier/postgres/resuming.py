"""The steps of `resume`: who is still at work elsewhere, whether all go by the same terms, and the crawl clock."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gossamer.errors import GossamerError
from gossamer.frontier.postgres.keys import worker_shard

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gossamer.frontier.postgres.transaction import Transaction


def take_over(tx: Transaction, home: str, silent: Iterable[tuple[int, int]], terms: Mapping[str, str]) -> None:
    """End who is dead for sure, share terms with who is left, or go on with the clock from where it stood.

    `silent` are the workers of other machines, and their heartbeats, that showed no life for their lease.
    """
    tx.has_written = False  # nor is the clock saved: it may have to be set first
    tx.run("lock_crawl")
    tx.refuse_moved()  # a move may have begun while we waited for the lock
    tx.run("declare_home_gone", home=home)
    for worker, beats in silent:
        tx.run("end_silent", shard=worker_shard(worker), worker=worker, beats=beats)
    if tx.run("live_workers"):
        check_terms(tx, terms)
    else:
        (saved,) = tx.run("saved_clock")
        tx.run("restart_clock", offset_ms=saved.clock_ms - tx.reading.server_ms)
    tx.run("keep_terms", terms=json.dumps(dict(terms)))


def check_terms(tx: Transaction, ours: Mapping[str, str]) -> None:
    """Raise GossamerError if the crawl goes by other terms than these."""
    theirs: dict[str, str] = json.loads(tx.run("terms")[0].terms)
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            raise GossamerError(
                f"The crawl runs on other machines with {name} = {theirs.get(name, 'unknown')}, here it would be "
                f"{ours.get(name, 'unknown')}: give all machines the same, or stop it there first."
            )
