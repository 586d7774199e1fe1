"""How long a worker may go on without hearing from the frontier."""

from __future__ import annotations

import math

from gossamer.worker.membership import Lease


def test_before_the_first_heartbeat_nothing_begins() -> None:
    lease = Lease(60)
    assert lease.starts_until_s == lease.ends_s == -math.inf


def test_what_counts_is_when_a_heartbeat_was_sent() -> None:
    lease = Lease(60)
    lease.renew(990)
    assert lease.starts_until_s == 1020
    assert lease.ends_s == 1050, "what is under way has the other half"


def test_who_was_declared_dead_has_no_lease() -> None:
    lease = Lease(60)
    lease.renew(1000)
    lease.lose()
    assert lease.starts_until_s == lease.ends_s == -math.inf


def test_without_other_machines_there_is_no_lease_to_renew() -> None:
    lease = Lease(None)
    assert lease.starts_until_s == lease.ends_s == math.inf
    lease.renew(1000)
    lease.lose()
    assert lease.starts_until_s == lease.ends_s == math.inf
