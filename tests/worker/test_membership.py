"""How long a worker may go on without hearing from the frontier."""

from __future__ import annotations

from gossamer.worker.membership import Lease


class Clock:
    """A clock that a test sets."""

    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_before_the_first_heartbeat_nothing_begins() -> None:
    lease = Lease(60, Clock())
    assert not lease.may_start
    assert lease.is_over


def test_what_counts_is_when_a_heartbeat_was_sent() -> None:
    clock = Clock()
    lease = Lease(60, clock)
    lease.renew(990)
    clock.now_s = 1019.9
    assert lease.may_start
    clock.now_s = 1020
    assert not lease.may_start
    assert not lease.is_over, "what is under way has the other half"
    clock.now_s = 1049.9
    assert not lease.is_over
    clock.now_s = 1050
    assert lease.is_over


def test_who_was_declared_dead_has_no_lease() -> None:
    lease = Lease(60, Clock())
    lease.renew(1000)
    lease.lose()
    assert not lease.may_start
    assert lease.is_over


def test_without_other_machines_there_is_no_lease_to_renew() -> None:
    lease = Lease(None, Clock())
    assert lease.may_start
    assert not lease.is_over
