"""The steps of `add`, inside a transaction."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gossamer.frontier.batches import odd_ports
from gossamer.frontier.sqlite.database import SQL
from gossamer.records import Scope
from gossamer.urls import name_in_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.frontier.sqlite.database import SqliteTransaction
    from gossamer.records import Link


def within_scope(tx: SqliteTransaction, links: Sequence[Link]) -> list[Link]:
    """Return the links that the crawl's scope admits: seeds, and what lies on seeded sites or hosts.

    What is refused leaves no trace, so that a wider scope can bring it back.
    """
    if tx.scope is Scope.WEB:
        return list(links)
    places = {_place(tx.scope, link) for link in links}
    seeded = {_place(tx.scope, link) for link in links if link.seeded}
    seeded |= {place for place in places - seeded if _is_seeded(tx, place)}
    return [link for link in links if _place(tx.scope, link) in seeded]


def _place(scope: Scope, link: Link) -> tuple[str, str]:
    return (link.site, name_in_url(link.host) if scope is Scope.HOST else "")


def _is_seeded(tx: SqliteTransaction, place: tuple[str, str]) -> bool:
    site, name = place
    statement = SQL["is_seeded_name"] if name else SQL["is_seeded_site"]
    return tx.execute(statement, {"site": site, "name": name}).fetchone() is not None


def add_seed_ports(tx: SqliteTransaction, links: Sequence[Link]) -> None:
    """Note the ports of seeds."""
    if new := odd_ports(links) - tx.seed_ports:
        tx.seed_ports |= new
        tx.execute(SQL["save_seed_ports"], {"ports": ",".join(map(str, sorted(tx.seed_ports)))})


def add_links(tx: SqliteTransaction, links: Sequence[Link]) -> int:
    """Take in whatever of these is new, lower depths, wake sites; return how many were new."""
    if not links:
        return 0
    seeded = {link.site for link in links if link.seeded}
    sites = {name: _site_id(tx, name, name in seeded) for name in dict.fromkeys(link.site for link in links)}
    tx.execute(SQL["clear_stage"])
    tx.executemany(SQL["stage_link"], [
        (seq, sites[link.site], link.url_hash, link.host, link.url, link.depth, link.rank, link.seeded,
         link.hops, link.via, link.kind)
        for seq, link in enumerate(links, start=tx.next_seq)
    ])  # fmt: skip
    tx.next_seq += len(links)
    if seeded:
        tx.execute(SQL["mark_seeded_hosts"])
    changed = tx.execute(SQL["add_seen"]).rowcount
    new = tx.execute(SQL["mark_fresh"]).rowcount
    if new:
        tx.execute(SQL["add_queue"], {"added_at": int(time.time())})
        tx.sites_with_work += tx.execute(SQL["wake_idle_sites"]).rowcount
        tx.execute(SQL["advance_deferred_sites"])
    if changed > new:  # plant: depth-not-lowered
        tx.execute(SQL["lower_depths"])
    tx.known += new
    return new


def _site_id(tx: SqliteTransaction, name: str, seeded: bool) -> int:
    """Return a site's number, creating the site if it is new: due at once, and with work, as its link follows."""
    site = tx.execute(SQL["site_number"], {"site": name}).fetchone()
    if site is None:
        created = tx.execute(SQL["add_site"], {"site": name, "now_ms": tx.now_ms, "seeded": seeded}).lastrowid
        assert created is not None
        tx.sites += 1
        tx.sites_with_work += 1
        return created
    if seeded and not site["seeded"]:
        tx.execute(SQL["mark_seeded"], {"site": name})
    site_id: int = site["site_id"]
    return site_id
