"""What the frontier's figures tell of a crawl's health: sites in trouble, and when workers last showed life."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gossamer.records import Batch, HostState, Reason, Release, Visit
from gossamer.rules.pace import FAILURES_BEFORE_BACKOFF
from tests.end_to_end.crawls import wait_until
from tests.frontier.samples import claim, complete, links

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.frontier import Frontier
    from tests.frontier.conformance.lab import Lab


def visit(frontier: Frontier, *, failures: int, wait_s: float = 0) -> None:
    """Claim the one site there is, and give it back after so many failures in a row."""
    (owned,) = claim(frontier)
    release = Release(wait_s=wait_s, failures=failures)
    frontier.complete(Batch(visits=[Visit(site=owned.site, epoch=owned.epoch, release=release)]))


def test_a_site_is_in_trouble_from_the_failure_on_that_makes_it_back_off_until_it_answers(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 3))
    visit(frontier, failures=FAILURES_BEFORE_BACKOFF)
    assert frontier.stats().in_trouble == 0
    visit(frontier, failures=FAILURES_BEFORE_BACKOFF + 1)
    assert frontier.stats().in_trouble == 1
    visit(frontier, failures=0)
    assert frontier.stats().in_trouble == 0


def test_a_host_that_backs_off_is_in_trouble_until_its_next_try_or_until_it_is_given_up(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([*links("dead.a.test", 3), *links("www.a.test", 9)])
    for state, hosts in [
        (HostState(host="https://dead.a.test", silent=1, blocked_s=600), 1),
        (HostState(host="https://dead.a.test", silent=2, given_up=Reason.CONNECT_REFUSED, blocked_s=600), 0),
        (HostState(host="https://www.a.test", blocked_s=60), 1),
    ]:
        (owned,) = claim(frontier)
        complete(frontier, owned, hosts=[state], wait_s=0)
        stats = frontier.stats()
        assert (stats.hosts_in_trouble, stats.in_trouble) == (hosts, hosts)
    lab.advance(60)
    assert frontier.stats().in_trouble == 0


def test_a_suspended_site_is_in_trouble_also_for_the_next_start(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 3))
    visit(frontier, failures=10, wait_s=21_600)
    assert frontier.stats().in_trouble == 1
    again = lab.open()
    again.resume(delay_s=70)
    assert again.stats().in_trouble == 1


def test_a_site_that_failed_is_in_trouble_only_while_it_has_work_and_is_not_excluded(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 1))
    visit(frontier, failures=5)
    frontier.exclude(["a.test"])
    assert frontier.stats().in_trouble == 0
    frontier.readmit(["a.test"])
    assert frontier.stats().in_trouble == 1
    (owned,) = claim(frontier)
    complete(frontier, owned)
    assert frontier.stats().in_trouble == 0


def test_a_worker_is_silent_since_its_last_heartbeat_or_since_it_joined(new_lab: Callable[..., Lab]) -> None:
    frontier, _ = new_lab(real_time=True).join()
    wait_until(lambda: (frontier.workers()[0].silent_s or 0.0) > 0.5, "some silence since it joined")
    began_s = time.monotonic()
    frontier.heartbeat({})
    (beaten,) = frontier.workers()
    assert beaten.silent_s is not None
    assert -0.1 < beaten.silent_s < time.monotonic() - began_s + 0.1


def test_the_page_limit_is_told_beside_what_is_left_of_it(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(page_limit=300)
    assert lab.open().stats().page_limit == lab.open().stats().pages_left == 300
    assert new_lab().open().stats().page_limit is None
