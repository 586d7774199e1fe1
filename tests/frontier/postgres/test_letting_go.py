"""What a worker holds in the database goes with it, however it ends, before others lose their patience."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from psycopg.conninfo import make_conninfo

from gossamer.frontier.postgres import PostgresFrontier

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg

    from tests.frontier.labs import PostgresLab


@pytest.fixture
def far_away(lab: PostgresLab, outsider: psycopg.Connection[Any]) -> Iterator[PostgresFrontier]:
    """A frontier whose server is reached by TCP, with the least of patience: two seconds."""
    role = f"far_away_{outsider.info.backend_pid}"
    outsider.execute(f"CREATE ROLE {role} SUPERUSER LOGIN PASSWORD 'far'".encode())
    try:
        address = make_conninfo(lab.address, host="127.0.0.1", user=role, password="far")
        with PostgresFrontier(address, lab.crawl, lease_s=1) as frontier:
            yield frontier
    finally:
        outsider.execute(f"DROP ROLE {role}".encode())


def test_a_worker_that_is_stopped_before_it_has_taken_in_an_answer_holds_others_up_for_less_than_their_patience(
    far_away: PostgresFrontier, outsider: psycopg.Connection[Any]
) -> None:
    connection = far_away._database._connected()
    lock = connection.info.backend_pid
    connection.execute("SELECT pg_advisory_lock(%s)", (lock,))
    connection.pgconn.send_query(b"SELECT repeat('x', 1000) FROM generate_series(1, 50000)")  # which nobody reads
    connection.pgconn.flush()
    outsider.execute("SET statement_timeout = '30s'")
    outsider.execute("SELECT pg_advisory_lock(%s)", (lock,))


def test_the_server_looks_after_machines_that_are_gone(far_away: PostgresFrontier) -> None:
    connection = far_away._database._connected()
    assert connection.execute("SHOW tcp_keepalives_idle").fetchone() == ("30",)
    assert connection.execute("SHOW tcp_user_timeout").fetchone() == ("1000",), "half of the patience with a statement"


@pytest.mark.parametrize(("theirs", "ours"), [("0", "20s"), ("1h", "20s"), ("19s", "19s")])
def test_a_statement_ends_on_the_server_no_later_than_we_stop_waiting_for_it(
    lab: PostgresLab, theirs: str, ours: str
) -> None:
    address = make_conninfo(lab.address, options=f"-c statement_timeout={theirs}")
    with PostgresFrontier(address, lab.crawl, lease_s=60) as frontier:
        assert frontier._database._connected().execute("SHOW statement_timeout").fetchone() == (ours,)
