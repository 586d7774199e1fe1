"""The rules for Prometheus and the board for Grafana name metrics that exist; promtool accepts rules and metrics."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.metrics import Gauge, Histogram, Metric, collect, gauges_of
from gossamer.supervisor.exposition import render

if TYPE_CHECKING:
    from collections.abc import Iterator

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
RULES = DEPLOY / "prometheus" / "alerts.yml"
BOARD = DEPLOY / "grafana" / "gossamer.json"
NAME = re.compile(r"\bgossamer_\w+")
LABEL = re.compile(r"(gossamer_\w+)\{([^}]*)\}")

NEEDS_PROMTOOL = pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool (Debian: prometheus)")


def series() -> dict[str, set[str]]:
    """Return the labels of every series that is served, by its name."""
    found: dict[str, set[str]] = {}
    for name, metric in Metric.declared.items():
        labels = {*metric.label_names, "instance", "job"}
        if isinstance(metric, Histogram):
            found |= {f"{name}_sum": labels, f"{name}_count": labels, f"{name}_bucket": {*labels, "le"}}
        else:
            found[name] = labels
    return found


def queries_of_board() -> list[str]:
    return [target["expr"] for panel in json.loads(BOARD.read_text())["panels"] for target in panel["targets"]]


def queries_of_rules() -> list[str]:
    return re.findall(r"(?ms)^        expr: (.+?)^        \w", RULES.read_text())


def wrong(queries: list[str]) -> Iterator[str]:
    """Yield what queries name that does not exist."""
    known = series()
    for query in queries:
        names = NAME.findall(query)
        if not names:
            yield f"no metric in {query}"
        yield from (name for name in names if name not in known)
        for name, labels in LABEL.findall(query):
            yield from (
                f"{name}: {label}" for label in re.findall(r"(\w+)[=!]", labels) if label not in known.get(name, ())
            )


@pytest.mark.parametrize("queries", [queries_of_board, queries_of_rules])
def test_every_query_names_a_metric_that_exists_with_labels_that_it_has(queries: object) -> None:
    found = queries()  # type: ignore[operator]
    assert len(found) > 8
    assert list(wrong(found)) == []


def test_a_query_of_what_does_not_exist_would_be_found() -> None:
    assert list(wrong(["rate(gossamer_pages_total[5m])"])) == ["gossamer_pages_total"]
    assert list(wrong(['gossamer_workers{site="a"}'])) == ["gossamer_workers: site"]
    assert list(wrong(["up"])) == ["no metric in up"]


def test_every_alert_says_what_happened_and_what_to_do() -> None:
    rules = RULES.read_text()
    alerts = rules.count("- alert: ")
    assert alerts == len(queries_of_rules()) == rules.count("summary: ") == rules.count("description: ") > 8


@NEEDS_PROMTOOL
def test_promtool_accepts_the_rules() -> None:
    done = subprocess.run(["promtool", "check", "rules", str(RULES)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@NEEDS_PROMTOOL
def test_promtool_accepts_the_metrics() -> None:
    figures = {figure: 1.0 for each in Metric.declared.values() if isinstance(each, Gauge) for figure in each.figures}
    text, _ = render(collect() | gauges_of(figures))
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
