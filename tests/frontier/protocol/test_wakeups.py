"""No interleaving of adding, claiming and giving back loses a wake-up; leave out any one rule and one does."""

from __future__ import annotations

from typing import Protocol

import pytest

from tests.frontier.protocol.explorer import Exploration, explore
from tests.frontier.protocol.rows import Link, Site, database
from tests.frontier.protocol.wakeups import PROTOCOL, Model, Rule, adding, working

AWAKE = Site(has_work=True)
ASLEEP = Site()


class Scene(Protocol):
    """Explores who does what at once, under the given rules."""

    def __call__(self, rules: frozenset[Rule], *, crashes: int) -> Exploration: ...


def a_busy_site(rules: frozenset[Rule], *, crashes: int, adders: int = 1) -> Exploration:
    """Two workers claim and empty a site while links for it arrive."""
    programs = {f"adder {name}": adding(rules, name, [0]) for name in "ab"[:adders]}
    programs |= {f"worker {name}": working(rules, 0) for name in "cd"}
    return _explore(
        Model(database(sites=[AWAKE], queue=[Link(0, "x")], sessions=len(programs), crashes=crashes), programs)
    )


def a_new_site(rules: frozenset[Rule], *, crashes: int) -> Exploration:
    """Two adders bring the same first link of a site that has no row yet; a worker waits for it."""
    programs = {
        "adder a": adding(rules, "x", [0]),
        "adder b": adding(rules, "x", [0]),
        "worker c": working(rules, 0, turns=2),
    }
    return _explore(Model(database(sites=[None], sessions=3, crashes=crashes), programs))


def two_sites(rules: frozenset[Rule], *, crashes: int, site: Site | None = ASLEEP) -> Exploration:
    """Two adders bring links to the same two sites, which they met in opposite order."""
    programs = {"adder a": adding(rules, "x", [0, 1]), "adder b": adding(rules, "y", [1, 0])}
    return _explore(Model(database(sites=[site, site], sessions=2, crashes=crashes), programs))


def linked_sites(rules: frozenset[Rule], *, crashes: int) -> Exploration:
    """Two workers complete, each with a link to the site of the other; a third one adds to both."""
    programs = {
        "worker a": working(rules, 0, completes=adding(rules, "a", [1])),
        "worker b": working(rules, 1, completes=adding(rules, "b", [0])),
        "adder c": adding(rules, "c", [1, 0]),
    }
    start = database(sites=[AWAKE, AWAKE], queue=[Link(0, "x"), Link(1, "y")], sessions=3, crashes=crashes)
    return _explore(Model(start, programs))


def _explore(model: Model) -> Exploration:
    return explore(model.initial, model.steps, model.invariant)


def test_no_wake_up_is_lost_at_a_busy_site_with_any_two_crashes() -> None:
    found = a_busy_site(PROTOCOL, crashes=2, adders=2)
    assert found.wrong is None, found
    assert found.states > 50_000  # all of it was really explored


def test_no_wake_up_is_lost_at_a_new_site_with_any_two_crashes() -> None:
    found = a_new_site(PROTOCOL, crashes=2)
    assert found.wrong is None, found


@pytest.mark.parametrize("site", [None, ASLEEP, AWAKE], ids=["new", "asleep", "awake"])
def test_adders_of_the_same_sites_never_deadlock(site: Site | None) -> None:
    found = two_sites(PROTOCOL, crashes=2, site=site)
    assert found.wrong is None, found


def test_completions_that_link_to_each_others_sites_never_deadlock() -> None:
    found = linked_sites(PROTOCOL, crashes=1)
    assert found.wrong is None, found


SLEEPS = "site 0 has links and sleeps"
WITHOUT: dict[Rule, tuple[Scene, str]] = {
    Rule.ADDER_LOCKS: (a_busy_site, SLEEPS),
    Rule.LOCK_BEFORE_WAKE: (a_busy_site, SLEEPS),
    Rule.WAKE_IN_OWN_STATEMENT: (a_busy_site, SLEEPS),
    Rule.LINKS_WITH_WAKE: (a_busy_site, SLEEPS),
    Rule.LINKS_BEFORE_WAKE_ENDS: (a_busy_site, SLEEPS),
    Rule.RELEASER_LOCKS: (a_busy_site, SLEEPS),
    Rule.RELEASER_EXCLUDES_ADDERS: (a_busy_site, SLEEPS),
    Rule.CHECK_IN_SECOND_STATEMENT: (a_busy_site, SLEEPS),
    Rule.CLAIM_LOCKS_ROWS: (a_busy_site, "site 0 is owned twice"),
    Rule.CLAIM_LETS_ADDERS_BE: (a_busy_site, "a claim passed over a ready site because somebody was adding to it"),
    Rule.SORTED: (two_sites, "deadlock"),
    Rule.COMPLETION_NEVER_WAITS: (linked_sites, "deadlock"),
}


@pytest.mark.parametrize("rule", Rule, ids=lambda rule: rule.name)
def test_without_any_one_rule_it_goes_wrong(rule: Rule) -> None:
    scene, wrong = WITHOUT[rule]
    found = scene(PROTOCOL - {rule}, crashes=1)
    print(f"Where {rule.value}:\n{found}")  # pytest -rP shows the ways
    assert found.wrong == wrong
    assert found.trace


def test_waking_in_a_second_transaction_fails_only_with_a_crash() -> None:
    assert a_busy_site(PROTOCOL - {Rule.LINKS_WITH_WAKE}, crashes=0).wrong is None


def test_waiting_for_the_lock_is_safe_where_no_links_were_brought() -> None:
    assert a_busy_site(PROTOCOL - {Rule.COMPLETION_NEVER_WAITS}, crashes=2).wrong is None
