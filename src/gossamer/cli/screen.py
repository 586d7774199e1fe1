"""Draws the live screen of `crawl` and `top`: a pure function from a view to lines.

What belongs here: the layout. What does not: gathering the figures (`watching`).
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.text import Text

from gossamer.cli.wording import count, count_pages, duration, in_use, plain, size, span, wait
from gossamer.commands import to_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from gossamer.inspect.recent import Lately, SiteLately
    from gossamer.supervisor import Progress

BLOCKS: Final = " ▁▂▃▄▅▆▇█"
ASCII_BLOCKS: Final = " .:-=+*#%"
TALL: Final = 36  # lines from which there is room for plots of several lines
WIDE: Final = 120  # columns from which tables show more
PLOT_LINES: Final = 6
GUTTER: Final = 3  # columns between left and right
_LABEL: Final = 12
_LEAST_VALUE: Final = 26  # columns of a rate, so that plots stay where they are

_NAME, _PLOT, _GOOD, _BAD = "bold", "cyan", "yellow", "bold red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spark:
    """A figure of the history: its last value, and how it got there."""

    label: str
    value: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything that one screen shows."""

    folder: Path
    progress: Progress
    lately: Lately
    used_bytes: int
    free_bytes: int
    hint: str  # which keys do what
    others: int = 0  # folders of other machines
    sparks: Sequence[Spark] = ()


def draw(view: View, *, width: int, height: int, ascii_only: bool = False) -> Group:
    """Return a screen of exactly this many lines, each of at most this many columns."""
    levels = ASCII_BLOCKS if ascii_only else BLOCKS
    head = [_title(view, width)]
    if height >= TALL:
        head += [Text(""), *_plots(view, width, levels), Text(""), *_sparks(view, width, levels), *_facts(view, width)]
    else:
        head += [*_rates(view, width, levels), *_facts(view, width)]
    if height > len(head) + 14:
        head.append(Text(""))
    room = height - len(head) - 1
    body = _panels(view, width, room) if room >= 4 else []
    lines = [_fit(line, width) for line in [*head, *body]][: max(0, height - 1)]
    lines += [Text("")] * (height - 1 - len(lines))
    return Group(*lines, _fit(Text(view.hint, "dim"), width))


# ---------------------------------------------------------------------- the upper half


def _title(view: View, width: int) -> Text:
    progress = view.progress
    right = f"{_state(progress)}, {duration(progress.elapsed_s)}"
    others = f" and {view.others} more" if view.others else ""
    left = Text.assemble(("Gossamer", _NAME), f"  {plain(str(view.folder))}{others}")
    left.truncate(max(0, width - len(right) - 2), overflow="ellipsis", pad=True)
    return left.append("  ").append(right)


def _state(progress: Progress) -> str:
    if progress.end is None:
        return "paused by the operator" if progress.stats.is_paused else "running"
    return f"finished: {progress.end.value}" if progress.end.is_finish else "finishing what is under way"


def _rates(view: View, width: int, levels: str) -> list[Text]:
    """Pages and bytes on a line each, with a small plot."""
    left = _LABEL + 2 + max(_LEAST_VALUE, *(len(value) for _, value, _ in _speeds(view, 0)))
    room = max(0, width - left)
    lines = []
    for label, value, counts in _speeds(view, room):
        text = _row(label, Text(value))
        text.truncate(left, pad=True)
        lines.append(text.append(plot(counts, width=room, height=1, levels=levels)[0], _PLOT))
    return lines


def _plots(view: View, width: int, levels: str) -> list[Text]:
    """Pages and bytes side by side, with a plot of several lines each."""
    half = (width - GUTTER) // 2
    blocks = []
    for label, value, counts in _speeds(view, half):
        heading = Text.assemble((f"{label:<{_LABEL}}", _NAME), value)
        heading.truncate(half - 12, overflow="ellipsis", pad=True)
        heading.append(f"last {span(len(counts))}".rjust(12), "dim")
        rows = plot(counts, width=half, height=PLOT_LINES, levels=levels)
        blocks.append([heading, *(Text(row, _PLOT) for row in rows)])
    left, right = blocks
    return _beside(left, right, half)


def _sparks(view: View, width: int, levels: str) -> list[Text]:
    """Figures of the history, two on a line, each with a small plot; an empty line follows."""
    half = (width - GUTTER) // 2
    told = max((len(spark.value) for spark in view.sparks), default=0) + 2
    blocks = []
    for spark in view.sparks:
        line = _row(spark.label, Text(f"{spark.value:<{told}}"))
        blocks.append(
            line.append(plot(spark.values, width=max(0, half - len(line)), height=1, levels=levels)[0], _PLOT)
        )
    blocks += [Text("")] * (len(blocks) % 2)
    return [*_beside(blocks[::2], blocks[1::2], half), *([Text("")] if blocks else [])]


def _speeds(view: View, bars: int) -> list[tuple[str, str, Sequence[int]]]:
    """Return name, figures and counts by the second, as far back as the crawl goes and as bars can show."""
    progress, lately = view.progress, view.lately
    in_flight = int(progress.figures.get("in_flight", 0))
    per_bar = max(1, -(-int(min(progress.elapsed_s, len(lately.pages))) // max(1, bars)))
    last = min(per_bar * max(1, bars), len(lately.pages))
    return [
        ("speed", f"{progress.pages_per_s:,.1f} pages/s, {in_flight:,} in flight", lately.pages[-last:]),
        ("received", f"{size(progress.bytes_per_s)}/s", lately.bytes[-last:]),
    ]


def _facts(view: View, width: int) -> list[Text]:
    progress, stats, figures = view.progress, view.progress.stats, view.progress.figures
    under_way, due = int(figures.get("turns", 0)), int(figures.get("sites_due", 0))
    waiting = max(0, stats.sites_with_work - under_way - due)
    outlook = progress.outlook
    left = f"unknown: {outlook.why}" if outlook.left_s is None else f"about {span(outlook.left_s)} {outlook.why}"
    lines = [
        _row("all starts", f"{count_pages(stats)}, {stats.queued:,} queued of {count(stats.known, 'URL')}"),
        _row("this start", f"{size(figures.get('bytes', 0))} received, {int(figures.get('retries', 0)):,} retried"),
        _row("sites", f"{stats.sites:,} known, {stats.in_trouble:,} in trouble; {stats.sites_in_hand:,} in hand: "
                      f"{under_way:,} busy, {due:,} due; {waiting:,} waiting"),
        _row("time left", left),
        _row("machine", f"{size(figures.get('memory_bytes', 0))} memory; disk {size(view.used_bytes)} used, "
                        f"{size(view.free_bytes)} free; lag {seconds(figures.get('loop_lag_s', 0))}{in_use(figures)}"),
    ]  # fmt: skip
    if progress.stats.is_paused:
        lines.append(
            _row("now", Text(f"nothing is begun: `{to_type('resume', folders=view.folder)}` continues", _GOOD))
        )
    elif progress.next_due_s is not None:
        lines.append(_row("now", Text(f"nothing is due; next URL due {wait(progress.next_due_s)}", _GOOD)))
    if progress.alive < progress.workers:
        lines.append(_row("workers", Text(f"{progress.alive} of {progress.workers} alive", _BAD)))
    room = max(1, width - _LABEL)
    for trouble in progress.troubles:
        first, *rest = wrap(plain(trouble), room) or [""]
        lines.append(_row("trouble", Text(first, _BAD)))
        lines += [_row("", Text(" ".join(rest), _BAD))] if rest else []  # cut after two lines
    return lines


# ---------------------------------------------------------------------- the lower half


def _panels(view: View, width: int, room: int) -> list[Text]:
    """Four small tables: outcomes and workers above, busy and slow sites below."""
    left = (width - GUTTER) // 2
    right = width - GUTTER - left
    wing = max(left, width * 21 // 40)  # the table of workers has most columns
    outcomes, workers = _outcomes(view), _workers(view, wing)
    busiest, slowest = _busiest(view, left), _slowest(view, right)
    upper, lower = _share(room - 1, max(len(outcomes), len(workers)), max(len(busiest), len(slowest)))
    rest = width - GUTTER - wing
    above = _beside(_cut(_columns(outcomes, rest), upper), _cut(_columns(workers, wing), upper), rest)
    below = _beside(_pad(_columns(busiest[:lower], left), lower), _pad(_columns(slowest[:lower], right), lower), left)
    return [*above, Text(""), *below]


Row = tuple[str, ...]  # a name, then figures


def _outcomes(view: View) -> list[Row]:
    stats = view.progress.stats
    settled = max(1, stats.done + sum(stats.given_up.values()))
    rows = [("page", stats.pages), ("moved or not kept", stats.done - stats.pages)]
    rows += sorted(((reason.value, urls) for reason, urls in stats.given_up.items()), key=lambda row: -row[1])
    table = [(name, f"{urls:,}", f"{urls / settled:.1%}") for name, urls in rows]
    return [("all outcomes", "URLs", "share"), *table]


def _workers(view: View, width: int) -> list[Row]:
    wide = width >= WIDE // 2
    more = ("requests", "received", "sites") if wide else ()
    rows: list[Row] = [("workers", "pages", *more, "in flight" if wide else "flight", "lag", "memory")]
    for member in view.progress.members:
        figures = member.figures
        told = (
            f"{figures.get('requests', 0):,.0f}",
            size(figures.get("bytes", 0)),
            f"{figures.get('sites_in_hand', 0):,.0f}",
        )
        rows.append((
            plain(member.label if wide else member.label.rpartition(":")[2]),
            f"{figures.get('pages', 0):,.0f}",
            *(told if wide else ()),
            f"{figures.get('in_flight', 0):,.0f}",
            seconds(figures.get("loop_lag_s", 0)),
            f"{figures.get('memory_bytes', 0) / 1e6:,.0f} MB",
        ))  # fmt: skip
    return rows


def _busiest(view: View, width: int) -> list[Row]:
    heading = ("busiest in " + span(view.lately.sites_s), "requests", "received")
    rows = ((site.site, f"{site.requests:,}", size(site.bytes), *_more(site, width)) for site in view.lately.busiest)
    return [(*heading, *(("mean", "failed") if width >= WIDE // 2 else ())), *rows]


def _slowest(view: View, width: int) -> list[Row]:
    wide = width >= WIDE // 2
    heading = ("slowest", "mean", *(("requests", "received", "failed") if wide else ("requests",)))
    rows: list[Row] = [heading]
    for site in view.lately.slowest:
        more = (size(site.bytes), f"{site.failed:,}") if wide else ()
        rows.append((site.site, seconds(site.mean_s), f"{site.requests:,}", *more))
    return rows


def _more(site: SiteLately, width: int) -> Row:
    return (seconds(site.mean_s), f"{site.failed:,}") if width >= WIDE // 2 else ()


def seconds(value: float) -> str:
    """Write how long a request took: 12 ms, 1.25 s."""
    return f"{value * 1000:,.0f} ms" if value < 1 else f"{value:,.2f} s"


# ---------------------------------------------------------------------- lines


def plot(counts: Sequence[float], *, width: int, height: int, levels: str = BLOCKS) -> list[str]:
    """Return bars as lines of text, the highest as high as there is room: each the mean of a stretch of counts."""
    if not counts or not width:
        return [" " * width] * height
    per_bar = -(-len(counts) // width)
    bars = [sum(stretch) / len(stretch) for stretch in _stretches(counts, per_bar)]
    steps, top = len(levels) - 1, max(bars)
    # Any count above zero must be visible.
    filled = [min(max(1, round(bar / top * height * steps)), height * steps) if bar else 0 for bar in bars]
    rows = []
    for row in range(height - 1, -1, -1):
        row_of = (levels[min(steps, max(0, parts - row * steps))] for parts in filled)
        rows.append("".join(row_of).rjust(width))
    return rows


def _stretches(counts: Sequence[float], length: int) -> Iterable[Sequence[float]]:
    """Cut into pieces, from the end: the first may be shorter."""
    first = len(counts) % length
    if first:
        yield counts[:first]
    for start in range(first, len(counts), length):
        yield counts[start : start + length]


def _row(label: str, value: str | Text) -> Text:
    return Text.assemble((f"{label:<{_LABEL}}", "dim"), value)


def _columns(rows: Sequence[Row], width: int) -> list[Text]:
    """Align a table: names to the left, figures to the right, each column as wide as it must be."""
    figures = [max(map(len, column)) for column in list(zip(*rows, strict=True))[1:]]
    room = max(0, width - sum(figures) - 2 * len(figures))
    lines = []
    for number, (name, *values) in enumerate(rows):
        style = _NAME if number == 0 else ""
        line = Text(plain(name), style)
        line.truncate(room, overflow="ellipsis", pad=True)
        for value, length in zip(values, figures, strict=True):
            line.append("  ").append(value.rjust(length), "dim" if number == 0 else "")
        lines.append(line)
    return lines


def _cut(lines: list[Text], room: int) -> list[Text]:
    """Leave out the rows that do not fit, and say how many."""
    if len(lines) <= room:
        return _pad(lines, room)
    return [*lines[: room - 1], Text(f"and {len(lines) - room + 1:,} more", "dim")] if room > 1 else lines[:room]


def _pad(lines: list[Text], room: int) -> list[Text]:
    return [*lines, *[Text("")] * (room - len(lines))]


def _share(room: int, upper: int, lower: int) -> tuple[int, int]:
    """Divide lines between two tables: each gets half, or less if it needs less, and the other the rest."""
    half = room // 2
    if upper <= half:
        return upper, room - upper
    if lower <= room - half:
        return room - lower, lower
    return half, room - half


def _beside(left: Sequence[Text], right: Sequence[Text], width: int) -> list[Text]:
    """Put two blocks of as many lines next to each other."""
    lines = []
    for one, other in zip(left, right, strict=True):
        line = one.copy()
        line.truncate(width, overflow="ellipsis", pad=True)
        lines.append(line.append(" " * GUTTER).append(other))
    return lines


def _fit(line: Text, width: int) -> Text:
    line.no_wrap = True
    line.truncate(width, overflow="ellipsis")
    return line
