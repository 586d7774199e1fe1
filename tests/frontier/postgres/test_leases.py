"""Clocks and leases: no jump is followed, the silent are ended, the living are left alone."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.frontier import FrontierError
from gossamer.frontier.postgres import PostgresFrontier, recovering
from gossamer.records import GONE, Batch, Claimed, Orders, Release, Visit, Waiting
from tests.frontier.conformance.lab import ManualClock
from tests.frontier.postgres.moments import when
from tests.frontier.postgres_server import Server, binaries_of
from tests.frontier.samples import beating, claim, complete, link, links, names, wait

if TYPE_CHECKING:
    import psycopg

    from tests.frontier.labs import PostgresLab


def test_a_jump_of_the_servers_clock_is_followed_by_nobody(lab: PostgresLab) -> None:
    for jump_ms in (3_600_000.0, -7_200_000.0, 30_000.0):
        old, worker = lab.join()
        old.add(links("a.test", 9))
        (owned,) = claim(old)
        complete(old, owned, wait_s=70)
        lab._server_ms += jump_ms
        assert wait(old) == 70, "it counts by itself"
        new, newer = lab.join()
        assert wait(new) == pytest.approx(70, abs=0.002), "whoever joins later counts with the others"
        lab.advance(69)
        assert not claim(new)
        lab.advance(1.002)
        (owned,) = claim(new)
        complete(new, owned, wait_s=70)
        assert wait(old) == pytest.approx(70, abs=0.004)
        lab.advance(70.1)
        for one in (worker, newer):
            old.recover(one)
        lab.advance(70)


def test_a_clock_that_drifts_is_followed_slowly(lab: PostgresLab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 9))
    (owned,) = claim(frontier)
    complete(frontier, owned, wait_s=100)
    for _ in range(50):
        lab.advance(1)
        lab._server_ms += 0.5  # runs fast by half a thousandth
        frontier.heartbeat({})
    left = wait(frontier)
    assert left is not None
    assert 49.97 < left < 49.99


def test_a_worker_that_is_silent_for_the_lease_is_ended_by_others_and_its_sites_recovered(lab: PostgresLab) -> None:
    silent, dead = lab.join()
    observer, alive = lab.join()
    third, _ = lab.join()
    silent.add(links("a.test", 2) + links("b.test", 2) + links("c.test", 2))
    assert len(claim(silent, 1)) == 1
    for _ in range(7):
        observer.heartbeat({})
        third.heartbeat({})
        assert all(not state.gone for state in observer.workers())
        lab.advance(9)
    observer.heartbeat({})
    assert [(state.worker, state.gone) for state in observer.workers()][:2] == [(dead, True), (alive, False)]
    assert silent.heartbeat({}) is GONE
    assert observer.stats().sites_in_hand == 0
    assert sorted(names(claim(observer) + claim(third))) == ["b.test", "c.test"]
    lab.advance(70)
    assert names(claim(third)) == ["a.test"]


def test_nobody_is_dead_because_the_database_was_away_for_longer_than_the_lease(lab: PostgresLab) -> None:
    observer, other = lab.join()[0], lab.join()[0]
    for frontier in (other, observer):
        frontier.heartbeat({})
    lab.advance(300)
    for _ in range(7):
        assert isinstance(observer.heartbeat({}), Orders)
        lab.advance(9)
        assert not any(state.gone for state in observer.workers())
    assert isinstance(other.heartbeat({}), Orders)


def test_a_claim_that_commits_after_its_worker_was_ended_is_recovered_too(lab: PostgresLab) -> None:
    late, dead = lab.join()
    other, _ = lab.join()
    other.add(links("a.test", 2))
    # It has seen that it lives, and is then held up while others end it.
    when(late, "claim", lambda: other.recover(dead))
    assert isinstance(late.claim(1), Claimed)
    assert other.stats().sites_in_hand == 1
    other.heartbeat({})
    assert other.stats().sites_in_hand == 0
    assert wait(other) == 70
    assert other.audit() == []


def test_figures_of_the_dead_are_kept_and_do_not_pile_up(lab: PostgresLab, outsider: psycopg.Connection[Any]) -> None:
    for number in range(5):
        frontier, worker = lab.join()
        frontier.add(links(f"s{number}.test", 2))
        (owned,) = claim(frontier, 1)
        complete(frontier, owned)
        lab.open().recover(worker)
    assert lab.open().stats().done == 5
    assert lab.open().audit() == []
    (rows,) = outsider.execute(
        "SELECT count(*) FROM tally t JOIN crawl USING (crawl) WHERE name = %s", (lab.crawl,)
    ).fetchone() or (0,)
    assert rows <= 2


def test_a_start_leaves_living_workers_of_other_homes_alone(lab: PostgresLab) -> None:
    there = PostgresFrontier(lab.address, lab.crawl, home="there")
    there.resume(delay_s=0)
    theirs = there.join("there")
    there.add(links("a.test", 2))
    (owned,) = claim(there)

    def live() -> None:
        assert isinstance(there.heartbeat({}), Orders)

    with there, PostgresFrontier(lab.address, lab.crawl, home="here") as here:
        began = time.monotonic()
        with beating(live):
            here.resume(delay_s=0)
            assert time.monotonic() - began < 30, "one sign of life is enough, of a lease of a minute"
        assert [(state.worker, state.gone) for state in here.workers()] == [(theirs, False)]
        visit = Visit(site="a.test", epoch=owned.epoch, release=Release(wait_s=0))
        assert there.complete(Batch(visits=[visit])).lost == ()


def test_nobody_but_its_home_declares_a_living_worker_dead(lab: PostgresLab) -> None:
    """Labels are made of host names and process ids, which two machines may share."""
    with (
        PostgresFrontier(lab.address, lab.crawl, home="there") as there,
        PostgresFrontier(lab.address, lab.crawl, home="here") as here,
    ):
        worker = there.join("localhost:7")
        there.add([link("a.test/1")])
        assert names(claim(there)) == ["a.test"]
        assert here.recover(worker) == 0
        assert isinstance(there.heartbeat({}), Orders)
        assert there.recover(worker) == 1
        assert there.heartbeat({}) is GONE


def test_a_start_ends_workers_of_other_homes_that_were_silent_for_the_lease(lab: PostgresLab) -> None:
    with PostgresFrontier(lab.address, lab.crawl, home="there") as there:
        there.resume(delay_s=0)
        there.join("there")
        there.add(links("a.test", 2))
        assert claim(there)
    with PostgresFrontier(lab.address, lab.crawl, home="here", lease_s=0.3) as here:
        here.resume(delay_s=0)
        assert [state.gone for state in here.workers()] == [True]
        assert here.stats().sites_in_hand == 0


def test_a_start_counts_down_while_it_waits_for_others_and_a_restart_of_the_database_does_not_end_it(
    version: str,
) -> None:
    seen: list[Waiting] = []
    clock = ManualClock()
    with Server(binaries_of(version)) as server:
        with PostgresFrontier(server.address, "crawl", home="there") as there:
            there.resume(delay_s=0)
            there.join("vm:18556")

        def watch(waiting: Waiting) -> None:
            seen.append(waiting)
            clock.now_s += 0.5
            if len(seen) == 3:
                server.stop("fast")
                server.start()

        with PostgresFrontier(server.address, "crawl", home="here", lease_s=2.0, clock=clock) as here:
            here.resume(delay_s=0, show_wait=watch)
            assert [state.gone for state in here.workers()] == [True]
    assert {waiting.workers for waiting in seen} == {("vm:18556",)}
    before, (away,), after = seen[:3], seen[3:4], seen[4:]
    assert [(waiting.left_s, waiting.trouble) for waiting in before] == [(2.0, ""), (1.5, ""), (1.0, "")]
    assert "PostgreSQL database" in away.trouble
    assert away.left_s == 2.0, "the lease is counted from the return of the database"
    assert [(waiting.left_s, waiting.trouble) for waiting in after] == [(2.0, ""), (1.5, ""), (1.0, ""), (0.5, "")]


def test_a_start_does_not_wait_for_a_database_that_stays_away(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovering, "RESTART_S", 1.0)
    with Server(binaries_of(version)) as server:
        with PostgresFrontier(server.address, "crawl", home="there") as there:
            there.join("vm:18556")
        with (
            PostgresFrontier(server.address, "crawl", home="here", lease_s=60.0) as here,
            pytest.raises(FrontierError, match="PostgreSQL database"),
        ):
            here.resume(delay_s=0, show_wait=lambda _: server.stop() if server.is_running() else None)
