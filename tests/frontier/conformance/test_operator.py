"""What the operator may change and see: exclusions, orders, the page limit, figures, the end."""

from __future__ import annotations

import multiprocessing
import random
from typing import TYPE_CHECKING

from gossamer.records import (
    Batch,
    Claimed,
    CrawlState,
    Done,
    GivenUp,
    HostState,
    Orders,
    Reason,
    Release,
    Retry,
    Visit,
)
from tests.frontier.samples import claim, complete, link, links, names, paths, wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.frontier import Frontier
    from tests.frontier.conformance.lab import Lab


def test_an_excluded_site_is_not_claimed_until_it_is_readmitted(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 2) + links("b.test", 2))
    lab.open().exclude(["a.test"])
    assert names(claim(frontier)) == ["b.test"]
    state = frontier.find_site("a.test")
    assert state is not None
    assert (state.excluded, state.wait_s, state.queued) == (True, None, 2)
    lab.open().readmit(["a.test"])
    assert names(claim(frontier)) == ["a.test"]


def test_a_site_excluded_before_it_is_known_is_never_claimed(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.exclude(["a.test"])
    frontier.add(links("a.test", 2))
    assert wait(frontier) is None
    assert frontier.drained(), "nothing that may be asked is left"
    frontier.readmit(["a.test"])
    assert not frontier.drained()
    assert names(claim(frontier)) == ["a.test"]


def test_a_site_excluded_while_in_hand_is_not_claimed_after_its_release(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 3))
    (owned,) = claim(frontier)
    frontier.exclude(["a.test"])
    complete(frontier, owned, links=[link("a.test/more")], wait_s=0)
    assert wait(frontier) is None
    frontier.readmit(["a.test"])
    assert claim(frontier)


def test_heartbeats_bring_exclusions_when_they_changed(lab: Lab) -> None:
    frontier, _ = lab.join()
    first = frontier.heartbeat({})
    assert isinstance(first, Orders)
    lab.open().exclude(["a.test", "b.test"])
    second = frontier.heartbeat({}, first.exclusions_version)
    assert isinstance(second, Orders)
    assert second.excluded == frozenset({"a.test", "b.test"})
    third = frontier.heartbeat({}, second.exclusions_version)
    assert isinstance(third, Orders)
    assert third.excluded is None, "nothing changed since"
    lab.open().readmit(["a.test"])
    fourth = frontier.heartbeat({}, third.exclusions_version)
    assert isinstance(fourth, Orders)
    assert fourth.excluded == frozenset({"b.test"})


def test_heartbeats_bring_the_operators_orders(lab: Lab) -> None:
    frontier, _ = lab.join()
    for state in (CrawlState.PAUSED, CrawlState.STOPPING, CrawlState.RUNNING):
        lab.open().order(state)
        orders = frontier.heartbeat({})
        assert isinstance(orders, Orders)
        assert orders.state is state
    lab.open().order(CrawlState.STOPPING)
    lab.open().resume(delay_s=70)
    frontier.join("after a stop")
    orders = frontier.heartbeat({})
    assert isinstance(orders, Orders)
    assert orders.state is CrawlState.RUNNING


def test_a_start_ends_a_stop_but_keeps_a_pause(lab: Lab) -> None:
    for ordered, kept in ((CrawlState.STOPPING, CrawlState.RUNNING), (CrawlState.PAUSED, CrawlState.PAUSED)):
        lab.open().order(ordered)
        lab.open().resume(delay_s=70)
        assert lab.open().stats().state is kept
    lab.open().order(CrawlState.RUNNING)
    assert not lab.open().stats().is_paused


def test_a_seed_file_is_remembered_by_its_digest(lab: Lab) -> None:
    assert not lab.open().seeds_loaded("abc")
    lab.open().mark_seeds_loaded("abc")
    lab.open().mark_seeds_loaded("abc")
    assert lab.open().seeds_loaded("abc")
    assert not lab.open().seeds_loaded("abd")


def test_the_page_limit_holds_urls_back(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(delay_s=0, page_limit=3)
    frontier, _ = lab.join()
    frontier.add(links("a.test", 2) + links("b.test", 2))
    claims = claim(frontier)
    assert sum(len(one.urls) for one in claims) == 3
    assert frontier.stats().pages_left == 0
    assert wait(frontier), "until what is in hand comes back, there is no use in asking"
    for one in claims:
        complete(frontier, one, wait_s=0)
    assert frontier.stats().done == 3
    assert wait(frontier) is None, "the limit is spent: there is nothing to wait for"
    assert not frontier.drained()


def test_the_last_pages_of_a_limit_are_shared_by_all_sites(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(delay_s=1, page_limit=12)
    frontier, _ = lab.join()
    frontier.add([one for site in range(5) for one in links(f"s{site}.test", 10)])
    claims = claim(frontier)
    assert max(len(one.urls) for one in claims) == 3, "more would take longer than the same pages of all sites"
    assert len(claims) >= 4


def test_what_a_worker_did_not_use_of_the_page_limit_comes_back(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(page_limit=1)
    frontier, worker = lab.join()
    frontier.add([link(f"s{n}.test/") for n in range(6)])
    (owned,) = claim(frontier)
    complete(frontier, owned, GivenUp(reason=Reason.ROBOTS_DISALLOWED))
    (owned,) = claim(frontier)
    complete(frontier, owned, Done(page=False))
    (owned,) = claim(frontier)
    complete(frontier, owned, Retry(wait_s=9999))
    (owned,) = claim(frontier)
    frontier.recover(worker)
    frontier.join("again")
    (owned,) = claim(frontier)
    complete(frontier, owned, Done())
    assert wait(frontier) is None
    assert frontier.stats().pages_left == 0


def test_a_limit_raised_at_a_later_start_lets_the_crawl_go_on(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(page_limit=1)
    frontier, _ = lab.join()
    frontier.add([link(f"s{n}.test/") for n in range(3)])
    (owned,) = claim(frontier)
    complete(frontier, owned)
    frontier.resume(delay_s=70, page_limit=2)
    frontier.join("again")
    assert len(claim(frontier)) == 1
    frontier.resume(delay_s=70)
    frontier.join("and again")
    assert frontier.stats().pages_left is None


def test_concurrent_claimers_never_exceed_the_page_limit(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(delay_s=0, page_limit=500, real_time=True)
    lab.open().add([link(f"s{n % 300}.test/{n}") for n in range(2_000)])
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        runs = [pool.apply_async(_crawl_until_spent, (lab.opener(), number)) for number in range(3)]
        pages = [run.get(timeout=90) for run in runs]
    assert sum(pages) == 500
    assert lab.open().stats().done == 500


def _crawl_until_spent(opener: Callable[[], Frontier], number: int) -> int:
    pages = 0
    draw = random.Random(number)
    with opener() as frontier:
        frontier.join(str(number))
        while True:
            claimed = frontier.claim(7)
            assert isinstance(claimed, Claimed)
            if not claimed.claims and claimed.wait_s is None:
                return pages
            for one in claimed.claims:
                outcome = Done() if draw.random() < 0.7 else Retry(wait_s=0)
                pages += isinstance(outcome, Done) * len(one.urls)
                complete(frontier, one, outcome, wait_s=0)


def test_drained_means_nothing_queued_deferred_or_in_hand(lab: Lab) -> None:
    frontier, _ = lab.join()
    assert frontier.drained()
    frontier.add([link("a.test/1")])
    assert not frontier.drained(), "queued"
    (owned,) = claim(frontier)
    assert not frontier.drained(), "in hand"
    done = Visit(site="a.test", epoch=owned.epoch, outcomes=[(owned.urls[0].url_hash, Done())])
    frontier.complete(Batch(visits=[done]))
    assert not frontier.drained(), "its owner may still bring links"
    complete(frontier, owned)
    assert frontier.drained()
    frontier.add([link("a.test/2")])
    lab.advance(70)
    (owned,) = claim(frontier)
    complete(frontier, owned, Retry(wait_s=3600))
    assert not frontier.drained(), "deferred"
    lab.advance(3600)
    (owned,) = claim(frontier)
    complete(frontier, owned, GivenUp(reason=Reason.CONNECT_REFUSED))
    assert frontier.drained()


def test_stats_tell_sites_urls_and_when_the_next_is_due(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 3) + links("b.test", 1) + links("c.test", 1))
    by_site = {one.site: one for one in claim(frontier)}
    complete(frontier, by_site["a.test"], wait_s=70)
    complete(frontier, by_site["b.test"], wait_s=70)
    lab.advance(30)
    stats = lab.open().stats()
    assert (stats.sites, stats.sites_with_work, stats.sites_in_hand) == (3, 2, 1)
    assert (stats.known, stats.queued, stats.done, stats.wait_s) == (5, 3, 2, 40)


def test_finding_what_nobody_knows_finds_nothing(lab: Lab) -> None:
    frontier = lab.open()
    assert frontier.find_site("a.test") is None
    assert frontier.find_url("a.test", b"x" * 16) is None
    assert not frontier.known("a.test", b"x" * 16)


def test_finding_a_site_tells_when_its_next_turn_is(lab: Lab) -> None:
    frontier, worker = lab.join()
    frontier.add([link("a.test/1", 0, seeded=True), link("a.test/2"), link("a.test/3")])
    (owned,) = claim(frontier)
    in_hand = frontier.find_site("a.test")
    assert in_hand is not None
    assert (in_hand.owner, in_hand.epoch, in_hand.seeded, in_hand.queued) == (worker, 1, True, 3)
    complete(frontier, owned, wait_s=90, own_delay_s=90)
    waiting = frontier.find_site("a.test")
    assert waiting is not None
    assert (waiting.owner, waiting.wait_s, waiting.own_delay_s, waiting.queued) == (None, 90, 90, 2)
    assert paths(owned) == ["a.test/1"]


def test_what_is_no_sites_name_is_kept_and_told_and_excludes_no_site(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 1))
    entries = {"https://a.test/private/", "*.a.test", "b.test"}
    lab.open().exclude(entries)
    orders = frontier.heartbeat({})
    assert isinstance(orders, Orders)
    assert orders.excluded == frontier.exclusions() == entries
    assert names(claim(frontier)) == ["a.test"]
    lab.open().readmit(["*.a.test"])
    assert frontier.exclusions() == entries - {"*.a.test"}
    assert frontier.audit() == []


def test_what_is_queued_of_a_site_can_be_read_in_hand_or_put_off(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([*links("a.test", 3), *links("b.test", 1)])
    (first, *_) = claim(frontier, 1)
    complete(frontier, first, Retry(wait_s=1_000))
    frontier.add([link("a.test/more", 5, rank=-3)])
    wanted = {one.url: one.url_hash for one in [*links("a.test", 3), link("a.test/more")]}
    assert dict(frontier.queued("a.test")) == wanted
    assert list(frontier.queued("c.test")) == []


def test_a_stranger_can_give_up_what_is_queued_so_that_nothing_is_left_of_an_excluded_site(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 3))
    operator = lab.open()
    operator.exclude(["a.test"])
    given_up = [(url_hash, GivenUp(reason=Reason.EXCLUDED)) for _, url_hash in operator.queued("a.test")]
    operator.complete(Batch(visits=[Visit(site="a.test", epoch=-1, outcomes=given_up)]))
    assert list(operator.queued("a.test")) == []
    assert frontier.stats().given_up == {Reason.EXCLUDED: 3}
    assert frontier.audit() == []
    operator.readmit(["a.test"])
    assert wait(frontier) is None


def test_hosts_tell_what_their_robots_txt_said_and_sites_how_often_they_failed(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1"), link("www.a.test/1")])
    (owned,) = claim(frontier)
    state = HostState(host="https://a.test", rules="User-agent: *", expires_at=5.0, failures=2, blocked_s=60.0)
    release = Release(wait_s=70, failures=4)
    frontier.complete(Batch(visits=[Visit(site="a.test", epoch=owned.epoch, hosts=[state], release=release)]))
    lab.advance(20)
    (found,) = frontier.find_hosts("a.test")
    assert (found.host, found.rules, found.expires_at, found.failures) == ("https://a.test", "User-agent: *", 5.0, 2)
    assert 39 < found.blocked_s <= 40.1
    site = frontier.find_site("a.test")
    assert site is not None
    assert site.failures == 4
    assert frontier.find_hosts("b.test") == []


def test_a_done_page_whose_row_is_lost_is_queued_again(lab: Lab) -> None:
    frontier, _ = lab.join()
    known = [link("a.test/done"), link("b.test/given-up"), link("c.test/queued")]
    frontier.add(known[:1])
    (owned,) = claim(frontier)
    complete(frontier, owned, Done(page=True), wait_s=0)
    frontier.add(known[1:2])
    (owned,) = claim(frontier)
    complete(frontier, owned, GivenUp(reason=Reason.TOO_MANY_REDIRECTS), wait_s=0)
    frontier.add(known[2:])
    assert frontier.reopen(known, pages=1) == 1
    stats = frontier.stats()
    assert (stats.known, stats.queued, stats.done, stats.pages) == (3, 2, 0, 0)
    assert frontier.audit() == []
    claims = claim(frontier)
    assert sorted(names(claims)) == ["a.test", "c.test"]
    for again in claims:
        complete(frontier, again, Done(page=True), wait_s=0)
    assert frontier.stats().pages == 2
    assert frontier.audit() == []


def test_the_queue_is_listed_with_the_state_of_each_url(lab: Lab) -> None:
    frontier, _ = lab.join()
    via = link("a.test/from").url_hash
    frontier.add([link("a.test/1", 3, rank=5, via=via), *links("b.test", 2)])
    (owned,) = [one for one in claim(frontier) if one.site == "a.test"]
    complete(frontier, owned, Retry(wait_s=60), wait_s=0)
    reader = lab.open()
    (entry,) = reader.list_queue("a.test")
    assert (entry.site, entry.url, entry.depth, entry.rank, entry.tries, entry.via) == (
        "a.test", "https://a.test/1", 3, 5, 1, via,
    )  # fmt: skip
    assert 50 < entry.wait_s <= 60
    assert entry.queued_at
    assert sorted(one.url for one in reader.list_queue()) == [
        f"https://{url}" for url in ("a.test/1", "b.test/0", "b.test/1")
    ]
    assert [one.wait_s for one in reader.list_queue("b.test")] == [0, 0]
    assert list(reader.list_queue("c.test")) == []


def test_a_list_of_many_urls_and_sites_is_complete(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("big.test", 5_001) + [link(f"s{number}.test/") for number in range(501)])
    assert len({entry.url for entry in frontier.list_queue()}) == 5_502
    assert len({entry.url for entry in frontier.list_queue("big.test")}) == 5_001
    assert sum(site.queued for site in frontier.list_sites(with_queued=True)) == 5_502


def test_the_sites_are_listed_as_each_is_found(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 2) + links("b.test", 1) + links("c.test", 1))
    frontier.exclude(["c.test"])
    claim(frontier, 1)
    listed = {site.site: site for site in lab.open().list_sites(with_queued=True)}
    assert listed == {name: frontier.find_site(name) for name in ("a.test", "b.test", "c.test")}
    assert {site.queued for site in frontier.list_sites(with_queued=False)} == {0}
