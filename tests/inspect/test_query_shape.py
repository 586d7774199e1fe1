"""What a query needs of a table: some sites, the first rows, or all."""

from __future__ import annotations

import duckdb
import pytest

from gossamer.inspect.frontier_tables import needs_of
from gossamer.inspect.query_shape import Need, need_of

SITES = [
    ("select * from queue where site = 'a'", {"a"}),
    ("select * from queue where 'a' = site", {"a"}),
    ("SELECT url FROM QUEUE q WHERE q.SITE = 'a' AND depth > 2", {"a"}),
    ("select count(*) from queue where site in ('a', 'b')", {"a", "b"}),
    ("with x as (select * from queue where site = 'a') select * from x", {"a"}),
    ("select (select count(*) from queue where site = 'a')", {"a"}),
    ("select * from queue q join frontier_sites s using (site) where q.site = 'a'", {"a"}),
    ("select * from queue where site = 'a' union all select * from queue where site = 'b'", {"a", "b"}),
]
ALL = [
    "select * from queue",
    "select * from queue where site = 'a' or depth > 2",
    "select * from queue where not (site = 'a')",
    "select * from queue where site <> 'a'",
    "select * from queue where site = lower('A')",
    "select * from queue where url = 'a'",
    "select * from queue where site = 'a' union all select * from queue",
    "select * from queue q join frontier_sites s using (site) where s.site = 'a'",
    "select * from (select * from queue) where site = 'a'",
]


@pytest.mark.parametrize(("sql", "sites"), SITES)
def test_a_condition_on_the_site_restricts_what_is_read(sql: str, sites: set[str]) -> None:
    assert needs_of(duckdb.connect(), sql)["queue"].sites == frozenset(sites)


@pytest.mark.parametrize("sql", ALL)
def test_all_else_reads_all_rows(sql: str) -> None:
    assert needs_of(duckdb.connect(), sql)["queue"] == Need()


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("select * from queue limit 3", 3),
        ("from queue limit 3 offset 4", 7),
        ("select url, depth from queue limit 3", 3),
        ("select * from queue order by depth limit 3", None),
        ("select * from queue where depth > 1 limit 3", None),
        ("select count(*) from queue limit 3", None),
        ("select distinct site from queue limit 3", None),
        ("select site from queue group by site limit 3", None),
        ("select * from queue q1, queue q2 limit 3", None),
        ("select * from (select count(*) from queue) limit 3", None),
        ("select row_number() over () from queue limit 3", None),
        ("select * from queue using sample 5 limit 3", None),
    ],
)
def test_a_limit_reads_the_first_rows_only_if_any_rows_will_do(sql: str, rows: int | None) -> None:
    need = needs_of(duckdb.connect(), sql)["queue"]
    assert need == Need(rows=rows, has_limit=True)
    assert need.is_bounded


@pytest.mark.parametrize("sql", ["select * from queue limit 10 %", "select * from (from queue limit 3)"])
def test_a_part_of_the_rows_or_a_limit_further_in_is_no_limit(sql: str) -> None:
    assert not needs_of(duckdb.connect(), sql)["queue"].is_bounded


def test_a_word_in_a_text_is_no_table_and_nonsense_needs_nothing() -> None:
    connection = duckdb.connect()
    assert needs_of(connection, "select * from pages where text like '%queue%'") == {}
    assert needs_of(connection, "select from from queue") == {}
    assert needs_of(connection, "select 1 from queue; select 2 from queue") == {}


def test_constants_are_read_as_the_older_duckdb_writes_them() -> None:
    def constant(kind: str, value: object) -> dict[str, object]:
        return {"type": "VALUE_CONSTANT", "value": {"type": {"id": kind}, "is_null": False, "value": value}}

    where = {
        "type": "COMPARE_EQUAL",
        "left": {"type": "COLUMN_REF", "column_names": ["site"]},
        "right": constant("VARCHAR", "a"),
    }
    node = {
        "type": "SELECT_NODE",
        "from_table": {"type": "BASE_TABLE", "table_name": "queue", "alias": ""},
        "where_clause": where,
        "select_list": [{"type": "STAR"}],
        "modifiers": [{"type": "LIMIT_MODIFIER", "limit": constant("INTEGER", 3), "offset": None}],
    }
    assert need_of({"node": node}, "queue") == Need(sites=frozenset({"a"}), has_limit=True)
