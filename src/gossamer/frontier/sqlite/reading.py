"""Where a URL, a site and the crawl as a whole stand, each read as of one instant; writes nothing."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from gossamer.frontier.sqlite.claiming import host_state, until_ready
from gossamer.frontier.sqlite.database import SQL
from gossamer.records import CrawlState, Reason, SiteState, Stats, UrlState, UrlStatus

if TYPE_CHECKING:
    import sqlite3

    from gossamer.frontier.sqlite.database import Readable, SqliteTransaction
    from gossamer.records import HostState


def find_url(database: Readable, site: str, url_hash: bytes) -> UrlState | None:
    """Return where a URL stands, or None if it was never accepted."""
    key = {"site": site, "url_hash": url_hash}
    with database.snapshot() as tx:
        row = tx.execute(SQL["find_seen"], key).fetchone()
        barred = None if row else tx.execute(SQL["find_barred"], key).fetchone()
    if barred:
        return UrlState(status=UrlStatus.GIVEN_UP, depth=barred["depth"], reason=Reason(barred["reason"]))
    if row is None:
        return None
    if row["outcome"] is not None:
        reason = Reason(row["outcome"]) if row["outcome"] else None
        status = UrlStatus.GIVEN_UP if reason else UrlStatus.DONE
        return UrlState(status=status, depth=row["depth"], reason=reason)
    return UrlState(
        status=UrlStatus.QUEUED,
        depth=row["depth"],
        rank=row["rank"],
        tries=row["tries"],
        via=row["via"],
        wait_s=tx.wait_s(row["not_before"]),
        queued_at=row["added_at"] or None,
    )


def find_site(database: Readable, site: str) -> SiteState | None:
    """Return where a site stands, or None if it is not known."""
    with database.snapshot() as tx:
        row = tx.execute(SQL["find_site"], {"site": site}).fetchone()
    return None if row is None else site_state(tx, row)


def site_state(tx: SqliteTransaction, row: sqlite3.Row) -> SiteState:
    """Return where a site stands, from its row."""
    return SiteState(
        site=row["name"],
        wait_s=None if row["excluded"] or not row["has_work"] else tx.wait_s(row["ready_at"]),
        owner=row["owner"],
        epoch=row["epoch"],
        own_delay_s=row["delay_ms"] / 1000,
        seeded=bool(row["seeded"]),
        excluded=bool(row["excluded"]),
        queued=row["queued"],
        failures=row["failures"],
        pages=row["pages"],
        spent=bool(row["spent"]),
    )


def find_hosts(database: Readable, site: str) -> list[HostState]:
    """Return those hosts of a site whose robots.txt was asked for."""
    with database.snapshot() as tx:
        return [host_state(tx, row) for row in tx.execute(SQL["site_hosts"], {"site": site})]


def crawl_stats(database: Readable) -> Stats:
    """Return the crawl's figures: its counters, and the head of the ready list."""
    with database.snapshot() as tx:
        given_up = {Reason(row["reason"]): row["urls"] for row in tx.execute(SQL["given_up"]) if row["urls"]}
        (in_hand,) = tx.execute(SQL["sites_in_hand"]).fetchone()
        (spent,) = tx.execute(SQL["count_spent"]).fetchone()
        (troubled,) = tx.execute(SQL["count_troubled"]).fetchone()
        (troubled_hosts,) = tx.execute(SQL["count_troubled_hosts"], {"now_ms": tx.now_ms}).fetchone()
        return Stats(
            sites=tx.sites,
            sites_with_work=tx.sites_with_work,
            sites_in_hand=in_hand,
            known=tx.known,
            queued=tx.known - tx.done - tx.given_up,
            done=tx.done,
            pages=tx.pages,
            given_up=MappingProxyType(given_up),
            page_limit=tx.page_limit,
            pages_left=tx.pages_left,
            wait_s=until_ready(tx),
            sites_spent=spent,
            sites_in_trouble=troubled,
            hosts_in_trouble=troubled_hosts,
            state=CrawlState(tx.state),
        )
