"""Completing: one transaction, facts that stay, schedules that only an owner may change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gossamer.records import (
    GONE,
    Batch,
    Done,
    GivenUp,
    HostState,
    Reason,
    Release,
    Retry,
    UrlStatus,
    Visit,
)
from tests.frontier.samples import claim, complete, link, links, names, paths, wait

if TYPE_CHECKING:
    from gossamer.frontier import Frontier
    from gossamer.records import Outcome
    from tests.frontier.conformance.lab import Lab


def test_a_page_that_is_done_is_known_settled_and_counted(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 2))
    (owned,) = claim(frontier)
    assert complete(frontier, owned).lost == ()
    one = link("a.test/0")
    assert frontier.known(one.site, one.url_hash)
    found = frontier.find_url(one.site, one.url_hash)
    assert found is not None
    assert (found.status, found.depth, found.reason) == (UrlStatus.DONE, 1, None)
    stats = frontier.stats()
    assert (stats.known, stats.queued, stats.done, stats.given_up) == (2, 1, 1, {})


def test_links_of_a_completion_are_added_with_it(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)
    complete(frontier, owned, links=[link("a.test/2"), link("b.test/1"), link("a.test/1")])
    assert frontier.stats().known == 3
    assert names(claim(frontier)) == ["b.test"]
    lab.advance(70)
    assert names(claim(frontier)) == ["a.test"]


def test_a_url_found_and_settled_in_one_turn_is_never_queued(lab: Lab) -> None:
    """A redirect within the site: the target enters as a link and is done in the same batch."""
    frontier, _ = lab.join()
    frontier.add([link("a.test/old")])
    (owned,) = claim(frontier)
    target = link("a.test/new")
    outcomes = [(owned.urls[0].url_hash, Done(page=False)), (target.url_hash, Done())]
    visit = Visit(site="a.test", epoch=owned.epoch, outcomes=outcomes, release=Release(wait_s=70))
    frontier.complete(Batch(links=[target], visits=[visit]))
    assert frontier.drained()
    assert (frontier.stats().known, frontier.stats().done) == (2, 2)


def test_a_retry_counts_its_tries_and_waits_as_long_as_told(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1")])
    for tries, wait_s in enumerate((100.0, 400.0, 1600.0)):
        (owned,) = claim(frontier)
        assert owned.urls[0].tries == tries
        complete(frontier, owned, Retry(wait_s=wait_s), wait_s=70)
        assert wait(frontier) == wait_s
        found = frontier.find_url("a.test", owned.urls[0].url_hash)
        assert found is not None
        assert (found.status, found.tries, found.wait_s) == (UrlStatus.QUEUED, tries + 1, wait_s)
        lab.advance(wait_s)


def test_a_retry_for_our_own_fault_burns_no_try(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)
    complete(frontier, owned, Retry(wait_s=10, counted=False), wait_s=10)
    lab.advance(10)
    (owned,) = claim(frontier)
    assert owned.urls[0].tries == 0


@pytest.mark.parametrize("reason", list(Reason))
def test_giving_up_keeps_the_reason(lab: Lab, reason: Reason) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)
    complete(frontier, owned, GivenUp(reason=reason))
    found = frontier.find_url("a.test", owned.urls[0].url_hash)
    assert found is not None
    assert (found.status, found.reason) == (UrlStatus.GIVEN_UP, reason)
    assert frontier.stats().given_up == {reason: 1}
    assert frontier.drained()


def test_a_url_the_completion_does_not_name_stays_queued_as_it_was(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)
    frontier.complete(Batch(visits=[Visit(site="a.test", epoch=owned.epoch, release=Release(wait_s=5))]))
    lab.advance(5)
    (again,) = claim(frontier)
    assert again.urls == owned.urls


def test_robots_rules_are_kept_and_come_with_the_next_claim(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1"), link("a.test/2"), link("www.a.test/3")])
    (owned,) = claim(frontier)
    rules = HostState(host="https://a.test", rules="Disallow: /x", expires_at=1234.5)
    frontier.complete(Batch(visits=[Visit(site="a.test", epoch=owned.epoch, hosts=[rules])]))
    assert wait(frontier) is None, "rules alone release nothing"
    complete(frontier, owned, wait_s=0)
    (owned,) = claim(frontier)
    assert owned.hosts == {"https://a.test": rules}
    newer = HostState(host="https://a.test", rules="Disallow: /y", expires_at=2345.5)
    complete(frontier, owned, hosts=[newer], wait_s=0)
    (owned,) = claim(frontier)
    assert paths(owned) == ["www.a.test/3"]
    assert owned.hosts == {"https://a.test": newer}, "another host has its own; a redirect may need those we know"


def test_a_late_completion_delivers_its_facts_but_changes_no_schedule(lab: Lab) -> None:
    late, dead = lab.join()
    other, _ = lab.join()
    late.add([link("a.test/1"), link("a.test/2")])
    (old,) = claim(late)
    other.recover(dead)
    lab.advance(70)
    (new,) = claim(other)
    assert new.epoch > old.epoch
    rules = HostState(host="https://a.test", rules="Disallow: /x", expires_at=1.0)
    completed = complete(late, old, links=[link("a.test/3"), link("b.test/1")], hosts=[rules], wait_s=0)
    assert completed.lost == (("a.test", old.epoch),)
    assert other.stats().known == 4
    found = other.find_url("a.test", old.urls[0].url_hash)
    assert found is not None
    assert found.status is UrlStatus.DONE
    assert names(claim(other)) == ["b.test"], "a.test is still the other worker's"
    complete(other, new, wait_s=70)
    assert wait(other) == 70
    lab.advance(70)
    (again,) = claim(other)
    assert again.hosts == {"https://a.test": rules}
    assert paths(again) == ["a.test/2"]


def test_a_late_retry_does_not_defer_what_another_worker_has_in_hand(lab: Lab) -> None:
    late, dead = lab.join()
    other, _ = lab.join()
    late.add([link("a.test/1")])
    (old,) = claim(late)
    other.recover(dead)
    lab.advance(70)
    assert claim(other)
    complete(late, old, Retry(wait_s=9999), wait_s=0)
    found = other.find_url("a.test", old.urls[0].url_hash)
    assert found is not None
    assert (found.tries, found.wait_s) == (0, 0)


def test_a_release_of_an_earlier_epoch_by_the_same_worker_frees_nothing(lab: Lab) -> None:
    mine, _ = lab.join()
    other, _ = lab.join()
    mine.add(links("a.test", 3))
    (old,) = claim(mine)
    complete(mine, old, wait_s=0)
    (new,) = claim(mine)
    assert complete(mine, old, wait_s=0).lost == (("a.test", old.epoch),)
    assert wait(other) is None
    assert new.epoch == old.epoch + 1


def test_a_completion_that_is_repeated_counts_once(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 2))
    (owned,) = claim(frontier)
    complete(frontier, owned, GivenUp(reason=Reason.CONNECT_REFUSED))
    complete(frontier, owned, GivenUp(reason=Reason.CONNECT_REFUSED))
    complete(frontier, owned, Done())
    stats = frontier.stats()
    assert (stats.done, stats.given_up, stats.queued) == (0, {Reason.CONNECT_REFUSED: 1}, 1)


def test_a_visit_to_a_site_nobody_knows_is_lost_and_harmless(lab: Lab) -> None:
    frontier, _ = lab.join()
    visit = Visit(site="no.test", epoch=1, outcomes=[(b"x" * 16, Done())], release=Release(wait_s=0))
    assert frontier.complete(Batch(visits=[visit])).lost == (("no.test", 1),)
    assert frontier.stats().known == 0


def test_a_worker_that_is_gone_may_still_deliver_facts(lab: Lab) -> None:
    frontier, worker = lab.join()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)
    lab.open().recover(worker)
    assert frontier.claim(1) is GONE
    complete(frontier, owned, links=[link("b.test/1")])
    stats = lab.open().stats()
    assert (stats.known, stats.done) == (2, 1)


def test_the_first_of_two_outcomes_of_a_url_in_one_report_counts(lab: Lab) -> None:
    """A redirect leads to a URL in one turn, and the URL has its own turn before that is reported."""
    frontier, _ = lab.join()
    given_up, done = GivenUp(reason=Reason.HTTP_ERROR), Done()
    added = links("a.test", 4)
    frontier.add(added)
    (owned,) = claim(frontier)
    one, two, three, four = (each.url_hash for each in added)
    reported: list[tuple[bytes, Outcome]] = [
        (one, done), (two, given_up), (one, given_up), (two, done), (three, given_up), (four, done), (four, done),
    ]  # fmt: skip
    frontier.complete(Batch(visits=[Visit(site="a.test", epoch=owned.epoch, outcomes=reported)]))
    states = [frontier.find_url("a.test", each) for each in (one, two, three, four)]
    assert [state and state.reason for state in states] == [None, Reason.HTTP_ERROR, Reason.HTTP_ERROR, None]
    stats = frontier.stats()
    assert (stats.done, stats.pages, dict(stats.given_up)) == (2, 2, {Reason.HTTP_ERROR: 2})


# ---------------------------------------------------------------------- seeds


def outcomes(frontier: Frontier) -> dict[Reason | None, tuple[int, str]]:
    return {each.reason: (each.seeds, each.example) for each in frontier.seed_outcomes()}


def test_seeds_are_counted_by_how_they_end(lab: Lab) -> None:
    frontier, _ = lab.join()
    ends: list[Outcome] = [
        Done(),
        GivenUp(reason=Reason.NO_SUCH_NAME),
        GivenUp(reason=Reason.NO_SUCH_NAME),
        Done(page=False),
    ]
    frontier.add([link(f"{name}.test/", 0, seeded=True) for name in "abcd"])
    for name, owned in sorted((one.site, one) for one in claim(frontier)):
        complete(frontier, owned, ends["abcd".index(name[0])], links=[link(f"{name}/linked")])
    assert outcomes(frontier).keys() == {None, Reason.NO_SUCH_NAME}
    assert outcomes(frontier)[None] == (1, "https://a.test/")
    seeds, example = outcomes(frontier)[Reason.NO_SUCH_NAME]
    assert seeds == 2
    assert example in ("https://b.test/", "https://c.test/")


def test_only_seeds_are_counted_as_seeds_and_each_only_once(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/", 0, seeded=True)])
    (owned,) = claim(frontier)
    complete(frontier, owned, links=[link("a.test/2")], wait_s=0)
    complete(frontier, owned, GivenUp(reason=Reason.TIMEOUT), wait_s=None)  # a repeat
    (owned,) = claim(frontier)
    complete(frontier, owned, GivenUp(reason=Reason.TIMEOUT))
    assert outcomes(frontier) == {None: (1, "https://a.test/")}


def test_seeds_that_are_given_up_with_their_host_are_counted(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link(f"a.test/{number}", 0, seeded=True) for number in range(3)])
    (owned,) = claim(frontier)
    state = HostState(host="https://a.test", silent=1, given_up=Reason.CONNECT_REFUSED, blocked_s=86_400)
    complete(frontier, owned, GivenUp(reason=Reason.CONNECT_REFUSED), hosts=[state])
    seeds, _ = outcomes(frontier)[Reason.CONNECT_REFUSED]
    assert seeds == 3


def test_what_a_dead_worker_counted_of_seeds_is_not_lost(lab: Lab) -> None:
    (mine, worker), (other, _) = lab.join(), lab.join()
    mine.add([link("a.test/", 0, seeded=True)])
    (owned,) = claim(mine)
    complete(mine, owned)
    other.recover(worker)
    assert outcomes(other) == {None: (1, "https://a.test/")}
