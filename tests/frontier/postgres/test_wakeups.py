"""A link that comes while its site is put to rest wakes it: no site with work ever sleeps."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import psycopg
import pytest

from gossamer.frontier import FrontierError
from tests.frontier.postgres.moments import when
from tests.frontier.samples import claim, complete, link, names

if TYPE_CHECKING:
    from tests.frontier.labs import PostgresLab


def test_a_site_is_not_put_to_rest_while_a_link_for_it_is_on_its_way(lab: PostgresLab) -> None:
    """The link is not committed when its last URL is settled: the site stays awake."""
    frontier, _ = lab.join()
    adder = lab.open()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)
    done: list[object] = []
    thread = threading.Thread(target=lambda: done.append(complete(frontier, owned, wait_s=0)))
    reached = threading.Event()
    when(frontier, "lock_to_rest", reached.set)

    def release_meanwhile() -> None:
        thread.start()
        assert reached.wait(10), "it has looked and found nothing"
        thread.join(10)
        assert done, "it does not wait for us"

    when(adder, "save_tally", release_meanwhile)
    assert adder.add([link("a.test/2")]) == 1
    thread.join()
    assert done
    assert names(claim(frontier)) == ["a.test"]
    assert frontier.audit() == []


def test_a_link_that_comes_just_before_its_site_is_locked_to_be_put_to_rest_is_seen(lab: PostgresLab) -> None:
    """The queue was empty at the first look, and is not at the second."""
    frontier, _ = lab.join()
    adder = lab.open()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)
    when(frontier, "lock_to_rest", lambda: adder.add([link("a.test/2")]))
    complete(frontier, owned, wait_s=0)
    assert names(claim(frontier)) == ["a.test"]
    assert frontier.audit() == []


def test_two_completions_that_link_to_each_others_sites_do_not_wait_for_each_other(
    lab: PostgresLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.frontier.postgres.database.TRIES", 1)  # a deadlock would be an error
    here, there = lab.join()[0], lab.join()[0]
    here.add([link("a.test/1"), link("b.test/1")])
    claims = [*claim(here, 1), *claim(there, 1)]
    assert names(claims) in (["a.test", "b.test"], ["b.test", "a.test"])
    both_hold = threading.Barrier(2, timeout=10)
    for frontier in (here, there):
        when(frontier, "lock_to_rest", both_hold.wait)
    with ThreadPoolExecutor(2) as pool:
        new = [link(f"{one.site}/2") for one in claims]
        ends = [
            pool.submit(complete, here, claims[0], links=[new[1]], wait_s=0),
            pool.submit(complete, there, claims[1], links=[new[0]], wait_s=0),
        ]
        assert [end.result().lost for end in ends] == [(), ()]
    assert here.stats().known == 4
    assert here.audit() == []
    assert sorted(names([*claim(here), *claim(there)])) == ["a.test", "b.test"]


def test_a_site_that_stayed_awake_for_a_link_that_never_came_is_put_to_rest_by_a_claim(lab: PostgresLab) -> None:
    frontier, _ = lab.join()
    adder = lab.open()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)

    def release_and_fail() -> None:
        complete(frontier, owned, wait_s=0)
        raise psycopg.OperationalError("the adder dies")

    when(adder, "save_tally", release_and_fail)
    with pytest.raises(FrontierError):
        adder.add([link("a.test/2")])
    assert frontier.stats().sites_with_work == 1
    assert claim(frontier) == ()
    assert frontier.stats().sites_with_work == 0
    assert frontier.drained()
    assert frontier.audit() == []


def test_a_link_that_comes_while_its_site_is_being_put_to_rest_wakes_it(lab: PostgresLab) -> None:
    """The rest is not committed when the link comes: adding waits for it, and wakes the site."""
    frontier, _ = lab.join()
    adder = lab.open()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)
    added: list[int] = []
    thread = threading.Thread(target=lambda: added.append(adder.add([link("a.test/2")])))
    reached = threading.Event()
    when(adder, "hold_awake", reached.set)

    def add_meanwhile() -> None:
        thread.start()
        assert reached.wait(10), "its link is in, though not committed"
        thread.join(0.3)  # were it not made to wait for us, it would be done by then

    when(frontier, "save_tally", add_meanwhile)
    complete(frontier, owned, wait_s=0)
    thread.join()
    assert added == [1]
    assert names(claim(frontier)) == ["a.test"]
    assert frontier.audit() == []
