"""Small plots as SVG, drawn by plain functions: values in, text out. Pure.

Colours come from the page's style, by class; sizes are those of a phone, so that letters stay legible there. Every
element shows its figures on hover.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NARROW: Final = 360  # units: a phone's width
WIDE: Final = 1_120
DAY_S: Final = 86_400
_ROW: Final = 22  # units from one row to the next
_LETTER: Final = 6.0  # approximate width of a letter, in units
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 8, 10, 24  # margins of a plot with axes
TIME_LEFT, TIME_RIGHT, TIME_BOTTOM = _LEFT + 12, _RIGHT, _BOTTOM  # those of plots over time, which share one axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One value to draw."""

    name: str
    value: float
    told: str  # the value as text
    kind: str = ""  # its colour: ok, quiet, warn, bad
    hint: str = ""  # shown on hover; name and value if empty

    @property
    def title(self) -> str:
        """The text shown on hover, escaped for HTML."""
        return f"<title>{escape(self.hint or f'{self.name}: {self.told}')}</title>"


def rows(bars: Sequence[Bar], *, label: str, names: int = 20) -> str:
    """Draw horizontal bars, a row each: name, bar, value. `names` is the maximum length of a name, in letters."""
    left = max((min(names, len(bar.name)) for bar in bars), default=0) * _LETTER + 8
    right = max((len(bar.told) for bar in bars), default=0) * _LETTER + 8
    room, most = NARROW - left - right, max((bar.value for bar in bars), default=0) or 1
    drawn = []
    for number, bar in enumerate(bars):
        y = number * _ROW
        length = max(1.5, bar.value / most * room) if bar.value else 0
        drawn.append(
            f'<g>{bar.title}<rect class="hit" y="{y}" width="{NARROW}" height="{_ROW}"/>'
            f'<text class="name" x="{left - 8:g}" y="{y + 15}">{escape(shorten(bar.name, names))}</text>'
            f'<rect class="bar {bar.kind}" x="{left:g}" y="{y + 4}" width="{length:.1f}" height="{_ROW - 8}" rx="2"/>'
            f'<text class="value" x="{left + length + 5:.1f}" y="{y + 15}">{escape(bar.told)}</text></g>'
        )
    return svg(NARROW, max(_ROW, len(bars) * _ROW), label, drawn)


def columns(
    bars: Sequence[Bar], *, label: str, unit: str, marker: int | None = None, marked: str = "", edges: bool = False
) -> str:
    """Draw vertical bars over an axis.

    `marker` draws a line before the bar of that number, which `marked` explains. With `edges`, names are where bars
    begin instead of below their middle.
    """
    height = 190
    top = _TOP + (16 if marked else 0)
    plot_width, floor = NARROW - _LEFT - _RIGHT, height - _BOTTOM
    ticks = nice_ticks(max((bar.value for bar in bars), default=0))
    step = plot_width / max(1, len(bars))
    drawn = grid(ticks, NARROW, top, floor, lambda value: f"{value:,.0f}")
    every = -(-max((len(bar.name) + 2 for bar in bars), default=1) * _LETTER // step)
    for number, bar in enumerate(bars):
        x, tall = _LEFT + number * step, bar.value / ticks[-1] * (floor - top)
        tall = max(1.5, tall) if bar.value else 0
        drawn.append(
            f'<g>{bar.title}<rect class="hit" x="{x:.1f}" y="{top}" width="{step:.1f}" height="{floor - top}"/>'
            f'<rect class="bar {bar.kind}" x="{x + 1:.1f}" y="{floor - tall:.1f}" width="{max(1, step - 2):.1f}" '
            f'height="{tall:.1f}" rx="1.5"/></g>'
        )
        if number % every == 0:
            drawn.append(text("tick mid", x if edges else x + step / 2, floor + 14, bar.name))
    if marker is not None:
        x = _LEFT + marker * step
        anchor = "end" if marker > len(bars) / 2 else "start"
        drawn.append(f'<line class="marker" x1="{x:.1f}" x2="{x:.1f}" y1="{top - 12}" y2="{floor}"/>')
        drawn.append(text(f"marked {anchor}", x + (-5 if anchor == "end" else 5), top - 4, marked))
    return svg(NARROW, height, f"{label}, {unit}", drawn)


def area(
    values: Sequence[float],
    *,
    label: str,
    hints: Sequence[str],
    names: Sequence[tuple[float, str]],
    tell: Callable[[float], str],
    width: int,
    kind: str = "",
    behind: Callable[[float, float], list[str]] | None = None,
) -> str:
    """Draw a value over time. `names`: positions on the axis, from 0 to 1, and their labels.

    `behind` draws what is behind it, from a highest to a lowest place.
    """
    height, top = 170, _TOP
    left, floor = TIME_LEFT, height - TIME_BOTTOM
    plot_width = width - left - TIME_RIGHT
    ticks = nice_ticks(max(values, default=0))
    drawn = grid(ticks, width, top, floor, tell, left=left)
    drawn += behind(top, floor) if behind else []
    step = plot_width / max(1, len(values))
    heights = [floor - value / ticks[-1] * (floor - top) for value in values]
    edge = " ".join(f"H{left + (number + 1) * step:.1f}V{y:.1f}" for number, y in enumerate([*heights[1:], floor]))
    if values:
        drawn.append(f'<path class="area {kind}" d="M{left} {floor}V{heights[0]:.1f} {edge}Z"/>')
        outline = edge.rpartition("V")[0]
        drawn.append(f'<path class="line {kind}" d="M{left} {heights[0]:.1f} {outline}"/>')
    for number, hint in enumerate(hints):
        drawn.append(
            f'<rect class="hit" x="{left + number * step:.1f}" y="{top}" width="{step:.1f}" '
            f'height="{floor - top}"><title>{escape(hint)}</title></rect>'
        )
    for place, name in names:
        drawn.append(text("tick mid", left + place * plot_width, floor + 15, name))
    return svg(width, height, label, drawn)


def nice_ticks(most: float) -> list[float]:
    """Return up to six round values from 0 to at least `most`."""
    if most <= 0:
        return [0.0, 1.0]
    rough = most / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    return [number * step for number in range(math.ceil(most / step * 0.999) + 1)]


def time_names(began_at: float, length_s: float, *, at_most: int) -> list[tuple[float, str]]:
    """Return positions on a time axis, from 0 to 1, with round times."""
    steps = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, DAY_S)
    step_s = next((step for step in steps if length_s / step <= at_most), None)
    if step_s is None:
        step_s = DAY_S * int(-(-length_s // (DAY_S * at_most)))
    form = "%Y-%m-%d" if step_s >= DAY_S else "%H:%M" if step_s >= 60 else "%H:%M:%S"
    form = "%d %b %H:%M" if step_s < DAY_S <= length_s else form
    first_at = -(-began_at // step_s) * step_s
    places = []
    at = first_at
    while at <= began_at + length_s:
        place = (at - began_at) / length_s
        if 0.02 <= place <= 0.97:  # otherwise the label would not fit
            places.append((place, f"{datetime.fromtimestamp(at, UTC):{form}}"))
        at += step_s
    return places


def shorten(text: str, letters: int) -> str:
    """Return text cut to a number of letters."""
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def grid(
    ticks: Sequence[float], width: int, top: float, floor: float, tell: Callable[[float], str], left: float = _LEFT
) -> list[str]:
    """Draw a line for each tick, with its value."""
    drawn = []
    for tick in ticks:
        y = floor - tick / ticks[-1] * (floor - top)
        drawn.append(f'<line class="grid" x1="{left}" x2="{width - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        if tick == int(tick) or ticks[-1] < 5:  # no fractions of sites
            drawn.append(text("tick end", left - 6, y + 4, tell(tick)))
    return drawn


def text(kind: str, x: float, y: float, said: str) -> str:
    """Draw a text."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(said)}</text>'


def svg(width: int, height: float, label: str, drawn: Sequence[str]) -> str:
    """Return a plot."""
    return (
        f'<svg viewBox="0 0 {width} {height:g}" role="img" aria-label="{escape(label, quote=True)}">'
        + "".join(drawn)
        + "</svg>"
    )
