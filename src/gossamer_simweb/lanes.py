"""Requests of a site that may get several at once, because it belongs to whoever runs the crawler. Pure.

At most `lanes` requests are under way at a time. After an answer that asks for a wait (Retry-After), no request begins
until that is over; those that were on their way when it came are no fault. A site with a Crawl-delay is judged like any
other: it gets one request at a time.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from gossamer_simweb.turns import EarlyRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer_simweb.log import LoggedRequest
    from gossamer_simweb.turns import PaceLimits

ON_THEIR_WAY_S = 1.0  # requests that the crawler had begun when an answer asked it to wait arrive within this


def asks_for_delay(requests: Sequence[LoggedRequest]) -> bool:
    """Return whether a robots.txt of a site asks for a delay between requests."""
    return any(request.kind == "robots" and request.status == 200 and request.wait_s for request in requests)


def early_in_lanes(site: str, requests: Sequence[LoggedRequest], lanes: int, pace: PaceLimits) -> list[EarlyRequest]:
    """Return the requests of a site, sorted by arrival, that were one too many at once, or ignored a wait."""
    early: list[EarlyRequest] = []
    under_way: list[float] = []  # when each ends
    waits: list[tuple[float, float]] = []  # when the answer came, and until when the crawler must wait
    for request in requests:
        while under_way and under_way[0] <= request.arrived + pace.slack_s:
            heappop(under_way)
        gap_s, needed_s = 0.0, 0.0
        if len(under_way) >= lanes:
            gap_s = request.arrived - under_way[0]
        for said, until in waits:
            if said + ON_THEIR_WAY_S < request.arrived < until - pace.slack_s and pace.must_obey(said):
                gap_s, needed_s = request.arrived - said, until - said
        if gap_s:
            early.append(
                EarlyRequest(
                    url=request.url, site=site, arrived=request.arrived, gap_s=gap_s, needed_s=needed_s, new_turn=True
                )
            )
        heappush(under_way, request.ended)
        if request.wait_s:
            waits.append((request.ended, request.ended + request.wait_s))
    return early
