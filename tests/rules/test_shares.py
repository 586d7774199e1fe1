"""A site that takes more than its share backs off, but only while others wait."""

from __future__ import annotations

import pytest

from gossamer.rules.pace import MAX_BACKOFF_S, WaitCause
from gossamer.rules.shares import CONTENTION_S, HOUR_S, MAX_SITES, SHARE_CAUSES, Resource, SiteShares

RESOURCES = pytest.mark.parametrize("resource", Resource)


def spend(shares: SiteShares, resource: Resource, *, share: float, now_s: float = 0.0, site: str = "a.test") -> None:
    """Spend a share of the hourly budget, in ten parts."""
    for _ in range(10):
        shares.spend(site, resource, resource.value.per_hour * share / 10, now_s)


@RESOURCES
def test_a_site_over_its_budget_backs_off_while_others_wait(resource: Resource) -> None:
    shares = SiteShares()
    shares.note_waiting(resource, 0.0)
    spend(shares, resource, share=0.95)
    assert shares.exceeded("a.test", 0.0) is None
    spend(shares, resource, share=0.1)
    assert shares.exceeded("a.test", 1.0) is resource.value.cause
    assert shares.exceeded("b.test", 1.0) is None


@RESOURCES
def test_a_site_over_its_budget_goes_on_while_no_other_waits(resource: Resource) -> None:
    shares = SiteShares()
    spend(shares, resource, share=2.0)
    assert shares.exceeded("a.test", 0.0) is None
    shares.note_waiting(resource, 5.0)
    assert shares.exceeded("a.test", 5.0) is not None
    assert shares.exceeded("a.test", 5.0 + CONTENTION_S) is None


def test_it_matters_what_the_others_wait_for() -> None:
    shares = SiteShares()
    spend(shares, Resource.BYTES, share=2.0)
    shares.note_waiting(Resource.PARSER, 0.0)
    assert shares.exceeded("a.test", 0.0) is None


def test_a_budget_is_new_after_an_hour() -> None:
    shares = SiteShares()
    spend(shares, Resource.PARSER, share=2.0)
    shares.note_waiting(Resource.PARSER, HOUR_S + 1)
    assert shares.exceeded("a.test", HOUR_S + 1) is None
    spend(shares, Resource.PARSER, share=0.5, now_s=HOUR_S + 2)
    assert shares.exceeded("a.test", HOUR_S + 2) is None


def test_each_back_off_in_a_row_is_longer_until_a_turn_ends_within_the_share() -> None:
    shares = SiteShares()
    waits_s = [shares.back_off("a.test", 10.0, 0.0) for _ in range(12)]
    assert waits_s[:3] == [20.0, 40.0, 80.0]
    assert max(waits_s) <= MAX_BACKOFF_S
    shares.recover("a.test")
    shares.recover("b.test")
    assert shares.back_off("a.test", 10.0, 0.0) == 20.0


def test_ordinary_sites_are_not_remembered_and_others_only_up_to_a_bound() -> None:
    shares = SiteShares()
    shares.note_parse("a.test", 0.01, 0.0, contended=True)
    shares.spend("a.test", Resource.BYTES, 50_000, 0.0)
    shares.spend("a.test", Resource.SILENCE, 0.5, 0.0)
    assert not shares.uses
    for number in range(MAX_SITES + 10):
        shares.note_parse(f"{number}.test", 1.0, 0.0, contended=False)
    assert len(shares.uses) == MAX_SITES


def test_every_budget_has_a_cause_of_its_own() -> None:
    assert len({each.value.cause for each in Resource}) == len(Resource)
    assert {each.value.cause for each in Resource} <= SHARE_CAUSES
    assert WaitCause.DELAY not in SHARE_CAUSES
