"""tdmrep.json: which pages of a host are reserved; whatever the file holds, within bounds."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.records import HostState, Reason, Truncation
from gossamer.rules.hosts import MAX_CACHE_S, judge_tdmrep, knows_reservations, rules_of, with_reservations
from gossamer.rules.patterns import Rule
from gossamer.rules.reservations import (
    MAX_RULE_CHARS,
    MAX_RULES,
    MAX_TDMREP_BYTES,
    RESERVES_ALL,
    TDMREP_PATH,
    UNKNOWN,
    Reservations,
    find_reservation,
    parse_tdmrep,
)
from gossamer.rules.robots import RobotsRules, decide, parse_robots, read_stored
from tests.test_robots import LONG_URLS, takes_less
from tests.turn.scripted import NOW_AT, answered, failed

if TYPE_CHECKING:
    from gossamer.records import Fetched

HOST = "https://a.test"
URL = HOST + TDMREP_PATH


def entry(location: object, value: object = 1) -> dict[str, Any]:
    return {"location": location, "tdm-reservation": value}


def reserves(file: object, path: str) -> bool | None:
    body = file if isinstance(file, bytes) else json.dumps(file).encode()
    return find_reservation(Reservations(rules=parse_tdmrep(body)), HOST + path)


W3C_EXAMPLE = [
    entry("/directory-a/"),
    {**entry("/directory-b/html/"), "tdm-policy": "https://provider.test/policies/policy.json"},
    entry("/directory-b/images/*.jpg", 0),
]


@pytest.mark.parametrize(
    ("file", "path", "reserved"),
    [
        ([entry("/")], "/", True),
        ([entry("/")], "/a?b=c", True),
        ([entry("/", 0)], "/a", False),
        ([], "/", None),
        (W3C_EXAMPLE, "/directory-a/a.pdf", True),
        (W3C_EXAMPLE, "/directory-b/html/", True),
        (W3C_EXAMPLE, "/directory-b/images/1/2.jpg", False),
        (W3C_EXAMPLE, "/directory-b/images/2.png", None),
        (W3C_EXAMPLE, "/Directory-a/", None),
        ([entry("/exactly$")], "/exactly", True),
        ([entry("/exactly$")], "/exactly/not", None),
        ([entry("/this/*/then")], "/this/and/then", True),
        ([entry("/foo-%24")], "/foo-$", True),
        ([entry("/ä")], "/%C3%A4", True),
        ([entry("/%7Ea")], "/~a", True),
        # The first that matches, and the longest: where they differ, either reserves.
        ([entry("/", 0), entry("/private/")], "/private/1", True),
        ([entry("/"), entry("/free/", 0)], "/free/1", True),
        ([entry("/free/", 0), entry("/")], "/free/1", False),
        ([entry("/a*", 0), entry("/*b")], "/ab", True),  # equally long
        # What is written otherwise than the protocol wants.
        (entry("/"), "/", True),
        ([entry("/", "1")], "/", True),
        ([entry("/", "0")], "/", False),
        ([entry("/", True)], "/", True),
        ([entry("/", 2)], "/", None),
        ([entry("/", None)], "/", None),
        ([entry("/", [1])], "/", None),
        ([entry("news/")], "/other", True),  # no path: in doubt all of them
        ([entry("news/", 0)], "/news/", None),
        ([entry(["/"])], "/", None),
        ([{"tdm-reservation": 1}, 5, None, "x", [], entry("/a")], "/a", True),
        ({"error": "not found"}, "/", None),
        (b"<!DOCTYPE html><title>Not found</title>", "/", None),
        (b"", "/", None),
        (b"null", "/", None),
        (b"\xef\xbb\xbf\n [" + json.dumps(entry("/")).encode() + b"]", "/", True),
        (b'[{"location": "/a", "tdm-reservation": 1},]', "/", True),  # broken: its owner wanted something
        (b"[" * 50_000, "/", True),
        (b"[" + b"1" * 5_000 + b"]", "/", True),
        (b'[{"location": "/a", "tdm-reservation": 1}' + b" " * MAX_TDMREP_BYTES + b"]", "/", True),
        (b"<p>" + b" " * MAX_TDMREP_BYTES, "/", None),
    ],
)
def test_what_a_file_reserves(file: object, path: str, reserved: bool | None) -> None:
    assert reserves(file, path) is reserved


def test_what_is_behind_the_caps_counts_as_reserved() -> None:
    many = [entry(f"/{number}/", 0) for number in range(MAX_RULES + 1)]
    assert len(parse_tdmrep(json.dumps(many).encode())) == MAX_RULES + 1
    assert reserves(many, "/0/") is False
    assert reserves(many, f"/{MAX_RULES}/") is True
    assert reserves(many[:MAX_RULES], "/other") is None
    long = [entry(f"/{number}/" + "a" * 1_000, 0) for number in range(30)]
    assert sum(len(rule.pattern) for rule in parse_tdmrep(json.dumps(long).encode())) <= MAX_RULE_CHARS + 1
    assert reserves(long, "/other") is True
    assert reserves([entry("/a*" + "b*" * 40)], "/a") is True  # too many wildcards: its prefix
    assert reserves([entry("/a*" + "b*" * 40, 0)], "/a") is None


HOSTILE = {
    "globs": [entry("/" + "*a" * 32 + "b") for _ in range(300)],
    "different globs": [entry(f"/*{'a' * 30}{number}*{'a' * 30}*x$", number % 2) for number in range(300)],
    "prefixes": [entry("/" + "a" * number) for number in range(1, 200)],
    "nothing": [{}] * 20_000,
}


@pytest.mark.parametrize("file", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_costs_milliseconds(file: list[Any]) -> None:
    body = json.dumps(file).encode()[:MAX_TDMREP_BYTES]
    assert takes_less(0.05, lambda: parse_tdmrep(body))
    reservations = Reservations(rules=parse_tdmrep(json.dumps(file[:400]).encode()))
    for url in LONG_URLS:
        assert takes_less(0.02, partial(find_reservation, reservations, url)), url


@given(st.binary(max_size=200) | st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists).map(
    lambda value: json.dumps(value).encode()
))  # fmt: skip
def test_any_bytes_are_read_stored_and_read_again(body: bytes) -> None:
    found = Reservations(rules=parse_tdmrep(body), expires_at=NOW_AT + 0.1, failures=1)
    assert read_stored(RobotsRules(reservations=found).to_text()).reservations == found
    find_reservation(found, HOST + "/a")


def test_reservations_are_stored_beside_the_rules_and_change_none() -> None:
    rules = parse_robots(b"User-agent: *\nDisallow: /a\nContent-Signal: search=yes\nSitemap: /s.xml", "gossamer")
    state = HostState(host=HOST, rules=rules.to_text())
    reservations = Reservations(rules=(RESERVES_ALL, Rule(True, "/x y")), expires_at=NOW_AT)
    stored = with_reservations(state, reservations)
    assert rules_of(stored).reservations == reservations
    assert not decide(rules_of(stored), HOST + "/a").allowed
    assert with_reservations(stored, UNKNOWN) == state
    assert with_reservations(state, UNKNOWN) is state


# ---------------------------------------------------------------------- answers


def ok(*headers: str, body: bytes = b'[{"location": "/", "tdm-reservation": 1}]', **fields: Any) -> Fetched:
    return answered(URL, 200, *headers, body=body, **fields)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (ok(), Reservations(rules=(RESERVES_ALL,), expires_at=NOW_AT + MAX_CACHE_S)),
        (ok("Cache-Control: max-age=1000"), Reservations(rules=(RESERVES_ALL,), expires_at=NOW_AT + 1_000)),
        (ok("Cache-Control: no-store"), Reservations(rules=(RESERVES_ALL,), expires_at=NOW_AT + 600)),
        (ok("Content-Encoding: gzip"), Reservations(rules=(RESERVES_ALL,), expires_at=NOW_AT + MAX_CACHE_S)),
        (ok(body=b"<p>"), Reservations(expires_at=NOW_AT + MAX_CACHE_S)),
        (answered(URL, 404), Reservations(expires_at=NOW_AT + MAX_CACHE_S)),
        (answered(URL, 403), Reservations(expires_at=NOW_AT + MAX_CACHE_S)),
        (answered(URL, 301, "Location: https://b.test/"), Reservations(expires_at=NOW_AT + MAX_CACHE_S)),
        (None, Reservations(expires_at=NOW_AT + MAX_CACHE_S)),
        (answered(URL, 503), Reservations(failures=1)),
        (answered(URL, 429), Reservations(failures=1)),
        (failed(URL, Reason.TIMEOUT), Reservations(failures=1)),
        (ok(truncated=Truncation.DISCONNECT), Reservations(failures=1)),
    ],
)
def test_what_an_answer_means(answer: Any, found: Reservations) -> None:
    assert judge_tdmrep(answer, UNKNOWN, now_at=NOW_AT) == found


def test_after_a_second_failure_what_was_read_before_stays_valid() -> None:
    former = Reservations(rules=(RESERVES_ALL,), expires_at=NOW_AT - 1)
    first = judge_tdmrep(answered(URL, 500), former, now_at=NOW_AT)
    assert first == replace(former, failures=1)
    assert judge_tdmrep(answered(URL, 500), first, now_at=NOW_AT) == replace(former, expires_at=NOW_AT + MAX_CACHE_S)
    assert judge_tdmrep(answered(URL, 404), first, now_at=NOW_AT).rules == ()


@pytest.mark.parametrize(("left_s", "known"), [(1, True), (0, False), (-1, False), (MAX_CACHE_S + 1, False)])
def test_a_file_is_fresh_for_a_day_at_most(left_s: float, known: bool) -> None:
    state = with_reservations(HostState(host=HOST), Reservations(expires_at=NOW_AT + left_s))
    assert knows_reservations(state, NOW_AT) is known
