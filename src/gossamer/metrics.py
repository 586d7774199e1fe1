"""Every metric of Gossamer, declared in this one place and counted where the events occur.

Names are `gossamer_<part>_<what>_<unit>`; a label has few values, all known beforehand. Labels by site or URL
would grow with the web, so there are none.
"""

from __future__ import annotations

from collections import Counter as Totals
from typing import TYPE_CHECKING, ClassVar, NamedTuple
from weakref import WeakSet, finalize

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.samples import Sample


class WorkerCounter(NamedTuple):
    """A counter of what workers do. Each worker counts in its own `WorkerCounts`, and the registry adds them up."""

    name: str
    documentation: str
    labels: tuple[str, ...] = ()


class WorkerCounts:
    """What one worker has counted: its heartbeats and the registry read the same figures."""

    _all: ClassVar[WeakSet[WorkerCounts]] = WeakSet()
    _ended: ClassVar[Totals[tuple[WorkerCounter, tuple[str, ...]]]] = Totals()  # so that no counter ever falls

    def __init__(self) -> None:
        self.totals: Totals[tuple[WorkerCounter, tuple[str, ...]]] = Totals()
        self._all.add(self)
        finalize(self, self._ended.update, self.totals)

    def add(self, counter: WorkerCounter, *labels: str, times: int = 1) -> None:
        """Count something."""
        self.totals[counter, labels] += times

    def by_label(self, counter: WorkerCounter) -> dict[str, int]:
        """Return the counts of a counter by the value of its first label."""
        counts: Totals[str] = Totals()
        for (counted, labels), times in self.totals.items():
            if counted is counter:
                counts[labels[0] if labels else ""] += times
        return counts

    @classmethod
    def collect(cls) -> Iterator[CounterMetricFamily]:
        """Yield every counter, summed over the workers of this process: the registry calls this."""
        sums = sum((counts.totals for counts in cls._all), cls._ended)
        for counter in (each for each in globals().values() if isinstance(each, WorkerCounter)):
            family = CounterMetricFamily(counter.name, counter.documentation, labels=counter.labels)
            if not counter.labels:
                family.add_metric((), sums[counter, ()])
            for (counted, labels), times in sums.items():
                if counted is counter and labels:
                    family.add_metric(labels, times)
            yield family


REGISTRY = CollectorRegistry()  # our own: the library's default registry has metrics of its own

_DATABASE_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)

# Operations are those of the frontier's contract: add, claim, complete, heartbeat, recover, ...
FRONTIER_OPERATION_SECONDS = Histogram(
    "gossamer_frontier_operation_seconds",
    "Time a frontier transaction took, from its begin to its commit",
    ["operation"],
    buckets=_DATABASE_SECONDS,
    registry=REGISTRY,
)
FRONTIER_LOCK_WAIT_SECONDS = Histogram(
    "gossamer_frontier_lock_wait_seconds",
    "Time a frontier transaction waited for others before it began",
    ["operation"],
    buckets=_DATABASE_SECONDS,
    registry=REGISTRY,
)
FRONTIER_STATEMENT_SECONDS = Histogram(
    "gossamer_frontier_statement_seconds",
    "Time a statement of the PostgreSQL frontier held its connection, by the statement's name",
    ["statement"],
    buckets=_DATABASE_SECONDS,
    registry=REGISTRY,
)
FRONTIER_LINKS_TOTAL = Counter(
    "gossamer_frontier_links_total",
    "Links offered to the frontier, by result: new or known",
    ["result"],
    registry=REGISTRY,
)
FRONTIER_CLAIMED_SITES_TOTAL = Counter(
    "gossamer_frontier_claimed_sites_total",
    "Sites that workers claimed",
    registry=REGISTRY,
)
FRONTIER_CLAIMED_URLS_TOTAL = Counter(
    "gossamer_frontier_claimed_urls_total",
    "URLs that workers claimed with their sites",
    registry=REGISTRY,
)
FRONTIER_OUTCOMES_TOTAL = WorkerCounter(
    "gossamer_frontier_outcomes_total",
    "URLs that were completed, by outcome",
    ("outcome",),
)

REQUESTS_TOTAL = WorkerCounter(
    "gossamer_requests_total",
    "Requests made, by kind and by result: a class of status, or why there was no answer",
    ("kind", "result"),
)
ADDRESS_WAITS_TOTAL = WorkerCounter(
    "gossamer_address_waits_total",
    "Waits for an address that was not due: of a site, of a request of a turn, or of a site that is given back",
    ("what",),
)
BODY_BYTES_TOTAL = WorkerCounter(
    "gossamer_body_bytes_total",
    "Bytes of bodies received, as sent",
)
CLAMPED_DELAYS_TOTAL = WorkerCounter(
    "gossamer_clamped_delays_total",
    "robots.txt files that asked for a longer delay than the maximum",
)
TRAP_REFUSALS_TOTAL = WorkerCounter(
    "gossamer_trap_refusals_total",
    "Links that were not followed because they seem to lead into a trap, by the name of the limit; of page_links, "
    "pages that have more links than are read",
    ("trap",),
)
BLOCK_PAGES_TOTAL = WorkerCounter(
    "gossamer_block_pages_total",
    "Answers that are challenge or block pages of protection services, by service",
    ("service",),
)
SITEMAPS_TOTAL = WorkerCounter(
    "gossamer_sitemaps_total",
    "Sitemaps, by result: found, read, unread, refused (of another site, or nested too deep), too_many",
    ("result",),
)
SITEMAP_ENTRIES_TOTAL = WorkerCounter(
    "gossamer_sitemap_entries_total",
    "Entries of sitemaps, by result: accepted, not_wanted by the crawl's limits, foreign_host, bad_url",
    ("result",),
)
SHARE_BACKOFFS_TOTAL = WorkerCounter(
    "gossamer_share_backoffs_total",
    "Turns after which a site backed off because it took more than its share while others waited, by what it took: "
    "parser_share, slot_share, link_share, byte_share",
    ("share",),
)
LOOP_LAG_SECONDS = Histogram(
    "gossamer_loop_lag_seconds",
    "How late the event loop ran a due callback",
    buckets=(0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0),
    registry=REGISTRY,
)
PAUSED_SECONDS_TOTAL = Counter(
    "gossamer_paused_seconds_total",
    "Time in which a worker started no requests: full disk, unreachable database, no network",
    registry=REGISTRY,
)

REGISTRY.register(WorkerCounts)


def snapshot() -> dict[str, float]:
    """Return all figures so far, flat and ready for JSON, for a heartbeat.

    A histogram is reduced to its sum and count; its buckets can be read from the registry.
    """
    return {
        _name(sample): sample.value
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if not sample.name.endswith(("_bucket", "_created"))
    }


def _name(sample: Sample) -> str:
    labels = ",".join(f"{label}={value}" for label, value in sample.labels.items())
    return f"{sample.name}{{{labels}}}" if labels else sample.name
