"""The steps of `claim`, inside a transaction."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gossamer.frontier import fair_pages
from gossamer.frontier.postgres.barring import spend_sites
from gossamer.frontier.postgres.keys import SiteKey, worker_shard
from gossamer.frontier.postgres.releasing import MOVE_URLS, first_queued, give_up_host, lock_idle, rest_site
from gossamer.records import Claim, HostState, QueuedUrl, Reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gossamer.frontier.postgres.transaction import PostgresTransaction, Row

FEW_SHARDS = 16  # with something due: all are looked at, so that the most overdue sites come first exactly
FIRST_SHARDS = 4  # of many that are looked at; then four times as many until there are enough sites
MOVE_ROUNDS = 8  # per site and claim
MOST_MOVED = 16_000  # per transaction, and what one more site brings: half a second's work
MOST_URLS = 50  # of a site that one claim may bring
MORE_HOSTS = 8  # of a site, that come with a claim beside those of its URLs
RECHECK_S = 1.0  # when a claim depends on what others give back
NO_LIMIT = 1 << 62


@dataclass(slots=True, kw_only=True)
class Taken:
    """What a claim has brought so far."""

    claims: list[Claim] = field(default_factory=list)
    untidy: list[SiteKey] = field(default_factory=list)  # due, but their queues have to be put in order first
    wait_s: float | None = 0.0  # until a claim is of use again, if this one brought nothing
    gone: bool = False


def claim_due(tx: PostgresTransaction, sites: int) -> Taken:
    """Own at most `sites` due sites, within this worker's fair share and the page limit."""
    tx.has_written = False
    if tx.page_limit is not None:
        tx.run("lock_crawl")
    (standing,) = tx.run("standing", shard=worker_shard(tx.worker), worker=tx.worker)
    if standing.gone is not False:
        return Taken(gone=True)
    taken = Taken()
    left = NO_LIMIT if tx.page_limit is None else max(0, tx.page_limit - standing.pages - standing.in_hand)
    if left == 0:
        taken.wait_s = RECHECK_S if standing.in_hand else None
        return taken
    heads = tx.run("first_ready")
    # A greedy worker would starve its peers.
    wanted = min(sites, math.ceil(standing.with_work / standing.live) - standing.mine)
    due = [row.shard for row in heads if row.ready_at <= tx.now_ms]
    if wanted > 0 and due:
        most_urls = NO_LIMIT if left == NO_LIMIT else fair_pages(left, standing.with_work)
        _take(tx, taken, due, wanted, left, most_urls)
    if not taken.claims:
        wait_s = min((tx.wait_s(row.ready_at) for row in heads), default=None)
        taken.wait_s = RECHECK_S if wait_s == 0 else wait_s  # 0: due, but beyond this worker's share, or untidy
    return taken


def _take(tx: PostgresTransaction, taken: Taken, due: list[int], wanted: int, left: int, most_urls: int) -> None:
    """Take from more and more shards until there are enough; which come first is chance, or all would meet in one."""
    random.shuffle(due)
    batch = len(due) if len(due) <= FEW_SHARDS else FIRST_SHARDS
    while due and wanted > 0 and left > 0:
        some, due = due[:batch], due[batch:]
        batch *= 4
        share = _most_overdue(tx, some, wanted)
        # What the page limit leaves is known only after each shard; without one they travel together.
        for part in [list(share)] if left == NO_LIMIT else [[shard] for shard in share]:
            found = _claim_shards(tx, taken, {shard: share[shard] for shard in part}, left, most_urls)
            wanted -= len(found)
            if left < NO_LIMIT:
                left -= sum(len(claim.urls) for claim in found)


def _most_overdue(tx: PostgresTransaction, shards: Sequence[int], sites: int) -> Counter[int]:
    """Return how many of the most overdue sites lie in which of these shards, the shard of the first one first."""
    rows = tx.run("due_sites", shards=shards, now_ms=tx.now_ms, sites=sites)
    rows.sort(key=lambda row: (row.ready_at, row.arrival))
    return Counter(row.shard for row in rows[:sites])


def _claim_shards(
    tx: PostgresTransaction, taken: Taken, share: Mapping[int, int], left: int, most_urls: int
) -> list[Claim]:
    answers = tx.each("claim", [
        {
            "shard": shard, "sites": sites, "worker": tx.worker, "now_ms": tx.now_ms, "delay_ms": tx.delay_ms,
            "left": left, "most_urls": most_urls, "more_hosts": MORE_HOSTS, "site_limit": tx.site_limit,
        }
        for shard, sites in share.items()
    ])  # fmt: skip
    owned: list[Row] = []
    for shard, rows in zip(share, answers, strict=True):
        owned += [row for row in rows if row.name is not None]
        taken.untidy += [SiteKey(shard, row.site_id) for row in rows if row.name is None]
    owned.sort(key=lambda row: (row.ready_at, row.arrival))
    found = [_claim(tx, row) for row in owned]
    if found:
        tx.has_written = True
        tx.mine["owned"] += len(found)
        tx.mine["in_hand"] += sum(len(claim.urls) for claim in found)
        taken.claims += found
    return found


def _claim(tx: PostgresTransaction, row: Row) -> Claim:
    columns = (
        row.ranks,
        row.depths,
        row.seqs,
        row.urls,
        row.hashes,
        row.hosts,
        row.hops,
        row.tries,
        row.kinds,
        row.vias,
    )
    urls = [
        QueuedUrl(url, url_hash, host, depth, rank, hops, tries, kind, via)
        for rank, depth, _, url, url_hash, host, hops, tries, kind, via in sorted(zip(*columns, strict=True))
    ]
    return Claim(
        site=row.name,
        epoch=row.epoch,
        delay_s=max(row.delay_ms, tx.delay_ms) / 1000,
        own_delay_s=row.delay_ms / 1000,
        failures=row.failures,
        pages=row.pages,
        urls=tuple(urls[: row.in_hand]),
        hosts={host[0]: host_state(tx, host) for host in row.rules or ()},
    )


def host_state(tx: PostgresTransaction, row: Sequence[Any]) -> HostState:
    """Return what a row says about a host."""
    name, rules, expires_at, failures, failing_since, blocked_until, silent, given_up = row
    return HostState(
        host=name,
        rules=rules,
        expires_at=expires_at,
        failures=failures,
        failing_since=failing_since,
        blocked_s=tx.wait_s(blocked_until),
        silent=silent,
        given_up=None if given_up is None else Reason(given_up),
    )


def tidy(tx: PostgresTransaction, keys: Sequence[SiteKey]) -> None:
    """Put the queues of due sites in order: return woken URLs to it, take blocked ones out, let empty sites rest.

    A transaction must stay short, or heartbeats and transactions that add links would wait. The next claim finds what
    this one does not reach.
    """
    spend_sites(tx, keys)
    moved = 0
    for key in lock_idle(tx, keys):
        has_eligible, urls = _order_queue(tx, key)
        if not has_eligible:
            rest_site(tx, key, first_queued(tx, [key])[key])
        moved += urls
        if moved >= MOST_MOVED:
            return


def _order_queue(tx: PostgresTransaction, key: SiteKey) -> tuple[bool, int]:
    """Return whether a site has URLs that may be asked for, and how many were moved to find out."""
    site = key._asdict()
    moved = 0
    for _ in range(MOVE_ROUNDS):
        woken = len(tx.run("wake_deferred", **site, now_ms=tx.now_ms, at_most=MOVE_URLS))
        moved += woken
        if woken < MOVE_URLS:
            break
    for _ in range(MOVE_ROUNDS):
        rows = tx.run("next_hosts", **site, urls=MOST_URLS)
        blocked = {row.host: row for row in rows if (row.blocked_until or 0) > tx.now_ms}
        if not blocked:
            return bool(rows), moved
        for host, row in blocked.items():
            if row.given_up:  # plant: pg-given-up-host-waits
                moved += give_up_host(tx, key, host, row.given_up)
            else:
                until_ms = row.blocked_until
                moved += len(tx.run("defer_blocked", **site, host=host, blocked_until=until_ms, at_most=MOVE_URLS))
        if moved >= MOST_MOVED:
            break
    return False, moved
