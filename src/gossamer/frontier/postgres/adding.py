"""The steps of `add`, inside a transaction."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from gossamer.frontier.postgres.arrays import array_of_numbers, array_of_texts
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
    tx.mine["known"] += len(fresh)
    # Nobody else can see a site of our own making, let alone put it to rest.
    _wake(tx, set(fresh) - created)
    return len(fresh)


class _Coming(NamedTuple):
    """A link on its way in. They sort by key, as the database sorts them."""

    key: SiteKey
    url_hash: bytes
    seq: int  # arrival number
    link: Link


class _Batch:
    """Links on their way in: each URL once, as it first came, at the smallest depth it came with.

    A link's number is its place in the order of keys: everybody takes locks and walks the indexes in that order.
    """

    def __init__(self, tx: Transaction, links: Sequence[Link], arrival: int) -> None:
        self._tx = tx
        self._seeds = [link for link in links if link.seeded]
        self._depths: dict[bytes, int] = {}
        coming: list[_Coming] = []
        for seq, link in enumerate(links, start=arrival):
            depth = self._depths.get(link.url_hash)
            if depth is None:
                coming.append(_Coming(tx.site_key(link.site), link.url_hash, seq, link))
            if depth is None or link.depth < depth:
                self._depths[link.url_hash] = link.depth
        self._coming = sorted(coming)

    def stage(self) -> None:
        """Send the keys."""
        rows: list[tuple[object, ...]] = []
        last: SiteKey | None = None
        for number, (key, url_hash, _, _) in enumerate(self._coming):
            rows.append((number, *key, url_hash, self._depths[url_hash], key != last))
            last = key
        self._tx.copy("stage_links", _STAGE_TYPES, rows)

    def create_sites(self) -> set[SiteKey]:
        """Create the sites that are new, due at once and with work, as their links follow; return them."""
        tx = self._tx
        missing = {(one := self._coming[row.n]).key: one.link.site for row in tx.run("missing_sites")}
        if not missing:
            return set()
        first: dict[SiteKey, int] = {}
        for one in self._coming:
            first[one.key] = min(one.seq, first.get(one.key, one.seq))
        seeded = {link.site for link in self._seeds}
        tx.run("open_shards", shards=sorted({key.shard for key in missing}))
        rows = tx.run(
            "add_sites",
            now_ms=tx.now_ms,
            shards=array_of_numbers(key.shard for key in missing),
            sites=array_of_numbers(key.site_id for key in missing),
            names=array_of_texts(missing.values()),
            arrivals=array_of_numbers(first[key] for key in missing),
            seeded=array_of_numbers(name in seeded for name in missing.values()),
        )
        added = {row.site_id for row in rows}
        tx.mine["sites"] += len(added)
        tx.mine["with_work"] += len(added)
        return {key for key in missing if key.site_id in added}

    def mark_seeds(self, created: Collection[SiteKey]) -> None:
        """Mark the sites and hosts of seeds, known before or not."""
        if not self._seeds:
            return
        places = sorted({(self._tx.site_key(link.site), link.host) for link in self._seeds})
        keys = [key for key, _ in places]
        self._tx.run(
            "mark_seeded_hosts",
            shards=array_of_numbers(key.shard for key in keys),
            sites=array_of_numbers(key.site_id for key in keys),
            hosts=array_of_texts(host for _, host in places),
        )
        older = by_shard(set(keys) - set(created))
        self._tx.each("mark_seeded", [{"shard": shard, "sites": sites} for shard, sites in older.items()])

    def add_new(self) -> list[SiteKey]:
        """Accept what is new and lower depths; return the site of every new link."""
        unseen = self._tx.run("unseen")
        is_new = bytearray(len(self._coming))
        for row in unseen:
            is_new[row.n] = row.depth is None
        added = {row.url_hash for row in self._tx.run("add_seen", is_new=bytes(is_new))} if any(is_new) else set()
        # What somebody else added since we looked may have come from farther away, too.
        rest = [one for row in unseen if (one := self._coming[row.n]).url_hash not in added]
        self._lower_depths(rest)
        fresh = [one for one in self._coming if one.url_hash in added]
        added_at = int(time.time())
        if fresh:
            self._tx.copy("add_queue", _QUEUE_TYPES, [
                (key.shard, self._tx.crawl, key.site_id, seq, link.rank, self._depths[url_hash], link.hops, link.kind,
                 url_hash, link.via, link.url, added_at)
                for key, url_hash, seq, link in fresh
            ])  # fmt: skip
        return [one.key for one in fresh]

    def _lower_depths(self, nearer: Sequence[_Coming]) -> None:
        values = [
            {**one.key._asdict(), "url_hash": one.url_hash, "depth": self._depths[one.url_hash]} for one in nearer
        ]
        self._tx.each("lower_seen", values)
        self._tx.each("lower_queue", values)


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
