"""What the operator's rules keep from being asked for, and sites that have given all their pages; in a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.frontier.sqlite.database import SQL
from gossamer.records import Link, Reason
from gossamer.urls import host_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from gossamer.frontier.sqlite.database import Readable, SqliteTransaction

STEP_ROWS = 2_000  # read at a time


def bar(tx: SqliteTransaction, site_id: int, url_hash: bytes, reason: Reason) -> None:
    """Move a queued URL to where other rules can bring it back from; one that is not queued is left as it is."""
    key = {"site_id": site_id, "url_hash": url_hash}
    is_new = tx.execute(SQL["bar_url"], {**key, "reason": reason}).rowcount
    if tx.execute(SQL["settle_queue"], key).fetchone() is None:
        return
    tx.execute(SQL["forget_seen"], key)
    if is_new:
        count_given_up(tx, reason, 1)
    else:
        tx.known -= 1  # it had been barred before, and came again


def unbar(tx: SqliteTransaction, barred: Sequence[tuple[Link, Reason]]) -> None:
    """Take URLs out of what is barred."""
    for link, reason in barred:
        key = {"site": link.site, "url_hash": link.url_hash, "reason": reason}
        if tx.execute(SQL["unbar_url"], key).rowcount:
            tx.known -= 1
            count_given_up(tx, reason, -1)


def forget_done(tx: SqliteTransaction, done: Sequence[Link], *, pages: int) -> list[Link]:
    """Take URLs that are done out of what is accepted, so that they can be added again; return those."""
    found = []
    for link in done:
        row = tx.execute(SQL["forget_done"], {"site": link.site, "url_hash": link.url_hash}).fetchone()
        if row is None:
            continue
        found.append(link)
        tx.known -= 1
        tx.done -= 1
        if len(found) <= pages:
            tx.pages -= 1
            tx.execute(SQL["count_pages"], {"site_id": row["site_id"], "pages": -1})
    return found


def count_given_up(tx: SqliteTransaction, reason: str, urls: int) -> None:
    """Count URLs that were given up for a reason; fewer, if `urls` is negative."""
    tx.given_up += urls
    tx.execute(SQL["count_given_up"], {"reason": reason, "urls": urls})


def walk_all_queued(database: Readable) -> Iterator[Link]:
    """Yield everything that is queued."""
    after = -1
    while True:
        rows = database.rows("walk_all_queued", after=after, rows=STEP_ROWS)
        yield from map(_link, rows)
        if len(rows) < STEP_ROWS:
            return
        after = rows[-1]["seq"]


def walk_barred(database: Readable) -> Iterator[tuple[Link, Reason]]:
    """Yield everything that is barred, and why."""
    after = {"site_id": -1, "url_hash": b""}
    while True:
        rows = database.rows("walk_barred", **after, rows=STEP_ROWS)
        yield from ((_link(row), Reason(row["reason"])) for row in rows)
        if len(rows) < STEP_ROWS:
            return
        after = {name: rows[-1][name] for name in after}


def _link(row: sqlite3.Row) -> Link:
    return Link(
        row["url"], row["url_hash"], row["name"], host_of(row["url"]), row["depth"], row["rank"], hops=row["hops"],
        via=row["via"], kind=row["kind"],
    )  # fmt: skip


def is_spent(tx: SqliteTransaction, pages: int) -> bool:
    """Return whether a site with this many pages has reached the limit of pages per site."""
    return tx.site_limit is not None and pages >= tx.site_limit


def spend_site(tx: SqliteTransaction, site_id: int) -> None:
    """Let a free site with work rest, whatever is queued of it, until a larger limit wakes it."""
    tx.execute(SQL["spend_site"], {"site_id": site_id})
    tx.sites_with_work -= 1


def wake_spent(tx: SqliteTransaction, at_most: int) -> int:
    """Wake sites that rest although the limit leaves them pages; return how many. Claims see what is queued of them."""
    woken = tx.execute(SQL["wake_spent"], {"site_limit": tx.site_limit, "at_most": at_most}).rowcount
    tx.sites_with_work += woken
    return woken
