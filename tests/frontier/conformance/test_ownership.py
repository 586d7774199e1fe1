"""Ownership, recovery, clocks: no site gets a turn within its delay, whoever dies and whatever the clock does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gossamer.records import GONE, Batch, Orders, Release, Visit
from tests.frontier.samples import claim, complete, link, links, names, wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.frontier.conformance.lab import Lab


def test_recovery_frees_a_dead_workers_sites_with_a_full_delay(lab: Lab) -> None:
    dead, worker = lab.join()
    other, _ = lab.join()
    other.add(links("a.test", 3) + links("b.test", 3))
    assert len(claim(dead)) == 1
    assert len(claim(other)) == 1
    lab.advance(1000)
    assert other.recover(worker) == 1
    assert wait(other) == 70
    lab.advance(70)
    assert names(claim(other)) == ["a.test"]


def test_recovery_respects_a_sites_own_longer_delay(lab: Lab) -> None:
    dead, worker = lab.join()
    dead.add(links("a.test", 3))
    (owned,) = claim(dead)
    complete(dead, owned, wait_s=300, own_delay_s=300)
    lab.advance(300)
    assert claim(dead)
    other, _ = lab.join()
    other.recover(worker)
    assert wait(other) == 300


def test_recovery_happens_once(lab: Lab) -> None:
    dead, worker = lab.join()
    other, _ = lab.join()
    dead.add([link("a.test/1"), link("a.test/2")])
    claim(dead)
    assert other.recover(worker) == 1
    lab.advance(50)
    assert other.recover(worker) == 0
    assert wait(other) == 20, "the second recovery pushed nothing back"
    lab.advance(20)
    assert claim(other)
    assert other.recover(worker) == 0, "nor took what others own by now"
    assert lab.open().stats().sites_in_hand == 1


def test_a_late_report_that_settles_all_of_a_recovered_site_leaves_nothing_to_wait_for(lab: Lab) -> None:
    dead, worker = lab.join()
    other, _ = lab.join()
    dead.add([link("a.test/")])
    (owned,) = claim(dead)
    other.recover(worker)
    complete(dead, owned)
    assert other.drained()
    assert other.stats().sites_with_work == 0


def test_a_worker_declared_dead_is_gone_for_good(lab: Lab) -> None:
    dead, worker = lab.join()
    dead.add(links("a.test", 3))
    lab.open().recover(worker)
    assert dead.heartbeat({}) is GONE
    assert dead.claim(10) is GONE
    lab.open().resume(delay_s=70)
    assert dead.heartbeat({}) is GONE
    again = dead.join("again")
    assert again > worker
    assert isinstance(dead.heartbeat({}), Orders)
    assert names(claim(dead)) == ["a.test"]
    assert [(w.worker, w.gone) for w in dead.workers()] == [(worker, True), (again, False)]


def test_worker_ids_are_never_reused(lab: Lab) -> None:
    ids = [lab.join()[1] for _ in range(3)]
    lab.open().resume(delay_s=70)
    ids += [lab.join()[1] for _ in range(3)]
    assert ids == sorted(set(ids))


def test_a_heartbeat_carries_figures_that_others_can_read(lab: Lab) -> None:
    frontier, worker = lab.join()
    frontier.add([link("a.test/1")])
    claim(frontier)
    frontier.heartbeat({"pages": 1.0})
    frontier.heartbeat({"pages": 7.0, "lag_s": 0.25})
    (state,) = lab.open().workers()
    assert (state.worker, state.label, state.beats, state.gone, state.sites) == (worker, "test", 2, False, 1)
    assert state.figures == {"pages": 7.0, "lag_s": 0.25}


def test_after_an_unknown_result_a_worker_gives_back_what_it_does_not_hold(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 3) + links("b.test", 3))
    held, lost_reply = claim(frontier)
    assert frontier.reconcile({held.site: held.epoch}) == ()
    assert wait(frontier) == 70
    lab.advance(70)
    assert names(claim(frontier)) == [lost_reply.site]
    assert complete(frontier, held).lost == (), "what it held is still its own"


def test_reconciliation_names_what_the_worker_must_drop(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 3) + links("b.test", 3))
    first, second = claim(frontier)
    complete(frontier, first)  # committed, but suppose that the reply was lost
    held = {first.site: first.epoch, second.site: second.epoch, "never.test": 1}
    assert set(frontier.reconcile(held)) == {(first.site, first.epoch), ("never.test", 1)}
    assert complete(frontier, second).lost == ()


def test_reconciliation_of_an_older_epoch_gives_the_site_back(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 3))
    (first,) = claim(frontier)
    complete(frontier, first, wait_s=0)
    claim(frontier)  # the reply was lost: the worker still believes in the first epoch
    assert frontier.reconcile({first.site: first.epoch}) == ((first.site, first.epoch),)
    assert wait(frontier) == 70


def test_resuming_recovers_every_former_worker_with_a_full_delay(lab: Lab) -> None:
    for _ in range(3):
        frontier, _ = lab.join()
        frontier.add(links("a.test", 2) + links("b.test", 2) + links("c.test", 2))
        assert len(claim(frontier, 1)) == 1
    lab.advance(500)
    frontier = lab.open()
    frontier.resume(delay_s=70)
    assert frontier.stats().sites_in_hand == 0
    assert all(state.gone for state in frontier.workers())
    frontier.join("new")
    assert wait(frontier) == 70
    lab.advance(70)
    assert len(claim(frontier)) == 3


@pytest.mark.parametrize("uptime_s", [0.0, 30.0, 4_000.0, 5_000.0, 9e6])
def test_no_reboot_makes_a_turn_early(lab: Lab, uptime_s: float) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 2))
    (owned,) = claim(frontier)
    complete(frontier, owned, wait_s=70)
    lab.advance(10)
    frontier.heartbeat({})
    lab.reboot(uptime_s=uptime_s)
    frontier = lab.open()
    frontier.resume(delay_s=70)
    frontier.join("after")
    left = wait(frontier)
    assert left == 60, "the clock stood still while the machine was down"
    lab.advance(59.999)
    assert not claim(frontier)
    lab.advance(0.001)
    assert claim(frontier)


def test_a_delay_that_a_site_asks_for_holds_even_if_its_owner_dies_before_giving_it_back(lab: Lab) -> None:
    frontier, worker = lab.join()
    frontier.add(links("a.test", 3))
    (owned,) = claim(frontier)
    frontier.complete(Batch(visits=[Visit(site="a.test", epoch=owned.epoch, own_delay_s=300)]))
    frontier.recover(worker)
    frontier.join("next")
    assert wait(frontier) == 300
    lab.advance(300)
    (owned,) = claim(frontier)
    assert (owned.delay_s, owned.own_delay_s) == (300, 300)


def test_time_in_which_nobody_crawled_does_not_count(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 2))
    (owned,) = claim(frontier)
    complete(frontier, owned, wait_s=70)
    lab.advance(86_400)
    frontier = lab.open()
    frontier.resume(delay_s=70)
    frontier.join("next day")
    assert wait(frontier) == 70


def test_a_fraction_of_a_millisecond_is_never_rounded_away(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(delay_s=0.0105)
    frontier, _ = lab.join()
    frontier.add(links("a.test", 120))
    lab.advance(0.0003)
    (owned,) = claim(frontier)
    frontier.complete(Batch(visits=[Visit(site="a.test", epoch=owned.epoch, release=Release(wait_s=0.0105))]))
    lab.advance(0.0104)
    assert not claim(frontier)
    lab.advance(0.0015)
    assert claim(frontier)
