"""Limits against traps: each bites where it should, spares what people make, and remembers within bounds."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.rules.traps import Trap, TrapGuard, TrapSettings, find_trap, strip_session
from gossamer.urls import identify, normalise

YEAR = 2026
HOST, SITE = "https://www.a.test", "a.test"
OFF = TrapSettings(trap_limits=False, strip_session_ids=False)


def trap(path: str, **settings: int) -> Trap | None:
    return find_trap(identify(f"https://a.test{path}"), settings=TrapSettings(**settings), year=YEAR)  # type: ignore[arg-type]


def select(guard: TrapGuard, *urls: str, site: str = SITE) -> tuple[list[str], dict[Trap, int]]:
    kept, refused = guard.select([identify(url) for url in urls], host=HOST, site=site, year=YEAR)
    return [link.url for link in kept], refused


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/" + "x" * 999, None),
        ("/" + "x" * 1_000, Trap.LONG_PATH),
        ("/x?" + "x" * 1_900, None),
        ("".join(f"/{number}" for number in range(30)), None),
        ("".join(f"/{number}" for number in range(31)), Trap.MANY_SEGMENTS),
        ("/a/b/a/b", None),
        ("/a/b/a/b/a", None),
        ("/a/b/a/b/a/b", Trap.REPEATED_SEGMENTS),
        ("/x/y/a/b/a/b/a/b/z", Trap.REPEATED_SEGMENTS),
        ("/a/b/c/a/b/c/a/b/c", Trap.REPEATED_SEGMENTS),
        ("/1/1/1", None),
        ("/tiles/0/0/0/", None),
        ("/1/1/1/1", Trap.REPEATED_SEGMENTS),
        ("/////", Trap.REPEATED_SEGMENTS),
        ("/a/b/x/a/b/x2/a/b", None),
        ("/?" + "&".join(f"p{number}=1" for number in range(20)), None),
        ("/?" + "&".join(f"p{number}=1" for number in range(21)), Trap.MANY_PARAMETERS),
        ("/calendar/2036/12", None),
        ("/calendar/2037/01", Trap.CALENDAR),
        ("/calendar/2037/1/31", Trap.CALENDAR),
        ("/kalender/1826/1/", None),
        ("/kalender/1825/1/", Trap.CALENDAR),
        ("/events?date=2037-01", Trap.CALENDAR),
        ("/day/2037-01-31", Trap.CALENDAR),
        ("/x?year=2037&month=3", Trap.CALENDAR),
        ("/x?m=3&Jahr=1800", Trap.CALENDAR),
        ("/archive/2024/5/theatre.html", None),
        ("/archive/1848/05/12", None),
        ("/item/2100/5", None),  # a number in a path may name anything
        ("/calendar/4711/5", None),  # as may one that no calendar gets to step by step
        ("/isbn/978-2100-12-1", None),
        ("/x?id=2100", None),
    ],
)
def test_a_link_is_judged_by_itself(path: str, expected: Trap | None) -> None:
    assert trap(path) == expected
    assert find_trap(identify(f"https://a.test{path}"), settings=OFF, year=YEAR) is None


def test_limits_can_be_moved() -> None:
    assert trap("/a/b", max_path_segments=1) is Trap.MANY_SEGMENTS
    assert trap("/abc", max_path_chars=3) is Trap.LONG_PATH
    assert trap("/a/b/a/b", max_segment_repeats=1) is Trap.REPEATED_SEGMENTS
    assert trap("/?a&b", max_parameters=1) is Trap.MANY_PARAMETERS
    assert trap("/?year=2028", max_years_ahead=1) is Trap.CALENDAR
    assert trap("/?year=2024", max_years_back=1) is Trap.CALENDAR


@pytest.mark.parametrize(
    ("url", "stripped"),
    [
        ("/x;jsessionid=0A1B.n1?q=1", "/x?q=1"),
        ("/x;JSESSIONID=0A1B", "/x"),
        ("/x?PHPSESSID=abc", "/x"),
        ("/x?a=1&PHPSESSID=abc&b=2", "/x?a=1&b=2"),
        ("/x?sessionid=1&session_id=2&cfid=3&CFTOKEN=4", "/x"),
        ("/x?utm_source=mail&utm_campaign=x&id=7", "/x?id=7"),
        ("/x?gclid=1&fbclid=2&msclkid=3", "/x"),
        ("/x?sid=0123456789abcdef", "/x"),
        ("/story?sid=12", "/story?sid=12"),
        ("/x?s=search+words", "/x?s=search+words"),
        ("/(S(abcdefghijklmnopqrstuvwx))/x.aspx", "/x.aspx"),
        ("/(S)/x", "/(S)/x"),
        ("/x?", "/x?"),
        ("/x?session=open&messages=1", "/x?session=open&messages=1"),
    ],
)
def test_what_names_a_session_and_no_page_is_stripped(url: str, stripped: str) -> None:
    assert strip_session(f"https://a.test{url}") == f"https://a.test{stripped}"
    kept, _ = select(TrapGuard(TrapSettings()), f"https://a.test{url}")
    assert kept == [f"https://a.test{stripped}"]
    kept, _ = select(TrapGuard(OFF), f"https://a.test{url}")
    assert kept == [f"https://a.test{url}"]


@given(st.lists(st.sampled_from(["sid=1", "PHPSESSID=x", "a=1", "utm_x=", "", "%3F", "s=" + "0" * 32]), max_size=5))
def test_what_is_left_of_a_url_is_normalised_and_is_not_stripped_again(parts: list[str]) -> None:
    url = normalise(f"https://a.test/x;jsessionid=1/y?{'&'.join(parts)}")
    assert isinstance(url, str)
    left = strip_session(url)
    assert normalise(left) == left == strip_session(left)


def test_a_limited_number_of_combinations_of_parameters_is_followed_under_one_path() -> None:
    guard = TrapGuard(TrapSettings(max_parameter_sets=3))
    urls = [f"{HOST}/shop?{name}=1" for name in "abcd"]
    kept, refused = select(guard, *urls)
    assert (kept, refused) == (urls[:3], {Trap.PARAMETER_SETS: 1})
    more = [f"{HOST}/shop?a=2", f"{HOST}/other?d=1", f"{HOST}/shop", urls[0]]
    assert select(guard, *more) == (more, {}), "other values, other paths, and what was followed before"


def test_a_limited_number_of_hosts_of_a_site_is_followed() -> None:
    guard = TrapGuard(TrapSettings(max_hosts_per_site=2))
    urls = [f"https://{name}.b.test/" for name in "xyz"]
    kept, refused = select(guard, *urls, f"{HOST}/", "https://c.test/")
    assert kept == [*urls[:2], f"{HOST}/", "https://c.test/"]
    assert refused == {Trap.MANY_HOSTS: 1}


def test_links_of_other_sites_do_not_use_up_the_limits_of_a_site() -> None:
    guard = TrapGuard(TrapSettings(max_hosts_per_site=2, max_parameter_sets=2))
    for number in range(50):
        hosts, filters = f"https://{number}.a.test/", f"{HOST}/shop?p{number}=1"
        kept, _ = guard.select([identify(hosts), identify(filters)], host="https://b.test", site="b.test", year=YEAR)
        assert bool(kept) is (number < 2), "all other sites together have one limit"
    own = [f"https://{name}.a.test/" for name in "xy"] + [f"{HOST}/shop?{name}=1" for name in "xy"]
    assert select(guard, *own) == (own, {})


def test_a_site_that_shows_the_same_again_and_again_is_followed_no_further_until_it_shows_something_new() -> None:
    guard = TrapGuard(TrapSettings(same_content_pages=5))
    for number in range(10):
        guard.note_page(SITE, number // 2)
    for number in range(9):
        assert select(guard, f"{HOST}/{number}")[0], "every new content allowed for two more that are known"
        guard.note_page(SITE, 0)
    guard.note_page(SITE, 0)
    kept, refused = select(guard, f"{HOST}/more", f"{HOST}/0", "https://b.test/")
    assert (kept, refused) == ([f"{HOST}/0", "https://b.test/"], {Trap.SAME_CONTENT: 1}), "known links and others pass"
    assert select(guard, f"{HOST}/more", site="b.test")[0], "and other sites are not affected"
    guard.note_page("b.test", 99)
    guard.note_page(SITE, 99)
    assert select(guard, f"{HOST}/again")[0], "what another site has shown is new on this one"


def test_a_sites_budget_grows_with_the_sites_that_link_to_it() -> None:
    guard = TrapGuard(TrapSettings(site_budget=10, site_budget_per_referrer=2))
    for number in range(10):
        guard.note_page(SITE, number)
    assert select(guard, f"{HOST}/x")[1] == {Trap.SITE_BUDGET: 1}
    for _ in range(2):
        select(guard, f"{HOST}/", site="b.test")
    select(guard, f"{HOST}/", site="c.test")
    for number in range(4):
        assert select(guard, f"{HOST}/x{number}")[0]
        guard.note_page(SITE, 10 + number)
    assert select(guard, f"{HOST}/y")[1] == {Trap.SITE_BUDGET: 1}


def test_what_others_and_former_starts_have_kept_of_a_site_counts_too() -> None:
    guard = TrapGuard(TrapSettings(site_budget=10, site_budget_per_referrer=2))
    link = identify(f"{HOST}/x")
    assert guard.select([link], host=HOST, site=SITE, pages=10, year=YEAR)[1] == {Trap.SITE_BUDGET: 1}
    assert guard.select([link], host=HOST, site=SITE, pages=9, year=YEAR)[0] == [link]
    guard = TrapGuard(TrapSettings(trap_limits=False))
    assert guard.select([link], host=HOST, site=SITE, pages=10**9, year=YEAR)[0] == [link]


def test_without_limits_everything_is_followed() -> None:
    guard = TrapGuard(TrapSettings(trap_limits=False, max_hosts_per_site=1, site_budget=1, max_parameter_sets=1))
    guard.note_page(SITE, "")
    urls = [f"https://{name}.a.test/?{name}" for name in "xyz"]
    assert select(guard, *urls, f"{HOST}/1/1/1/1/1") == ([*urls, f"{HOST}/1/1/1/1/1"], {})


def test_a_link_costs_microseconds() -> None:
    guard = TrapGuard(TrapSettings())
    links = [identify(f"{HOST}/archive/2024/{number}/some-words-{number}.html?id={number}") for number in range(10_000)]
    begun = time.process_time()
    guard.select(links, host=HOST, site=SITE, year=YEAR)
    assert time.process_time() - begun < 0.5  # 50 µs each: five times what it takes


def test_a_site_cannot_invent_urls_of_another_site_without_end() -> None:
    guard = TrapGuard(TrapSettings(max_foreign_links=3))
    invented = [f"https://good.test/{number}" for number in range(5)]
    kept, refused = select(guard, *invented)
    assert (kept, refused) == (invented[:3], {Trap.FOREIGN_LINKS: 2})
    assert select(guard, *invented[:3])[0] == invented[:3]  # those are known
    assert select(guard, *invented, site="good.test")[0] == invented
    assert select(guard, "https://good.test/9", site="other.test")[0]
    assert select(guard, "https://better.test/9")[0]


def test_a_site_cannot_invent_names_without_end_below_a_domain_that_hands_out_names() -> None:
    guard = TrapGuard(TrapSettings(max_hosts_per_site=3))
    users = [f"https://user{number}.github.io/" for number in range(5)]
    kept, refused = select(guard, *users)
    assert (kept, refused) == (users[:3], {Trap.FOREIGN_NAMES: 2})
    assert select(guard, "https://user0.github.io/more", *users[:3])[0] == ["https://user0.github.io/more", *users[:3]]
    assert select(guard, *users[3:], site="other.test")[0] == users[3:]
    registered = [f"https://name{number}.co.uk/" for number in range(5)]
    assert select(guard, *registered)[0] == registered
