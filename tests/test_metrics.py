"""Metrics are well named, can be added up over processes, and are served in the formats that Prometheus reads."""

from __future__ import annotations

import json
import socket
import urllib.request
from ipaddress import ip_address
from threading import Thread
from urllib.error import HTTPError

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from gossamer import metrics
from gossamer.errors import GossamerError
from gossamer.metrics import Metric, snapshot
from gossamer.metrics.kinds import Counter, Gauge, Histogram, WorkerCounter
from gossamer.metrics.samples import Samples, add_up, changes, collect, flat, from_json, gauges_of, to_json
from gossamer.supervisor.exposition import MAX_CLIENTS, render, serve
from gossamer.supervisor.settings import LOOPBACK, WatchSettings

REQUESTS = metrics.REQUESTS_TOTAL.name
OPERATION = metrics.FRONTIER_OPERATION_SECONDS.name


def test_every_metric_is_ours_has_a_unit_and_says_what_it_is_and_which_question_it_answers() -> None:
    assert list(Metric.declared) == [metric.name for metric in vars(metrics).values() if isinstance(metric, Metric)]
    for name, metric in Metric.declared.items():
        assert name.startswith("gossamer_")
        assert name.endswith("_total") == isinstance(metric, Counter | WorkerCounter)
        assert name.endswith(("_seconds", "_bytes")) or not isinstance(metric, Histogram)
        assert metric.documentation
        assert not metric.documentation.endswith(".")
        assert metric.question.endswith(("?", "."))
        assert "?" in metric.question


def test_a_gauge_reads_figures_that_no_other_gauge_reads() -> None:
    figures = [figure for metric in Metric.declared.values() if isinstance(metric, Gauge) for figure in metric.figures]
    assert len(figures) == len(set(figures))
    assert gauges_of({"in_flight": 3, "sites_due": 2, "costs of tea": 1}) == {
        ("gossamer_in_flight_requests",): 3,
        ("gossamer_sites_in_hand", "due"): 2,
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


def test_threads_that_count_at_once_lose_nothing() -> None:
    before = metrics.FRONTIER_CLAIMED_URLS_TOTAL.cells[()].value

    def count() -> None:
        for _ in range(10_000):
            metrics.FRONTIER_CLAIMED_URLS_TOTAL.inc()

    threads = [Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert metrics.FRONTIER_CLAIMED_URLS_TOTAL.cells[()].value == before + 40_000


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


def test_processes_add_up_each_kind_of_metric_in_its_way() -> None:
    one: Samples = {
        (REQUESTS, "page", "2xx"): 2,
        (OPERATION, "add"): [0.5, 1.0, *[0.0] * 13],
        ("gossamer_open_descriptors",): 7,
        ("gossamer_max_descriptors",): 100,
        ("gossamer_memory_bytes",): 10,
    }
    other: Samples = {
        (REQUESTS, "page", "2xx"): 3,
        (REQUESTS, "robots", "4xx"): 1,
        (OPERATION, "add"): [1.5, 0.0, 1.0, *[0.0] * 12],
        ("gossamer_open_descriptors",): 9,
        ("gossamer_max_descriptors",): 50,
        ("gossamer_memory_bytes",): 5,
    }
    total: Samples = {}
    add_up(total, one)
    add_up(total, other)
    assert total == {
        (REQUESTS, "page", "2xx"): 5,
        (REQUESTS, "robots", "4xx"): 1,
        (OPERATION, "add"): [2.0, 1.0, 1.0, *[0.0] * 12],
        ("gossamer_open_descriptors",): 9,
        ("gossamer_max_descriptors",): 50,
        ("gossamer_memory_bytes",): 15,
    }
    assert one[OPERATION, "add"] == [0.5, 1.0, *[0.0] * 13], "adding up changes no report"


def test_a_report_carries_only_what_changed_and_survives_the_way() -> None:
    before: Samples = {(REQUESTS, "page", "2xx"): 2, ("gossamer_body_bytes_total",): 10}
    now: Samples = {**before, (REQUESTS, "page", "2xx"): 3, (OPERATION, "add"): [0.5, 1.0]}
    new = changes(before, now)
    assert set(new) == {(REQUESTS, "page", "2xx"), (OPERATION, "add")}
    assert from_json(json.loads(json.dumps(to_json(new)))) == new
    assert from_json({"gossamer_of_another_version": 1.0}) == {}


def test_samples_of_history_have_their_labels_by_name() -> None:
    samples: Samples = {
        (REQUESTS, "page", "2xx"): 2,
        (OPERATION, "add"): [0.5, 1.0, 2.0],
        ("gossamer_workers", "alive"): 1,
    }
    assert list(flat(samples)) == [
        ("gossamer_requests_total", "kind=page,result=2xx", 2),
        ("gossamer_frontier_operation_seconds_sum", "operation=add", 0.5),
        ("gossamer_frontier_operation_seconds_count", "operation=add", 3.0),
        ("gossamer_workers", "state=alive", 1),
    ]


# ---------------------------------------------------------------------- served


def sampled() -> Samples:
    """Return some of every kind of metric, beside all that this process has counted."""
    metrics.FRONTIER_LOCK_WAIT_SECONDS.labels("add").observe(0)
    metrics.WORKER_REPLACEMENTS_TOTAL.labels("signal").inc()
    figures = {figure: 1.0 for each in Metric.declared.values() if isinstance(each, Gauge) for figure in each.figures}
    return collect() | gauges_of(figures)


@pytest.mark.parametrize(
    ("accept", "content_type", "parse"),
    [
        ("", "text/plain; version=0.0.4", parse_text),
        ("text/plain;version=0.0.4", "text/plain; version=0.0.4", parse_text),
        (
            "application/openmetrics-text;version=1.0.0,text/plain;q=0.5",
            "application/openmetrics-text",
            parse_openmetrics,
        ),
    ],
)
def test_both_formats_say_what_was_counted(accept: str, content_type: str, parse: object) -> None:
    samples = sampled()
    text, kind = render(samples, accept)
    assert kind.startswith(content_type)
    families = {family.name: family for family in parse(text.decode())}  # type: ignore[operator]
    names = {name.removesuffix("_total") for name, *_ in samples}
    assert families.keys() == names
    waits = families["gossamer_frontier_lock_wait_seconds"]
    bounds = [s.labels["le"] for s in waits.samples if s.name.endswith("_bucket") and s.labels["operation"] == "add"]
    assert (bounds[0], bounds[-1], len(bounds)) == ("0.001", "+Inf", 14)
    (alive,) = (s for s in families["gossamer_workers"].samples if s.labels["state"] == "alive")
    assert alive.value == 1
    for family in families.values():
        metric = Metric.declared.get(family.name) or Metric.declared[f"{family.name}_total"]
        assert family.documentation == f"{metric.documentation}. {metric.question}"


def test_metrics_are_served_at_one_path() -> None:
    with serve(LOOPBACK, 0, sampled) as port:
        place = f"http://127.0.0.1:{port}"
        with urllib.request.urlopen(f"{place}/metrics", timeout=10) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert b"\ngossamer_build_info{version=" in answer.read()
        with pytest.raises(HTTPError) as refused:
            urllib.request.urlopen(f"{place}/", timeout=10)
        assert refused.value.code == 404
        refused.value.close()


def test_clients_that_say_nothing_do_not_take_all_threads_for_ever() -> None:
    with serve(LOOPBACK, 0, sampled) as port:
        silent = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(MAX_CLIENTS)]
        one_more = socket.create_connection(("127.0.0.1", port), timeout=10)
        assert one_more.recv(1) == b"", "it is turned away"
        one_more.close()
        for client in silent:
            client.close()


def test_a_port_that_is_taken_is_the_operators_mistake() -> None:
    with (
        serve(LOOPBACK, 0, sampled) as port,
        pytest.raises(GossamerError, match=rf"at 127.0.0.1, port {port} .* give --metrics another port"),
        serve(LOOPBACK, port, sampled),
    ):
        pass


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("off", None),
        ("9464", ("127.0.0.1", 9464)),
        ("10.0.0.5:9464", ("10.0.0.5", 9464)),
        ("[::1]:9464", ("::1", 9464)),
        ("0.0.0.0:0", ("0.0.0.0", 0)),
    ],
)
def test_a_place_to_serve_metrics_is_a_port_or_an_address_with_a_port(
    given: str, place: tuple[str, int] | None
) -> None:
    endpoint = WatchSettings(metrics=given).endpoint
    assert endpoint == (None if place is None else (ip_address(place[0]), place[1]))


@pytest.mark.parametrize(
    "given", ["", "on", "here:9464", "10.0.0.5", "10.0.0.500:1", "::1:9464", "[10.0.0.5:9", "65536", "-1"]
)
def test_what_is_no_place_to_serve_metrics_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match="is not a place to serve metrics: write it like 9464"):
        WatchSettings(metrics=given)
