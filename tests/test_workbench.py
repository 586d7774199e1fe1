"""The workbench: order, bounds, and never two turns of one site at once."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gossamer.records import Claim, HostState, QueuedUrl
from gossamer.workbench import LEAST_STOCK_SITES, SiteInHand, Workbench, WorkbenchSettings


def queued(url: str, host: str) -> QueuedUrl:
    return QueuedUrl(url, url.encode()[-16:], host, 1, 0, 0, 0, 0)


def claim(
    site: str, urls: int = 1, *, epoch: int = 1, rules: str = "", own_delay_s: float = 0.0, failures: int = 0
) -> Claim:
    host = f"https://{site}"
    return Claim(
        site=site,
        epoch=epoch,
        delay_s=70.0,
        own_delay_s=own_delay_s,
        failures=failures,
        urls=tuple(queued(f"{host}/{number}", host) for number in range(urls)),
        hosts={host: HostState(host=host, rules=rules)} if rules else {},
    )


def workbench(*, sites: int = 10_000, urls: int = 100_000, text_bytes: int = 64_000_000) -> Workbench:
    return Workbench(WorkbenchSettings(max_sites_in_hand=sites, max_urls_in_hand=urls, max_in_hand_bytes=text_bytes))


def begin(bench: Workbench, now_s: float) -> SiteInHand:
    site = bench.next_turn(now_s)
    assert site is not None
    return site


# ---------------------------------------------------------------------------- turns


def test_an_empty_workbench_has_nothing_to_do() -> None:
    bench = workbench()
    assert bench.next_turn(0.0) is None
    assert bench.until_due(0.0) is None
    assert (len(bench), bench.urls, bench.busy) == (0, 0, 0)
    assert bench.held() == {}
    assert bench.idle_sites() == []
    assert bench.remove("a.test") is None


def test_a_claimed_site_is_due_at_once_with_all_that_came_with_it() -> None:
    bench = workbench()
    bench.take_in(claim("a.test", 3, epoch=7, rules="User-agent: *", own_delay_s=9.0, failures=2), 5.0)
    assert bench.until_due(5.0) == 0.0
    site = begin(bench, 5.0)
    assert (site.site, site.epoch, site.delay_s) == ("a.test", 7, 70.0)
    assert [url.url for url in site.urls] == ["https://a.test/0", "https://a.test/1", "https://a.test/2"]
    assert site.hosts == {"https://a.test": HostState(host="https://a.test", rules="User-agent: *")}
    assert (site.failures, site.own_delay_s, site.due_s) == (2, 9.0, 5.0)


def test_a_busy_site_gets_no_second_turn() -> None:
    bench = workbench()
    bench.take_in(claim("a.test", 2), 0.0)
    begin(bench, 0.0)
    assert bench.next_turn(1e9) is None
    assert bench.until_due(1e9) is None
    assert bench.busy == 1


def test_the_next_turn_begins_exactly_when_it_is_due() -> None:
    bench = workbench()
    bench.take_in(claim("a.test", 2), 0.0)
    site = begin(bench, 0.0)
    site.urls.popleft()
    assert bench.finish(site, 70.0)
    assert bench.until_due(10.0) == 60.0
    assert bench.next_turn(69.999) is None
    assert begin(bench, 70.0) is site


def test_the_most_overdue_site_comes_first() -> None:
    bench = workbench()
    for name, at_s in (("b.test", 2.0), ("c.test", 3.0), ("a.test", 1.0), ("d.test", 4.0)):
        bench.take_in(claim(name), at_s)
    assert [begin(bench, 3.0).site for _ in range(3)] == ["a.test", "b.test", "c.test"]
    assert bench.next_turn(3.0) is None


def test_sites_that_are_due_at_once_come_in_the_order_in_which_they_were_taken_in() -> None:
    bench = workbench()
    names = [f"{number}.test" for number in range(50)]
    for name in names:
        bench.take_in(claim(name), 1.0)
    assert [begin(bench, 1.0).site for _ in names] == names


def test_a_site_that_becomes_due_later_does_not_hide_one_that_is_more_overdue() -> None:
    bench = workbench()
    bench.take_in(claim("late.test", 2), 10.0)
    bench.take_in(claim("early.test", 2), 5.0)
    assert bench.until_due(11.0) == 0.0  # both are found due
    site = begin(bench, 11.0)
    assert site.site == "early.test"
    bench.finish(site, 2.0)  # due before any other site
    assert begin(bench, 11.0) is site


def test_a_site_without_urls_leaves_the_workbench_with_its_turn() -> None:
    bench = workbench()
    bench.take_in(claim("a.test"), 0.0)
    site = begin(bench, 0.0)
    site.urls.popleft()
    assert not bench.finish(site, 70.0)
    assert (len(bench), bench.urls, bench.busy) == (0, 0, 0)
    assert bench.until_due(1e9) is None


def test_to_finish_a_turn_twice_is_a_bug() -> None:
    bench = workbench()
    bench.take_in(claim("a.test", 2), 0.0)
    site = begin(bench, 0.0)
    bench.finish(site, 70.0)
    with pytest.raises(AssertionError, match=r"a\.test, epoch 1, 2 in hand.* has no turn to finish"):
        bench.finish(site, 70.0)


def test_what_is_decided_about_a_host_is_decided_about_all_its_urls() -> None:
    www, blog = "https://www.a.test", "https://blog.a.test"
    urls = tuple(queued(f"{host}/{number}", host) for number in range(3) for host in (www, blog))
    bench = workbench()
    bench.take_in(Claim(site="a.test", epoch=1, delay_s=1.0, urls=urls, hosts={}), 0.0)
    site = begin(bench, 0.0)
    assert [url.url for url in site.take_urls_of(blog)] == [f"{blog}/0", f"{blog}/1", f"{blog}/2"]
    assert [url.url for url in site.urls] == [f"{www}/0", f"{www}/1", f"{www}/2"]
    assert site.take_urls_of(blog) == []
    bench.finish(site, 1.0)
    assert bench.urls == 3


# ---------------------------------------------------------------------------- leaving


def test_a_removed_site_gets_no_turn() -> None:
    bench = workbench()
    bench.take_in(claim("a.test"), 0.0)
    bench.take_in(claim("b.test"), 1.0)
    removed = bench.remove("a.test")
    assert removed is not None
    assert removed.site == "a.test"
    assert bench.held() == {"b.test": 1}
    assert begin(bench, 5.0).site == "b.test"
    assert bench.next_turn(5.0) is None


def test_a_removed_site_is_not_waited_for() -> None:
    bench = workbench()
    for name, due_s in (("a.test", 10.0), ("b.test", 20.0)):
        bench.take_in(claim(name), due_s)
    bench.remove("a.test")
    assert bench.until_due(0.0) == 20.0


def test_a_site_that_is_removed_when_due_is_not_due_any_more() -> None:
    bench = workbench()
    bench.take_in(claim("a.test"), 0.0)
    assert bench.until_due(0.0) == 0.0
    bench.remove("a.test")
    assert bench.until_due(0.0) is None


def test_a_turn_that_was_under_way_when_its_site_was_removed_ends_outside() -> None:
    bench = workbench()
    bench.take_in(claim("a.test", 5), 0.0)
    site = begin(bench, 0.0)
    assert bench.remove("a.test") is site
    assert (len(bench), bench.urls, bench.busy) == (0, 0, 0)
    assert not bench.finish(site, 70.0)
    assert bench.until_due(1e9) is None


def test_a_site_that_was_lost_and_claimed_again_waits_for_the_old_turn_to_end() -> None:
    bench = workbench()
    bench.take_in(claim("a.test", 5, epoch=1), 0.0)
    old = begin(bench, 0.0)
    bench.remove("a.test")
    bench.take_in(claim("a.test", 5, epoch=2), 10.0)
    assert bench.next_turn(100.0) is None
    assert bench.until_due(100.0) is None
    assert bench.held() == {"a.test": 2}
    assert bench.idle_sites() == []  # its due time is not known yet
    assert not bench.finish(old, 170.0)
    assert [(site.epoch, site.due_s) for site in bench.idle_sites()] == [(2, 170.0)]
    assert bench.next_turn(169.0) is None
    assert begin(bench, 170.0).epoch == 2


def test_a_site_that_was_lost_twice_during_one_turn_still_waits_for_it() -> None:
    bench = workbench()
    bench.take_in(claim("a.test", epoch=1), 0.0)
    old = begin(bench, 0.0)
    for epoch in (2, 3):
        bench.remove("a.test")
        bench.take_in(claim("a.test", epoch=epoch), 10.0)
    assert bench.next_turn(100.0) is None
    bench.finish(old, 120.0)
    assert begin(bench, 120.0).epoch == 3
    assert bench.next_turn(120.0) is None


def test_a_new_claim_makes_the_former_one_void() -> None:
    bench = workbench()
    bench.take_in(claim("a.test", 3, epoch=1), 0.0)
    bench.take_in(claim("a.test", 2, epoch=2), 5.0)
    assert (len(bench), bench.urls, bench.held()) == (1, 2, {"a.test": 2})
    assert bench.next_turn(4.0) is None
    assert begin(bench, 5.0).epoch == 2
    assert bench.next_turn(1e9) is None


def test_clearing_drops_everything_and_turns_under_way_still_count() -> None:
    bench = workbench()
    for name in ("a.test", "b.test", "c.test"):
        bench.take_in(claim(name, 2), 0.0)
    busy = begin(bench, 0.0)
    bench.clear()
    assert (len(bench), bench.urls, bench.busy) == (0, 0, 0)
    assert bench.until_due(1e9) is None
    bench.take_in(claim(busy.site, epoch=2), 1.0)
    assert bench.next_turn(1e9) is None
    bench.finish(busy, 70.0)
    assert begin(bench, 70.0).epoch == 2


def test_what_is_held_includes_the_busy_and_what_is_idle_does_not() -> None:
    bench = workbench()
    bench.take_in(claim("a.test", epoch=4), 0.0)
    bench.take_in(claim("b.test", epoch=9), 1.0)
    begin(bench, 2.0)
    assert bench.held() == {"a.test": 4, "b.test": 9}
    assert [site.site for site in bench.idle_sites()] == ["b.test"]


# ---------------------------------------------------------------------------- bounds and supply


def test_urls_are_counted_as_turns_change_them() -> None:
    bench = workbench()
    bench.take_in(claim("a.test", 2), 0.0)
    assert bench.urls == 2
    site = begin(bench, 0.0)
    site.urls.popleft()
    assert bench.urls == 2
    bench.finish(site, 1.0)
    assert bench.urls == 1
    bench.remove("a.test")
    assert bench.urls == 0


def test_a_new_workbench_asks_for_a_first_stock() -> None:
    assert workbench().wants(0.0) == 2 * LEAST_STOCK_SITES


def test_no_more_is_asked_for_than_there_is_room() -> None:
    bench = workbench(sites=30)
    assert bench.wants(0.0) == 30
    for number in range(28):
        bench.take_in(claim(f"{number}.test"), 0.0)
    assert bench.wants(0.0) == 2
    for _ in range(28):  # busy sites take room, too
        begin(bench, 0.0)
    assert bench.wants(0.0) == 2
    for number in range(28, 35):
        bench.take_in(claim(f"{number}.test"), 0.0)
    assert bench.wants(0.0) == 0


def test_room_for_urls_is_shared_among_sites_as_they_come() -> None:
    bench = workbench(urls=1_000)
    for number in range(40):
        bench.take_in(claim(f"{number}.test", 10), 0.0)
    for _ in range(40):
        begin(bench, 0.0)
    assert 60 <= bench.wants(0.0) <= 120  # 600 URLs of room at about 10 a site, once that is known
    for number in range(40, 99):
        bench.take_in(claim(f"{number}.test", 10), 0.0)
    assert bench.wants(0.0) <= 1


def test_large_robots_rules_fill_the_room_for_text() -> None:
    bench = workbench(text_bytes=1_000_000)
    for number in range(10):
        bench.take_in(claim(f"{number}.test", rules="x" * 99_900), 0.0)
    for _ in range(10):
        begin(bench, 0.0)
    assert bench.wants(0.0) == 0


def test_robots_rules_that_shrink_or_leave_make_room_for_text() -> None:
    bench = workbench(text_bytes=1_000_000)
    for name in ("a.test", "b.test"):
        bench.take_in(claim(name, 2, rules="x" * 1_200_000), 0.0)
    for _ in range(2):
        site = begin(bench, 0.0)
        assert bench.wants(0.0) == 0
        site.hosts[f"https://{site.site}"] = HostState(host=f"https://{site.site}", rules="")
        bench.finish(site, 1.0)
    assert bench.wants(0.0) > 0
    bench.take_in(claim("c.test", rules="x" * 1_000_000), 0.0)
    assert bench.wants(0.0) == 0
    bench.remove("c.test")
    assert bench.wants(0.0) > 0


def test_enough_in_stock_means_no_claim() -> None:
    bench = workbench()
    for number in range(LEAST_STOCK_SITES):
        bench.take_in(claim(f"{number}.test"), 0.0)
    assert bench.wants(0.0) == 0
    begin(bench, 0.0)
    assert bench.wants(0.0) == LEAST_STOCK_SITES + 1


def test_sites_that_wait_for_their_delay_are_no_stock() -> None:
    bench = workbench()
    for number in range(500):
        bench.take_in(claim(f"{number}.test"), 60.0)
    assert bench.wants(0.0) == 2 * LEAST_STOCK_SITES
    assert bench.wants(60.0) == 0


def test_a_second_of_turns_is_kept_in_stock() -> None:
    """A thousand turns a second for a while; then more sites are claimed before the due ones are used up."""
    bench = workbench(sites=100_000)
    number, now_s = 0, 0.0
    while now_s < 30.0:
        now_s += 0.001
        if bench.until_due(now_s) != 0.0:
            bench.take_in(claim(f"{number}.test"), now_s)
            number += 1
        site = begin(bench, now_s)
        site.urls.clear()
        bench.finish(site, now_s)
    assert bench.wants(now_s) == pytest.approx(2_000, rel=0.02)
    for extra in range(1_010):
        bench.take_in(claim(f"extra-{extra}.test"), now_s)
    assert bench.wants(now_s) == 0
    for _ in range(20):
        bench.next_turn(now_s)
    assert bench.wants(now_s) > 1_000
    assert bench.wants(now_s + 60.0) == 0  # it was long ago, and what is in stock is more than a first stock


def test_a_worker_never_runs_dry_nor_over_if_it_claims_twice_a_second() -> None:
    """Turns as fast as sites are due, up to 800 a second; a claim returns the requested sites 0.1 s later."""
    bench = workbench(sites=5_000, urls=20_000)
    draw = random.Random(3)
    number, idle_ticks = 0, 0
    for tick in range(3_000):
        now_s = tick / 100
        if tick % 50 == 0:
            wanted = bench.wants(now_s)
        if tick % 50 == 10:
            for _ in range(wanted):
                bench.take_in(claim(f"{number}.test", draw.randint(1, 10)), now_s)
                number += 1
        for _ in range(8):
            site = bench.next_turn(now_s)
            if site is None:
                idle_ticks += tick > 1_000
                break
            site.urls.popleft()
            bench.finish(site, now_s + 5.0)
        assert len(bench) <= 5_000
        assert bench.urls <= 1.2 * 20_000
    assert idle_ticks == 0


def test_removed_sites_leave_nothing_behind() -> None:
    bench = workbench()
    for number in range(20_000):
        bench.take_in(claim("a.test", epoch=number), float(number))
        if number % 3 == 0:
            bench.until_due(float(number))
    assert len(bench._waiting) + len(bench._due) < 2_000


def test_the_order_survives_that_most_sites_are_removed() -> None:
    bench = workbench()
    draw = random.Random(5)
    due_s = {f"{number}.test": draw.random() for number in range(5_000)}
    for name, at_s in due_s.items():
        bench.take_in(claim(name), at_s)
    for name in draw.sample(sorted(due_s), 4_500):
        bench.remove(name)
        del due_s[name]
    assert len(bench._waiting) < 2_500
    for name in sorted(due_s, key=due_s.__getitem__):
        assert begin(bench, due_s[name]).site == name
    assert bench.next_turn(1.0) is None


def test_a_turn_costs_little_with_many_sites_in_hand() -> None:
    bench = workbench(sites=40_000, urls=100_000)
    for number in range(20_000):
        bench.take_in(claim(f"{number}.test", 3), number / 1_000)
    begun = time.process_time()
    now_s = 20.0
    for _ in range(20_000):
        now_s += 0.001
        site = begin(bench, now_s)
        site.urls.popleft()
        bench.finish(site, now_s + 20.0)
        bench.wants(now_s)
        bench.until_due(now_s)
    assert (time.process_time() - begun) / 20_000 < 40e-6  # ten times what it takes


# ---------------------------------------------------------------------------- against a naive model


@dataclass(slots=True)
class Entry:
    """A site in the model."""

    name: str
    epoch: int
    urls: int
    due_s: float
    order: int
    turns: int = 0  # under way
    lanes: int = 1
    waits: bool = True  # for its next turn; not while the turns of a former claim are under way


@dataclass(slots=True)
class NaiveBench:
    """A model of the workbench: a list that is searched from end to end."""

    entries: list[Entry] = field(default_factory=list)
    orphans: set[str] = field(default_factory=set)  # sites with turns under way that are not in hand
    order: int = 0

    def find(self, name: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.name == name), None)

    def put(self, entry: Entry, due_s: float) -> None:
        self.order += 1
        entry.due_s, entry.order, entry.waits = due_s, self.order, True

    def take_in(self, name: str, epoch: int, urls: int, now_s: float) -> None:
        self.remove(name)
        entry = Entry(name, epoch, urls, now_s, 0)
        self.entries.append(entry)
        self.put(entry, now_s)
        entry.waits = name not in self.orphans

    def remove(self, name: str) -> bool:
        entry = self.find(name)
        if entry is None:
            return False
        self.entries.remove(entry)
        if entry.turns:
            self.orphans.add(name)
        return True

    def waiting(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.waits]

    def next_turn(self, now_s: float) -> Entry | None:
        while due := [entry for entry in self.waiting() if entry.due_s <= now_s]:
            entry = min(due, key=lambda entry: (entry.due_s, entry.order))
            entry.waits = False
            if entry.urls:
                entry.turns += 1
                return entry
        return None

    def until_due(self, now_s: float) -> float | None:
        return min((max(0.0, entry.due_s - now_s) for entry in self.waiting()), default=None)


NAMES = st.sampled_from(["a.test", "b.test", "c.test", "d.test", "e.test", "f.test"])


class WorkbenchAgainstModel(RuleBasedStateMachine):
    """Random histories, the same for the workbench and its model."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = workbench()
        self.model = NaiveBench()
        self.now_s = 0.0
        self.epoch = 0
        self.turns: list[tuple[SiteInHand, Entry]] = []  # under way

    @rule(step_s=st.integers(1, 40))
    def time_passes(self, step_s: int) -> None:
        self.now_s += step_s / 4

    @rule(name=NAMES, urls=st.integers(1, 3))
    def a_site_is_claimed(self, name: str, urls: int) -> None:
        self.epoch += 1
        self.bench.take_in(claim(name, urls, epoch=self.epoch), self.now_s)
        self.model.take_in(name, self.epoch, urls, self.now_s)

    @rule()
    def a_turn_begins(self) -> None:
        site, entry = self.bench.next_turn(self.now_s), self.model.next_turn(self.now_s)
        assert (site and (site.site, site.epoch)) == (entry and (entry.name, entry.epoch))
        if site is not None and entry is not None:
            under_way = [busy for busy, _ in self.turns if busy.site == site.site]
            assert len(under_way) < site.lanes  # the invariant
            assert all(busy is site for busy in under_way)
            self.turns.append((site, entry))

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), lanes=st.integers(1, 3))
    def a_turn_opens_a_lane(self, data: st.DataObject, lanes: int) -> None:
        site, entry = self.turns[data.draw(st.integers(0, len(self.turns) - 1))]
        site.lanes = entry.lanes = max(lanes, site.turns)
        self.bench.open_lane(site, self.now_s)
        is_held = any(entry is known for known in self.model.entries)
        if is_held and not entry.waits and entry.urls and entry.turns < entry.lanes:
            self.model.put(entry, max(self.now_s, entry.due_s))

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), urls=st.integers(1, 3))
    def a_site_gets_more_urls(self, data: st.DataObject, urls: int) -> None:
        site, entry = self.turns[data.draw(st.integers(0, len(self.turns) - 1))]
        if any(entry is known for known in self.model.entries):
            self.bench.refill(site, claim(site.site, urls).urls, {})
            entry.urls += urls

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), used=st.integers(0, 3), wait_s=st.integers(-8, 80))
    def a_turn_ends(self, data: st.DataObject, used: int, wait_s: int) -> None:
        site, entry = self.turns.pop(data.draw(st.integers(0, len(self.turns) - 1)))
        for _ in range(min(used, len(site.urls))):
            site.urls.popleft()
        due_s = self.now_s + wait_s / 4
        still_in_hand = self.bench.finish(site, due_s)
        entry.urls -= min(used, entry.urls)
        entry.turns -= 1
        entry.due_s = max(entry.due_s, due_s)
        if not any(entry is known for known in self.model.entries):
            assert not still_in_hand
            if not entry.turns:
                self.model.orphans.discard(entry.name)
                if newer := self.model.find(entry.name):
                    self.model.put(newer, entry.due_s)
            return
        entry.waits = False
        assert still_in_hand is bool(entry.urls or entry.turns)
        if not still_in_hand:
            self.model.entries.remove(entry)
        elif entry.urls and entry.turns < entry.lanes:
            self.model.put(entry, entry.due_s)

    @rule(name=NAMES)
    def a_site_is_removed(self, name: str) -> None:
        removed = self.bench.remove(name)
        assert (removed is not None) is self.model.remove(name)

    @rule()
    def everything_is_dropped(self) -> None:
        self.bench.clear()
        for entry in list(self.model.entries):
            self.model.remove(entry.name)

    @invariant()
    def both_agree(self) -> None:
        entries = self.model.entries
        assert len(self.bench) == len(entries)
        assert self.bench.held() == {entry.name: entry.epoch for entry in entries}
        assert self.bench.busy == sum(entry.turns > 0 for entry in entries)
        assert self.bench.urls == sum(entry.urls for entry in entries)
        assert {(site.site, site.due_s) for site in self.bench.idle_sites()} == {
            (entry.name, entry.due_s) for entry in self.model.waiting() if not entry.turns
        }
        assert self.bench.until_due(self.now_s) == self.model.until_due(self.now_s)
        due = sum(entry.due_s <= self.now_s for entry in self.model.waiting())
        assert self.bench.wants(self.now_s) == 2 * LEAST_STOCK_SITES - due


WorkbenchAgainstModel.TestCase.settings = hypothesis_settings(max_examples=150, stateful_step_count=60)
TestWorkbenchAgainstModel = WorkbenchAgainstModel.TestCase


# ---------------------------------------------------------------------------- addresses


def parked(bench: Workbench, *names: str, address: str = "192.0.2.1") -> None:
    for name in names:
        bench.take_in(claim(name), 0.0)
        bench.park(begin(bench, 0.0), address)


def test_parked_sites_wait_in_line_for_their_address_and_count_as_idle() -> None:
    bench = workbench()
    parked(bench, "a.test", "b.test")
    parked(bench, "c.test", address="192.0.2.2")
    assert bench.next_turn(1_000.0) is None
    assert (bench.parked, bench.busy, bench.due, bench.urls) == (3, 0, 0, 3)
    assert bench.parked_at("192.0.2.1") == 2
    assert {site.site for site in bench.idle_sites()} == {"a.test", "b.test", "c.test"}
    first = bench.next_parked("192.0.2.1", 0.0)
    assert first is not None
    assert (first.site, bench.busy, bench.parked) == ("a.test", 1, 2)
    assert not bench.finish(first, 70.0) or bench.parked_at("192.0.2.1") == 1


def test_a_parked_site_that_is_removed_leaves_its_line() -> None:
    bench = workbench()
    parked(bench, "a.test", "b.test")
    bench.remove("a.test")
    bench.take_in(claim("a.test", epoch=2), 0.0)
    following = bench.next_parked("192.0.2.1", 0.0)
    assert following is not None
    assert following.site == "b.test"
    assert not bench.is_parked("192.0.2.1")
    assert bench.next_parked("192.0.2.1", 0.0) is None
    assert begin(bench, 0.0).epoch == 2


def test_parked_sites_do_not_keep_the_workbench_from_claiming_others() -> None:
    bench = workbench(sites=1_000)
    parked(bench, *(f"{number}.test" for number in range(300)))
    assert bench.wants(0.0) >= LEAST_STOCK_SITES
    assert bench.has_room_to_park
    parked(bench, *(f"{number}.test" for number in range(300, 500)))
    assert not bench.has_room_to_park
