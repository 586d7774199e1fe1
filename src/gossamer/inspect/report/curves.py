"""Curves over time as SVG: several plots that share one axis, with marks for what happened. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

from gossamer.inspect.marks import MarkKind
from gossamer.inspect.report.plots import (
    TIME_BOTTOM,
    TIME_LEFT,
    TIME_RIGHT,
    WIDE,
    grid,
    nice_ticks,
    svg,
    text,
    time_names,
)
from gossamer.wording import moment, span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gossamer.inspect.history import Values
    from gossamer.inspect.marks import CrawlMark

_HEIGHT: Final = 124
_TOP: Final = 8
_MARK_KINDS: Final = {
    MarkKind.START: "ok", MarkKind.REPLACED: "bad", MarkKind.PAUSE: "quiet", MarkKind.TROUBLE: "bad",
    MarkKind.OUTAGE: "warn", MarkKind.EXCLUSION: "third",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One line of a plot."""

    name: str
    values: Values
    kind: str = ""  # its colour


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAxis:
    """The period that plots show, at some width; and what happened in it."""

    began_at: float  # Unix seconds
    ended_at: float
    width: int
    marks: Sequence[CrawlMark] = ()

    def place(self, at: float) -> float:
        """Return where a moment is drawn; what lies outside of the period is at its edge."""
        part = (at - self.began_at) / (self.ended_at - self.began_at)
        return TIME_LEFT + min(1.0, max(0.0, part)) * (self.width - TIME_LEFT - TIME_RIGHT)

    def names(self) -> list[tuple[float, str]]:
        """Return the round times of the axis: positions from 0 to 1, and labels."""
        at_most = 9 if self.width == WIDE else 3
        return time_names(self.began_at, self.ended_at - self.began_at, at_most=at_most)

    def draw_marks(self, top: float, floor: float) -> list[str]:
        """Draw lines for events, and bands for what lasted."""
        drawn = []
        for mark in self.marks:
            x, until = self.place(mark.began_at), self.place(mark.ended_at)
            kind = mark_class(mark.kind)
            drawn.append(
                f'<line class="event {kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{floor}"/>'
                if until - x < 1.5
                else f'<rect class="band {kind}" x="{x:.1f}" y="{top}" width="{until - x:.1f}" height="{floor - top}"/>'
            )
        return drawn


def draw_curves(
    curves: Sequence[Curve], axis: TimeAxis, *, began_at: float, step_s: float, label: str, tell: Callable[[float], str]
) -> str:
    """Draw values over time, each as a line of steps that begin at `began_at`."""
    floor = _HEIGHT - TIME_BOTTOM
    ticks = _few(nice_ticks(max((value for curve in curves for value in curve.values if value), default=0)))
    drawn = grid(ticks, axis.width, _TOP, floor, tell, left=TIME_LEFT)
    drawn += axis.draw_marks(_TOP, floor)
    for curve in curves:
        heights = [None if value is None else floor - value / ticks[-1] * (floor - _TOP) for value in curve.values]
        drawn.append(f'<path class="line {curve.kind}" d="{_path(heights, axis, began_at, step_s)}"/>')
    if axis.width == WIDE:  # a phone has no pointer
        for number in range(len(curves[0].values)):
            at = began_at + number * step_s
            x, until = axis.place(at), axis.place(at + step_s)
            if until > x:
                drawn.append(
                    f'<rect class="hit" x="{x:.1f}" y="{_TOP}" width="{until - x:.1f}" height="{floor - _TOP}">'
                    f"<title>{escape(_hint(curves, axis, number, at, at + step_s, tell))}</title></rect>"
                )
    for part, name in axis.names():
        drawn.append(text("tick mid", TIME_LEFT + part * (axis.width - TIME_LEFT - TIME_RIGHT), floor + 15, name))
    return svg(axis.width, _HEIGHT, label, drawn)


def mark_class(kind: MarkKind) -> str:
    """Return the colour of a mark."""
    return _MARK_KINDS[kind]


def tell_mark(mark: CrawlMark) -> str:
    """Write what happened: outage, 5 min."""
    lasted = f", {span(mark.ended_at - mark.began_at)}" if mark.ended_at > mark.began_at else ""
    return f"{mark.kind}{f' ({mark.detail})' if mark.detail else ''}{lasted}"


def _few(ticks: Sequence[float]) -> list[float]:
    """Return at most four ticks: these plots are low."""
    if len(ticks) <= 4:
        return list(ticks)
    return [*ticks[::2], *([] if len(ticks) % 2 else [ticks[-1] + ticks[1]])]


def _path(heights: Sequence[float | None], axis: TimeAxis, began_at: float, step_s: float) -> str:
    """Return a line of steps, with a gap where there is no value."""
    moves = []
    before: float | None = None
    for number, height in enumerate(heights):
        if height is None:
            before = None
            continue
        at = began_at + number * step_s
        x, until = axis.place(at), axis.place(at + step_s)
        moves.append((f"M{x:.1f} {height:.1f}" if before is None else f"V{height:.1f}") + f"H{until:.1f}")
        before = height
    return "".join(moves)


def _hint(
    curves: Sequence[Curve], axis: TimeAxis, number: int, at: float, until: float, tell: Callable[[float], str]
) -> str:
    """Return what is shown on hover: the values of a step, and what happened in it."""
    lines = [moment(at)]
    for curve in curves:
        value = curve.values[number]
        lines.append(f"{curve.name}: {'no figures' if value is None else tell(value)}")
    lines += [tell_mark(mark) for mark in axis.marks if mark.began_at < until and mark.ended_at >= at]
    return "\n".join(lines)
