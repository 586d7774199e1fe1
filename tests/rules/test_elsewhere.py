"""robots.txt files on other sites: what is kept, when one may be requested, what it means for the redirecting host."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.records import Failed, Fetched, HostState, Reason, Truncation
from gossamer.rules.answers import OURS
from gossamer.rules.elsewhere import (
    KEEP_S,
    MAX_WAIT_S,
    NOT_DUE,
    UNDER_WAY_S,
    Elsewhere,
    FoundRobots,
    KeptAnswer,
    is_failure,
    judge_found,
    spacing_s,
)
from gossamer.rules.hosts import (
    NOTHING_ALLOWED,
    RobotsRead,
    RobotsSettings,
    answers,
    is_fresh,
    refusal_of,
    rules_of,
)
from gossamer.urls import Url, identify
from tests.rules.samples import NOW_AT, failed, fetched

DELAY_S = 70.0
SPACING_S = 88.5  # of moments that are reserved
WAITS_S = (600.0, 3_600.0, 21_600.0, 86_400.0)
HOST = "https://shop.example"
A = identify("https://central.example/a/robots.txt")
B = identify("https://central.example/b/robots.txt")
C = identify("https://www.central.example/c/robots.txt")
OTHER = identify("https://other.example/robots.txt")
RULES = b"User-agent: *\nDisallow: /private\nCrawl-delay: 7\n"


def memory(**bounds: int) -> Elsewhere:
    return Elsewhere(WAITS_S, **bounds)


def answer(url: Url = A, status: int = 200, *headers: str, body: bytes = RULES) -> Fetched:
    return fetched(status, *headers, body=body, url=url.url)


def request(
    known: Elsewhere, url: Url, now_s: float, *, took_s: float = 1.0, got: Fetched | Failed | None = None
) -> KeptAnswer:
    """Make a request that is allowed now."""
    assert known.find(url.url, now_s) is None
    assert known.reserve(url, delay_s=DELAY_S, now_s=now_s) == 0
    return known.settle(url, got or answer(url), rest_s=DELAY_S, now_s=now_s + took_s)


# ---------------------------------------------------------------------------- answers that are kept


def test_an_answer_is_kept_for_a_day_from_its_end() -> None:
    known = memory()
    kept = request(known, A, 100.0)
    assert kept == KeptAnswer(answer(), 101.0 + KEEP_S)
    assert known.find(A.url, 101.0) == kept
    assert known.find(A.url, 100.9 + KEEP_S) == kept
    assert known.find(A.url, 101.0 + KEEP_S) is None
    assert known.find(B.url, 101.0) is None


@pytest.mark.parametrize("status", [200, 204, 301, 308, 400, 401, 403, 404, 410])
def test_whatever_is_said_clearly_is_kept_for_a_day(status: int) -> None:
    assert not is_failure(answer(A, status))
    assert request(memory(), A, 0.0, got=answer(A, status)).until_s == 1.0 + KEEP_S


FAILURES = [
    answer(A, 429), answer(A, 500), answer(A, 503), fetched(200, body=RULES, url=A.url, truncated=Truncation.TIME),
    fetched(200, body=RULES, url=A.url, truncated=Truncation.DISCONNECT), failed(Reason.TIMEOUT, url=A.url),
    failed(Reason.CONNECT_REFUSED, url=A.url), failed(Reason.ADDRESS_REFUSED, url=A.url),
    failed(Reason.NO_SUCH_NAME, url=A.url),
]  # fmt: skip


@pytest.mark.parametrize("got", FAILURES)
def test_a_failure_is_kept_for_longer_and_longer(got: Fetched | Failed) -> None:
    assert is_failure(got)
    known, now_s = memory(), 0.0
    for number, wait_s in enumerate((*WAITS_S, WAITS_S[-1]), start=1):
        kept = request(known, A, now_s, got=got)
        assert (kept.failures, kept.until_s) == (number, now_s + 1.0 + wait_s)
        assert known.find(A.url, kept.until_s - 0.1) == kept
        now_s = kept.until_s
    kept = request(known, A, now_s)
    assert (kept.failures, kept.until_s) == (0, now_s + 1.0 + KEEP_S)


def test_a_failure_is_not_repeated_before_its_retry_after() -> None:
    known = memory()
    known.reserve(A, delay_s=DELAY_S, now_s=0)
    until_s = known.settle(A, answer(A, 503), rest_s=5_000.0, now_s=1.0).until_s
    assert known.find(A.url, until_s) is None
    assert known.reserve(A, delay_s=DELAY_S, now_s=until_s) == 5_001.0 - until_s > 0


@pytest.mark.parametrize("reason", sorted(OURS))
def test_a_failure_of_ours_is_not_kept_but_its_site_is_left_alone(reason: Reason) -> None:
    known = memory()
    request(known, A, 0.0, got=failed(reason, url=A.url))
    assert known.find(A.url, 1.0) is None
    assert known.reserve(A, delay_s=DELAY_S, now_s=1.0) >= DELAY_S


def test_a_failure_that_an_outage_excuses_is_not_kept() -> None:
    known = memory()
    known.reserve(A, delay_s=DELAY_S, now_s=0)
    known.settle(A, failed(Reason.DNS_FAILED, url=A.url), rest_s=DELAY_S, now_s=1.0, keep=False)
    assert known.find(A.url, 1.0) is None
    assert request(known, A, 100.0, got=failed(Reason.DNS_FAILED, url=A.url)).failures == 1


def test_the_oldest_answers_are_forgotten_when_there_are_too_many() -> None:
    known = memory(max_answers=3)
    urls = [identify(f"https://s{number}.example/robots.txt") for number in range(5)]
    for number, url in enumerate(urls):
        request(known, url, float(number))
    assert [known.find(url.url, 9.0) is not None for url in urls] == [False, False, True, True, True]


def test_the_oldest_answers_are_forgotten_when_they_take_too_much_memory() -> None:
    known = memory(max_bytes=25_000)
    urls = [identify(f"https://s{number}.example/robots.txt") for number in range(4)]
    for number, url in enumerate(urls):
        request(known, url, float(number), got=answer(url, body=b"#" * 10_000))
    assert [known.find(url.url, 9.0) is not None for url in urls] == [False, False, True, True]
    huge = request(known, OTHER, 9.0, got=answer(OTHER, body=b"#" * 30_000))
    assert len(huge.answer.body) == 30_000  # type: ignore[union-attr]
    assert not any(known.find(url.url, 20.0) for url in (*urls, OTHER))


def test_an_answer_that_came_again_is_counted_once() -> None:
    known, now_s = memory(max_bytes=25_000), 0.0
    for _ in range(5):
        request(known, A, now_s, got=answer(A, body=b"#" * 10_000))
        now_s += 2 * KEEP_S
    request(known, OTHER, now_s - KEEP_S, got=answer(OTHER, body=b"#" * 10_000))
    assert known.find(OTHER.url, now_s - KEEP_S + 2.0)
    request(known, B, now_s, got=answer(B, body=b"#" * 100))
    assert known.find(B.url, now_s + 2.0)


# ---------------------------------------------------------------------------- when another site may be requested


def test_a_site_gets_one_request_per_delay_from_the_end_of_the_last() -> None:
    known = memory()
    request(known, A, 100.0, took_s=30.0)
    assert known.reserve(B, delay_s=DELAY_S, now_s=130.0) == DELAY_S
    assert known.reserve(B, delay_s=DELAY_S, now_s=150.0) == 50.0, "the moment stays reserved"
    assert known.reserve(B, delay_s=DELAY_S, now_s=200.0) == 0


def test_all_hosts_of_a_site_share_its_delay_and_sites_do_not() -> None:
    known = memory()
    request(known, A, 100.0)
    assert known.reserve(C, delay_s=DELAY_S, now_s=101.0) >= DELAY_S
    assert known.reserve(OTHER, delay_s=DELAY_S, now_s=101.0) == 0


def test_moments_are_reserved_a_little_more_than_a_delay_apart_in_the_order_of_asking() -> None:
    assert [spacing_s(delay_s) for delay_s in (0.0, 0.2, 2.0, DELAY_S)] == [0.0, 0.45, 3.5, SPACING_S]
    known = memory()
    request(known, A, 0.0)
    urls = [identify(f"https://central.example/{number}.txt") for number in range(20)]
    for now_s in (1.0, 11.0):
        waits_s = [known.reserve(url, delay_s=DELAY_S, now_s=now_s) for url in urls]
        assert waits_s == [SPACING_S * number - now_s for number in range(1, 21)]


def test_those_who_come_at_their_moment_are_all_served() -> None:
    known = memory()
    request(known, A, 0.0)
    urls = [identify(f"https://central.example/{number}.txt") for number in range(20)]
    waits_s = [known.reserve(url, delay_s=DELAY_S, now_s=1.0) for url in urls]
    for url, wait_s in zip(urls, waits_s, strict=True):
        request(known, url, 1.0 + wait_s, took_s=15.0)


def test_two_who_want_the_same_url_share_its_moment() -> None:
    known = memory()
    request(known, A, 0.0)
    assert known.reserve(B, delay_s=DELAY_S, now_s=1.0) == known.reserve(B, delay_s=DELAY_S, now_s=1.0)
    assert known.reserve(C, delay_s=DELAY_S, now_s=0.0) == 2 * SPACING_S


def test_no_request_gets_ahead_of_a_reserved_moment() -> None:
    known = memory()
    request(known, A, 0.0)
    assert known.reserve(B, delay_s=DELAY_S, now_s=0.0) == SPACING_S
    assert known.reserve(C, delay_s=DELAY_S, now_s=SPACING_S) == SPACING_S, "it is the moment of B"
    request(known, B, SPACING_S)
    request(known, C, 2 * SPACING_S)


def test_a_moment_may_be_used_late_but_never_within_the_delay_of_another() -> None:
    known = memory()
    request(known, A, 0.0)
    known.reserve(B, delay_s=DELAY_S, now_s=0.0)
    known.reserve(C, delay_s=DELAY_S, now_s=0.0)
    request(known, B, 2 * SPACING_S - 10)
    wait_s = known.reserve(C, delay_s=DELAY_S, now_s=2 * SPACING_S)
    assert wait_s == SPACING_S, "another moment, behind all that are reserved"
    request(known, C, 3 * SPACING_S)


def test_while_a_request_is_under_way_its_site_gets_no_other() -> None:
    known = memory()
    assert known.reserve(A, delay_s=DELAY_S, now_s=0.0) == 0
    assert known.reserve(B, delay_s=DELAY_S, now_s=1_000.0) == DELAY_S
    assert known.reserve(B, delay_s=DELAY_S, now_s=1_070.0) == SPACING_S, "it is still under way"
    known.settle(A, answer(), rest_s=DELAY_S, now_s=1_080.0)
    request(known, B, 1_070.0 + SPACING_S)


def test_without_a_delay_requests_still_do_not_overlap() -> None:
    known = memory()
    assert known.reserve(A, delay_s=0.0, now_s=0.0) == 0
    assert known.reserve(B, delay_s=0.0, now_s=0.0) == UNDER_WAY_S
    known.settle(A, answer(), rest_s=0.0, now_s=0.1)
    assert known.reserve(C, delay_s=0.0, now_s=2.0) == 0
    known.settle(C, answer(C), rest_s=0.0, now_s=2.0)
    assert known.reserve(B, delay_s=0.0, now_s=2.0) == 0


def test_a_site_that_asks_to_be_left_alone_is() -> None:
    known = memory()
    known.reserve(A, delay_s=DELAY_S, now_s=0.0)
    known.settle(A, answer(A, 503), rest_s=500.0, now_s=1.0)
    assert known.reserve(B, delay_s=DELAY_S, now_s=1.0) == 500.0


def test_a_request_that_was_not_made_is_made_at_the_next_moment() -> None:
    known = memory()
    assert known.reserve(A, delay_s=DELAY_S, now_s=0.0) == 0
    known.cancel(A, rest_s=0.0, now_s=5.0)
    assert known.find(A.url, 5.0) is None
    assert known.reserve(A, delay_s=DELAY_S, now_s=SPACING_S) == 0


def test_a_request_that_was_cancelled_may_have_been_made() -> None:
    known = memory()
    assert known.reserve(A, delay_s=DELAY_S, now_s=0.0) == 0
    known.cancel(A, rest_s=DELAY_S, now_s=5.0)
    assert known.reserve(A, delay_s=DELAY_S, now_s=6.0) >= DELAY_S - 1


def test_no_moment_is_reserved_further_ahead_than_a_day() -> None:
    known = memory()
    request(known, A, 0.0)
    waits_s = [
        known.reserve(identify(f"https://central.example/{number}.txt"), delay_s=DELAY_S, now_s=1.0)
        for number in range(100_000)
    ]
    reserved = int(MAX_WAIT_S / SPACING_S)
    assert waits_s[reserved - 1] == reserved * SPACING_S - 1
    assert set(waits_s[reserved:]) == {MAX_WAIT_S}
    assert len(known._moments) == reserved


def test_of_too_many_moments_the_oldest_are_forgotten_and_reserved_again() -> None:
    known = memory(max_moments=3)
    request(known, A, 0.0)
    urls = [identify(f"https://central.example/{number}.txt") for number in range(4)]
    for url in urls:
        known.reserve(url, delay_s=DELAY_S, now_s=0.0)
    assert known.reserve(urls[1], delay_s=DELAY_S, now_s=0.0) == 2 * SPACING_S
    assert known.reserve(urls[0], delay_s=DELAY_S, now_s=0.0) == 5 * SPACING_S


def test_sites_are_forgotten_when_they_are_due_and_nothing_is_reserved() -> None:
    known = memory()
    for number in range(10_000):
        request(known, identify(f"https://s{number}.example/robots.txt"), float(number))
    assert len(known._sites) < 3 * DELAY_S


def test_of_too_many_sites_one_is_forgotten_that_is_not_being_requested() -> None:
    known = memory(max_sites=10)
    urls = [identify(f"https://s{number}.example/robots.txt") for number in range(30)]
    assert known.reserve(urls[0], delay_s=DELAY_S, now_s=0.0) == 0
    for url in urls[1:]:
        request(known, url, 0.0)
    assert len(known._sites) <= 10
    known.settle(urls[0], answer(urls[0]), rest_s=DELAY_S, now_s=1.0)
    assert known.find(urls[0].url, 1.0)


@given(seed=st.integers(0, 10_000), delay_s=st.sampled_from([0.0, 0.5, 10.0, 70.0]), hosts=st.integers(1, 30))
def test_however_turns_come_no_site_is_requested_early_and_no_url_twice_a_day(
    seed: int, delay_s: float, hosts: int
) -> None:
    """Hosts want URLs of a few sites; each comes back when it was told to, or later."""
    dice = Random(seed)
    known = memory()
    urls = [identify(f"https://s{dice.randint(0, 3)}.example/{dice.randint(0, 9)}.txt") for _ in range(hosts)]
    comes_s = {number: dice.uniform(0, 3) for number in range(hosts)}
    under_way: dict[str, tuple[float, Url]] = {}  # by site: when it ends
    rests: dict[str, float] = {}
    asked: defaultdict[str, list[float]] = defaultdict(list)
    steps = 0
    while comes_s:
        steps += 1
        assert steps < 5_000, "there is an end"
        number = min(comes_s, key=comes_s.__getitem__)
        now_s = comes_s[number]
        for site, (ends_s, url) in list(under_way.items()):
            if ends_s <= now_s:
                rests[site] = ends_s + delay_s
                known.settle(url, answer(url), rest_s=delay_s, now_s=ends_s)
                del under_way[site]
        url = urls[number]
        if known.find(url.url, now_s):
            del comes_s[number]
            continue
        if any(other.url == url.url for _, other in under_way.values()):
            comes_s[number] = under_way[url.site][0]  # it shares that answer
            continue
        wait_s = known.reserve(url, delay_s=delay_s, now_s=now_s)
        if wait_s:
            comes_s[number] = now_s + wait_s + (dice.uniform(0, 2 * delay_s) if dice.random() < 0.3 else 0.0)
            continue
        assert url.site not in under_way
        assert now_s >= rests.get(url.site, 0.0)
        asked[url.url].append(now_s)
        under_way[url.site] = (now_s + dice.uniform(0.01, 5), url)
        comes_s[number] = under_way[url.site][0]
    assert all(len(times) == 1 for times in asked.values())


# ---------------------------------------------------------------------------- what it means for the host


def found(**facts: Any) -> FoundRobots:
    return FoundRobots(own_url=f"{HOST}/robots.txt", **facts)


def judge(met: FoundRobots, previous: HostState | None = None) -> RobotsRead:
    return judge_found(met, host=HOST, previous=previous, agent="Gossamer", now_at=NOW_AT, settings=RobotsSettings())


def test_what_is_found_elsewhere_binds_the_host_and_tells_where_it_is_from() -> None:
    read = judge(found(answer=answer(), moved_to=(OTHER.url, A.url), keep_s=5_000.0))
    assert read.usable
    assert read.state.host == HOST
    assert refusal_of(read.state, f"{HOST}/private/1") is Reason.ROBOTS_DISALLOWED
    assert refusal_of(read.state, f"{HOST}/") is None
    rules = rules_of(read.state)
    assert (rules.moved_to, rules.outcome, rules.delay_s) == ((OTHER.url, A.url), "", 7.0)


def test_it_holds_for_as_long_as_the_answer_is_kept_but_for_ten_minutes_at_least() -> None:
    for keep_s, holds_s in ((KEEP_S, KEEP_S), (5_000.0, 5_000.0), (1.0, 600.0), (-1.0, 600.0)):
        got = answer(A, 200, "Cache-Control: max-age=1000")
        state = judge(found(answer=got, moved_to=(A.url,), keep_s=keep_s)).state
        assert state.expires_at == NOW_AT + holds_s
        assert is_fresh(state, NOW_AT)


def test_within_the_site_cache_control_holds_as_ever() -> None:
    got = answer(A, 200, "Cache-Control: max-age=1000")
    assert judge(found(answer=got, moved_to=(A.url,))).state.expires_at == NOW_AT + 1_000


def test_without_redirects_nothing_is_added() -> None:
    for got in (answer(), answer(A, 404), answer(A, 503), failed(Reason.TIMEOUT, url=A.url)):
        rules = rules_of(judge(found(answer=got)).state)
        assert (rules.moved_to, rules.outcome) == ((), "")


def test_a_host_that_waits_for_another_site_is_blocked_and_has_not_failed() -> None:
    read = judge(found(moved_to=(A.url,), wait_s=42.0))
    assert read.blocked
    assert (read.state.failures, read.state.failing_since, read.state.blocked_s) == (0, None, 42.0)
    assert not is_fresh(read.state, NOW_AT)
    assert answers(read.state), "it did, by a redirect"
    rules = rules_of(read.state)
    assert (rules.moved_to, rules.outcome) == ((A.url,), NOT_DUE)
    assert rules.rules == rules_of(HostState(host=HOST, rules=NOTHING_ALLOWED)).rules


def test_waiting_neither_adds_to_failures_nor_forgives_them() -> None:
    before = HostState(host=HOST, failures=2, failing_since=NOW_AT - 9_000)
    state = judge(found(moved_to=(A.url,), wait_s=42.0), before).state
    assert (state.failures, state.failing_since) == (2, NOW_AT - 9_000)


@pytest.mark.parametrize(
    ("got", "outcome"),
    [(answer(A, 503), "status 503"), (answer(A, 429), "status 429")]
    + [
        (failed(reason, url=A.url), reason.value)
        for reason in (
            Reason.TIMEOUT,
            Reason.ADDRESS_REFUSED,
            Reason.CONNECT_REFUSED,
            Reason.EXCLUDED,
            Reason.DNS_FAILED,
        )
    ],
)
def test_a_hop_that_fails_closes_the_host_as_its_own_failure_does(got: Fetched | Failed, outcome: str) -> None:
    before = None
    for number, wait_s in enumerate(WAITS_S, start=1):
        read = judge(found(answer=got, moved_to=(A.url,), keep_s=600.0), before)
        assert read.blocked
        assert (read.state.failures, read.state.blocked_s) == (number, wait_s)
        assert refusal_of(read.state, f"{HOST}/") is Reason.ROBOTS_UNREACHABLE
        assert (rules_of(read.state).moved_to, rules_of(read.state).outcome) == ((A.url,), outcome)
        before = read.state


@pytest.mark.parametrize("reason", sorted(OURS))
def test_a_hop_that_failed_through_us_tells_nothing(reason: Reason) -> None:
    before = HostState(host=HOST, rules="User-agent: *\nDisallow: /a", expires_at=NOW_AT - 1)
    read = judge(found(answer=failed(reason, url=A.url), moved_to=(A.url,), keep_s=0.0), before)
    assert read.unreachable is reason
    assert read.state == before


@pytest.mark.parametrize(
    ("met", "outcome"),
    [
        (found(answer=answer(A, 404), moved_to=(A.url,), keep_s=1.0), "status 404"),
        (found(answer=answer(A, 301), moved_to=(A.url,), keep_s=1.0), "bad_redirect"),
        (found(answer=fetched(301, url=f"{HOST}/robots.txt")), "bad_redirect"),
        (found(answer=answer(A, 301), moved_to=(OTHER.url, A.url, B.url), keep_s=1.0), "too_many_redirects"),
    ],
)
def test_where_there_is_no_robots_txt_behind_redirects_all_is_allowed_and_it_is_said_why(
    met: FoundRobots, outcome: str
) -> None:
    state = judge(met).state
    assert refusal_of(state, f"{HOST}/private/1") is None
    assert rules_of(state).outcome == outcome
    assert rules_of(state).moved_to == met.moved_to


def test_of_the_sitemaps_that_a_foreign_robots_txt_names_only_those_of_the_asked_site_count() -> None:
    named = ("https://central.example/s.xml", "https://www.shop.example/s.xml", "/own.xml", "//")
    body = "".join(f"Sitemap: {url}\n" for url in named).encode()
    state = judge(found(answer=answer(A, body=body), moved_to=(A.url,), keep_s=5_000.0)).state
    assert rules_of(state).sitemaps == ("https://www.shop.example/s.xml", "/own.xml")
    within = judge(found(answer=answer(A, body=body), moved_to=(A.url,))).state
    assert rules_of(within).sitemaps == named
