"""Lists the queue and the sites for the operator, in steps so short that a crawl goes on meanwhile; writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.frontier.sqlite.auditing import STEP_ROWS
from gossamer.frontier.sqlite.database import SQL
from gossamer.frontier.sqlite.reading import site_state
from gossamer.records import QueueEntry

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from gossamer.frontier.sqlite.database import Readable, SqliteTransaction
    from gossamer.records import SiteState

COUNTED_SITES = 500  # whose queues are counted in one step


def list_queue(database: Readable) -> Iterator[QueueEntry]:
    """Yield every queued URL, in the order of arrival."""
    after = -1
    while True:
        with database.snapshot() as tx:
            rows = tx.execute(SQL["walk_all_queued"], {"after": after, "rows": STEP_ROWS}).fetchall()
        yield from (_entry(tx, row) for row in rows)
        if len(rows) < STEP_ROWS:
            return
        after = rows[-1]["seq"]


def list_site_queue(database: Readable, site: str) -> Iterator[QueueEntry]:
    """Yield every queued URL of a site, in the order in which they are claimed."""
    after = {"not_before": -1, "rank": 0, "depth": 0, "seq": 0}
    while True:
        with database.snapshot() as tx:
            rows = tx.execute(SQL["walk_queue"], {"site": site, "rows": STEP_ROWS, **after}).fetchall()
        yield from (_entry(tx, row) for row in rows)
        if len(rows) < STEP_ROWS:
            return
        after = {name: rows[-1][name] for name in after}


def list_sites(database: Readable, *, with_queued: bool) -> Iterator[SiteState]:
    """Yield the state of every site, in the order of arrival."""
    after, step = 0, COUNTED_SITES if with_queued else STEP_ROWS
    while True:
        values = {"after": after, "rows": step, "with_queued": with_queued}
        with database.snapshot() as tx:
            rows = tx.execute(SQL["list_sites"], values).fetchall()
        yield from (site_state(tx, row) for row in rows)
        if len(rows) < step:
            return
        after = rows[-1]["site_id"]


def _entry(tx: SqliteTransaction, row: sqlite3.Row) -> QueueEntry:
    return QueueEntry(
        site=row["name"],
        url=row["url"],
        depth=row["depth"],
        rank=row["rank"],
        tries=row["tries"],
        wait_s=tx.wait_s(row["not_before"]),
        via=row["via"],
        queued_at=row["added_at"] or None,
    )
