"""The steps of `add`, inside a transaction."""

from __future__ import annotations

import time
from itertools import compress
from typing import TYPE_CHECKING

from gossamer.frontier.postgres.keys import by_shard
from gossamer.records import Scope
from gossamer.urls import name_in_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gossamer.frontier.postgres.keys import SiteKey
    from gossamer.frontier.postgres.transaction import PostgresTransaction
    from gossamer.records import Link

    # Plain tuples, since there may be ten thousand of them.
    Place = tuple[int, int, int]  # a site's shard, number and arrival number
    Coming = tuple[int, int, bytes, int, Link]  # shard, site's number, URL's hash, arrival number

EXCLUSIONS_LOCK = 0x676F7301  # with the crawl's number: shared by transactions that create sites
_STAGE_TYPES = ("int4", "int2", "int8", "bytea", "int4")
_QUEUE_TYPES = ("int2", "int2", "int8", "int8", "int4", "int4", "int2", "int2", "bytea", "bytea", "text", "int4")


def within_scope(tx: PostgresTransaction, links: Sequence[Link]) -> list[Link]:
    """Return the links that the crawl's scope admits: seeds, and what lies on seeded sites or hosts.

    What is refused leaves no trace, so that a wider scope can bring it back.
    """
    if tx.scope is Scope.WEB or all(link.seeded for link in links):
        return list(links)
    places = {_place(tx, link) for link in links}
    seeded = {_place(tx, link) for link in links if link.seeded}
    unsure = sorted(places - seeded)
    columns = {"shards": [key.shard for key, _ in unsure], "sites": [key.site_id for key, _ in unsure]}
    if tx.scope is Scope.HOST:
        rows = tx.run("seeded_names", **columns, names=[name for _, name in unsure])
        found = {(row.site_id, row.name) for row in rows}
    else:
        found = {(row.site_id, "") for row in tx.run("seeded_sites", **columns)}
    seeded |= {(key, name) for key, name in unsure if (key.site_id, name) in found}
    return [link for link in links if _place(tx, link) in seeded]


def _place(tx: PostgresTransaction, link: Link) -> tuple[SiteKey, str]:
    return (tx.site_key(link.site), name_in_url(link.host) if tx.scope is Scope.HOST else "")


def add_links(tx: PostgresTransaction, links: Sequence[Link]) -> int:
    """Take in whatever of these is new, lower depths, wake sites; return how many were new."""
    if not links:
        return 0
    (begun,) = tx.run("begin_links", exclusions_lock=EXCLUSIONS_LOCK)
    batch = _Batch(tx, links, begun.arrival)
    batch.look_up()
    created = batch.create_sites()
    batch.mark_seeds(created)
    fresh = batch.add_new()
    tx.mine["known"] += len(fresh)
    # No other transaction sees a site that this one created, so none can put it to rest.
    _wake(tx, batch.by_shard({link.site for *_, link in fresh} - created))
    return len(fresh)


class _Batch:
    """Links on their way in: each URL once, as it first came, at the smallest depth it came with.

    A link's number is its place in the order of keys: all transactions take locks and walk the indexes in that order.
    """

    def __init__(self, tx: PostgresTransaction, links: Sequence[Link], arrival: int) -> None:
        self._tx = tx
        self._seeds = [link for link in links if link.seeded]
        self._seeded = {link.site for link in self._seeds}
        self._depths: dict[bytes, int] = {}
        self._sites: dict[str, Place] = {}  # by name
        self._coming: list[Coming] = []
        for seq, link in enumerate(links, start=arrival):
            url_hash = link.url_hash
            depth = self._depths.get(url_hash)
            if depth is None:
                site = self._sites.get(link.site)
                if site is None:
                    self._sites[link.site] = site = (*tx.site_key(link.site), seq)
                self._coming.append((site[0], site[1], url_hash, seq, link))
            if depth is None or link.depth < depth:
                self._depths[url_hash] = link.depth
        self._coming.sort()
        self._is_new = bytearray(len(self._coming))
        self._nearer: list[Coming] = []  # than we knew

    def look_up(self) -> None:
        """Send the keys, and see which are new."""
        keys = enumerate(self._coming)
        rows = [(n, shard, site_id, url_hash, self._depths[url_hash]) for n, (shard, site_id, url_hash, _, _) in keys]
        self._tx.copy("stage_links", _STAGE_TYPES, rows)
        for n, depth in self._tx.run("unseen"):
            if depth is None:
                self._is_new[n] = True
            else:
                self._nearer.append(self._coming[n])

    def create_sites(self) -> set[str]:
        """Create the sites that are new, due at once and with work, as their links follow; return their names.

        Where a link is known, its site is: only the others are looked for, each once.
        """
        tx = self._tx
        is_first = bytearray(len(self._coming))
        last = ""
        for n, (*_, link) in compress(enumerate(self._coming), self._is_new):
            is_first[n] = link.site != last
            last = link.site
        if not last:
            return set()
        missing = [self._coming[row.n][-1].site for row in tx.run("missing_sites", is_first=bytes(is_first))]
        if not missing:
            return set()
        shards, site_ids, arrivals = zip(*[self._sites[name] for name in missing], strict=True)
        tx.run("open_shards", shards=sorted(set(shards)))
        rows = tx.run(
            "add_sites",
            now_ms=tx.now_ms,
            shards=array_of_numbers(shards),
            sites=array_of_numbers(site_ids),
            names=array_of_texts(missing),
            arrivals=array_of_numbers(arrivals),
            seeded=array_of_numbers(name in self._seeded for name in missing),
        )
        added = {row.site_id for row in rows}
        tx.mine["sites"] += len(added)
        tx.mine["with_work"] += len(added)
        return set(compress(missing, map(added.__contains__, site_ids)))

    def mark_seeds(self, created: set[str]) -> None:
        """Mark the sites and hosts of seeds, known before or not."""
        if not self._seeds:
            return
        places = sorted({(*self._sites[link.site][:2], link.host) for link in self._seeds})
        shards, site_ids, hosts = zip(*places, strict=True)
        self._tx.run(
            "mark_seeded_hosts",
            shards=array_of_numbers(shards),
            sites=array_of_numbers(site_ids),
            hosts=array_of_texts(hosts),
        )
        older = self.by_shard(self._seeded - created)
        self._tx.each("mark_seeded", [{"shard": shard, "sites": sites} for shard, sites in older.items()])

    def by_shard(self, names: set[str]) -> dict[int, list[int]]:
        """Return the numbers of sites by shard, both ascending."""
        return by_shard(self._sites[name][:2] for name in names)

    def add_new(self) -> list[Coming]:
        """Accept what is new and lower depths; return the new links."""
        new = list(compress(self._coming, self._is_new))
        added = {row.url_hash for row in self._tx.run("add_seen", is_new=bytes(self._is_new))} if new else set()
        if len(added) < len(new):  # another transaction added some since `unseen`, perhaps at a greater depth
            self._nearer = [self._coming[row.n] for row in self._tx.run("unseen")]
        self._lower_depths()
        fresh = [one for one in new if one[2] in added]
        added_at = int(time.time())
        if fresh:
            self._tx.copy("add_queue", _QUEUE_TYPES, [
                (shard, self._tx.crawl, site_id, seq, link.rank, self._depths[url_hash], link.hops, link.kind,
                 url_hash, link.via, link.url, added_at)
                for shard, site_id, url_hash, seq, link in fresh
            ])  # fmt: skip
        return fresh

    def _lower_depths(self) -> None:
        values = [
            {"shard": shard, "site_id": site_id, "url_hash": url_hash, "depth": self._depths[url_hash]}
            for shard, site_id, url_hash, _, _ in sorted(self._nearer)
        ]
        self._tx.each("lower_seen", values)
        self._tx.each("lower_queue", values)


def _wake(tx: PostgresTransaction, shards: dict[int, list[int]]) -> None:
    """Make sites with new URLs claimable. The lock comes first, each in a statement of its own: see hold_awake."""
    answers = tx.each("hold_awake", [{"shard": shard, "sites": sites} for shard, sites in shards.items()])
    rows = [((shard, row.site_id), row) for shard, held in zip(shards, answers, strict=True) for row in held]
    idle = by_shard(key for key, row in rows if row.is_idle)
    woken = tx.each("wake_idle_sites", [{"shard": shard, "sites": sites} for shard, sites in idle.items()])
    tx.mine["with_work"] += sum(map(len, woken))
    deferred = by_shard(key for key, row in rows if row.is_deferred)
    tx.each("advance_deferred_sites", [{"shard": shard, "sites": sites} for shard, sites in deferred.items()])


# ---------------------------------------------------------------------- arrays
# Long arrays are sent as text: the driver looks at every element, which costs more than sending it.


def array_of_numbers(values: Iterable[int]) -> str:
    """Return an array of whole numbers, or of booleans, as text: the statement says of which type it is."""
    return f"{{{','.join(map(str, values))}}}"


def array_of_texts(values: Iterable[str]) -> str:
    """Return an array of texts, at least one, as text."""
    quoted = "\0".join(values)  # which no text of PostgreSQL's holds
    quoted = quoted.replace("\\", "\\\\").replace('"', '\\"').replace("\0", '","')
    return f'{{"{quoted}"}}'
