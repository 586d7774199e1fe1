"""When the database fails: nothing is half done, and what comes after it works."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from gossamer.frontier import FrontierError
from tests.frontier import postgres_server
from tests.frontier.postgres.moments import when
from tests.frontier.samples import claim, complete, link, links, names, wait

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.records import Link
    from tests.frontier.labs import PostgresLab


@pytest.mark.parametrize("statement", ["crawl", "claim", "save_tally"])
def test_a_backend_that_is_terminated_mid_claim_leaves_nothing_half_claimed(
    lab: PostgresLab, outsider: psycopg.Connection[Any], statement: str
) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 2) + links("b.test", 2))
    pid = frontier._database._connected().info.backend_pid
    when(frontier, statement, lambda: outsider.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,)))
    with pytest.raises(FrontierError, match=r"terminat|closed"):
        frontier.claim(10)
    assert frontier.reconcile({}) == (), "over a new connection"
    assert sorted(names(claim(frontier))) == ["a.test", "b.test"]


def test_a_claim_whose_reply_was_lost_is_given_back_at_a_full_delay(
    lab: PostgresLab, outsider: psycopg.Connection[Any]
) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 2))
    assert claim(frontier)  # suppose that nobody heard
    pid = frontier._database._connected().info.backend_pid
    outsider.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
    with pytest.raises(FrontierError):
        frontier.heartbeat({})
    assert frontier.reconcile({}) == ()
    assert wait(frontier) == 70


def test_a_worker_that_is_stopped_within_a_transaction_holds_others_up_for_less_than_their_patience(
    lab: PostgresLab,
) -> None:
    stopped, _ = lab.join()
    other, _ = lab.join()
    connection = stopped._database._connected()
    assert connection.execute("SHOW idle_in_transaction_session_timeout").fetchone() == ("10s",), "a sixth of the lease"
    stopped.add(links("a.test", 2))
    (owned,) = claim(stopped)

    def stop() -> None:
        connection.execute("SET idle_in_transaction_session_timeout = 200")
        complete(other, owned)

    # It has locked its site when it is stopped; the other one waits for that lock.
    when(stopped, "settle", stop)
    with pytest.raises(FrontierError, match=r"terminat|closed"):
        complete(stopped, owned)
    assert stopped.reconcile({}) == ()
    assert other.stats().done == 1


def test_ctrl_c_ends_the_adding_of_batches_also_if_the_server_hangs(
    lab: PostgresLab, outsider: psycopg.Connection[Any]
) -> None:
    frontier = lab.open()

    def batches() -> Iterator[list[Link]]:
        yield links("a.test", 2)
        raise KeyboardInterrupt

    with outsider.transaction():
        outsider.execute("LOCK TABLE seen IN ACCESS EXCLUSIVE MODE")
        begun_s = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            list(frontier.add_each(batches()))
        assert time.monotonic() - begun_s < 10, "half of its patience with a statement"
    assert frontier.add(links("a.test", 2)) == 2


def test_a_statement_that_takes_too_long_fails_and_the_next_one_works(
    lab: PostgresLab, outsider: psycopg.Connection[Any]
) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 2))
    (owned,) = claim(frontier)
    frontier._database._connected().execute("SET statement_timeout = 50")
    with outsider.transaction():
        outsider.execute("SELECT 1 FROM site WHERE name = 'a.test' FOR UPDATE")
        with pytest.raises(FrontierError, match="canceling statement due to statement timeout"):
            complete(frontier, owned, links=[link("b.test/")])
    assert frontier.reconcile({owned.site: owned.epoch}) == ()
    complete(frontier, owned, links=[link("b.test/")])
    assert frontier.stats().known == 3, "the failed completion did not count as committed"


def test_a_database_that_is_away_is_tried_again_with_patience(
    lab: PostgresLab, outsider: psycopg.Connection[Any], version: str
) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 2))
    name = str(conninfo_to_dict(lab.address)["dbname"])
    with psycopg.connect(postgres_server.server(version), autocommit=True) as elsewhere:
        elsewhere.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        try:
            elsewhere.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s AND pid <> %s",
                (name, outsider.info.backend_pid),
            )
            refused = "not currently accepting connections"
            for expected, tries in (("terminat|closed", 0), (refused, 1), (refused, 1), (refused, 1)):
                with pytest.raises(FrontierError, match=expected):
                    frontier.claim(1)
                assert frontier._database._failures == tries
            for tries in range(2, 10):
                lab.advance(4)  # longer than that it never waits
                with pytest.raises(FrontierError, match=refused):
                    frontier.claim(1)
                assert frontier._database._failures == tries
        finally:
            elsewhere.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
    lab.advance(10)
    assert names(claim(frontier)) == ["a.test"]
