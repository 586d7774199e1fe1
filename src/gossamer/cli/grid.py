"""Formats rows for a terminal: as an aligned table, which shortens long cells, or as one line per column. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from gossamer.cli.wording import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_CELL_WIDTH = 80  # even where there is room for more
_MIN_CELL_WIDTH = 8
_LEGIBLE_CELL_WIDTH = 16  # longer cells stay readable when they are cut to this width
_GAP = "  "


def grid(names: Sequence[str], rows: Sequence[Sequence[str]], *, numeric: Sequence[bool], width: int) -> Iterator[str]:
    """Yield the lines of a table of this width: names, a rule, and a line per row."""
    cells = [[plain(cell) for cell in row] for row in (names, *rows)]
    natural = [max(cell_len(row[place]) for row in cells) for place in range(len(names))]
    widths = _fit([min(one, MAX_CELL_WIDTH) for one in natural], width - len(_GAP) * (len(names) - 1))
    for number, row in enumerate(cells):
        yield _GAP.join(map(_aligned, row, widths, numeric)).rstrip()
        if number == 0:
            yield _GAP.join("-" * one for one in widths)


def is_legible(names: Sequence[str], rows: Sequence[Sequence[str]], *, width: int) -> bool:
    """Return whether a table of this width cuts no cell to a few characters and fits."""
    natural = [max(cell_len(plain(row[place])) for row in (names, *rows)) for place in range(len(names))]
    room = width - len(_GAP) * (len(names) - 1)
    return sum(min(one, _LEGIBLE_CELL_WIDTH) for one in natural) <= room


def line_per_column(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield each row as a heading and one line per column, of any length."""
    widest = max(map(cell_len, map(plain, names)))
    for number, row in enumerate(rows, start=1):
        yield f"-- row {number} {'-' * widest}"
        for name, cell in zip(names, row, strict=True):
            yield f"{_aligned(plain(name), widest, is_number=False)}{_GAP}{plain(cell)}".rstrip()


def _fit(widths: list[int], room: int) -> list[int]:
    """Make the widest columns narrower until all fit or have the smallest readable width."""
    while sum(widths) > room and max(widths) > _MIN_CELL_WIDTH:
        widest = max(widths)
        others = [one for one in widths if one < widest]
        step = max(1, min(widest - max([*others, _MIN_CELL_WIDTH]), -(-(sum(widths) - room) // widths.count(widest))))
        widths = [one - step if one == widest else one for one in widths]
    return widths


def _aligned(cell: str, width: int, is_number: bool) -> str:
    if cell_len(cell) > width:
        return set_cell_size(cell, width - 1) + "…"
    padding = " " * (width - cell_len(cell))
    return padding + cell if is_number else cell + padding
