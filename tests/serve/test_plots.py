"""The plots of the overview show the crawl's history."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from gossamer.metrics import Metric
from gossamer.serve.overview import SPANS_S
from gossamer.serve.plotting import MAX_STEPS, PLOTS, plots_of, step_for
from tests.inspect.histories import write
from tests.inspect.test_history import HOUR, steadily, ticks

if TYPE_CHECKING:
    from pathlib import Path

    from tests.serve.dashboards import ServedCrawl


def test_every_line_is_a_metric_that_is_declared() -> None:
    assert {line.metric for plot in PLOTS for line in plot.lines} <= set(Metric.declared)


def test_a_counter_is_drawn_as_a_rate(tmp_path: Path) -> None:
    write(tmp_path, steadily("w1", ticks(HOUR, 600)))
    for file in tmp_path.rglob("*.parquet"):
        os.utime(file, (HOUR + 600, HOUR + 600))  # when the crawl ended
    found = plots_of([tmp_path], span="all")
    assert found["step_s"] == 10
    requests = found["plots"][0]
    assert requests["title"] == "Requests a second"
    pages = [value for value in requests["lines"][0]["values"] if value is not None]
    assert pages[5:10] == [0.1] * 5  # one in every ten seconds


def test_a_crawl_without_a_history_has_no_plots(tmp_path: Path) -> None:
    assert plots_of([tmp_path], span="1 hour") == {"plots": []}


@pytest.mark.parametrize("length_s", [1, 600, 3600, 86_400, 86_400 * 30, 86_400 * 365])
def test_no_plot_has_more_points_than_it_shows(length_s: float) -> None:
    assert length_s / step_for(length_s) <= MAX_STEPS or step_for(length_s) == 86_400


@pytest.mark.parametrize("span", [*SPANS_S, "", "1 century"])
def test_the_history_is_served_for_every_period(served: ServedCrawl, span: str) -> None:
    answer = served.ask(f"/history?span={span.replace(' ', '%20')}", as_="viewer")
    assert json.loads(answer.body) == {"plots": []}
    assert answer.headers["content-type"] == "application/json"
