"""The steps of `complete`, inside a transaction: one statement per shard for each, in the order of shards."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from gossamer.frontier.postgres.barring import bar, count_pages
from gossamer.frontier.postgres.keys import SiteKey
from gossamer.frontier.postgres.releasing import Leaving, give_up_host, lock_visited, release_sites, rest_emptied
from gossamer.records import Barred, Done, GivenUp, Retry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.frontier.postgres.transaction import PostgresTransaction, Row
    from gossamer.records import Outcome, Visit


def record_visits(tx: PostgresTransaction, visits: Sequence[Visit]) -> tuple[tuple[str, int], ...]:
    """Enter what happened at some sites; return those that were no longer this worker's."""
    if not visits:
        return ()
    keyed = [(tx.site_key(visit.site), visit) for visit in visits]
    rows = lock_visited(tx, [key for key, _ in keyed])
    known = [(key, visit) for key, visit in keyed if key in rows]
    bar(tx, [
        (key, url_hash, outcome.reason)
        for key, visit in known for url_hash, outcome in visit.outcomes if isinstance(outcome, Barred)
    ])  # fmt: skip
    pages = _settle(tx, known)
    _keep_facts(tx, known)
    released: set[SiteKey] = set()
    leaving: list[Leaving] = []
    mine: list[tuple[SiteKey, Visit]] = []
    lost: list[tuple[str, int]] = []
    for key, visit in keyed:
        row = rows.get(key)
        # plant: pg-no-epoch-check
        if row is None or key in released or (row.owner, row.epoch) != (tx.worker, visit.epoch):
            lost.append((visit.site, visit.epoch))
            continue
        mine.append((key, visit))
        if visit.release:
            released.add(key)
            leaving.append(_leaving(tx, key, row, visit, pages.pop(key, 0)))
    _put_back(tx, mine)
    for key, visit in mine:
        for host in visit.hosts:
            if host.given_up:
                give_up_host(tx, key, host.host, host.given_up)
    count_pages(tx, pages)
    release_sites(tx, tx.worker, leaving)
    if idle := {key for key, _ in known if rows[key].owner is None and rows[key].has_work}:
        rest_emptied(tx, idle)
    return tuple(lost)


def _leaving(tx: PostgresTransaction, key: SiteKey, row: Row, visit: Visit, pages: int) -> Leaving:
    assert visit.release is not None
    return Leaving(
        key=key,
        epoch=visit.epoch,
        in_hand=row.in_hand,
        paced_ms=tx.after_ms(visit.release.wait_s),
        own_delay_ms=math.ceil(visit.release.own_delay_s * 1000),
        failures=visit.release.failures,
        pages=pages,
    )


def _settle(tx: PostgresTransaction, known: Sequence[tuple[SiteKey, Visit]]) -> Counter[SiteKey]:
    """Settle what was not settled before, and count it; return how many pages came of which sites."""
    pages: Counter[SiteKey] = Counter()
    shards: defaultdict[int, dict[tuple[int, bytes], Outcome]] = defaultdict(dict)
    for key, visit in known:
        for url_hash, outcome in visit.outcomes:
            if not isinstance(outcome, Retry | Barred):
                shards[key.shard].setdefault((key.site_id, url_hash), outcome)
    ordered = [(shard, dict(sorted(shards[shard].items()))) for shard in sorted(shards)]
    answers = tx.each("settle", [
        {
            "shard": shard,
            "sites": [site_id for site_id, _ in outcomes],
            "hashes": [url_hash for _, url_hash in outcomes],
            "outcomes": [outcome.reason.value if isinstance(outcome, GivenUp) else "" for outcome in outcomes.values()],
        }
        for shard, outcomes in ordered
    ])  # fmt: skip
    for (shard, outcomes), rows in zip(ordered, answers, strict=True):
        by_hash = {url_hash: (SiteKey(shard, site_id), outcome) for (site_id, url_hash), outcome in outcomes.items()}
        for row in rows:
            key, outcome = by_hash[row.url_hash]
            if isinstance(outcome, Done):
                tx.mine["done"] += 1
                pages[key] += outcome.page
                if row.seed and outcome.page:
                    tx.count_seeds("", row.seed)
            elif isinstance(outcome, GivenUp):
                tx.given_up[outcome.reason.value] += 1
                if row.seed:
                    tx.count_seeds(outcome.reason.value, row.seed)
    tx.mine["pages"] += pages.total()
    return +pages


def _keep_facts(tx: PostgresTransaction, known: Sequence[tuple[SiteKey, Visit]]) -> None:
    """Store robots rules and the delays that sites ask for: facts, also in a late report."""
    tx.each("keep_host", [
        {
            "shard": key.shard, "site_id": key.site_id, "name": host.host, "rules": host.rules,
            "expires_at": host.expires_at, "failures": host.failures, "failing_since": host.failing_since,
            "blocked_until": tx.after_ms(host.blocked_s) if host.blocked_s else 0,
            "silent": host.silent, "given_up": host.given_up,
        }
        for key, visit in sorted(known, key=lambda one: one[0]) for host in visit.hosts
    ])  # fmt: skip
    tx.each("keep_delay", [
        {"shard": key.shard, "site_id": key.site_id, "delay_ms": math.ceil(visit.own_delay_s * 1000)}
        for key, visit in known if visit.own_delay_s
    ])  # fmt: skip


def _put_back(tx: PostgresTransaction, mine: Sequence[tuple[SiteKey, Visit]]) -> None:
    shards: defaultdict[int, list[tuple[int, bytes, Retry]]] = defaultdict(list)
    for key, visit in mine:
        for url_hash, outcome in visit.outcomes:
            if isinstance(outcome, Retry):
                shards[key.shard].append((key.site_id, url_hash, outcome))
    tx.each("retry_later", [
        {
            "shard": shard,
            "sites": [site_id for site_id, _, _ in shards[shard]],
            "hashes": [url_hash for _, url_hash, _ in shards[shard]],
            "not_before": [tx.after_ms(retry.wait_s) for _, _, retry in shards[shard]],
            "counted": [int(retry.counted) for _, _, retry in shards[shard]],
        }
        for shard in sorted(shards)
    ])  # fmt: skip
