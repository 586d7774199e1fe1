"""What a heartbeat changes in its worker's share of the requests to one address: the rules of `frontier.shares`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.frontier.postgres.keys import worker_shard
from gossamer.frontier.shares import answer, lower, raise_share, wants_more
from gossamer.records import AddressShare

if TYPE_CHECKING:
    from gossamer.frontier.postgres.transaction import PostgresTransaction

SHARES_LOCK = 0x676F7303  # with the crawl's number: held by the transaction that raises a share


def share_out(tx: PostgresTransaction, used: AddressShare) -> AddressShare:
    """Take in which share the acting worker uses; return which it may use. The worker's row is locked."""
    (row,) = tx.run("shares", worker=tx.worker)
    before = AddressShare(row.parts, row.version)
    share = lower(before, used)
    if wants_more(share, row.live):
        tx.run("lock_shares", shares_lock=SHARES_LOCK)
        (row,) = tx.run("shares", worker=tx.worker)
        share = raise_share(share, live=row.live, others_parts=row.others)
    if share != before:
        tx.run("set_share", shard=worker_shard(tx.worker), worker=tx.worker, **share._asdict())
    return answer(share, row.live)
