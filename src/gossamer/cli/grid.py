"""Rows as an aligned table on a terminal: cells that do not fit are cut, and say so. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from gossamer.cli.wording import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_CELL_WIDTH = 80  # even where there is room for more
_MIN_CELL_WIDTH = 8
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


def _fit(widths: list[int], room: int) -> list[int]:
    """Make the widest columns narrower until all fit, or are as narrow as can be read."""
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
