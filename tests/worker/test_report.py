"""What a worker has to report is collected per site and handed in as one batch."""

from __future__ import annotations

from gossamer.records import Claim, Done, HostState, Link, Release, Retry
from gossamer.turn import Effects
from gossamer.urls import hash_url, identify
from gossamer.workbench import SiteInHand
from gossamer.worker.report import FULL_LINKS, FULL_OUTCOMES, Report

LINK = Link(*identify("https://b.test/"), 0)


def site_in_hand(epoch: int = 1) -> SiteInHand:
    return SiteInHand(Claim(site="a.test", epoch=epoch, delay_s=70.0, urls=(), hosts={}))


def outcomes(number: int) -> Effects:
    return Effects(outcomes={hash_url(f"https://a.test/{page}"): Done() for page in range(number)})


def test_a_report_is_empty_until_something_happened() -> None:
    report = Report()
    assert not report
    report.add(site_in_hand(), Effects())
    assert not report
    report.add(site_in_hand(), Effects(links=[LINK]))
    assert report


def test_many_outcomes_or_links_fill_a_report() -> None:
    report = Report()
    report.add(site_in_hand(), outcomes(FULL_OUTCOMES - 1))
    assert not report.is_full
    report.add(site_in_hand(), Effects(outcomes={b"another": Done()}))
    assert report.is_full
    assert len(report.batch(0.0).visits[0].outcomes) == FULL_OUTCOMES
    report = Report()
    report.add(site_in_hand(), Effects(links=[LINK] * FULL_LINKS))
    assert report.is_full


def test_what_happened_under_two_epochs_of_a_site_is_reported_apart() -> None:
    report = Report()
    report.add(site_in_hand(1), Effects(outcomes={b"one": Done()}))
    report.add(site_in_hand(2), Effects(outcomes={b"one": Retry(wait_s=1)}))
    assert [(visit.epoch, len(visit.outcomes)) for visit in report.batch(0.0).visits] == [(1, 1), (2, 1)]


def test_a_release_waits_from_the_moment_of_the_batch_and_never_less_than_nothing() -> None:
    report, site = Report(), site_in_hand()
    site.failures = 3
    report.release(site, due_s=100.0)
    assert report.released() == {"a.test": 1}
    assert report.batch(40.0).visits[0].release == Release(wait_s=60.0, failures=3)
    assert report.batch(200.0).visits[0].release == Release(wait_s=0.0, failures=3)


def test_the_longest_delay_that_a_turn_learned_of_is_reported_with_its_hosts() -> None:
    report, host = Report(), HostState(host="https://a.test")
    report.add(site_in_hand(), Effects(own_delay_s=100.0))
    report.add(site_in_hand(), Effects(hosts=[host]))
    visit = report.batch(0.0).visits[0]
    assert (visit.own_delay_s, visit.hosts) == (100.0, [host])
