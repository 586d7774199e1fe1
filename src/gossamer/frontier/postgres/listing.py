"""Lists the queue and the sites for the operator, shard by shard, in short steps beside a crawl; writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.frontier.postgres.auditing import FIRST_ID, STEP_ROWS
from gossamer.frontier.postgres.reading import site_state
from gossamer.records import QueueEntry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.frontier.postgres.database import PostgresDatabase, Row
    from gossamer.frontier.postgres.transaction import PostgresTransaction
    from gossamer.records import SiteState

COUNTED_SITES = 500  # whose queues are counted in one step


def list_queue(database: PostgresDatabase) -> Iterator[QueueEntry]:
    """Yield every queued URL."""
    for one in database.rows("shards"):
        after: dict[str, object] = {"site_id": FIRST_ID, "url_hash": b""}
        while True:
            with database.snapshot() as tx:
                rows = tx.run("walk_all_queued", shard=one.shard, rows=STEP_ROWS, **after)
            yield from (_entry(tx, row, row.name) for row in rows)
            if len(rows) < STEP_ROWS:
                break
            after = {"site_id": rows[-1].site_id, "url_hash": rows[-1].url_hash}


def list_site_queue(database: PostgresDatabase, site: str) -> Iterator[QueueEntry]:
    """Yield every queued URL of a site."""
    url_hash = b""
    while True:
        with database.snapshot() as tx:
            key = tx.site_key(site)._asdict()
            rows = tx.run("walk_queue", **key, url_hash=url_hash, rows=STEP_ROWS)
        yield from (_entry(tx, row, site) for row in rows)
        if len(rows) < STEP_ROWS:
            return
        url_hash = rows[-1].url_hash


def list_sites(database: PostgresDatabase, *, with_queued: bool) -> Iterator[SiteState]:
    """Yield the state of every site."""
    step = COUNTED_SITES if with_queued else STEP_ROWS
    for one in database.rows("shards"):
        site_id = FIRST_ID
        while True:
            with database.snapshot() as tx:
                rows = tx.run("list_sites", shard=one.shard, site_id=site_id, with_queued=with_queued, rows=step)
            yield from (site_state(tx, row) for row in rows)
            if len(rows) < step:
                break
            site_id = rows[-1].site_id


def _entry(tx: PostgresTransaction, row: Row, site: str) -> QueueEntry:
    return QueueEntry(
        site=site,
        url=row.url,
        depth=row.depth,
        rank=row.rank,
        tries=row.tries,
        wait_s=tx.wait_s(row.not_before),
        via=row.via,
        queued_at=row.added_at or None,
    )
