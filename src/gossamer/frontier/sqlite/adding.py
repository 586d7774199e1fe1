"""The steps of `add`, inside a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.frontier.sqlite.database import SQL
from gossamer.urls import hash_site

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.frontier.sqlite.database import Transaction
    from gossamer.records import Link


def add_links(tx: Transaction, links: Sequence[Link]) -> int:
    """Take in whatever of these is new, lower depths, wake sites; return how many were new."""
    if not links:
        return 0
    tx.execute(SQL["clear_stage"])
    site_ids = {site: hash_site(site) for site in {link.site for link in links}}
    tx.executemany(SQL["stage_link"], [
        (seq, site_ids[link.site], link.url_hash, link.site, link.url, link.depth, link.rank, link.seeded,
         link.hops, link.via, link.kind)
        for seq, link in enumerate(links, start=tx.next_seq)
    ])  # fmt: skip
    tx.next_seq += len(links)
    tx.sites += tx.execute(SQL["add_sites"], {"now_ms": tx.now_ms}).rowcount
    if any(link.seeded for link in links):
        tx.execute(SQL["mark_seeded"])
    changed = tx.execute(SQL["add_seen"]).rowcount
    new = tx.execute(SQL["mark_fresh"]).rowcount
    if new:
        tx.execute(SQL["add_queue"])
        tx.sites_with_work += tx.execute(SQL["wake_idle_sites"]).rowcount
        tx.execute(SQL["advance_deferred_sites"])
    if changed > new:
        tx.execute(SQL["lower_depths"])
    tx.known += new
    return new
