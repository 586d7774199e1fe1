"""Where a URL, a site and the crawl as a whole stand, each read as of one instant; writes nothing."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from gossamer.frontier.postgres.claiming import host_state
from gossamer.records import (
    CrawlState,
    OpenTransaction,
    QueuedUrl,
    Reason,
    SiteState,
    Stats,
    Upkeep,
    UrlState,
    UrlStatus,
)

if TYPE_CHECKING:
    from gossamer.frontier.postgres.database import PostgresDatabase, Row
    from gossamer.frontier.postgres.transaction import PostgresTransaction
    from gossamer.records import HostState

BUSY_TABLES = ("site", "queue", "seen", "host", "tally")  # whose rows come, go and change all the time


def find_url(database: PostgresDatabase, site: str, url_hash: bytes) -> UrlState | None:
    """Return where a URL stands, or None if it was never accepted."""
    with database.snapshot() as tx:
        key = {**tx.site_key(site)._asdict(), "url_hash": url_hash}
        rows = tx.run("find_seen", **key)
        barred = [] if rows else tx.run("find_barred", **key)
    if barred:
        return UrlState(status=UrlStatus.GIVEN_UP, depth=barred[0].depth, reason=Reason(barred[0].reason))
    if not rows:
        return None
    (row,) = rows
    if row.outcome is not None:
        reason = Reason(row.outcome) if row.outcome else None
        status = UrlStatus.GIVEN_UP if reason else UrlStatus.DONE
        return UrlState(status=status, depth=row.depth, reason=reason)
    return UrlState(
        status=UrlStatus.QUEUED,
        depth=row.depth,
        rank=row.rank,
        tries=row.tries,
        via=row.via,
        wait_s=tx.wait_s(row.not_before),
        queued_at=row.added_at or None,
    )


def find_site(database: PostgresDatabase, site: str) -> SiteState | None:
    """Return where a site stands, or None if it is not known."""
    with database.snapshot() as tx:
        rows = tx.run("find_site", **tx.site_key(site)._asdict())
    if not rows:
        return None
    return site_state(tx, rows[0])


def site_state(tx: PostgresTransaction, row: Row) -> SiteState:
    """Return where a site stands, from its row."""
    return SiteState(
        site=row.name,
        wait_s=None if row.excluded or not row.has_work else tx.wait_s(row.ready_at),
        owner=row.owner,
        epoch=row.epoch,
        own_delay_s=row.delay_ms / 1000,
        seeded=row.seeded,
        excluded=row.excluded,
        queued=row.queued,
        failures=row.failures,
        pages=row.pages,
        spent=row.spent,
    )


def find_hosts(database: PostgresDatabase, site: str) -> list[HostState]:
    """Return those hosts of a site whose robots.txt was asked for."""
    with database.snapshot() as tx:
        return [host_state(tx, row) for row in tx.run("site_hosts", **tx.site_key(site)._asdict())]


def look_ahead(database: PostgresDatabase, site: str, epoch: int, urls: int) -> list[QueuedUrl]:
    """Return the first eligible URLs in the queue of a site that this worker owns, unless a limit of pages is set."""
    with database.snapshot() as tx:
        if tx.page_limit is not None or tx.has_site_limit:
            return []
        owner = {"worker": tx.worker, "epoch": epoch}
        rows = tx.run("look_ahead", **tx.site_key(site)._asdict(), **owner, now_ms=tx.now_ms, urls=urls)
    return [QueuedUrl(*row) for row in rows]


def crawl_stats(database: PostgresDatabase) -> Stats:
    """Return the crawl's figures: sums of the workers' counters, and the heads of the ready list."""
    with database.snapshot() as tx:
        given_up = {Reason(row.reason): row.urls for row in tx.run("given_up") if row.urls}
        (row,) = tx.run("figures")
        (spent,) = tx.run("count_spent")
        (troubled,) = tx.run("count_troubled")
        (troubled_hosts,) = tx.run("count_troubled_hosts", now_ms=tx.now_ms)
        ready = [one.ready_at for one in tx.run("first_ready")]
    left = None if tx.page_limit is None else max(0, tx.page_limit - row.pages - row.in_hand)
    return Stats(
        sites=row.sites,
        sites_with_work=row.with_work,
        sites_in_hand=row.owned,
        known=row.known,
        queued=row.known - row.done - sum(given_up.values()),
        done=row.done,
        pages=row.pages,
        given_up=MappingProxyType(given_up),
        page_limit=tx.page_limit,
        pages_left=left,
        wait_s=tx.wait_s(min(ready)) if ready else None,
        sites_spent=spent.sites,
        sites_in_trouble=troubled.sites,
        hosts_in_trouble=troubled_hosts.hosts,
        state=CrawlState(tx.state),
    )


def upkeep(database: PostgresDatabase) -> Upkeep:
    """Return the oldest transaction of the database, and the dead rows of the tables that change most."""
    oldest = database.rows("oldest_transaction")
    dead = database.rows("dead_rows", names=list(BUSY_TABLES))
    return Upkeep(
        oldest=OpenTransaction(*oldest[0]) if oldest else None, dead_rows={row.name: row.rows for row in dead}
    )
