"""The limit of pages per site, and URLs that the operator's rules bar and bring back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gossamer.records import Barred, Batch, Done, GivenUp, Reason, Scope, UrlStatus, Visit
from tests.frontier.samples import claim, complete, link, links, names, paths, wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.frontier import Frontier
    from gossamer.records import Link, Outcome
    from tests.frontier.conformance.lab import Lab

EXCLUDED = Barred(reason=Reason.EXCLUDED)


def fetch_all(frontier: Frontier, lab: Lab) -> list[str]:
    """Fetch what can be had, turn by turn; return the paths in their order."""
    fetched: list[str] = []
    while not frontier.drained():
        for one in claim(frontier):
            fetched += paths(one)
            complete(frontier, one, wait_s=0)
        lab.advance(1)
    return fetched


def bar(frontier: Frontier, *barred: Link, outcome: Barred = EXCLUDED) -> None:
    """Bar URLs as the start of a crawl does: nobody owns their sites."""
    visits = [Visit(site=one.site, epoch=-1, outcomes=[(one.url_hash, outcome)]) for one in barred]
    frontier.complete(Batch(visits=visits))


# ---------------------------------------------------------------------- pages per site


def test_a_site_gives_so_many_pages_and_then_rests(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(delay_s=1, site_limit=3)
    frontier, _ = lab.join()
    frontier.add(links("a.test", 5) + links("b.test", 2))
    fetched = fetch_all(frontier, lab)
    assert sorted(fetched) == ["a.test/0", "a.test/1", "a.test/2", "b.test/0", "b.test/1"]
    stats, site = frontier.stats(), frontier.find_site("a.test")
    assert site is not None
    assert (site.pages, site.spent, site.queued, site.wait_s) == (3, True, 2, None)
    assert (stats.queued, stats.sites_with_work, stats.sites_spent, stats.pages) == (2, 0, 1, 5)
    assert wait(frontier) is None
    assert frontier.audit() == []


def test_a_claim_brings_no_more_urls_than_the_site_has_pages_left(new_lab: Callable[..., Lab]) -> None:
    frontier, _ = new_lab(delay_s=0, site_limit=3).join()
    frontier.add(links("a.test", 9))
    (first,) = claim(frontier)
    assert len(first.urls) == 3
    outcomes: list[tuple[bytes, Outcome]] = [(first.urls[0].url_hash, Done())]
    outcomes.append((first.urls[1].url_hash, GivenUp(reason=Reason.TIMEOUT)))
    frontier.complete(Batch(visits=[Visit(site="a.test", epoch=first.epoch, outcomes=outcomes)]))
    complete(frontier, first, Done(page=False), wait_s=0)
    (second,) = claim(frontier)
    assert len(second.urls) == 2, "what was no page does not count"


def test_links_do_not_wake_a_site_that_has_given_all(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(delay_s=1, site_limit=2)
    frontier, _ = lab.join()
    frontier.add(links("a.test", 2))
    fetch_all(frontier, lab)
    assert frontier.find_site("a.test").spent  # type: ignore[union-attr]
    assert frontier.add([link("a.test/more")]) == 1
    assert frontier.drained()
    assert wait(frontier) is None
    assert frontier.audit() == []


def test_a_larger_limit_brings_the_rest_back_and_a_smaller_one_lets_it_rest(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(delay_s=1, site_limit=2)
    frontier, _ = lab.join()
    frontier.add(links("a.test", 6))
    assert len(fetch_all(frontier, lab)) == 2
    for limit, pages in ((4, 2), (3, 0), (None, 2)):
        lab.reboot(uptime_s=10)
        lab.open().resume(delay_s=1, site_limit=limit)
        frontier, _ = lab.join()
        assert len(fetch_all(frontier, lab)) == pages
        assert frontier.audit() == []
    assert frontier.stats().sites_spent == 0


def test_a_limit_that_comes_later_counts_what_was_kept_before(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(delay_s=70)
    frontier, _ = lab.join()
    frontier.add(links("a.test", 6))
    for _ in range(3):
        complete(frontier, claim(frontier)[0], wait_s=0)
    lab.reboot(uptime_s=10)
    lab.open().resume(delay_s=0, site_limit=3)
    frontier, _ = lab.join()
    assert not frontier.drained(), "nobody has looked yet"
    assert wait(frontier) is None
    assert frontier.drained()
    assert frontier.find_site("a.test").spent  # type: ignore[union-attr]


def test_the_limit_is_kept_to_the_page_by_workers_that_crash(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(delay_s=0, site_limit=4)
    frontier, worker = lab.join()
    frontier.add(links("a.test", 9))
    (one,) = claim(frontier)
    frontier.complete(Batch(visits=[Visit(site="a.test", epoch=one.epoch, outcomes=[(one.urls[0].url_hash, Done())])]))
    lab.open().recover(worker)
    second, _ = lab.join()
    (again,) = claim(second)
    assert len(again.urls) == 3, "one page was reported before the crash"
    complete(second, again, wait_s=0)
    assert second.find_site("a.test").pages == 4  # type: ignore[union-attr]
    assert second.drained()


def test_a_late_report_cannot_make_a_site_give_more(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(delay_s=0, site_limit=2)
    frontier, worker = lab.join()
    frontier.add(links("a.test", 9))
    (late,) = claim(frontier)
    lab.open().recover(worker)
    second, _ = lab.join()
    complete(frontier, late, wait_s=0)  # counts, though its owner is gone
    assert wait(second) is None
    assert second.find_site("a.test").spent  # type: ignore[union-attr]
    assert second.audit() == []


# ---------------------------------------------------------------------- barred


def test_what_is_barred_leaves_the_queue_and_counts_as_given_up(lab: Lab) -> None:
    frontier, _ = lab.join()
    found = link("a.test/0", 3, rank=2, via=b"v" * 16)
    frontier.add([found, link("a.test/1")])
    bar(frontier, found)
    state, stats = frontier.find_url("a.test", found.url_hash), frontier.stats()
    assert state is not None
    assert (state.status, state.reason, state.depth) == (UrlStatus.GIVEN_UP, Reason.EXCLUDED, 3)
    assert (stats.known, stats.queued, dict(stats.given_up)) == (2, 1, {Reason.EXCLUDED: 1})
    assert list(frontier.barred()) == [(found, Reason.EXCLUDED)]
    assert [one.url for one in frontier.all_queued()] == ["https://a.test/1"]
    assert frontier.audit() == []
    bar(frontier, found)
    assert frontier.stats() == stats, "once is enough"


def test_what_is_barred_is_admitted_again_whole(lab: Lab) -> None:
    frontier, _ = lab.join()
    found = link("a.test/0", 3, rank=2, via=b"v" * 16)
    frontier.add([found])
    bar(frontier, found)
    assert frontier.drained()
    assert frontier.admit([(found, Reason.EXCLUDED)]) == 1
    assert list(frontier.barred()) == []
    stats = frontier.stats()
    assert (stats.known, stats.queued, dict(stats.given_up)) == (1, 1, {})
    assert list(frontier.all_queued()) == [found]
    assert frontier.admit([(found, Reason.EXCLUDED)]) == 0, "a repeat after a crash"
    (one,) = claim(frontier)
    assert (one.urls[0].depth, one.urls[0].rank) == (3, 2)
    assert frontier.audit() == []


def test_a_link_can_lead_again_to_what_is_barred(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/0", 5)])
    bar(frontier, link("a.test/0"), outcome=Barred(reason=Reason.TOO_DEEP))
    nearer, _ = lab.join()
    assert nearer.add([link("a.test/0", 2)]) == 1
    state = frontier.find_url("a.test", link("a.test/0").url_hash)
    assert state is not None
    assert (state.status, state.depth) == (UrlStatus.QUEUED, 2)
    assert frontier.audit() == []
    bar(frontier, link("a.test/0"))
    assert frontier.stats().known == 1
    assert frontier.audit() == []


def test_what_is_forgotten_never_comes_back_by_itself(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 2))
    bar(frontier, *links("a.test", 2))
    frontier.forget(list(frontier.barred()))
    assert list(frontier.barred()) == []
    assert frontier.find_url("a.test", link("a.test/0").url_hash) is None
    assert (frontier.stats().known, dict(frontier.stats().given_up)) == (0, {})
    assert frontier.audit() == []


def test_only_what_is_in_scope_is_admitted(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab()
    frontier = lab.open()
    ours, other = link("a.test/x"), link("b.test/x")
    frontier.add([link("a.test/", 0, seeded=True), ours, other])
    frontier.resume(delay_s=1, scope=Scope.SITE)
    assert frontier.in_scope([ours, other]) == [ours]
    bar(frontier, ours, other)
    assert frontier.admit([(ours, Reason.EXCLUDED), (other, Reason.EXCLUDED)]) == 1
    assert [one.site for one, _ in frontier.barred()] == ["b.test"]


def test_a_url_that_is_barred_in_hand_leaves_the_rest_of_the_claim(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(delay_s=10)
    frontier, _ = lab.join()
    frontier.add(links("a.test", 2))
    (one,) = claim(frontier)
    outcomes: list[tuple[bytes, Outcome]] = [(one.urls[0].url_hash, EXCLUDED), (one.urls[1].url_hash, Done())]
    frontier.complete(Batch(visits=[Visit(site="a.test", epoch=one.epoch, outcomes=outcomes)]))
    complete(frontier, one, wait_s=0)
    assert frontier.drained()
    assert frontier.stats().pages == 1
    assert names(claim(frontier)) == []


def test_walks_go_on_where_a_step_ended(lab: Lab) -> None:
    frontier, _ = lab.join()
    many = [link(f"s{number % 7}.test/{number}") for number in range(4_500)]
    frontier.add(many)
    assert {one.url_hash for one in frontier.all_queued()} == {one.url_hash for one in many}
    bar(frontier, *many)
    assert {one.url_hash for one, _ in frontier.barred()} == {one.url_hash for one in many}


# ---------------------------------------------------------------------- what else is remembered


def test_it_is_known_since_when_a_url_is_queued(lab: Lab) -> None:
    frontier, _ = lab.join()
    began_at = int(time.time())
    frontier.add([link("a.test/0")])
    state = frontier.find_url("a.test", link("a.test/0").url_hash)
    assert state is not None
    assert state.queued_at is not None
    assert began_at <= state.queued_at <= time.time()


def test_exclusions_that_are_taken_back_are_counted(lab: Lab) -> None:
    frontier = lab.open()
    before = frontier.readmissions()
    frontier.exclude(["a.test"])
    assert frontier.readmissions() == before
    frontier.readmit(["a.test"])
    assert frontier.readmissions() == before + 1
