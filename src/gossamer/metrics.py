"""Every metric Gossamer counts, declared in one place; counted where outcomes pass."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

REGISTRY = CollectorRegistry()

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)

FRONTIER_OPERATION_SECONDS = Histogram(
    "gossamer_frontier_operation_seconds",
    "Time a frontier transaction took, from its begin to its commit",
    ["operation"],
    registry=REGISTRY,
    buckets=_SECONDS,
)
FRONTIER_LOCK_WAIT_SECONDS = Histogram(
    "gossamer_frontier_lock_wait_seconds",
    "Time a frontier transaction waited for others before it began",
    ["operation"],
    registry=REGISTRY,
    buckets=_SECONDS,
)
FRONTIER_LINKS_TOTAL = Counter(
    "gossamer_frontier_links_total", "Links offered to the frontier", ["result"], registry=REGISTRY
)
FRONTIER_CLAIMED_SITES_TOTAL = Counter(
    "gossamer_frontier_claimed_sites_total", "Sites claimed", registry=REGISTRY
)
FRONTIER_CLAIMED_URLS_TOTAL = Counter(
    "gossamer_frontier_claimed_urls_total", "URLs handed out with claims", registry=REGISTRY
)
FRONTIER_OUTCOMES_TOTAL = Counter(
    "gossamer_frontier_outcomes_total", "URLs settled or put back", ["outcome"], registry=REGISTRY
)


def snapshot() -> dict[str, float]:
    """Return the current figures, flat and ready for JSON: what a heartbeat carries."""
    return {
        sample.name + ("{" + ",".join(f"{k}={v}" for k, v in sample.labels.items()) + "}" if sample.labels else ""): sample.value
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if not sample.name.endswith(("_bucket", "_created"))
    }
