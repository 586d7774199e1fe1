"""How workers share the requests that one address may get. Pure.

The frontier keeps a share for each worker. Every heartbeat changes the worker's own share, in its transaction:

1. A worker begins without a share, and a dead worker has none.
2. A worker that has more than its fair share is told so. It uses less from that moment, and says so with its next
   heartbeat; only then is its share lowered, if nothing has changed it meanwhile.
3. A worker that has less than its fair share gets as much of it as the shares of all others leave. One heartbeat at a
   time is raised. The worker uses more when it has the answer.

So a worker never uses more than the frontier keeps for it, and what the frontier keeps never adds up to more than the
whole: also if an answer is lost, a heartbeat takes effect late, or a worker dies, pauses or joins again.
"""

from __future__ import annotations

from typing import Final

from gossamer.records import AddressShare

WHOLE: Final = 1_000_000
NO_SHARE: Final = AddressShare(0, 0)
UNCHANGED: Final = AddressShare(0, -1)  # no share has this version, so it lowers none


def fair_parts(live: int) -> int:
    """Return the share of each of so many workers."""
    return WHOLE // max(1, live)


def lower(kept: AddressShare, used: AddressShare) -> AddressShare:
    """Return a worker's share after it said which share it uses."""
    if used.version == kept.version and used.parts < kept.parts:  # plant: late-heartbeat-lowers-share
        return AddressShare(used.parts, kept.version + 1)
    return kept


def wants_more(kept: AddressShare, live: int) -> bool:
    """Return whether a share is less than the fair one."""
    return kept.parts < fair_parts(live)


def raise_share(kept: AddressShare, *, live: int, others_parts: int) -> AddressShare:
    """Return a worker's share after it got what the shares of the others leave. One worker at a time."""
    parts = min(fair_parts(live), WHOLE - others_parts)  # plant: shares-add-up-to-more
    return AddressShare(parts, kept.version + 1) if parts > kept.parts else kept


def answer(kept: AddressShare, live: int) -> AddressShare:
    """Return what a worker is told to use: never more than is kept for it."""
    return AddressShare(min(kept.parts, fair_parts(live)), kept.version)
