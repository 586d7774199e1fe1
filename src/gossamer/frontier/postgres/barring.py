"""What the operator's rules keep from being asked for, and sites that have given all their pages."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import islice
from typing import TYPE_CHECKING

from gossamer.frontier.postgres.auditing import walk
from gossamer.frontier.postgres.keys import SiteKey, by_shard
from gossamer.records import Link, Reason
from gossamer.urls import host_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gossamer.frontier.postgres.database import PostgresDatabase
    from gossamer.frontier.postgres.transaction import PostgresTransaction, Row

Keyed = tuple[SiteKey, bytes, Reason]


def bar(tx: PostgresTransaction, urls: Iterable[Keyed]) -> None:
    """Move queued URLs to where other rules can bring them back from; what is not queued is left as it is."""
    for rows in tx.each("bar", _columns(urls)):
        for row in rows:
            if row.is_new:
                tx.given_up[row.reason] += 1
            else:
                tx.mine["known"] -= 1  # it had been barred before, and came again


def unbar(tx: PostgresTransaction, barred: Iterable[tuple[Link, Reason]]) -> None:
    """Take URLs out of what is barred."""
    urls = [(tx.site_key(link.site), link.url_hash, reason) for link, reason in barred]
    for rows in tx.each("unbar", _columns(urls)):
        for row in rows:
            tx.given_up[row.reason] -= 1
            tx.mine["known"] -= 1


def forget_done(tx: PostgresTransaction, done: Iterable[Link], *, pages: int) -> list[Link]:
    """Take URLs that are done out of what is accepted, so that they can be added again; return those."""
    links = {(tx.site_key(link.site), link.url_hash): link for link in done}
    shards: defaultdict[int, list[tuple[int, bytes]]] = defaultdict(list)
    for key, url_hash in sorted(links):
        shards[key.shard].append((key.site_id, url_hash))
    answers = tx.each("forget_done", [
        {"shard": shard, "sites": [site for site, _ in some], "hashes": [url_hash for _, url_hash in some]}
        for shard, some in shards.items()
    ])  # fmt: skip
    gone = {(row.site_id, bytes(row.url_hash)) for rows in answers for row in rows}
    found = {key: link for key, link in links.items() if (key[0].site_id, key[1]) in gone}
    counted = Counter(key for key, _ in islice(found, pages))
    count_pages(tx, {key: -number for key, number in counted.items()})
    tx.mine["pages"] -= counted.total()
    tx.mine["known"] -= len(found)
    tx.mine["done"] -= len(found)
    return list(found.values())


def _columns(urls: Iterable[Keyed]) -> list[dict[str, object]]:
    """Return values for a statement per shard, sorted, so that no two transactions deadlock."""
    shards: defaultdict[int, dict[tuple[int, bytes], Reason]] = defaultdict(dict)
    for key, url_hash, reason in sorted(urls):
        shards[key.shard].setdefault((key.site_id, url_hash), reason)
    return [
        {
            "shard": shard,
            "sites": [site_id for site_id, _ in reasons],
            "hashes": [url_hash for _, url_hash in reasons],
            "reasons": [reason.value for reason in reasons.values()],
        }
        for shard, reasons in shards.items()
    ]


def walk_all_queued(database: PostgresDatabase) -> Iterator[Link]:
    """Yield everything that is queued."""
    return map(_link, walk(database, "walk_all_queued"))


def walk_barred(database: PostgresDatabase) -> Iterator[tuple[Link, Reason]]:
    """Yield everything that is barred, and why."""
    return ((_link(row), Reason(row.reason)) for row in walk(database, "walk_barred"))


def _link(row: Row) -> Link:
    return Link(
        row.url, row.url_hash, row.name, host_of(row.url), row.depth, row.rank, hops=row.hops, via=row.via,
        kind=row.kind,
    )  # fmt: skip


def count_pages(tx: PostgresTransaction, pages: Mapping[SiteKey, int]) -> None:
    """Count pages of sites that are not given back with them."""
    shards: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for key, number in sorted(pages.items()):
        shards[key.shard].append((key.site_id, number))
    tx.each("count_pages", [
        {"shard": shard, "sites": [site for site, _ in some], "pages": [number for _, number in some]}
        for shard, some in shards.items()
    ])  # fmt: skip


def spend_sites(tx: PostgresTransaction, keys: Sequence[SiteKey]) -> None:
    """Let those of these free sites rest that have given all pages that the limit allows."""
    if tx.has_site_limit:
        answers = tx.each("spend_sites", [
            {"shard": shard, "sites": sites, "site_limit": tx.site_limit} for shard, sites in by_shard(keys).items()
        ])  # fmt: skip
        tx.mine["with_work"] -= sum(map(len, answers))


def wake_spent(tx: PostgresTransaction, at_most: int) -> int:
    """Wake sites that rest although the limit leaves them pages; return how many."""
    woken = len(tx.run("wake_spent", site_limit=tx.site_limit, at_most=at_most))
    tx.has_written = bool(woken)
    tx.mine["with_work"] += woken
    return woken
