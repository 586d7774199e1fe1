"""What the server is asked to find out about its tables after seeds were loaded: no start fails for want of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tests.frontier.postgres.moments import when

if TYPE_CHECKING:
    import psycopg

    from tests.frontier.labs import PostgresLab


def times_analysed(outsider: psycopg.Connection[Any], table: str) -> int:
    counted = "SELECT analyze_count FROM pg_stat_user_tables WHERE schemaname = 'gossamer' AND relname = %s"
    (times,) = outsider.execute(counted, (table,)).fetchone() or (0,)
    return int(times)


def test_a_table_that_is_being_vacuumed_is_not_waited_for(lab: PostgresLab, outsider: psycopg.Connection[Any]) -> None:
    frontier = lab.open()
    before = times_analysed(outsider, "queue")
    with outsider.transaction():
        outsider.execute("LOCK TABLE site IN SHARE UPDATE EXCLUSIVE MODE")  # as a vacuum does
        begun_s = time.monotonic()
        for seeds in ("these", "those", "all"):  # at one of them, the server itself may be vacuuming the other table
            frontier.mark_seeds_loaded(seeds)
        assert time.monotonic() - begun_s < 10, "half of its patience with a statement"
    assert frontier.seeds_loaded("all")
    assert times_analysed(outsider, "queue") >= before + 2, "all others are analysed"


def test_statistics_that_cannot_be_had_are_left_to_the_server(
    lab: PostgresLab, outsider: psycopg.Connection[Any]
) -> None:
    frontier = lab.open()
    pid = frontier._database._connected().info.backend_pid
    when(frontier, "analyze", lambda: outsider.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,)))
    frontier.mark_seeds_loaded("these")
    assert frontier.seeds_loaded("these")
