"""Writes an element as plain text or Markdown, in reading order: a table by rows, with one blank between two cells."""

from __future__ import annotations

from itertools import islice
from typing import Final

from turbohtml import Element, Markdown, PlainText, Text

_CELL_END: Final = "\x1f"  # no page shows this character: the lines that have it are rows of a table
_TEXT: Final = PlainText(table_cell_separator=_CELL_END)
_MARKDOWN: Final = Markdown(strip=("a", "img"))  # without links: the table `links` has them

_CELLS: Final = ("td", "th")
_PARTS: Final = ("caption", "thead", "tbody", "tfoot", "tr", *_CELLS)
# A cell with several blocks: the table is a layout, and a row of it is no line. Only children are looked at, because
# looking for ancestors takes very long on a page that nests without end.
_BLOCK: Final = ":is(table, pre, ul, ol, dl, h1, h2, h3, h4, blockquote)"
_LAYOUT: Final = f"td > {_BLOCK}, td > :is(div, center, font) > {_BLOCK}, td > :is(p, div) + :is(p, div)"
_MAX_CELL_CHARS: Final = 1_000  # a longer one is a text, no value, if its table has few rows
_MAX_LAYOUT_ROWS: Final = 4
_MAX_PADDED_CHARS: Final = 4_000_000  # turbohtml pads every cell of a column to the widest

_MAX_MEASURED_CHARS: Final = 20_000_000  # of nested tables, every one holds the text of all in it

_MAX_ELEMENTS: Final = 20_000  # in a list: a hostile page has a million
MAX_CELLS: Final = 10_000  # that are laid out as a table


def as_text(root: Element) -> str:
    """Return the text of an element: blocks on lines of their own, code as it is spelled."""
    if root.find("table") is None:
        return root.to_text().strip()
    _take_layouts_apart(root)
    for caption in root.select("table > caption"):  # turbohtml leaves it out
        table = caption.parent
        if table is not None and table != root:
            caption.tag = "p"
            table.insert_before(caption)
    text = root.to_text(_TEXT)
    if _CELL_END in text:
        text = "\n".join([_folded(line) if _CELL_END in line else line for line in text.split("\n")])
    return text.strip()


def as_markdown(root: Element) -> str:
    """Return an element as Markdown."""
    if root.find("table") is not None:
        _take_layouts_apart(root)
    return root.to_markdown(_MARKDOWN).strip()


def _folded(row: str) -> str:
    return " ".join(row.replace(_CELL_END, " ").split())


def _take_layouts_apart(root: Element) -> None:
    """Make blocks of the cells of tables that arrange blocks, and lines of rows that would take too much."""
    layouts: dict[Element, None] = {}
    cells = [*islice(root.iter_elements(_CELLS), MAX_CELLS)]
    if len(cells) == MAX_CELLS:  # turbohtml takes 2 KB for a row
        _write_rows_as_lines(root)
        return
    long, widest, measured = [], 0, 0
    for cell in cells:
        chars = len(cell.text)
        if chars > _MAX_CELL_CHARS:
            long.append(cell)
        widest, measured = max(widest, chars), measured + chars
        if len(cells) * widest > _MAX_PADDED_CHARS or measured > _MAX_MEASURED_CHARS:
            _write_rows_as_lines(root)
            return
    for element in (*long, *root.select(_LAYOUT)):
        table = _table_around(element)
        if table is not None and (element.tag not in _CELLS or len(table.select("tr")) <= _MAX_LAYOUT_ROWS):
            layouts[table] = None
    if not layouts:
        return
    parts = [part for part in islice(root.iter_elements(_PARTS), _MAX_ELEMENTS) if part.closest("table") in layouts]
    for element in (*parts, *layouts):
        element.tag = "div"


def _table_around(element: Element) -> Element | None:
    cell = element.closest("td, th")
    return cell.closest("table") if cell is not None else None


def _write_rows_as_lines(root: Element) -> None:
    while cells := [*islice(root.iter_elements(_CELLS), _MAX_ELEMENTS)]:
        for cell in cells:
            cell.tag = "span"
            cell.insert_after(Text(" "))
    while parts := [*islice(root.iter_elements(("table", *_PARTS)), _MAX_ELEMENTS)]:
        for part in parts:
            part.tag = "div"
