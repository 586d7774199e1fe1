"""The steps of `add`, inside a transaction."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, NamedTuple

from gossamer.frontier.batches import odd_ports
from gossamer.frontier.sqlite.database import SQL
from gossamer.records import Scope
from gossamer.urls import name_in_url

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gossamer.frontier.sqlite.database import SqliteTransaction
    from gossamer.records import Link


def within_scope(tx: SqliteTransaction, links: Sequence[Link]) -> list[Link]:
    """Return the links that the crawl's scope admits: seeds, and what lies on seeded sites or hosts.

    What is refused leaves no trace, so that a wider scope can bring it back.
    """
    if tx.scope is Scope.WEB:
        return list(links)
    if tx.scope is Scope.HOST:
        return _within_hosts(tx, links)
    seeded = {link.site for link in links if link.seeded}
    unsure = json.dumps([*{link.site for link in links} - seeded])
    seeded.update(row["name"] for row in tx.execute(SQL["seeded_sites"], {"names": unsure}))
    return [link for link in links if link.site in seeded]


def _within_hosts(tx: SqliteTransaction, links: Sequence[Link]) -> list[Link]:
    places = [(link.site, name_in_url(link.host)) for link in links]
    seeded = {place for place, link in zip(places, links, strict=True) if link.seeded}
    seeded |= {place for place in {*places} - seeded if _is_seeded_name(tx, *place)}
    return [link for place, link in zip(places, links, strict=True) if place in seeded]


def _is_seeded_name(tx: SqliteTransaction, site: str, name: str) -> bool:
    return tx.execute(SQL["is_seeded_name"], {"site": site, "name": name}).fetchone() is not None


def add_seed_ports(tx: SqliteTransaction, links: Sequence[Link]) -> None:
    """Note the ports of seeds."""
    if new := odd_ports(links) - tx.seed_ports:
        tx.seed_ports |= new
        tx.execute(SQL["save_seed_ports"], {"ports": ",".join(map(str, sorted(tx.seed_ports)))})


def add_links(tx: SqliteTransaction, links: Sequence[Link]) -> int:
    """Take in whatever of these is new, lower depths, wake sites; return how many were new."""
    if not links:
        return 0
    first_seq = tx.next_seq
    tx.next_seq += len(links)
    coming = _each_once(links)
    sites = _sites(tx, links)
    seqs: list[int] = []
    nearer: list[tuple[int, int]] = []
    for seq, depth in _accept(tx, coming, sites, first_seq):
        if seq >= first_seq:
            seqs.append(seq)
        else:  # known, and queued: the number is that of its arrival
            nearer.append((depth, seq))
    if nearer:  # plant: depth-not-lowered
        tx.executemany(SQL["lower_depth"], nearer)
    seqs.sort()
    new = [coming[seq - first_seq] for seq in seqs]
    added_at = int(time.time())
    tx.executemany(SQL["add_queue"], [
        (seq, sites[link.site].site_id, link.rank, link.depth, link.hops, link.kind, link.url_hash, link.via, link.url,
         added_at)
        for seq, link in zip(seqs, new, strict=True)
    ])  # fmt: skip
    _wake(tx, [sites[name] for name in {link.site for link in new}])
    tx.known += len(new)
    return len(new)


def _each_once(links: Sequence[Link]) -> list[Link]:
    """Return each URL once, as it first came, at the smallest depth that it came with."""
    coming: dict[bytes, Link] = {}
    for link in links:
        first = coming.setdefault(link.url_hash, link)
        if link.depth < first.depth:
            coming[link.url_hash] = first._replace(depth=link.depth)
    return list(coming.values())


def _accept(
    tx: SqliteTransaction, coming: Sequence[Link], sites: Mapping[str, _Site], first_seq: int
) -> list[tuple[int, int]]:
    """Accept URLs; return arrival number and depth of those that are new, or known and now nearer to a seed."""
    tx.execute(SQL["clear_stage"])
    tx.executemany(SQL["stage_link"], [
        (sites[link.site].site_id, link.url_hash, seq, link.depth) for seq, link in enumerate(coming, first_seq)
    ])  # fmt: skip
    return tx.execute(SQL["add_seen"]).fetchall()


class _Site(NamedTuple):
    """A site that gets links, as they found it."""

    site_id: int
    is_seeded: int = 0
    is_idle: int = 0  # at rest, although it has not reached its page limit
    is_deferred: int = 0  # only waits for deferred URLs


def _sites(tx: SqliteTransaction, links: Sequence[Link]) -> dict[str, _Site]:
    """Return the sites of links by name. New ones are created, due at once and with work, as their links follow."""
    names = dict.fromkeys(link.site for link in links)
    rows = tx.execute(SQL["find_sites"], {"names": json.dumps([*names])})
    sites = {name: _Site(*state) for name, *state in rows}
    seeds = [link for link in links if link.seeded]
    seeded = {link.site for link in seeds}
    for name in names:
        if name not in sites:
            values = {"site": name, "now_ms": tx.now_ms, "seeded": name in seeded}
            created = tx.execute(SQL["add_site"], values).lastrowid
            assert created is not None
            sites[name] = _Site(created, is_seeded=True)
            tx.sites += 1
            tx.sites_with_work += 1
        elif name in seeded and not sites[name].is_seeded:
            tx.execute(SQL["mark_seeded"], {"site": name})
    hosts = dict.fromkeys((sites[link.site].site_id, link.host) for link in seeds)
    tx.executemany(SQL["mark_seeded_host"], hosts)
    return sites


def _wake(tx: SqliteTransaction, sites: Sequence[_Site]) -> None:
    """Make sites with new URLs claimable. They were read in this transaction: those that are awake need no write."""
    tx.executemany(SQL["wake_site"], [(site.site_id,) for site in sites if site.is_idle or site.is_deferred])
    tx.sites_with_work += sum(site.is_idle for site in sites)
