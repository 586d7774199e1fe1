"""SQL that formats rows as text, CSV or JSON, so that DuckDB does the work. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

NUMBERS: Final = ("INT", "DECIMAL", "DOUBLE", "FLOAT")  # types that begin or end so are numbers

# What makes a spreadsheet run a cell: these characters at its beginning, also in full width, and perhaps after spaces.
# A tab or line end at the beginning begins another cell in some of them.
_RUN: Final = r"^\s*[=+\-@\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]|^[\t\r\n]"
_RUN_IN_PYTHON: Final = re.compile(r"\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|[\t\r\n]")

_ISO = "%Y-%m-%dT%H:%M:%S.%fZ"


def json_lines(query: str, columns: Sequence[tuple[str, str]]) -> str:
    """Return SQL for one JSON object per row of a query: hashes in hexadecimal, times in ISO 8601."""
    values = ", ".join(
        f"{plain_value(f'c{place}', kind)} as {_name(name)}" for place, (name, kind) in enumerate(columns)
    )
    inner = f"select {values} from {_by_place(query, columns)}"  # noqa: S608  # names are quoted
    return f"select to_json(line)::varchar as line from ({inner}) as line"  # noqa: S608


def csv_lines(query: str, columns: Sequence[tuple[str, str]], *, spreadsheet_safe: bool = False) -> str:
    """Return SQL for one line of CSV per row of a query; null is written as an empty field."""
    places = [(f"c{place}", kind) for place, (_, kind) in enumerate(columns)]
    line = csv_values(places, spreadsheet_safe=spreadsheet_safe)
    return f"select {line} as line from {_by_place(query, columns)}"  # noqa: S608


def csv_values(columns: Sequence[tuple[str, str]], *, spreadsheet_safe: bool = False) -> str:
    """Return an expression for a line of CSV with these columns; their names must be plain identifiers.

    If it must be safe for spreadsheets, every cell that is no number is in quotes, and begins with an apostrophe if a
    spreadsheet would run it.
    """
    alone = len(columns) == 1  # an empty line is no row
    return " || ',' || ".join(
        _safe_field(_field(name, kind))
        if spreadsheet_safe and not is_number(kind)
        else _csv_field(_field(name, kind), quote_empty=alone)
        for name, kind in columns
    )


def csv_header(columns: Sequence[tuple[str, str]], *, spreadsheet_safe: bool = False) -> str:
    """Return the line that names the columns."""
    names, special = [name for name, _ in columns], set('",\r\n')
    if spreadsheet_safe:
        names, special = [f"'{name}" if _RUN_IN_PYTHON.match(name) else name for name in names], special | set(";\t")
    return ",".join('"' + name.replace('"', '""') + '"' if set(name) & special else name for name in names)


def is_number(kind: str) -> bool:
    """Return whether the values of an SQL type are numbers."""
    return kind.endswith(NUMBERS) or kind.startswith(NUMBERS)


def text_cells(query: str, columns: Sequence[tuple[str, str]], *, max_chars: int) -> str:
    """Return SQL for every value of a query as text to display, cut to `max_chars`."""
    values = ", ".join(f"left({_text(f'c{place}', kind)}, {max_chars})" for place, (_, kind) in enumerate(columns))
    return f"select {values} from {_by_place(query, columns)}"  # noqa: S608


def _by_place(query: str, columns: Sequence[tuple[str, str]]) -> str:
    """Return a query as a table whose columns are named by position: their own names may be anything."""
    places = ", ".join(f"c{place}" for place in range(len(columns)))
    return f"({query}\n) as q({places})"


def _text(name: str, kind: str) -> str:
    if kind == "BLOB":
        return f"lower(hex({name}))"
    if kind == "TIMESTAMP WITH TIME ZONE":
        return f"strftime({name} at time zone 'UTC', '{_ISO}')"
    return f"{name}::varchar"


def plain_value(name: str, kind: str) -> str:
    """Return an expression for a value that JSON has: hashes in hexadecimal, times in ISO 8601."""
    if kind in ("BLOB", "TIMESTAMP WITH TIME ZONE"):
        return _text(name, kind)
    if kind in ("DOUBLE", "FLOAT"):
        return f"case when isfinite({name}) then {name} end"  # JSON has neither infinity nor NaN
    return name


def _field(name: str, kind: str) -> str:
    return f"coalesce({_text(name, kind)}, '')"


def _safe_field(field: str) -> str:
    mark = f"case when regexp_matches({field}, '{_RUN}') then '''' else '' end"
    return f"""'"' || {mark} || replace({field}, '"', '""') || '"'"""


def _csv_field(field: str, *, quote_empty: bool) -> str:
    special = f"regexp_matches({field}, '[\",\r\n]')" + (f" or {field} = ''" if quote_empty else "")
    return f"""case when {special} then '"' || replace({field}, '"', '""') || '"' else {field} end"""


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
