"""SQL that formats rows as text, CSV or JSON, so that DuckDB does the work. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_ISO = "%Y-%m-%dT%H:%M:%S.%fZ"


def json_lines(query: str, columns: Sequence[tuple[str, str]]) -> str:
    """Return SQL for one JSON object per row of a query: hashes in hexadecimal, times in ISO 8601."""
    values = ", ".join(
        f"{_json_value(f'c{place}', kind)} as {_name(name)}" for place, (name, kind) in enumerate(columns)
    )
    inner = f"select {values} from {_by_place(query, columns)}"  # noqa: S608  # names are quoted
    return f"select to_json(line)::varchar as line from ({inner}) as line"  # noqa: S608


def csv_lines(query: str, columns: Sequence[tuple[str, str]]) -> str:
    """Return SQL for one line of CSV per row of a query; null is written as an empty field."""
    line = csv_values([(f"c{place}", kind) for place, (_, kind) in enumerate(columns)])
    return f"select {line} as line from {_by_place(query, columns)}"  # noqa: S608


def csv_values(columns: Sequence[tuple[str, str]]) -> str:
    """Return an expression for a line of CSV with these columns; their names must be plain identifiers."""
    fields = [f"coalesce({_text(name, kind)}, '')" for name, kind in columns]
    alone = len(fields) == 1  # an empty line is no row
    return " || ',' || ".join(_csv_field(field, quote_empty=alone) for field in fields)


def csv_header(columns: Sequence[tuple[str, str]]) -> str:
    """Return the line that names the columns."""
    return ",".join('"' + name.replace('"', '""') + '"' if set(name) & set('",\r\n') else name for name, _ in columns)


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


def _json_value(name: str, kind: str) -> str:
    if kind in ("BLOB", "TIMESTAMP WITH TIME ZONE"):
        return _text(name, kind)
    if kind in ("DOUBLE", "FLOAT"):
        return f"case when isfinite({name}) then {name} end"  # JSON has neither infinity nor NaN
    return name


def _csv_field(field: str, *, quote_empty: bool) -> str:
    special = f"regexp_matches({field}, '[\",\r\n]')" + (f" or {field} = ''" if quote_empty else "")
    return f"""case when {special} then '"' || replace({field}, '"', '""') || '"' else {field} end"""


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
