"""Operations that hold their connection for long: the log names each with its statements and their times."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

import psycopg

from gossamer import metrics
from gossamer.frontier.holding import MOST_NAMED, Held, describe
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.frontier.sqlite.database import Gate
from gossamer.records import Batch
from tests.frontier.postgres_server import new_database
from tests.frontier.samples import link

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SLOW_S = 0.4
NAP_S = 0.15  # shorter than SLOW_S: no statement is slow by itself
TABLES = ("site", "seen", "queue")


def only_warning(caplog: pytest.LogCaptureFixture) -> str:
    """Return the one warning about a slow operation, which must show its caller."""
    (record,) = [record for record in caplog.records if "slow_operation" in record.getMessage()]
    assert "test_holding.py" in str(record.stack_info)
    return record.getMessage()


def test_a_lock_held_over_several_statements_is_named_with_them_on_sqlite(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    held = "gossamer_frontier_held_seconds_sum{operation=complete}"
    with SqliteFrontier(tmp_path / "frontier.sqlite", slow_s=SLOW_S) as frontier:
        frontier.resume(delay_s=70)
        frontier.join("worker")
        connection = frontier._database.connection
        connection.create_function("nap", 0, lambda: time.sleep(NAP_S))
        for table in TABLES:
            connection.execute(f"CREATE TEMP TRIGGER nap_{table} AFTER INSERT ON {table} BEGIN SELECT nap(); END")
        before = metrics.snapshot().get(held, 0.0)
        with caplog.at_level(logging.WARNING):
            frontier.complete(Batch(links=[link("a.test/")]))
        assert metrics.snapshot()[held] - before > len(TABLES) * NAP_S
    said = only_warning(caplog)
    assert "The operation complete held its connection for" in said
    assert "of it from begin to commit" in said
    assert said.count(f" {NAP_S:.1f}") >= len(TABLES), said


def test_a_lock_held_over_several_statements_is_named_with_them_on_postgresql(caplog: pytest.LogCaptureFixture) -> None:
    address = new_database()
    with PostgresFrontier(address, "crawl", slow_s=SLOW_S) as frontier:
        frontier.resume(delay_s=70)
        frontier.join("worker")
        with psycopg.connect(address, autocommit=True) as server:
            server.execute(
                f"CREATE FUNCTION gossamer.nap() RETURNS trigger LANGUAGE plpgsql AS "
                f"$$ BEGIN PERFORM pg_sleep({NAP_S}); RETURN NULL; END $$".encode()
            )
            for table in TABLES:
                server.execute(
                    f"CREATE TRIGGER nap AFTER INSERT ON gossamer.{table} FOR EACH STATEMENT "
                    "EXECUTE FUNCTION gossamer.nap()".encode()
                )
        with caplog.at_level(logging.WARNING):
            frontier.complete(Batch(links=[link("a.test/")]))
    said = only_warning(caplog)
    assert "The operation complete held its connection for" in said
    assert "of it from begin to commit" in said
    assert said.count(f" {NAP_S:.1f}") >= len(TABLES), said


def test_a_slow_statement_is_named_on_postgresql(caplog: pytest.LogCaptureFixture) -> None:
    address = new_database()
    with PostgresFrontier(address, "crawl", slow_s=SLOW_S) as frontier, psycopg.connect(address) as other:
        frontier.resume(delay_s=70)
        other.execute("LOCK TABLE gossamer.queue IN ACCESS EXCLUSIVE MODE")
        release = threading.Timer(2 * SLOW_S, other.rollback)
        release.start()
        with caplog.at_level(logging.WARNING):
            frontier.add([link("a.test/")])
        release.join()
    said = only_warning(caplog)
    assert "The operation add held its connection for" in said
    slowest = said.partition("its statements: ")[2].split(",")[0]
    assert float(slowest.split()[1]) > SLOW_S


def test_a_wait_for_the_gate_of_writers_is_told_apart_from_holding_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "frontier.sqlite"
    with SqliteFrontier(path, slow_s=SLOW_S) as frontier:
        frontier.resume(delay_s=70)
        other = Gate(path)
        other.__enter__()
        release = threading.Timer(2 * SLOW_S, other.__exit__)
        release.start()
        with caplog.at_level(logging.WARNING):
            frontier.add([link("a.test/")])
        release.join()
        other.close()
    said = only_warning(caplog)
    assert "The operation add waited 0." in said
    assert "s for other writers, then held its connection for 0." in said


def test_zero_turns_the_warning_off(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with SqliteFrontier(tmp_path / "frontier.sqlite", slow_s=0.0) as frontier, caplog.at_level(logging.WARNING):
        frontier.resume(delay_s=70)
    assert not caplog.records


def test_a_warning_names_the_slowest_statements_and_counts_the_others() -> None:
    held = Held("complete")
    for number in range(MOST_NAMED + 3):
        held.note(f"SELECT {number} FROM table", number / 10)
    held.note("SELECT 10 FROM table", 1.0)
    said = describe(held, 9.0, {"SELECT 10 FROM table": "find"})
    assert "its statements: find 2.00 s in 2 runs, SELECT 9 FROM 0.90 s, " in said
    assert said.endswith(" and 3 more.")
