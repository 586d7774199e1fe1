"""Which pages are kept, and what their host's robots.txt says about their use."""

from __future__ import annotations

import pytest

from gossamer.parse.wishes import reserves_ai
from gossamer.records import HostState, Reason, UrlState, UrlStatus
from gossamer.rules.keeping import is_deferred_to, other_canonical
from gossamer.rules.robots import parse_robots, robots_signals

URL = "https://www.example.org/a"


def state_of(robots: str) -> HostState:
    return HostState(host="https://www.example.org", rules=parse_robots(robots.encode(), "gossamer").to_text())


def test_a_licence_in_robots_txt_is_a_signal_for_every_page_and_forbids_nothing() -> None:
    robots = "License: https://example.org/l.xml # RSL\nUser-agent: x\nDisallow: /\n"
    robots += "license: https://example.org/2\nLicense: none\n"
    named = [("license", "https://example.org/l.xml"), ("license", "https://example.org/2")]
    assert robots_signals(state_of(robots), URL) == named
    assert not any(reserves_ai(name, value) for name, value in named)
    many = "".join(f"License: https://example.org/{number}\n" for number in range(1_000))
    assert len(robots_signals(state_of(many), URL)) == 5
    assert robots_signals(state_of(f"License: https://example.org/{'x' * 1_000}"), URL) == []


def test_robots_signals_are_those_of_our_group_for_this_page() -> None:
    robots = "User-agent: x\nContent-Signal: a=no\n\nUser-agent: gossamer\nDisallow: /z\nContent-Usage: /a train-ai=n\n"
    assert robots_signals(state_of(robots), URL) == [("content-usage", "train-ai=n")]
    assert robots_signals(state_of(robots), "https://www.example.org/b") == []
    assert robots_signals(state_of(""), URL) == []
    assert robots_signals(None, URL) == []


@pytest.mark.parametrize(
    ("canonical", "is_other"),
    [
        ("", False),
        (URL, False),
        ("https://www.example.org/b", True),
        ("http://www.example.org/a", True),
        ("https://example.org/a", True),  # another host, but the same site
        ("https://example.com/a", False),
    ],
)
def test_only_another_page_of_the_same_site_stands_for_a_page(canonical: str, is_other: bool) -> None:
    found = other_canonical(canonical, URL)
    assert (found is not None) is is_other
    assert found is None or found.url == canonical


@pytest.mark.parametrize(
    ("state", "deferred"),
    [
        (None, True),
        (UrlState(status=UrlStatus.QUEUED, depth=1), True),
        (UrlState(status=UrlStatus.DONE, depth=1), True),
        (UrlState(status=UrlStatus.GIVEN_UP, depth=1, reason=Reason.NOT_CANONICAL), False),
        (UrlState(status=UrlStatus.GIVEN_UP, depth=1, reason=Reason.HTTP_ERROR), False),
        (UrlState(status=UrlStatus.GIVEN_UP, depth=1, reason=Reason.NOINDEX), True),
    ],
)
def test_a_page_is_left_out_only_for_one_that_can_still_be_had_or_was(state: UrlState | None, deferred: bool) -> None:
    assert is_deferred_to(state) is deferred
