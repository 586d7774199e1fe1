"""A worker's figures: counted where outcomes pass, carried by heartbeats, shown by `status`."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from gossamer import metrics
from gossamer.records import Done, GivenUp, Retry

if TYPE_CHECKING:
    from gossamer.records import Outcome, RequestRow
    from gossamer.workbench import Workbench

LAG_PERIOD_S = 0.1


# Looking a label up costs more than counting by it; there are few.
_requests = lru_cache(maxsize=None)(metrics.REQUESTS_TOTAL.labels)
_outcomes = lru_cache(maxsize=None)(metrics.FRONTIER_OUTCOMES_TOTAL.labels)


class Figures:
    """Counts since this worker started, and what it has in hand now."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._now: dict[str, float] = {}
        self._lag_s = 0.0

    def request(self, row: RequestRow) -> None:
        """Count a request."""
        self._counts["requests"] += 1
        self._counts["bytes"] += row.bytes
        _requests(row.kind, row.reason or f"{row.status // 100}xx").inc()
        metrics.BODY_BYTES_TOTAL.inc(row.bytes)

    def outcome(self, outcome: Outcome) -> None:
        """Count what became of a URL."""
        if isinstance(outcome, Done):
            name = "pages" if outcome.page else "no_page"
        elif isinstance(outcome, GivenUp):
            name = outcome.reason.value
        else:
            assert isinstance(outcome, Retry)
            name = "retries"
        self._counts[name] += 1
        _outcomes(name).inc()

    def in_hand(self, bench: Workbench, turns: int, in_outage: bool) -> None:
        """Note what is in hand."""
        self._now = {"sites_in_hand": len(bench), "urls_in_hand": bench.urls, "turns": turns, "outage": in_outage}

    async def watch_loop(self) -> None:
        """Measure how late the event loop is, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due_s = loop.time() + LAG_PERIOD_S
            await asyncio.sleep(LAG_PERIOD_S)
            lag_s = loop.time() - due_s
            self._lag_s = max(self._lag_s, lag_s)
            metrics.LOOP_LAG_SECONDS.observe(lag_s)

    def snapshot(self) -> dict[str, float]:
        """Return all figures."""
        return {**self._counts, **self._now, "max_loop_lag_s": round(self._lag_s, 4)}
