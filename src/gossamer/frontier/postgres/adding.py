"""The steps of `add`, inside a transaction."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gossamer.frontier.postgres.keys import SiteKey, by_shard
from gossamer.records import Scope

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gossamer.frontier.postgres.transaction import Transaction
    from gossamer.records import Link

EXCLUSIONS_LOCK = 0x676F7301  # with the crawl's number: shared by those who create sites
_STAGE_TYPES = ("int4", "int2", "int8", "bytea", "int4", "bool")
_QUEUE_TYPES = ("int2", "int2", "int8", "int8", "int4", "int4", "int2", "int2", "bytea", "bytea", "text", "int4")


def within_scope(tx: Transaction, links: Sequence[Link]) -> list[Link]:
    """Return the links that the crawl's scope admits: seeds, and what lies on seeded sites or hosts.

    What is refused leaves no trace, so that a wider scope can bring it back.
    """
    if tx.scope is Scope.WEB or not links:
        return list(links)
    places = {_place(tx, link) for link in links}
    seeded = {_place(tx, link) for link in links if link.seeded}
    unsure = sorted(places - seeded)
    columns = {"shards": [key.shard for key, _ in unsure], "sites": [key.site_id for key, _ in unsure]}
    if tx.scope is Scope.HOST:
        rows = tx.run("seeded_hosts", **columns, hosts=[host for _, host in unsure])
        found = {(row.site_id, row.name) for row in rows}
    else:
        found = {(row.site_id, "") for row in tx.run("seeded_sites", **columns)}
    seeded |= {(key, host) for key, host in unsure if (key.site_id, host) in found}
    return [link for link in links if _place(tx, link) in seeded]


def _place(tx: Transaction, link: Link) -> tuple[SiteKey, str]:
    return (tx.site_key(link.site), link.host if tx.scope is Scope.HOST else "")


def add_links(tx: Transaction, links: Sequence[Link]) -> int:
    """Take in whatever of these is new, lower depths, wake sites; return how many were new."""
    if not links:
        return 0
    (begun,) = tx.run("begin_links", exclusions_lock=EXCLUSIONS_LOCK)
    batch = _Batch(tx, links, begun.arrival)
    batch.stage()
    created = batch.create_sites()
    batch.mark_seeds(created)
    fresh = batch.add_new()
    if fresh:
        tx.mine["known"] += len(fresh)
        # Nobody else can see a site of our own making, let alone put it to rest.
        _wake(tx, {tx.site_key(link.site) for _, link, _ in fresh} - created)
    return len(fresh)


class _Batch:
    """Links on their way in: each URL once, as it first came, at the smallest depth it came with."""

    def __init__(self, tx: Transaction, links: Sequence[Link], arrival: int) -> None:
        self._tx = tx
        self._arrival = arrival
        self._links: list[Link] = []
        self._depths: list[int] = []
        self._numbers: dict[bytes, int] = {}
        self._seeds = [link for link in links if link.seeded]
        for link in links:
            number = self._numbers.setdefault(link.url_hash, len(self._links))
            if number == len(self._links):
                self._links.append(link)
                self._depths.append(link.depth)
            elif link.depth < self._depths[number]:
                self._depths[number] = link.depth
        self._keys = [tx.site_key(link.site) for link in self._links]

    def stage(self) -> None:
        """Send the keys."""
        sites: set[SiteKey] = set()
        rows: list[tuple[object, ...]] = []
        for number, (key, link, depth) in enumerate(zip(self._keys, self._links, self._depths, strict=True)):
            rows.append((number, key.shard, key.site_id, link.url_hash, depth, key not in sites))
            sites.add(key)
        self._tx.copy("stage_links", _STAGE_TYPES, rows)

    def create_sites(self) -> set[SiteKey]:
        """Create the sites that are new, due at once and with work, as their links follow; return them."""
        tx = self._tx
        missing = [row.n for row in tx.run("missing_sites")]
        if not missing:
            return set()
        seeded = {link.site for link in self._seeds}
        keys = [self._keys[number] for number in missing]
        tx.run("open_shards", shards=sorted({key.shard for key in keys}))
        rows = tx.run(
            "add_sites",
            now_ms=tx.now_ms,
            shards=[key.shard for key in keys],
            sites=[key.site_id for key in keys],
            names=[self._links[number].site for number in missing],
            arrivals=[self._arrival + number for number in missing],
            seeded=[self._links[number].site in seeded for number in missing],
        )
        added = {row.site_id for row in rows}
        tx.mine["sites"] += len(added)
        tx.mine["with_work"] += len(added)
        return {key for key in keys if key.site_id in added}

    def mark_seeds(self, created: Collection[SiteKey]) -> None:
        """Mark the sites and hosts of seeds, known before or not."""
        if not self._seeds:
            return
        places = sorted({(self._tx.site_key(link.site), link.host) for link in self._seeds})
        keys = [key for key, _ in places]
        self._tx.run(
            "mark_seeded_hosts",
            shards=[key.shard for key in keys],
            sites=[key.site_id for key in keys],
            hosts=[host for _, host in places],
        )
        older = by_shard(set(keys) - set(created))
        self._tx.each("mark_seeded", [{"shard": shard, "sites": sites} for shard, sites in older.items()])

    def add_new(self) -> list[tuple[int, Link, int]]:
        """Accept what is new and lower depths; return number, link and depth of the new ones."""
        tx = self._tx
        unseen = tx.run("unseen")
        new = [row.n for row in unseen if row.depth is None]
        added = {self._numbers[row.url_hash] for row in tx.run("add_seen", new=new)} if new else set()
        fresh = [(number, self._links[number], self._depths[number]) for number in sorted(added)]
        added_at = int(time.time())
        if fresh:
            tx.copy("add_queue", _QUEUE_TYPES, [
                (self._keys[number].shard, tx.crawl, self._keys[number].site_id, self._arrival + number, link.rank,
                 depth, link.hops, link.kind, link.url_hash, link.via, link.url, added_at)
                for number, link, depth in fresh
            ])  # fmt: skip
        # What somebody else added since we looked may have come from farther away, too.
        nearer = sorted(
            (self._keys[row.n], self._links[row.n].url_hash, self._depths[row.n])
            for row in unseen
            if row.n not in added
        )
        values = [{**key._asdict(), "url_hash": url_hash, "depth": depth} for key, url_hash, depth in nearer]
        tx.each("lower_seen", values)
        tx.each("lower_queue", values)
        return fresh


def _wake(tx: Transaction, keys: set[SiteKey]) -> None:
    """Make sites with new URLs claimable. The lock comes first, each in a statement of its own: see hold_awake."""
    shards = by_shard(keys)
    answers = tx.each("hold_awake", [{"shard": shard, "sites": sites} for shard, sites in shards.items()])
    rows = [(SiteKey(shard, row.site_id), row) for shard, held in zip(shards, answers, strict=True) for row in held]
    idle = by_shard(key for key, row in rows if row.is_idle)
    woken = tx.each("wake_idle_sites", [{"shard": shard, "sites": sites} for shard, sites in idle.items()])
    tx.mine["with_work"] += sum(map(len, woken))
    deferred = by_shard(key for key, row in rows if row.is_deferred)
    tx.each("advance_deferred_sites", [{"shard": shard, "sites": sites} for shard, sites in deferred.items()])
