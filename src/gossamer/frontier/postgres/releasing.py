"""Giving sites back, and putting them to rest, inside a transaction.

A site is put to rest only under FOR UPDATE, after a second look at its queue: see hold_awake in queries.sql. One that
is locked by a transaction that adds links to it is not waited for: it stays awake until a claim finds it empty.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gossamer.frontier.postgres.keys import SiteKey, by_shard

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gossamer.frontier.postgres.transaction import PostgresTransaction, Row

MOVE_URLS = 1_000  # deferred, woken or given up at a time: a site with a million of them costs many small steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """A site that its owner, or a recovery, releases."""

    key: SiteKey
    epoch: int
    in_hand: int
    paced_ms: int
    own_delay_ms: int
    failures: int
    pages: int = 0  # that came of it since they were last counted


def owned_sites(tx: PostgresTransaction, worker: int, at_most: int | None = None) -> list[Row]:
    """Return what a worker owns."""
    return tx.run("owned_sites", worker=worker, at_most=at_most)


def lock_visited(tx: PostgresTransaction, keys: Iterable[SiteKey]) -> dict[SiteKey, Row]:
    """Lock sites, whatever their owner, before any of them is changed; return their state under the lock."""
    shards = by_shard(set(keys))
    answers = tx.each("lock_visited", [{"shard": shard, "sites": sites} for shard, sites in shards.items()])
    return {SiteKey(shard, row.site_id): row for shard, rows in zip(shards, answers, strict=True) for row in rows}


def free_sites(tx: PostgresTransaction, owner: int, rows: Sequence[Row]) -> int:
    """Free sites whose last request is unknown: it cannot have been later than now, so a full delay is safe."""
    lock_visited(tx, [SiteKey(row.shard, row.site_id) for row in rows])
    leaving = [
        Leaving(
            key=SiteKey(row.shard, row.site_id),
            epoch=row.epoch,
            in_hand=row.in_hand,
            paced_ms=tx.wait_from_ms + max(row.delay_ms, tx.delay_ms),  # plant: pg-recovery-without-delay
            own_delay_ms=row.delay_ms,
            failures=row.failures,
        )
        for row in rows
    ]
    return release_sites(tx, owner, leaving)


def release_sites(tx: PostgresTransaction, owner: int, leaving: Collection[Leaving]) -> int:
    """Free sites that this worker still owns; return how many. What they reserved from the page limit goes back."""
    if not leaving:
        return 0
    sites = {site.key: site for site in leaving}
    first = first_queued(tx, sites)
    resting = [key for key, site in sites.items() if (at := first[key]) is None or at > site.paced_ms]
    if resting:
        locked = _lock_to_rest(tx, owner, resting)
        first.update(dict.fromkeys(resting, 0))  # plant: pg-no-second-look
        first.update(first_queued(tx, locked))  # plant: pg-no-second-look-at-locked
    shards: defaultdict[int, list[Leaving]] = defaultdict(list)
    for key in sorted(sites):
        shards[key.shard].append(sites[key])
    answers = tx.each("release", [
        {
            "shard": shard,
            "owner": owner,
            "sites": [site.key.site_id for site in some],
            "epochs": [site.epoch for site in some],
            "delays": [site.own_delay_ms for site in some],
            "failures": [site.failures for site in some],
            "paced_at": [site.paced_ms for site in some],
            "has_work": [first[site.key] is not None for site in some],
            "ready_at": [max(site.paced_ms, first[site.key] or 0) for site in some],
            "pages": [site.pages for site in some],
            "site_limit": tx.site_limit,
        }
        for shard, some in shards.items()
    ])  # fmt: skip
    freed = [sites[SiteKey(shard, row.site_id)] for shard, rows in zip(shards, answers, strict=True) for row in rows]
    resting_now = sum(not row.has_work for rows in answers for row in rows)
    tx.counts[owner]["owned"] -= len(freed)
    tx.counts[owner]["in_hand"] -= sum(site.in_hand for site in freed)
    tx.mine["with_work"] -= resting_now
    return len(freed)


def _lock_to_rest(tx: PostgresTransaction, owner: int, keys: Iterable[SiteKey]) -> list[SiteKey]:
    """Lock those of these sites to which no transaction is adding links."""
    shards = by_shard(keys)
    values = [{"shard": shard, "sites": sites, "owner": owner} for shard, sites in shards.items()]
    answers = tx.each("lock_to_rest", values)
    return [SiteKey(shard, row.site_id) for shard, rows in zip(shards, answers, strict=True) for row in rows]


def first_queued(tx: PostgresTransaction, keys: Iterable[SiteKey]) -> dict[SiteKey, int | None]:
    """Return when each site's first URL is eligible (0: now), or None if nothing is queued."""
    shards = by_shard(keys)
    answers = tx.each("first_queued", [{"shard": shard, "sites": sites} for shard, sites in shards.items()])
    found = zip(shards, answers, strict=True)
    return {SiteKey(shard, row.site_id): row.not_before for shard, rows in found for row in rows}


def lock_idle(tx: PostgresTransaction, keys: Iterable[SiteKey]) -> list[SiteKey]:
    """Lock those of these sites that are free and marked as having work, so that they can be put to rest."""
    shards = by_shard(keys)
    answers = tx.each("lock_idle", [{"shard": shard, "sites": sites} for shard, sites in shards.items()])
    return [SiteKey(shard, row.site_id) for shard, rows in zip(shards, answers, strict=True) for row in rows]


def give_up_host(tx: PostgresTransaction, key: SiteKey, host: str, reason: str) -> int:
    """Give up what is queued of a host of a locked site, as far as it is near the head; return how many URLs.

    Claims meet the rest and give it up then.
    """
    rows = tx.run("give_up_host", **key._asdict(), host=host, reason=reason, at_most=MOVE_URLS)
    tx.given_up[reason] += len(rows)
    for row in rows:
        if row.seed:
            tx.count_seeds(reason, row.seed)
    return len(rows)


def rest_site(tx: PostgresTransaction, key: SiteKey, first_ms: int | None) -> None:
    """Let a locked free site wait until its first URL is eligible; if there is none, it has no work."""
    ready_at = max(tx.now_ms + 1, first_ms or 0)
    has_work = first_ms is not None
    tx.run("rest_site", shard=key.shard, site_id=key.site_id, has_work=has_work, ready_at=ready_at)
    tx.mine["with_work"] -= not has_work


def rest_emptied(tx: PostgresTransaction, keys: Collection[SiteKey]) -> None:
    """Put free sites to rest of which a late report has settled all."""
    empty = [key for key, first_ms in first_queued(tx, keys).items() if first_ms is None]
    for key, first_ms in first_queued(tx, lock_idle(tx, empty)).items():
        if first_ms is None:
            rest_site(tx, key, None)
