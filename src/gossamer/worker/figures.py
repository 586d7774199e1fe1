"""A worker's figures: counted where outcomes pass, carried by heartbeats, shown by `status`."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import time
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer import metrics
from gossamer.frontier.clock import boot_seconds
from gossamer.records import Barred, Done, GivenUp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gossamer.frontier.clock import Clock
    from gossamer.metrics.samples import Samples
    from gossamer.records import Outcome, RequestRow
    from gossamer.rules.pace import WaitCause
    from gossamer.turn import Effects

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
    "known_links": metrics.KNOWN_LINKS_TOTAL,
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
    """Counts since this worker started, and what it has in hand when a heartbeat asks."""

    def __init__(self, clock: Clock = boot_seconds) -> None:
        self.in_flight = 0  # requests; those who make them count them
        self._clock = clock  # the workbench's
        self._counts = metrics.WorkerCounts()
        self._totals = self._counts.totals  # every page adds to it several times: without a call for each
        self._load: Callable[[], Mapping[str, float]] = dict
        self._over_share: OrderedDict[str, tuple[str, float]] = OrderedDict()  # by site: the share, and until when
        self._lag_s = 0.0
        self._recent_lags_s = (0.0, 0.0)  # of the last window, and of this one

    def watch_load(self, load: Callable[[], Mapping[str, float]]) -> None:
        """Ask this function what is in hand and under way, whenever the figures are wanted."""
        self._load = load

    def request(self, row: RequestRow) -> None:
        """Count a request."""
        self._totals[metrics.REQUESTS_TOTAL, (row.kind, row.reason or f"{row.status // 100}xx")] += 1
        self._totals[metrics.BODY_BYTES_TOTAL, ()] += row.bytes

    def address_wait(self, what: str) -> None:
        """Count that a site, or a request, has to wait for its address."""
        self._counts.add(metrics.ADDRESS_WAITS_TOTAL, what)

    def count(self, effects: Effects) -> None:
        """Count what a turn changed."""
        for outcome in effects.outcomes.values():
            self._totals[metrics.FRONTIER_OUTCOMES_TOTAL, (_name_of(outcome),)] += 1
        for (what, kind), times in effects.counts.items():
            self._totals[_COUNTED[what], (kind,) if kind else ()] += times

    def note_over_share(self, site: str, cause: WaitCause, until_s: float) -> None:
        """Note that a site backs off because it took more than its share."""
        self._over_share[site] = (cause.name.lower(), until_s)
        self._over_share.move_to_end(site)
        if len(self._over_share) > MAX_OVER_SHARE:
            self._over_share.popitem(last=False)

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
        """Return all figures. Call it in the event loop: what is in hand changes there."""
        metrics.sort_values()  # every heartbeat asks for the figures: so few values wait
        counts, now_s = self._counts, self._clock()
        return {
            "requests": sum(counts.by_label(metrics.REQUESTS_TOTAL).values()),
            "bytes": sum(counts.by_label(metrics.BODY_BYTES_TOTAL).values()),
            **{
                f"{prefix}{kind}": times
                for counter, prefix in _SHOWN.items()
                for kind, times in counts.by_label(counter).items()
            },
            **self._load(),
            **{
                f"{OVER_SHARE}{share}:{site}": round(until_s - now_s, 1)
                for site, (share, until_s) in self._over_share.items()
                if until_s > now_s
            },
            "in_flight": self.in_flight,
            "max_loop_lag_s": round(self._lag_s, 4),
            "loop_lag_s": round(max(self._recent_lags_s), 4),
            "memory_bytes": memory_bytes(),
            **descriptors(),
        }

    def samples(self) -> Samples:
        """Return the values of all metrics of this process and its page process. Call it in the event loop."""
        cpu_s = {"worker": time.process_time(), "page_process": metrics.PARSE_SECONDS.cells[()].numbers()[0]}
        return metrics.collect() | metrics.gauges_of(self.snapshot()) | metrics.cpu_samples(cpu_s)


def _name_of(outcome: Outcome) -> str:
    """Return the name under which an outcome is counted."""
    if isinstance(outcome, Done):
        return "pages" if outcome.page else "no_page"
    return outcome.reason.value if isinstance(outcome, GivenUp | Barred) else "retries"


def memory_bytes(*, with_children: bool = True) -> int:
    """Return what this process and its children take; the most it ever took, alone, where the system tells no more."""
    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS tells it in bytes
    own = os.getpid()
    children: list[str] = []
    with suppress(OSError):  # a kernel that was built without this list
        if with_children:
            children = Path(f"/proc/{own}/task/{own}/children").read_text().split()
    pages = 0
    for pid in (str(own), *children):
        with suppress(OSError):  # it has just ended
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def descriptors() -> dict[str, int]:
    """Return how many descriptors this process has open, where the system tells, and how many it may open."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    figures = {} if limit == resource.RLIM_INFINITY else {"max_descriptors": limit}
    with suppress(OSError):
        figures["descriptors"] = len(os.listdir("/dev/fd"))  # noqa: PTH208 - a list of names is cheaper
    return figures
