"""Claiming: only what may be fetched, in the right order, and an honest answer when nothing may."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gossamer.frontier import urls_per_claim
from gossamer.records import Batch, Claimed, Done, GivenUp, HostState, Reason, Release, Retry, Visit
from tests.frontier.samples import claim, complete, link, links, names, paths, wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.frontier.conformance.lab import Lab


def test_an_empty_frontier_has_nothing_to_wait_for(lab: Lab) -> None:
    frontier, _ = lab.join()
    assert frontier.claim(10) == Claimed(claims=(), wait_s=None)


def test_a_claim_brings_the_site_its_epoch_its_delay_and_its_urls(lab: Lab) -> None:
    frontier, _ = lab.join()
    page = link("www.a.test/x", 3, rank=2, via=b"v" * 16)
    frontier.add([page])
    (owned,) = claim(frontier)
    assert (owned.site, owned.epoch, owned.delay_s, owned.hosts) == ("a.test", 1, 70.0, {})
    (url,) = owned.urls
    assert (url.url, url.url_hash, url.host) == (page.url, page.url_hash, "https://www.a.test")
    assert (url.depth, url.rank, url.hops, url.tries, url.kind, url.via) == (3, 2, 0, 0, 0, b"v" * 16)


@pytest.mark.parametrize("url", ["http://a.test:8080/", "https://a.test:8443/x/y?z=/", "http://[::1]/", "http://h/"])
def test_the_host_of_a_claimed_url_is_scheme_name_and_port(lab: Lab, url: str) -> None:
    frontier, _ = lab.join()
    frontier.add([link(url)])
    (owned,) = claim(frontier)
    assert owned.urls[0].host == link(url).host


def test_a_site_is_claimed_no_earlier_than_its_wait_and_then_at_once(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 3))
    (owned,) = claim(frontier)
    complete(frontier, owned, wait_s=70)
    assert wait(frontier) == 70
    lab.advance(69.999)
    assert wait(frontier) == pytest.approx(0.001)
    lab.advance(0.001)
    assert names(claim(frontier)) == ["a.test"]


def test_a_claim_tells_how_many_pages_were_kept_of_the_site_by_anyone(lab: Lab) -> None:
    (one, _), (other, _) = lab.join(), lab.join()
    one.add(links("a.test", 4))
    for frontier, pages in ((one, 0), (other, 1), (one, 2)):
        (mine,) = claim(frontier)
        assert mine.pages == pages
        outcome = Done(page=pages < 2)
        visit = Visit(
            site=mine.site, epoch=mine.epoch, outcomes=[(mine.urls[0].url_hash, outcome)], release=Release(wait_s=0)
        )
        frontier.complete(Batch(visits=[visit]))
        lab.advance(1)
    assert claim(other)[0].pages == 2


def test_a_site_in_hand_is_not_claimed_again(lab: Lab) -> None:
    mine, _ = lab.join()
    other, _ = lab.join()
    mine.add(links("a.test", 3))
    assert claim(mine)
    lab.advance(10_000)
    assert wait(mine) is None
    assert wait(other) is None


def given_up(host: str, seconds: float = 86_400, reason: Reason = Reason.CONNECT_REFUSED) -> HostState:
    return HostState(host=host, blocked_s=seconds, silent=4, given_up=reason)


def test_the_urls_of_a_host_that_is_given_up_are_given_up_with_its_report(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([*links("dead.a.test", 12), *links("www.a.test", 3)])
    (owned,) = claim(frontier)
    complete(frontier, owned, GivenUp(reason=Reason.CONNECT_REFUSED), hosts=[given_up("https://dead.a.test")])
    stats = frontier.stats()
    assert (stats.queued, stats.given_up) == (3, {Reason.CONNECT_REFUSED: 12})
    lab.advance(70)
    assert paths(claim(frontier)[0]) == ["www.a.test/0"]
    assert frontier.audit() == []


def test_deferred_urls_of_a_host_are_given_up_with_it(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("dead.a.test", 12))
    (owned,) = claim(frontier)
    silent = HostState(host="https://dead.a.test", blocked_s=600, silent=1)
    visit = Visit(site="a.test", epoch=owned.epoch, hosts=[silent], release=Release(wait_s=70))
    frontier.complete(Batch(visits=[visit]))
    lab.advance(70)
    assert wait(frontier) == 530
    frontier.add([link("www.a.test/")])
    (owned,) = claim(frontier)
    complete(frontier, owned, hosts=[given_up("https://dead.a.test", reason=Reason.NO_SUCH_NAME)])
    assert frontier.stats().given_up == {Reason.NO_SUCH_NAME: 12}
    assert frontier.drained()


def test_links_to_a_host_that_was_given_up_get_its_reason_without_a_turn_until_that_is_over(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("dead.a.test/first")])
    (owned,) = claim(frontier)
    complete(frontier, owned, GivenUp(reason=Reason.TLS_FAILED), hosts=[given_up("https://dead.a.test", 1000)])
    frontier.add([*links("dead.a.test", 5), link("www.a.test/")])
    lab.advance(999)
    assert paths(claim(frontier)[0]) == ["www.a.test/"]
    late = link("dead.a.test/0")
    state = frontier.find_url(late.site, late.url_hash)
    assert state is not None
    assert state.reason is Reason.CONNECT_REFUSED
    assert frontier.stats().given_up == {Reason.TLS_FAILED: 1, Reason.CONNECT_REFUSED: 5}


def test_a_host_that_was_given_up_is_tried_again_when_that_is_over(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("dead.a.test/first")])
    (owned,) = claim(frontier)
    complete(frontier, owned, GivenUp(reason=Reason.CONNECT_REFUSED), hosts=[given_up("https://dead.a.test", 1000)])
    lab.advance(1000)
    frontier.add(links("dead.a.test", 1))
    (owned,) = claim(frontier)
    assert paths(owned) == ["dead.a.test/0"]
    state = owned.hosts["https://dead.a.test"]
    assert (state.silent, state.given_up, state.blocked_s) == (4, Reason.CONNECT_REFUSED, 0)


def test_thousands_of_urls_of_a_dead_host_are_given_up_by_claims_while_a_live_host_goes_on(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([*links("dead.a.test", 2_500), *links("www.a.test", 2)])
    (owned,) = claim(frontier)
    complete(frontier, owned, GivenUp(reason=Reason.CONNECT_REFUSED), hosts=[given_up("https://dead.a.test")], wait_s=0)
    found: list[str] = []
    for _ in range(10):
        for one in claim(frontier):
            found += paths(one)
            complete(frontier, one, wait_s=1)
        lab.advance(1)
    assert found == ["www.a.test/0", "www.a.test/1"]
    assert frontier.stats().given_up == {Reason.CONNECT_REFUSED: 2_500}
    assert frontier.drained()
    assert frontier.audit() == []


def test_a_late_report_that_gives_a_host_up_gives_up_what_is_not_in_hand_of_another(lab: Lab) -> None:
    (mine, worker), (other, _) = lab.join(), lab.join()
    mine.add(links("dead.a.test", 3))
    (owned,) = claim(mine)
    other.recover(worker)
    lab.advance(70)
    (taken,) = claim(other)
    visit = Visit(site="a.test", epoch=owned.epoch, hosts=[given_up("https://dead.a.test")], release=Release(wait_s=0))
    assert mine.complete(Batch(visits=[visit])).lost == (("a.test", owned.epoch),)
    complete(other, taken)
    lab.advance(70)
    assert claim(other) == ()
    stats = other.stats()
    assert (stats.done, stats.given_up) == (1, {Reason.CONNECT_REFUSED: 2})


def test_with_many_hosts_a_claim_brings_those_that_answer(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("new.a.test", 2))
    (owned,) = claim(frontier)
    dead = [HostState(host=f"https://d{number}.a.test", silent=1, blocked_s=60) for number in range(30)]
    live = HostState(host="https://www.a.test", rules="r", expires_at=1.0)
    complete(frontier, owned, hosts=[*dead, live], wait_s=0)
    (owned,) = claim(frontier)
    assert owned.hosts["https://www.a.test"].rules == "r"


def test_an_emptied_site_is_not_claimed(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)
    complete(frontier, owned, GivenUp(reason=Reason.CONNECT_REFUSED), wait_s=0)
    assert wait(frontier) is None


def test_a_url_that_waits_for_a_retry_is_passed_over(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1"), link("a.test/2")])
    (owned,) = claim(frontier)
    assert paths(owned) == ["a.test/1"]
    complete(frontier, owned, Retry(wait_s=600), wait_s=70)
    lab.advance(70)
    (owned,) = claim(frontier)
    assert paths(owned) == ["a.test/2"]
    complete(frontier, owned, wait_s=70)
    assert wait(frontier) == 530
    lab.advance(530)
    (owned,) = claim(frontier)
    assert paths(owned) == ["a.test/1"]


def test_a_retry_that_woke_up_comes_back_in_its_old_place(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1"), link("a.test/2"), link("a.test/3")])
    (owned,) = claim(frontier)
    complete(frontier, owned, Retry(wait_s=60), wait_s=70)
    lab.advance(70)
    (owned,) = claim(frontier)
    assert paths(owned) == ["a.test/1"]


def test_urls_of_a_blocked_host_wait_while_other_hosts_of_the_site_go_on(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([*(link(f"www.a.test/{n}", 1) for n in range(30)), link("a.test/free", 2)])
    (owned,) = claim(frontier)
    blocked = HostState(host="https://www.a.test", failures=1, failing_since=5.0, blocked_s=600)
    complete(frontier, owned, Retry(wait_s=0, counted=False), hosts=[blocked], wait_s=70)
    lab.advance(70)
    (owned,) = claim(frontier)
    assert paths(owned) == ["a.test/free"]
    assert owned.hosts["https://www.a.test"].blocked_s == 600 - 70, "no redirect may lead there meanwhile"
    complete(frontier, owned, wait_s=70)
    lab.advance(70)
    until = wait(frontier)
    assert until is not None
    assert 0 < until <= 600 - 140
    lab.advance(600 - 140 - 0.001)
    assert wait(frontier) == pytest.approx(0.001)
    lab.advance(0.001)
    (owned,) = claim(frontier)
    assert paths(owned) == ["www.a.test/0"]
    assert owned.hosts["https://www.a.test"].failures == 1
    assert owned.hosts["https://www.a.test"].failing_since == 5.0


def test_a_link_that_arrives_for_a_blocked_host_waits_too(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)
    complete(frontier, owned, hosts=[HostState(host="https://a.test", blocked_s=600)], wait_s=70)
    frontier.add([link("a.test/2")])
    lab.advance(599)
    assert wait(frontier) == 1
    lab.advance(1)
    assert names(claim(frontier)) == ["a.test"]


def test_a_very_long_queue_of_a_blocked_host_hides_no_other_host(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([*(link(f"www.a.test/{n}", 1) for n in range(10_000)), link("a.test/free", 2)])
    (owned,) = claim(frontier)
    blocked = HostState(host="https://www.a.test", blocked_s=600)
    complete(frontier, owned, Retry(wait_s=0, counted=False), hosts=[blocked], wait_s=0)
    for _ in range(10):
        lab.advance(0.01)
        if claims := claim(frontier):
            break
    assert paths(claims[0]) == ["a.test/free"]


def test_a_block_that_is_lifted_frees_the_urls_that_come_after(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1"), link("www.a.test/2")])
    (owned,) = claim(frontier)
    complete(frontier, owned, hosts=[HostState(host="https://www.a.test", blocked_s=600)], wait_s=0)
    assert wait(frontier) == 600
    lab.advance(600)
    (owned,) = claim(frontier)
    rules = HostState(host="https://www.a.test", rules="Allow: /", expires_at=9.0)
    complete(frontier, owned, hosts=[rules], wait_s=0)
    frontier.add([link("www.a.test/3")])
    (owned,) = claim(frontier)
    assert owned.hosts == {"https://www.a.test": rules}


def test_the_rules_of_a_sites_many_hosts_come_in_bounded_number_but_those_needed_always(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1"), link("zz.a.test/2", 2)])
    (owned,) = claim(frontier)
    names_ = ["https://zz.a.test", *(f"https://h{n}.a.test" for n in range(30))]
    complete(
        frontier, owned, hosts=[HostState(host=name, rules="Allow: /", expires_at=9.0) for name in names_], wait_s=0
    )
    (owned,) = claim(frontier)
    assert "https://zz.a.test" in owned.hosts
    assert 1 < len(owned.hosts) < 20


def test_sites_come_in_the_order_in_which_they_fell_due(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 9) + links("b.test", 9) + links("c.test", 9))
    by_site = {one.site: one for one in claim(frontier)}
    for site, wait_s in (("b.test", 30), ("c.test", 10), ("a.test", 20)):
        complete(frontier, by_site[site], wait_s=wait_s)
    lab.advance(15)
    frontier.add([link("d.test/new")])
    lab.advance(100)
    assert names(claim(frontier, 2)) == ["c.test", "d.test"]
    assert names(claim(frontier, 2)) == ["a.test", "b.test"]


def test_a_sites_urls_come_by_rank_then_depth_then_arrival(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(delay_s=1)
    frontier, _ = lab.join()
    frontier.add([
        link("a.test/5", 4), link("a.test/3", 2), link("a.test/4", 2), link("a.test/6", 0, rank=1),
        link("a.test/1", 9, rank=-1), link("a.test/2", 1),
    ])  # fmt: skip
    (owned,) = claim(frontier)
    assert paths(owned) == [f"a.test/{n}" for n in range(1, 7)]


@pytest.mark.parametrize(
    ("delay_s", "urls"), [(70, 1), (61, 1), (60, 2), (20, 4), (6, 10), (0.1, 10), (0.05, 50), (0, 50)]
)
def test_a_claim_brings_about_a_minutes_worth_of_urls(new_lab: Callable[..., Lab], delay_s: float, urls: int) -> None:
    assert urls_per_claim(delay_s) == urls
    lab = new_lab(delay_s=delay_s)
    frontier, _ = lab.join()
    frontier.add(links("a.test", 60))
    (owned,) = claim(frontier)
    assert len(owned.urls) == urls


def test_a_site_with_a_longer_delay_of_its_own_keeps_it(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(delay_s=1)
    frontier, _ = lab.join()
    frontier.add(links("a.test", 60))
    (owned,) = claim(frontier)
    complete(frontier, owned, wait_s=30, own_delay_s=30)
    lab.advance(30)
    (owned,) = claim(frontier)
    assert (owned.delay_s, len(owned.urls)) == (30, 3)


def test_a_sites_failures_in_a_row_are_told_to_whoever_claims_it_next(lab: Lab) -> None:
    first, worker = lab.join()
    first.add(links("a.test", 3))
    (owned,) = claim(first)
    assert owned.failures == 0
    release = Release(wait_s=0, own_delay_s=90, failures=4)
    first.complete(Batch(visits=[Visit(site="a.test", epoch=owned.epoch, release=release)]))
    (owned,) = claim(first)
    assert (owned.failures, owned.own_delay_s) == (4, 90)
    first.recover(worker)
    lab.advance(90)
    first.join("next")
    (owned,) = claim(first)
    assert (owned.failures, owned.own_delay_s) == (4, 90), "a crash does not forget them"


def test_a_claim_takes_no_more_sites_than_asked_for(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link(f"s{n}.test/") for n in range(20)])
    assert len(claim(frontier, 7)) == 7
    assert frontier.stats().sites_in_hand == 7


def test_no_worker_takes_more_than_its_fair_share(lab: Lab) -> None:
    greedy, _ = lab.join()
    modest, _ = lab.join()
    greedy.add([link(f"s{n}.test/") for n in range(9)])
    assert len(claim(greedy, 100)) == 5
    assert wait(greedy), "it is no use to ask again at once"
    assert len(claim(modest, 100)) == 4


def test_a_dead_workers_share_goes_to_the_living(lab: Lab) -> None:
    mine, _ = lab.join()
    _, dead = lab.join()
    mine.add([link(f"s{n}.test/") for n in range(10)])
    mine.recover(dead)
    assert len(claim(mine, 100)) == 10


# ---------------------------------------------------------------------------- more URLs of a site in hand


def test_a_worker_sees_the_queue_of_a_site_that_it_owns_in_the_order_of_a_claim(new_lab: Callable[..., Lab]) -> None:
    frontier, _ = new_lab(delay_s=0).join()
    frontier.add([*links("a.test", 60), link("a.test/first", 0), link("b.test/"), link("a.test/later", rank=5)])
    owned = next(one for one in claim(frontier) if one.site == "a.test")
    ahead = frontier.look_ahead("a.test", owned.epoch, 100)
    assert ahead[:50] == list(owned.urls)
    assert len(ahead) == 62
    assert ahead[-1].url == "https://a.test/later"
    complete(frontier, owned, wait_s=None, links=[link("a.test/new", 0)])
    ahead = frontier.look_ahead("a.test", owned.epoch, 3)
    assert [url.url for url in ahead] == [f"https://a.test/{path}" for path in ("new", "49", "50")]


def test_a_worker_sees_nothing_of_a_site_that_it_does_not_own(lab: Lab) -> None:
    (one, _), (other, _) = lab.join(), lab.join()
    one.add(links("a.test", 3))
    (owned,) = claim(one)
    assert other.look_ahead("a.test", owned.epoch, 10) == []
    assert one.look_ahead("a.test", owned.epoch + 1, 10) == []
    assert one.look_ahead("b.test", 1, 10) == []
    complete(one, owned, links=links("a.test", 5))
    assert one.look_ahead("a.test", owned.epoch, 10) == []


def test_urls_that_wait_are_not_seen_ahead(new_lab: Callable[..., Lab]) -> None:
    frontier, _ = new_lab(delay_s=0).join()
    frontier.add([link("a.test/"), link("a.test/x")])
    (owned,) = claim(frontier)
    blocked = HostState(host="https://www.a.test", failures=1, failing_since=5.0, blocked_s=600)
    again = next(url for url in owned.urls if url.url.endswith("/x"))
    frontier.complete(
        Batch(
            links=[link("www.a.test/"), link("a.test/y")],
            visits=[
                Visit(
                    site="a.test", epoch=owned.epoch, outcomes=[(again.url_hash, Retry(wait_s=60))], hosts=[blocked],
                )
            ],
        )
    )  # fmt: skip
    assert [url.url for url in frontier.look_ahead("a.test", owned.epoch, 10)] == [
        "https://a.test/",
        "https://a.test/y",
    ]


@pytest.mark.parametrize("limit", ["page_limit", "site_limit"])
def test_with_a_limit_of_pages_only_a_claim_brings_urls(new_lab: Callable[..., Lab], limit: str) -> None:
    frontier, _ = new_lab(delay_s=0, **{limit: 100}).join()
    frontier.add(links("a.test", 60))
    (owned,) = claim(frontier)
    assert len(owned.urls) == 50
    assert frontier.look_ahead("a.test", owned.epoch, 100) == []
