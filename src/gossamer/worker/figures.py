"""A worker's figures: counted where outcomes pass, carried by heartbeats, shown by `status`."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from collections import OrderedDict
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer import metrics
from gossamer.frontier.clock import boot_seconds
from gossamer.records import Barred, Done, GivenUp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.frontier.clock import Clock
    from gossamer.records import Outcome, RequestRow
    from gossamer.rules.pace import WaitCause
    from gossamer.turn import Effects
    from gossamer.workbench import Workbench

TRAP = "trap_"  # what the figures of refused links begin with
BLOCKED = "blocked_"  # and those of block pages
SITEMAPS = "sitemaps_"  # and those of sitemaps
SITEMAP_ENTRIES = "sitemap_entries_"  # and those of what they list
SHARE_BACKOFFS = "share_backoffs_"  # and those of sites that took more than their share
OVER_SHARE = "over_share:"  # and those of the sites that back off for it now: the share, and the site
MAX_OVER_SHARE = 100  # such sites that a heartbeat names: the last ones
LAG_PERIOD_S = 0.1
LAG_WINDOW_S = 5.0  # the lag of late is that of the last one to two of these


_COUNTED = {  # what turns count, by the name that turns use
    "traps": metrics.TRAP_REFUSALS_TOTAL,
    "blocked": metrics.BLOCK_PAGES_TOTAL,
    "sitemaps": metrics.SITEMAPS_TOTAL,
    "sitemap_entries": metrics.SITEMAP_ENTRIES_TOTAL,
    "clamped_delays": metrics.CLAMPED_DELAYS_TOTAL,
    "share_backoffs": metrics.SHARE_BACKOFFS_TOTAL,
}
_SHOWN = {  # what a heartbeat carries by label, and what the names of those figures begin with
    metrics.FRONTIER_OUTCOMES_TOTAL: "",
    metrics.TRAP_REFUSALS_TOTAL: TRAP,
    metrics.BLOCK_PAGES_TOTAL: BLOCKED,
    metrics.SITEMAPS_TOTAL: SITEMAPS,
    metrics.SITEMAP_ENTRIES_TOTAL: SITEMAP_ENTRIES,
    metrics.SHARE_BACKOFFS_TOTAL: SHARE_BACKOFFS,
}


class Figures:
    """Counts since this worker started, and what it has in hand now."""

    def __init__(self, clock: Clock = boot_seconds) -> None:
        self._clock = clock  # the workbench's
        self._counts = metrics.WorkerCounts()
        self._now: dict[str, float] = {}
        self._next_due_s: float | None = None
        self._in_flight = 0
        self._over_share: OrderedDict[str, tuple[str, float]] = OrderedDict()  # by site: the share, and until when
        self._lag_s = 0.0
        self._recent_lags_s = (0.0, 0.0)  # of the last window, and of this one

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Count a request as in flight while the block runs."""
        self._in_flight += 1
        try:
            yield
        finally:
            self._in_flight -= 1

    def request(self, row: RequestRow) -> None:
        """Count a request."""
        self._counts.add(metrics.REQUESTS_TOTAL, row.kind, row.reason or f"{row.status // 100}xx")
        self._counts.add(metrics.BODY_BYTES_TOTAL, times=row.bytes)

    def count(self, effects: Effects) -> None:
        """Count what a turn changed."""
        for outcome in effects.outcomes.values():
            self._counts.add(metrics.FRONTIER_OUTCOMES_TOTAL, _name_of(outcome))
        for (what, kind), times in effects.counts.items():
            self._counts.add(_COUNTED[what], *([kind] if kind else []), times=times)

    def note_over_share(self, site: str, cause: WaitCause, until_s: float) -> None:
        """Note that a site backs off because it took more than its share."""
        self._over_share[site] = (cause.name.lower(), until_s)
        self._over_share.move_to_end(site)
        if len(self._over_share) > MAX_OVER_SHARE:
            self._over_share.popitem(last=False)

    def show_load(self, bench: Workbench, **load: float) -> None:
        """Note what is in hand and under way."""
        self._now = {"sites_in_hand": len(bench), "sites_due": bench.due, "urls_in_hand": bench.urls, **load}
        self._next_due_s = bench.next_due_s

    async def watch_loop(self) -> None:
        """Measure how late the event loop is, until cancelled."""
        loop = asyncio.get_running_loop()
        window_ends_s = loop.time() + LAG_WINDOW_S
        while True:
            due_s = loop.time() + LAG_PERIOD_S
            await asyncio.sleep(LAG_PERIOD_S)
            lag_s = loop.time() - due_s
            self._lag_s = max(self._lag_s, lag_s)
            before_s, now_s = self._recent_lags_s
            self._recent_lags_s = (before_s, max(now_s, lag_s))
            if loop.time() >= window_ends_s:
                window_ends_s = loop.time() + LAG_WINDOW_S
                self._recent_lags_s = (self._recent_lags_s[1], 0.0)
            metrics.LOOP_LAG_SECONDS.observe(lag_s)

    def snapshot(self) -> dict[str, float]:
        """Return all figures."""
        counts, now_s = self._counts, self._clock()
        figures: dict[str, float] = {
            "requests": sum(counts.by_label(metrics.REQUESTS_TOTAL).values()),
            "bytes": sum(counts.by_label(metrics.BODY_BYTES_TOTAL).values()),
            **{
                f"{prefix}{kind}": times
                for counter, prefix in _SHOWN.items()
                for kind, times in counts.by_label(counter).items()
            },
            **self._now,
            **{
                f"{OVER_SHARE}{share}:{site}": round(until_s - now_s, 1)
                for site, (share, until_s) in self._over_share.items()
                if until_s > now_s
            },
            "in_flight": self._in_flight,
            "max_loop_lag_s": round(self._lag_s, 4),
            "loop_lag_s": round(max(self._recent_lags_s), 4),
            "memory_bytes": memory_bytes(),
        }
        if self._next_due_s is not None:
            figures["next_due_s"] = round(max(0.0, self._next_due_s - self._clock()), 1)
        return figures


def _name_of(outcome: Outcome) -> str:
    """Return the name under which an outcome is counted."""
    if isinstance(outcome, Done):
        return "pages" if outcome.page else "no_page"
    return outcome.reason.value if isinstance(outcome, GivenUp | Barred) else "retries"


def memory_bytes() -> int:
    """Return what this process and its children take; the most it ever took, alone, where the system tells no more."""
    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS tells it in bytes
    own = os.getpid()
    children: list[str] = []
    with suppress(OSError):  # a kernel that was built without this list
        children = Path(f"/proc/{own}/task/{own}/children").read_text().split()
    pages = 0
    for pid in (str(own), *children):
        with suppress(OSError):  # it has just ended
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
