"""What a query needs of a table, read from its parsed form: all rows, those of some sites, or the first few. Pure.

DuckDB gives the parsed form as JSON, which differs between its versions. What is not understood restricts nothing, so
that a mistake here costs time and never rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Which rows of a table a query needs."""

    sites: frozenset[str] | None = None  # only those of these sites; None: of all
    rows: int | None = None  # only so many, any of them; None: all
    has_limit: bool = False  # the query returns few rows, though it may have to read all

    @property
    def is_bounded(self) -> bool:
        """Whether the query says how much it wants: some sites, or a number of rows."""
        return self.sites is not None or self.has_limit


def need_of(parsed: dict[str, Any], table: str) -> Need:
    """Return which rows of a table a parsed statement needs."""
    node = parsed["node"]
    uses = [(select, ref) for select in _selects(node) for ref in _tables(select.get("from_table")) if ref[0] == table]
    limit = _limit(node)
    found = [_sites(select.get("where_clause"), ref) for select, ref in uses]
    sites: frozenset[str] | None = None
    if found and all(one is not None for one in found):
        sites = frozenset().union(*(one for one in found if one is not None))
    is_first_rows = limit is not None and len(uses) == 1 and uses[0][0] is node and _is_plain(node)
    return Need(sites=sites, rows=limit if is_first_rows else None, has_limit=limit is not None)


def tables_of(parsed: dict[str, Any]) -> set[str]:
    """Return the names of all tables that a parsed statement reads, in lower case."""
    return {name for select in _selects(parsed["node"]) for name, _ in _tables(select.get("from_table"))}


def _selects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every SELECT of a statement, at any depth."""
    if isinstance(value, dict):
        if value.get("type") == "SELECT_NODE":
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _selects(inner)


def _tables(ref: Any) -> Iterator[tuple[str, str]]:
    """Yield name and alias of every table that a FROM reads itself; subqueries are SELECTs of their own."""
    if not isinstance(ref, dict):
        return
    if ref.get("type") == "BASE_TABLE":
        name = str(ref.get("table_name", "")).lower()
        yield name, (str(ref.get("alias") or "") or name).lower()
    for side in ("left", "right"):
        yield from _tables(ref.get(side))


def _sites(where: Any, table: tuple[str, str]) -> frozenset[str] | None:
    """Return the sites to which a condition restricts a table; None if it does not."""
    if not isinstance(where, dict):
        return None
    if where.get("type") == "CONJUNCTION_AND":
        found = [one for part in where.get("children", ()) if (one := _sites(part, table)) is not None]
        return min(found, key=len, default=None)
    if where.get("type") == "COMPARE_EQUAL":
        sides = [where.get("left"), where.get("right")]
        column, values = (sides[0], sides[1:]) if _is_site(sides[0], table) else (sides[1], sides[:1])
    elif where.get("type") == "COMPARE_IN":
        column, *values = where.get("children") or [None]
    else:
        return None
    texts = [_constant(value, "STRING", "VARCHAR") for value in values]
    if not _is_site(column, table) or not texts or None in texts:
        return None
    return frozenset(str(text) for text in texts)


def _is_site(column: Any, table: tuple[str, str]) -> bool:
    names = [str(name).lower() for name in column.get("column_names", ())] if isinstance(column, dict) else []
    return names == ["site"] or names == [table[1], "site"]


def _limit(node: dict[str, Any]) -> int | None:
    """Return how many rows a SELECT takes at most, those that it skips included; None if it has no limit."""
    for modifier in node.get("modifiers", ()):
        if modifier.get("type") == "LIMIT_MODIFIER" and modifier.get("limit_type", "ROW_COUNT") == "ROW_COUNT":
            limit = _constant(modifier.get("limit"), "INTEGER", "BIGINT")
            offset = "0" if modifier.get("offset") is None else _constant(modifier["offset"], "INTEGER", "BIGINT")
            return int(limit) + int(offset) if limit is not None and offset is not None else None
    return None


def _is_plain(node: dict[str, Any]) -> bool:
    """Return whether a SELECT only copies columns of its rows, so that any of them will do."""
    return (
        not any(node.get(part) for part in ("where_clause", "group_expressions", "having", "qualify", "sample"))
        and [modifier.get("type") for modifier in node.get("modifiers", ())] == ["LIMIT_MODIFIER"]
        and node.get("from_table", {}).get("type") == "BASE_TABLE"
        and not node["from_table"].get("sample")
        and all(one.get("type") in ("STAR", "COLUMN_REF") and not one.get("expr") for one in node["select_list"])
    )


def _constant(value: Any, *kinds: str) -> str | None:
    """Return a constant of one of these kinds as text, or None; DuckDB 1 and 2 write constants differently."""
    if not isinstance(value, dict) or value.get("type") != "VALUE_CONSTANT":
        return None
    if isinstance(literal := value.get("literal"), dict):
        return str(literal.get("text")) if literal.get("kind") in kinds else None
    older = value.get("value")
    if isinstance(older, dict) and not older.get("is_null") and older.get("type", {}).get("id") in kinds:
        return str(older.get("value"))
    return None
