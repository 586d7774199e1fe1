"""What a worker has to report is collected per site and handed in as one batch."""

from __future__ import annotations

from gossamer.records import Claim, Done, HostState, Link, Release, Retry
from gossamer.turn import Effects
from gossamer.urls import identify
from gossamer.workbench import SiteInHand
from gossamer.worker.client import Due, Report

LINK = Link(*identify("https://b.test/"), 0)


def site_in_hand(epoch: int = 1) -> SiteInHand:
    return SiteInHand(Claim(site="a.test", epoch=epoch, delay_s=70.0, urls=(), hosts={}))


def report_of(*turns: tuple[SiteInHand, Effects]) -> Report:
    return Report(turns=list(turns))


def test_links_are_reported_in_the_order_of_the_turns_and_need_no_visit() -> None:
    other = LINK._replace(depth=1)
    batch = report_of((site_in_hand(), Effects(links=[LINK])), (site_in_hand(), Effects(links=[other]))).batch(0.0)
    assert batch.links == [LINK, other]
    assert not batch.visits


def test_what_happened_under_two_epochs_of_a_site_is_reported_apart() -> None:
    report = report_of(
        (site_in_hand(1), Effects(outcomes={b"one": Done()})),
        (site_in_hand(2), Effects(outcomes={b"one": Retry(wait_s=1)})),
        (site_in_hand(1), Effects(outcomes={b"two": Done()})),
    )
    assert [(visit.epoch, len(visit.outcomes)) for visit in report.batch(0.0).visits] == [(1, 2), (2, 1)]


def test_a_release_waits_from_the_moment_of_the_batch_and_never_less_than_nothing() -> None:
    report = Report(releases={("a.test", 1): Due(100.0, own_delay_s=0.0, failures=3)})
    assert report.first_due_s() == 100.0
    assert report.batch(40.0).visits[0].release == Release(wait_s=60.0, failures=3)
    assert report.batch(200.0).visits[0].release == Release(wait_s=0.0, failures=3)


def test_a_site_is_released_with_what_happened_in_its_last_turn() -> None:
    report = report_of((site_in_hand(), Effects(outcomes={b"one": Done()})))
    report.releases["a.test", 1] = Due(10.0, own_delay_s=0.0, failures=0)
    (visit,) = report.batch(0.0).visits
    assert (len(visit.outcomes), visit.release) == (1, Release(wait_s=10.0))


def test_the_longest_delay_that_a_turn_learned_of_is_reported_with_its_hosts() -> None:
    host = HostState(host="https://a.test")
    report = report_of((site_in_hand(), Effects(own_delay_s=100.0)), (site_in_hand(), Effects(hosts=[host])))
    visit = report.batch(0.0).visits[0]
    assert (visit.own_delay_s, visit.hosts) == (100.0, [host])
