"""Crashes: an operation that dies after any of its steps has happened whole or not at all."""

from __future__ import annotations

from functools import partial
from itertools import count, permutations
from operator import methodcaller
from typing import TYPE_CHECKING

from gossamer.records import GONE, Batch, Done, HostState, Release, Retry, UrlStatus, Visit
from tests.frontier.samples import claim, complete, link, links, names, paths, wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.frontier import Frontier
    from tests.frontier.conformance.lab import Lab


def test_a_completion_that_crashes_at_any_step_happened_whole_or_not_at_all(
    new_lab: Callable[..., Lab],
) -> None:
    rules = HostState(host="https://a.test", rules="Allow: /", expires_at=1.0)
    for step in count():
        lab = new_lab()
        frontier, worker = lab.join()
        frontier.add(links("a.test", 3))
        (owned,) = claim(frontier)
        operation = partial(complete, claimed=owned, links=[link("b.test/1")], hosts=[rules])
        crashed = lab.crash(worker, operation, step=step)
        after = lab.open()
        url = after.find_url("a.test", owned.urls[0].url_hash)
        site = after.find_site("a.test")
        assert url is not None
        assert site is not None
        facts = {
            url.status is UrlStatus.DONE,
            site.owner is None,
            after.find_site("b.test") is not None,
            after.stats().known == 4,
            after.stats().queued == 3 and after.stats().done == 1,
        }
        assert len(facts) == 1, f"half a completion after step {step}"
        if not crashed:
            assert facts == {True}
            assert step > 5
            return


def test_an_add_that_crashes_at_any_step_loses_nothing_when_repeated(new_lab: Callable[..., Lab]) -> None:
    batch = links("a.test", 3) + links("b.test", 2)
    for step in count():
        lab = new_lab()
        frontier, worker = lab.join()
        frontier.add([link("a.test/2", 9)])
        crashed = lab.crash(worker, methodcaller("add", batch), step=step)
        frontier.add(batch)
        assert frontier.stats().queued == 5
        assert sorted(names(claim(frontier))) == ["a.test", "b.test"]
        if not crashed:
            return


def test_a_claim_that_crashes_at_any_step_is_recovered_with_a_full_delay(new_lab: Callable[..., Lab]) -> None:
    for step in count():
        lab = new_lab()
        frontier, worker = lab.join()
        frontier.add(links("a.test", 2) + links("b.test", 2))
        crashed = lab.crash(worker, methodcaller("claim", 10), step=step)
        owned = frontier.stats().sites_in_hand
        assert owned in (0, 2), f"half a claim after step {step}"
        frontier.recover(worker)
        frontier.join("next")
        if owned:
            assert wait(frontier) == 70
            lab.advance(70)
        assert sorted(names(claim(frontier))) == ["a.test", "b.test"]
        if not crashed:
            return


def test_a_recovery_that_crashes_at_any_step_can_be_repeated(new_lab: Callable[..., Lab]) -> None:
    for step in count():
        lab = new_lab()
        dead, worker = lab.join()
        dead.add(links("a.test", 2) + links("b.test", 2))
        assert len(claim(dead)) == 2
        other, helper = lab.join()
        crashed = lab.crash(helper, methodcaller("recover", worker), step=step)
        other.recover(worker)
        assert dead.claim(1) is GONE
        assert wait(other) == 70
        lab.advance(70)
        assert len(claim(other)) == 2
        if not crashed:
            return


def test_no_wake_up_is_lost_whatever_order_release_and_add_run_and_die_in(
    new_lab: Callable[..., Lab],
) -> None:
    """A site's last URL is settled by one worker while another adds a link to it, each dying after every step."""

    def release(frontier: Frontier) -> None:
        outcome = (link("a.test/1").url_hash, Done())
        visit = Visit(site="a.test", epoch=1, outcomes=[outcome], release=Release(wait_s=1))
        frontier.complete(Batch(visits=[visit]))

    def add(frontier: Frontier) -> None:
        frontier.add([link("a.test/2")])

    for order in permutations((release, add)):
        for victim in order:
            for step in count():
                lab = new_lab(delay_s=1)
                workers = {act: lab.join() for act in order}
                claimer = lab.open()
                claimer.add([link("a.test/1")])
                assert claim(workers[release][0])
                crashed = False
                for act in order:
                    frontier, worker = workers[act]
                    if act is victim:
                        crashed = lab.crash(worker, act, step=step)
                    else:
                        act(frontier)
                if crashed:
                    claimer.recover(workers[victim][1])
                    claimer.add([link("a.test/2")])  # whoever found it was not completed, and finds it again
                _assert_all_is_fetched(lab, {"a.test/1", "a.test/2"})
                if not crashed:
                    break


def _assert_all_is_fetched(lab: Lab, expected: set[str]) -> None:
    frontier, _ = lab.join()
    fetched = {
        path
        for path in expected
        if (state := frontier.find_url("a.test", link(path).url_hash)) and state.status is UrlStatus.DONE
    }
    for _ in range(5):
        lab.advance(2)
        for owned in claim(frontier):
            fetched.update(paths(owned))
            complete(frontier, owned, wait_s=1)
    assert fetched == expected
    assert frontier.drained()


def test_a_retry_survives_the_crash_of_the_worker_that_asked_for_it(lab: Lab) -> None:
    frontier, worker = lab.join()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)
    complete(frontier, owned, Retry(wait_s=500), wait_s=70)
    frontier.recover(worker)
    frontier.join("next")
    assert wait(frontier) == 500
