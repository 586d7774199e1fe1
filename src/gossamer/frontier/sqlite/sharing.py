"""What a heartbeat changes in its worker's share of the requests to one address: the rules of `frontier.shares`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.frontier.shares import answer, lower, raise_share, wants_more
from gossamer.frontier.sqlite.database import SQL
from gossamer.records import AddressShare

if TYPE_CHECKING:
    from gossamer.frontier.sqlite.database import SqliteTransaction


def share_out(tx: SqliteTransaction, worker: int, used: AddressShare) -> AddressShare:
    """Take in which share a worker uses; return which it may use."""
    row = tx.execute(SQL["shares"], {"worker": worker}).fetchone()
    before = AddressShare(row["share_parts"], row["share_version"])
    share = lower(before, used)
    if wants_more(share, row["live"]):
        share = raise_share(share, live=row["live"], others_parts=row["others"])
    if share != before:
        tx.execute(SQL["set_share"], {"worker": worker, **share._asdict()})
    return answer(share, row["live"])
