"""Metrics are well named, and a snapshot of them can travel with a heartbeat."""

from __future__ import annotations

import json

import pytest
from prometheus_client import Counter, Histogram, generate_latest

from gossamer import metrics
from gossamer.metrics import REGISTRY, snapshot


def test_every_metric_is_ours_has_a_unit_and_says_what_it_is() -> None:
    names = set()
    for metric in REGISTRY.collect():
        name = f"{metric.name}_total" if metric.type == "counter" else metric.name
        assert name.startswith("gossamer_")
        assert name.endswith(("_seconds", "_bytes", "_total"))
        assert metric.documentation
        names.add(name.removeprefix("gossamer_").upper())
    assert names == {
        name for name, value in vars(metrics).items() if isinstance(value, Counter | Histogram | metrics.WorkerCounter)
    }


def test_a_snapshot_tells_sums_and_counts_flat_and_ready_for_json() -> None:
    before = snapshot()
    metrics.FRONTIER_LINKS_TOTAL.labels("new").inc(3)
    metrics.FRONTIER_CLAIMED_SITES_TOTAL.inc()
    metrics.FRONTIER_OPERATION_SECONDS.labels("claim").observe(0.25)
    metrics.FRONTIER_OPERATION_SECONDS.labels("claim").observe(0.5)
    after = snapshot()
    assert json.loads(json.dumps(after)) == after
    grown = {name: value - before.get(name, 0) for name, value in after.items() if value != before.get(name, 0)}
    assert grown == {
        "gossamer_frontier_links_total{result=new}": 3,
        "gossamer_frontier_claimed_sites_total": 1,
        "gossamer_frontier_operation_seconds_count{operation=claim}": 2,
        "gossamer_frontier_operation_seconds_sum{operation=claim}": pytest.approx(0.75),
    }


def test_buckets_reach_from_a_millisecond_to_ten_seconds() -> None:
    metrics.FRONTIER_LOCK_WAIT_SECONDS.labels("add").observe(0)
    shown = generate_latest(REGISTRY).decode()
    for bound in ("0.001", "0.05", "10.0", "+Inf"):
        assert f'gossamer_frontier_lock_wait_seconds_bucket{{le="{bound}",operation="add"}}' in shown


def test_what_a_worker_counted_stays_counted_when_the_worker_is_gone() -> None:
    before = snapshot()
    counts, others = metrics.WorkerCounts(), metrics.WorkerCounts()
    for each in (counts, others):
        each.add(metrics.REQUESTS_TOTAL, "page", "2xx")
        each.add(metrics.CLAMPED_DELAYS_TOTAL, times=2)
    assert counts.by_label(metrics.REQUESTS_TOTAL) == {"page": 1}
    del counts, each
    after = snapshot()
    assert after["gossamer_clamped_delays_total"] == before["gossamer_clamped_delays_total"] + 4
    name = "gossamer_requests_total{kind=page,result=2xx}"
    assert after[name] == before.get(name, 0) + 2
