"""Adding links: idempotent, in order, never a wake-up lost."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING

import pytest

from gossamer.records import Claimed, Done, Kind, Orders, Retry, Scope, UrlStatus
from tests.frontier.samples import claim, complete, link, links, names, paths, wait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gossamer.frontier import Frontier
    from gossamer.records import Link
    from tests.frontier.conformance.lab import Lab


def test_the_same_batch_twice_adds_nothing(lab: Lab) -> None:
    frontier = lab.open()
    batch = links("a.test", 5) + links("b.test", 3)
    assert frontier.add(batch) == 8
    assert frontier.add(batch) == 0
    assert lab.open().add(batch) == 0, "not even through another connection, which remembers nothing"
    assert frontier.stats().known == 8


def test_batches_are_added_each_and_what_stands_in_several_counts_once(lab: Lab) -> None:
    frontier = lab.open()
    batches = [links("a.test", 5), links("b.test", 3), links("a.test", 7), [], links("b.test", 3)]
    added = list(frontier.add_each(iter(batches)))
    assert (len(added), sum(added), added[3]) == (5, 10, 0)
    assert (frontier.stats().known, frontier.stats().sites) == (10, 2)
    assert list(frontier.add_each([])) == []


def test_a_source_of_batches_that_fails_is_heard_and_what_came_before_is_kept(lab: Lab) -> None:
    frontier = lab.open()

    def failing() -> Iterator[list[Link]]:
        yield links("a.test", 5)
        raise OSError("the file is gone")

    with pytest.raises(OSError, match="the file is gone"):
        list(frontier.add_each(failing()))
    assert frontier.stats().known == 5


def test_a_link_that_stands_twice_in_a_batch_counts_once(lab: Lab) -> None:
    frontier = lab.open()
    assert frontier.add([link("a.test/x", 3), link("a.test/x", 1), link("a.test/x", 2)]) == 1
    found = frontier.find_url(*_key("a.test/x"))
    assert found is not None
    assert found.depth == 1
    assert frontier.stats().queued == 1


def test_a_sitemap_stays_one_and_may_be_queued_again_on_behalf_of_another_host(lab: Lab) -> None:
    frontier, _ = lab.join()
    plain = link("a.test/map.xml")._replace(kind=Kind.SITEMAP)
    frontier.add([plain])
    (claimed,) = claim(frontier)
    complete(frontier, claimed)
    once_more = plain._replace(url=f"{plain.url}#https://b.a.test", url_hash=bytes(16), hops=2)
    assert frontier.add([plain, once_more]) == 1
    lab.advance(70)
    (claimed,) = claim(frontier)
    (url,) = claimed.urls
    assert (url.url, url.url_hash, url.host) == (once_more.url, once_more.url_hash, "https://a.test")
    assert (url.kind, url.hops) == (Kind.SITEMAP, 2)


def test_no_links_is_not_a_mistake(lab: Lab) -> None:
    assert lab.open().add([]) == 0


def test_a_settled_url_is_not_queued_again(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/x")])
    (owned,) = claim(frontier)
    complete(frontier, owned, wait_s=0)
    assert frontier.add([link("a.test/x", 0)]) == 0
    assert lab.open().add([link("a.test/x", 0)]) == 0
    lab.advance(1000)
    assert not claim(frontier)
    assert frontier.drained()


def test_a_queued_url_takes_a_smaller_depth(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/near", 2), link("a.test/far", 5)])
    assert frontier.add([link("a.test/far", 1)]) == 0
    (owned,) = claim(frontier)
    assert [(url.url, url.depth) for url in owned.urls] == [("https://a.test/far", 1)]
    found = frontier.find_url(*_key("a.test/far"))
    assert found is not None
    assert found.depth == 1


def test_a_queued_url_keeps_its_depth_when_it_comes_again_from_farther(lab: Lab) -> None:
    frontier = lab.open()
    frontier.add([link("a.test/x", 1)])
    frontier.add([link("a.test/x", 4)])
    lab.open().add([link("a.test/x", 4)])
    found = frontier.find_url(*_key("a.test/x"))
    assert found is not None
    assert found.depth == 1


def test_a_url_in_hand_takes_a_smaller_depth_and_is_still_settled(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/x", 5)])
    (owned,) = claim(frontier)
    frontier.add([link("a.test/x", 1)])
    complete(frontier, owned)
    found = frontier.find_url(*_key("a.test/x"))
    assert found is not None
    assert found.status is UrlStatus.DONE
    assert frontier.drained()


def test_a_site_that_had_nothing_to_do_wakes_when_its_pace_allows(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)
    complete(frontier, owned, wait_s=70)
    assert wait(frontier) is None
    frontier.add([link("a.test/2")])
    assert wait(frontier) == 70
    lab.advance(70)
    assert names(claim(frontier)) == ["a.test"]


def test_a_site_that_waits_for_a_retry_is_due_for_a_new_link(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)
    complete(frontier, owned, Retry(wait_s=3600), wait_s=70)
    assert wait(frontier) == 3600
    frontier.add([link("a.test/2")])
    assert wait(frontier) == 70
    lab.advance(70)
    (owned,) = claim(frontier)
    assert paths(owned) == ["a.test/2"]


def test_links_to_a_site_in_hand_are_there_when_it_is_released(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1")])
    (owned,) = claim(frontier)
    frontier.add([link("a.test/2")])
    assert wait(frontier) is None, "it is owned, so it is not claimed twice"
    complete(frontier, owned, wait_s=70)
    lab.advance(70)
    (owned,) = claim(frontier)
    assert paths(owned) == ["a.test/2"]


def test_a_seed_marks_its_site_whether_or_not_it_was_known(lab: Lab) -> None:
    frontier = lab.open()
    frontier.add([link("a.test/1"), link("b.test/1")])
    frontier.add([link("a.test/1", 0, seeded=True), link("c.test/1", 0, seeded=True)])
    sites = [frontier.find_site(name) for name in ("a.test", "b.test", "c.test")]
    assert [site and site.seeded for site in sites] == [True, False, True]


def test_the_ports_of_seeds_are_kept_and_every_worker_hears_of_them(lab: Lab) -> None:
    frontier, _ = lab.join()
    orders = frontier.heartbeat({})
    assert isinstance(orders, Orders)
    assert orders.seed_ports == frozenset()
    frontier.add([link("https://a.test/", 0, seeded=True), link("http://a.test:8080/", 0, seeded=True)])
    frontier.add([link("http://[::1]:8081/", 0, seeded=True), link("https://b.test:8443/")])
    found = link("https://a.test:9000/", 0, seeded=True, via=bytes(16))  # where a seed's redirect leads
    (owned, *_) = claim(frontier)
    complete(frontier, owned, links=[found])
    frontier.add([link("http://c.test:8080/", 0, seeded=True), found])
    orders = frontier.heartbeat({})
    assert isinstance(orders, Orders)
    assert orders.seed_ports == frontier.seed_ports() == {8080, 8081}
    other, _ = lab.join()
    other.add([link("http://d.test:8082/", 0, seeded=True)])
    orders = frontier.heartbeat({})
    assert isinstance(orders, Orders)
    assert orders.seed_ports == {8080, 8081, 8082}


def test_more_links_than_fit_one_transaction_all_arrive(lab: Lab) -> None:
    frontier = lab.open()
    assert frontier.add([link(f"s{n % 70}.test/{n}") for n in range(7_000)]) == 7_000
    assert frontier.stats().queued == 7_000
    assert frontier.stats().sites == 70


@pytest.mark.parametrize(
    ("scope", "accepted"),
    [
        (Scope.HOST, {"a.test/seed", "a.test/1"}),
        (Scope.SITE, {"a.test/seed", "a.test/1", "www.a.test/2"}),
        (Scope.WEB, {"a.test/seed", "a.test/1", "www.a.test/2", "b.test/3"}),
    ],
)
def test_links_beyond_the_scope_leave_no_trace(new_lab: Callable[..., Lab], scope: Scope, accepted: set[str]) -> None:
    lab = new_lab(scope=scope)
    frontier, _ = lab.join()
    frontier.add([link("a.test/seed", 0, seeded=True)])
    found = [link("a.test/1"), link("www.a.test/2"), link("b.test/3")]
    (owned,) = claim(frontier)
    complete(frontier, owned, links=found)
    assert frontier.stats().known == len(accepted)
    everything = ["a.test/seed", "a.test/1", "www.a.test/2", "b.test/3"]
    assert {url for url in everything if frontier.known(*_key(url))} == accepted
    assert (frontier.find_site("b.test") is not None) == (scope is Scope.WEB)


@pytest.mark.parametrize(
    ("seed", "inside", "outside"),
    [
        ("https://a.test/", ["http://a.test/1", "https://a.test:8443/2"], ["http://ww.a.test/", "https://a.a.test/"]),
        ("http://w_w.a.test:81/", ["https://w_w.a.test/1", "http://w_w.a.test:8/"], ["http://wxw.a.test:81/"]),
        ("http://[::1]:81/", ["https://[::1]/1", "https://[::1]:81/"], ["http://[::1:81]/", "http://[::2]:81/"]),
    ],
)
def test_the_scope_of_hosts_goes_by_their_names(
    new_lab: Callable[..., Lab], seed: str, inside: list[str], outside: list[str]
) -> None:
    frontier = new_lab(scope=Scope.HOST).open()
    frontier.add([link(seed, 0, seeded=True)])
    found = [link(url) for url in [*inside, *outside]]
    assert [one.url for one in frontier.in_scope(found)] == inside
    assert frontier.add(found) == len(inside)


@pytest.mark.parametrize("scope", [Scope.HOST, Scope.SITE])
def test_a_site_that_is_seeded_later_is_open_from_then_on(new_lab: Callable[..., Lab], scope: Scope) -> None:
    frontier = new_lab(scope=scope).open()
    frontier.add([link("a.test/seed", 0, seeded=True)])
    assert frontier.add([link("b.test/1")]) == 0
    assert frontier.add([link("b.test/2", 0, seeded=True), link("b.test/3")]) == 2
    assert frontier.add([link("b.test/1")]) == 1, "it was refused before, not forgotten"


def test_a_wider_scope_brings_back_what_was_refused(new_lab: Callable[..., Lab]) -> None:
    frontier = new_lab(scope=Scope.SITE).open()
    frontier.add([link("a.test/seed", 0, seeded=True), link("b.test/1")])
    frontier.resume(delay_s=70, scope=Scope.WEB)
    assert frontier.add([link("b.test/1")]) == 1


def test_two_processes_that_add_the_same_links_at_once_add_each_once(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(real_time=True)
    batch = [link(f"s{n % 40}.test/{n}") for n in range(1_000)]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        counts = [pool.apply_async(_add, (lab.opener(), batch)) for _ in range(2)]
        assert sum(count.get(timeout=60) for count in counts) == 1_000
    frontier = lab.open()
    assert frontier.stats().known == frontier.stats().queued == 1_000
    worker, _ = lab.join()
    seen = []
    while not worker.drained():
        claimed = worker.claim(100)
        assert isinstance(claimed, Claimed)
        for one in claimed.claims:
            seen += paths(one)
            complete(worker, one, Done(), wait_s=0)
    assert len(seen) == len(set(seen)) == 1_000


def _add(opener: Callable[[], Frontier], batch: list[Link]) -> int:
    with opener() as frontier:
        return frontier.add(batch)


def _key(url: str) -> tuple[str, bytes]:
    one = link(url)
    return one.site, one.url_hash
