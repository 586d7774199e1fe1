"""The card of a report that shows the history of a crawl under its throughput, on the same time axis."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

from gossamer.inspect.history import read_timeline
from gossamer.inspect.marks import read_marks
from gossamer.inspect.report.card import card
from gossamer.inspect.report.curves import TimeAxis, draw_curves, mark_class
from gossamer.inspect.report.panels import METRICS, Panel, panels
from gossamer.inspect.report.plots import NARROW, WIDE
from gossamer.store.figure_files import TICK_S
from gossamer.wording import moment, span

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gossamer.frontier import FrontierReader
    from gossamer.inspect.marks import CrawlMark


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFigures:
    """The history of a period, ready to be drawn."""

    began_at: float = 0.0  # Unix seconds
    step_s: float = TICK_S
    panels: tuple[Panel, ...] = ()
    marks: tuple[CrawlMark, ...] = ()


def gather_history(
    folders: Sequence[Path],
    *,
    began_at: float,
    ended_at: float,
    stretch_s: float,
    frontier: FrontierReader | None = None,
) -> HistoryFigures:
    """Read the history of the period that the throughput shows, in the same steps or those of the history."""
    step_s = max(float(TICK_S), stretch_s)
    wanted = [metric.name for metric in METRICS]
    timeline = read_timeline(
        folders, wanted, began_at=began_at, ended_at=ended_at, step_s=step_s, frontier=frontier
    )  # fmt: skip
    marks = read_marks(folders, began_at=began_at, ended_at=ended_at, step_s=step_s, frontier=frontier)
    return HistoryFigures(began_at=timeline.began_at, step_s=step_s, panels=tuple(panels(timeline)), marks=tuple(marks))


def history_card(history: HistoryFigures, axis: TimeAxis) -> str:
    """Return the card: a plot for each panel, and all marks as a table."""
    drawn = "".join(_panel(panel, history, axis) for panel in history.panels)
    table = [
        (moment(mark.began_at), mark.kind.value, mark.detail,
         span(mark.ended_at - mark.began_at) if mark.ended_at > mark.began_at else "")
        for mark in history.marks
    ]  # fmt: skip
    return card(
        "History",
        f"What the crawl did meanwhile, in steps of {span(history.step_s)}, on all machines whose folders were given "
        f"or that share the frontier in PostgreSQL. "
        f"{_legend(history.marks)}",
        f'<div class="panels">{drawn}</div>',
        ("when", "what", "cause or machine", "lasted"),
        table,
        kind="whole",
        is_markup=True,
    )


def _panel(panel: Panel, history: HistoryFigures, axis: TimeAxis) -> str:
    legend = "".join(
        f' <span class="key {curve.kind}">{escape(curve.name.replace("_", " "))}</span>' for curve in panel.curves
    )
    plots = "".join(
        draw_curves(
            panel.curves, replace(axis, width=width), began_at=history.began_at, step_s=history.step_s,
            label=f"{panel.title} over time", tell=panel.tell,
        ).replace("<svg ", f'<svg class="{name}" ', 1)
        for width, name in ((WIDE, "wide"), (NARROW, "narrow"))
    )  # fmt: skip
    return f"<div><h3>{escape(panel.title)}{legend}</h3><p>{escape(panel.question)}</p>{plots}</div>"


def _legend(marks: Sequence[CrawlMark]) -> str:
    """Return the kinds of marks that there are, with their colours and how many."""
    counted = Counter(mark.kind for mark in marks)
    return "".join(
        f' <span class="key {mark_class(kind)}">{escape(kind.value)}: {times:,}</span>'
        for kind, times in counted.items()
    )
