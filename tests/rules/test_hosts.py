"""robots.txt as a state: design and RFC 9309 line by line."""

from __future__ import annotations

import gzip
import re
import zlib
from dataclasses import replace
from importlib import resources

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gossamer.records import Failed, Fetched, HostState, Reason, Truncation
from gossamer.rules.answers import NO_HOST, OURS, is_answered, is_silence
from gossamer.rules.hosts import (
    NO_ADDRESS,
    NOTHING_ALLOWED,
    ROBOTS_FAILED,
    RobotsRead,
    RobotsSettings,
    after_silence,
    answers,
    asked_delay_s,
    cache_s,
    is_fresh,
    judge_robots,
    refusal_of,
    robots_redirect,
    robots_url,
    rules_of,
)
from gossamer.rules.pace import PaceSettings
from gossamer.rules.robots import MAX_ROBOTS_BYTES, allows
from tests.rules.samples import NOW_AT, failed, fetched

HOST = "https://www.example.org"
ROBOTS = HOST + "/robots.txt"
AGENT = "Gossamer/1.0 (+https://example.org/bot; mailto:someone@example.org)"
SETTINGS = RobotsSettings()
DAY_S = 86_400.0
MINUTE_S = 60.0
HOUR_S = 3_600.0

SOME_RULES = b"User-agent: gossamer\nDisallow: /private\nCrawl-delay: 7\n\nUser-agent: *\nDisallow: /\n"


def judge(
    answer: Fetched | Failed,
    previous: HostState | None = None,
    *,
    now_at: float = NOW_AT,
    settings: RobotsSettings = SETTINGS,
) -> RobotsRead:
    read = judge_robots(answer, host=HOST, previous=previous, agent=AGENT, now_at=now_at, settings=settings)
    assert [read.usable, read.blocked, read.given_up, read.unreachable is not None].count(True) == 1
    assert read.state.host == HOST
    return read


def answered(status: int = 200, *headers: str, body: bytes = b"", truncated: Truncation | None = None) -> Fetched:
    return fetched(status, *headers, body=body, url=ROBOTS, truncated=truncated)


def may_ask(read: RobotsRead, path: str) -> bool:
    return refusal_of(read.state, HOST + path) is None


def is_blocked(read: RobotsRead, wait_s: float = 600.0) -> bool:
    """Return whether the host is blocked, and check that its rules alone also allow nothing."""
    if not read.blocked:
        return False
    assert not is_fresh(read.state, NOW_AT)
    assert read.state.rules == NOTHING_ALLOWED
    assert read.state.blocked_s == wait_s
    return True


# ---------------------------------------------------------------------------- statuses


@pytest.mark.parametrize("status", range(200, 300))
def test_a_robots_txt_is_read_and_reduced_to_our_group(status: int) -> None:
    read = judge(answered(status, body=SOME_RULES))
    assert read.usable
    assert read.state == HostState(
        host=HOST, rules="User-agent: gossamer\nDisallow: /private\nCrawl-delay: 7", expires_at=NOW_AT + DAY_S
    )
    assert may_ask(read, "/")
    assert refusal_of(read.state, HOST + "/private/x") is Reason.ROBOTS_DISALLOWED
    assert rules_of(read.state).delay_s == 7.0


@pytest.mark.parametrize("body", [b"", b"<!doctype html><title>Disallow: nothing</title>", b"\0\xff\xfe", b"# none\n"])
def test_a_robots_txt_without_rules_allows_everything(body: bytes) -> None:
    read = judge(answered(body=body))
    assert read.usable
    assert may_ask(read, "/anything")


@pytest.mark.parametrize("status", [*range(300, 429), *range(430, 500)])
def test_redirects_that_lead_nowhere_and_client_errors_allow_everything(status: int) -> None:
    read = judge(answered(status, body=b"User-agent: *\nDisallow: /"))
    assert read.usable
    assert read.state == HostState(host=HOST, expires_at=NOW_AT + DAY_S)
    assert may_ask(read, "/anything")


@pytest.mark.parametrize("status", [429, *range(500, 600), 100, 199, 600, 999])
def test_a_host_that_is_overloaded_or_broken_is_closed(status: int) -> None:
    assert is_blocked(judge(answered(status, body=b"User-agent: *\nAllow: /")))


# ---------------------------------------------------------------------------- failures


def test_every_reason_that_fetch_can_give_is_deliberately_treated() -> None:
    sources = [file.read_text() for file in resources.files("gossamer.fetch").iterdir() if file.name.endswith(".py")]
    given_by_fetch = {Reason[name] for source in sources for name in re.findall(r"\bReason\.([A-Z_]+)\b", source)}
    assert len(given_by_fetch) > 10
    assert given_by_fetch <= NO_HOST | ROBOTS_FAILED | OURS
    assert len(NO_HOST | ROBOTS_FAILED | OURS) == len(NO_HOST) + len(ROBOTS_FAILED) + len(OURS)


@pytest.mark.parametrize(
    "reason",
    [Reason.TIMEOUT, Reason.TOO_SLOW, Reason.CONNECTION_LOST, Reason.BAD_RESPONSE, Reason.HEADERS_TOO_LARGE],
)
def test_a_host_that_connects_and_does_not_answer_is_closed(reason: Reason) -> None:
    assert is_blocked(judge(failed(reason, url=ROBOTS)))


UNREACHABLE = [
    Reason.NO_SUCH_NAME,
    Reason.DNS_FAILED,
    Reason.CONNECT_REFUSED,
    Reason.CONNECT_TIMEOUT,
    Reason.CONNECT_FAILED,
    Reason.TLS_FAILED,
    Reason.ADDRESS_REFUSED,
]


@pytest.mark.parametrize("reason", [*UNREACHABLE, Reason.CANCELLED, Reason.INTERNAL_ERROR])
def test_a_host_that_is_not_there_has_its_pages_judged_by_that(reason: Reason) -> None:
    read = judge(failed(reason, url=ROBOTS))
    assert read.unreachable is reason
    assert not is_fresh(read.state, NOW_AT)
    before = HostState(host=HOST, rules="User-agent: *", expires_at=NOW_AT, failures=2, failing_since=5.0)
    assert judge(failed(reason, url=ROBOTS), before).state == before


def test_a_block_that_is_over_does_not_come_back_with_an_unreachable_host() -> None:
    blocked = judge(answered(500)).state
    assert judge(failed(Reason.DNS_FAILED, url=ROBOTS), blocked).state.blocked_s == 0.0


@pytest.mark.parametrize("reason", UNREACHABLE)
def test_a_redirect_to_a_host_that_is_not_there_closes_the_host_that_sent_us(reason: Reason) -> None:
    assert is_blocked(judge(failed(reason, url="https://gone.example.org/robots.txt")))


@pytest.mark.parametrize("reason", [Reason.CANCELLED, Reason.INTERNAL_ERROR])
def test_our_own_failure_behind_a_redirect_closes_nothing(reason: Reason) -> None:
    assert judge(failed(reason, url="https://other.example.org/robots.txt")).unreachable is reason


# ---------------------------------------------------------------------------- waiting, and giving up


def fail_at(state: HostState | None, *, at_s: float, settings: RobotsSettings = SETTINGS) -> RobotsRead:
    return judge(answered(503), state, now_at=NOW_AT + at_s, settings=settings)


def test_a_closed_host_is_asked_again_ever_more_rarely_and_given_up_after_three_days() -> None:
    state, at_s, waits_s = None, 0.0, []
    while not (read := fail_at(state, at_s=at_s)).given_up:
        state = read.state
        assert state.failing_since == NOW_AT
        waits_s.append(state.blocked_s)
        at_s += state.blocked_s
        # What the frontier gives back after the block says nothing of the block.
        state = replace(state, blocked_s=0.0)
    assert waits_s == [10 * MINUTE_S, HOUR_S, 6 * HOUR_S, DAY_S, DAY_S, DAY_S]
    assert at_s >= 3 * DAY_S
    assert read.state.blocked_s == 0.0
    assert read.state.failures == 7


def given_up() -> HostState:
    before = HostState(host=HOST, rules=NOTHING_ALLOWED, failures=6, failing_since=NOW_AT - 3 * DAY_S, expires_at=0.0)
    read = fail_at(before, at_s=0.0)
    assert read.given_up
    return read.state


def test_pages_of_a_host_that_was_given_up_are_so_for_a_day_without_asking() -> None:
    state = given_up()
    assert is_fresh(state, NOW_AT)
    assert is_fresh(state, NOW_AT + DAY_S - 1)
    assert refusal_of(state, HOST + "/") is Reason.ROBOTS_UNREACHABLE


def test_a_day_later_a_host_that_was_given_up_is_asked_once_more() -> None:
    state = given_up()
    assert not is_fresh(state, NOW_AT + DAY_S)
    again = fail_at(state, at_s=DAY_S)
    assert again.given_up
    assert is_fresh(again.state, NOW_AT + 2 * DAY_S - 1)
    read = judge(answered(404), state, now_at=NOW_AT + DAY_S)
    assert read.usable
    assert may_ask(read, "/")


@pytest.mark.parametrize(("failing_s", "is_given_up"), [(3 * DAY_S - 1, False), (3 * DAY_S, True)])
def test_it_takes_three_days_to_be_given_up(failing_s: float, is_given_up: bool) -> None:
    before = HostState(host=HOST, failures=20, failing_since=NOW_AT - failing_s)
    assert fail_at(before, at_s=0.0).given_up is is_given_up


@pytest.mark.parametrize(("failures", "is_given_up"), [(1, False), (3, False), (4, True)])
def test_a_crawl_that_was_stopped_for_a_month_has_not_asked_for_a_month(failures: int, is_given_up: bool) -> None:
    before = HostState(host=HOST, failures=failures, failing_since=NOW_AT - 30 * DAY_S)
    assert fail_at(before, at_s=0.0).given_up is is_given_up


def test_one_good_answer_makes_a_host_as_good_as_new() -> None:
    before = HostState(host=HOST, rules=NOTHING_ALLOWED, failures=3, failing_since=NOW_AT - HOUR_S)
    assert judge(answered(body=b""), before).state == HostState(host=HOST, expires_at=NOW_AT + DAY_S)


@pytest.mark.parametrize("path", ["/", "/x", "/x?y"])
def test_the_rules_alone_of_a_closed_host_allow_nothing(path: str) -> None:
    for state in (judge(answered(500)).state, given_up()):
        assert not allows(rules_of(state), HOST + path)


def test_rules_from_before_are_not_relied_on_while_robots_txt_fails() -> None:
    before = judge(answered(body=b"User-agent: *\nDisallow: /a")).state
    assert is_blocked(judge(answered(500), before))


@pytest.mark.parametrize(
    ("retry_after", "failures", "wait_s"),
    [("5", 0, 600.0), ("601", 0, 601.0), ("7200", 1, 7_200.0), ("7200", 2, 21_600.0), ("junk", 0, 600.0)],
)
def test_a_longer_retry_after_holds(retry_after: str, failures: int, wait_s: float) -> None:
    before = HostState(host=HOST, failures=failures, failing_since=NOW_AT)
    for status in (429, 503):
        assert judge(answered(status, f"Retry-After: {retry_after}"), before).state.blocked_s == wait_s


def test_a_wall_clock_that_was_set_back_makes_no_host_wait_for_ever() -> None:
    before = HostState(host=HOST, failures=1, failing_since=NOW_AT + 100 * DAY_S)
    assert fail_at(before, at_s=0.0).state.failing_since == NOW_AT


def test_waits_and_the_time_until_giving_up_can_be_set() -> None:
    quick = RobotsSettings(robots_retry_waits_s=(0.1, 0.5), robots_give_up_s=1.0)
    state: HostState | None = None
    waits_s, at_s = [], 0.0
    while not (read := fail_at(state, at_s=at_s, settings=quick)).given_up:
        state = read.state
        waits_s.append(state.blocked_s)
        at_s += state.blocked_s
    assert waits_s == [0.1, 0.5, 0.5]


@pytest.mark.parametrize("waits_s", [(), (0.0,), (600.0, -1.0)])
def test_waits_that_would_ask_without_a_pause_are_refused(waits_s: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="robots_retry_waits needs"):
        RobotsSettings(robots_retry_waits_s=waits_s)


# ---------------------------------------------------------------------------- how long it holds


@pytest.mark.parametrize(
    ("headers", "lasts_s"),
    [
        ((), DAY_S),
        (("Cache-Control: public",), DAY_S),
        (("Cache-Control: max-age=7200",), 7_200.0),
        (("cache-control: public, MAX-AGE=7200, immutable",), 7_200.0),
        (('Cache-Control: max-age="7200"',), 7_200.0),
        (("Cache-Control: max-age = 7200",), 7_200.0),
        (("Cache-Control: s-maxage=7200",), DAY_S),  # meant for shared caches
        (("Cache-Control: max-age=31536000",), DAY_S),
        (("Cache-Control: max-age=99999999999999999999",), DAY_S),
        (("Cache-Control: max-age=0",), 600.0),
        (("Cache-Control: max-age=599",), 600.0),
        (("Cache-Control: max-age=601",), 601.0),
        (("Cache-Control: max-age=-5",), DAY_S),
        (("Cache-Control: max-age=",), DAY_S),
        (("Cache-Control: no-cache",), 600.0),
        (("Cache-Control: private, no-store",), 600.0),
        (("Cache-Control: max-age=7200", "Cache-Control: no-cache"), 600.0),
        (("Cache-Control: max-age=7200", "Cache-Control: max-age=3600"), 3_600.0),
    ],
)
def test_rules_last_a_day_or_less_if_the_server_says_so(headers: tuple[str, ...], lasts_s: float) -> None:
    for status in (200, 404):
        state = judge(answered(status, *headers)).state
        assert state.expires_at == NOW_AT + lasts_s
        assert is_fresh(state, NOW_AT)
        assert is_fresh(state, NOW_AT + lasts_s - 1)
        assert not is_fresh(state, NOW_AT + lasts_s)


@given(st.text(alphabet='max-age=,0123456789no cache"', max_size=60))
def test_no_cache_control_goes_beyond_the_bounds(value: str) -> None:
    assert 600.0 <= cache_s(f"HTTP/1.1 200 OK\r\nCache-Control: {value}\r\n\r\n".encode()) <= DAY_S


def test_a_host_that_is_not_known_is_not_fresh() -> None:
    assert not is_fresh(None, NOW_AT)
    assert not is_fresh(HostState(host=HOST), NOW_AT)


def test_a_state_from_the_future_is_not_fresh() -> None:
    assert not is_fresh(HostState(host=HOST, expires_at=NOW_AT + DAY_S + 1), NOW_AT)


# ---------------------------------------------------------------------------- bodies


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(SOME_RULES, mtime=0)),
        ("x-gzip", gzip.compress(SOME_RULES, mtime=0)),
        ("deflate", zlib.compress(SOME_RULES)),
        ("br", brotli.compress(SOME_RULES)),
        ("zstd", zstandard.compress(SOME_RULES)),
        ("gzip, br", brotli.compress(gzip.compress(SOME_RULES, mtime=0))),
        ("identity", SOME_RULES),
        ("utf-8", SOME_RULES),  # not an encoding, but seen
        ("gzip", SOME_RULES),  # not true, but plain to see
    ],
)
def test_content_encodings_are_undone(encoding: str, body: bytes) -> None:
    read = judge(answered(200, f"Content-Encoding: {encoding}", body=body))
    assert not may_ask(read, "/private")
    assert may_ask(read, "/")


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("sdch", gzip.compress(SOME_RULES, mtime=0)),
        ("br", gzip.compress(SOME_RULES, mtime=0)),
        ("gzip", b"\0\0\0"),
        ("gzip", gzip.compress(SOME_RULES * 2_000)[:-200]),
    ],
)
def test_a_body_that_cannot_be_read_closes_the_host(encoding: str, body: bytes) -> None:
    assert is_blocked(judge(answered(200, f"Content-Encoding: {encoding}", body=body)))


def padded(total_bytes: int, end: bytes) -> bytes:
    """Return a robots.txt of this size that ends so."""
    start = b"User-agent: *\nDisallow: /start\n#"
    return start + b"x" * (total_bytes - len(start) - len(end)) + end


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_only_the_first_500_kib_are_read(encoding: str) -> None:
    def read(total_bytes: int) -> RobotsRead:
        body = padded(total_bytes, b"\nDisallow: /end\n")
        body = gzip.compress(body) if encoding == "gzip" else body
        return judge(answered(200, f"Content-Encoding: {encoding}", body=body))

    assert not may_ask(read(MAX_ROBOTS_BYTES), "/end")
    assert may_ask(read(MAX_ROBOTS_BYTES + 1), "/end")
    assert may_ask(read(10 * MAX_ROBOTS_BYTES), "/end")
    assert not may_ask(read(10 * MAX_ROBOTS_BYTES), "/start")


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_of_a_body_that_was_cut_the_last_line_is_left_out(newline: bytes) -> None:
    body = newline.join([b"User-agent: *", b"Disallow: /private", b"Allow: /private/pub"])
    whole = judge(answered(body=body))
    cut = judge(answered(body=body, truncated=Truncation.LENGTH))
    assert may_ask(whole, "/private/public")
    assert not may_ask(cut, "/private/public")
    assert not may_ask(cut, "/private")
    assert may_ask(cut, "/privat")


def test_a_compressed_body_that_was_cut_is_read_as_far_as_it_goes() -> None:
    body = b"User-agent: *\nDisallow: /private\n" + b"".join(b"Disallow: /%d\n" % (n * n * n) for n in range(20_000))
    packed = gzip.compress(body)[:40_000]
    read = judge(answered(200, "Content-Encoding: gzip", body=packed, truncated=Truncation.LENGTH))
    assert read.usable
    assert not may_ask(read, "/private")
    assert all(re.fullmatch(r"Disallow: /(private|\d+)", str(rule)) for rule in rules_of(read.state).rules)


@pytest.mark.parametrize("truncated", [Truncation.TIME, Truncation.DISCONNECT])
def test_half_a_robots_txt_closes_the_host(truncated: Truncation) -> None:
    assert is_blocked(judge(answered(body=SOME_RULES, truncated=truncated)))


def test_a_bomb_costs_no_more_than_500_kib() -> None:
    bomb = gzip.compress(b"User-agent: *\nDisallow: /x\n" + b"#" * 100_000_000)
    read = judge(answered(200, "Content-Encoding: gzip", body=bomb))
    assert read.state.rules == "User-agent: *\nDisallow: /x"


@given(st.binary(), st.sampled_from(["gzip", "br", "zstd", "deflate", "", "x"]), st.sampled_from([None, *Truncation]))
def test_any_body_is_read_or_closes_the_host(body: bytes, encoding: str, truncated: Truncation | None) -> None:
    read = judge(answered(200, f"Content-Encoding: {encoding}", body=body, truncated=truncated))
    assert read.usable or read.blocked


# ---------------------------------------------------------------------------- redirects, pages, delays


def test_robots_txt_lies_at_the_root_of_its_host() -> None:
    assert robots_url("http://example.org:8080") == "http://example.org:8080/robots.txt"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/other.txt", HOST + "/other.txt"),
        ("robots2.txt#x", HOST + "/robots2.txt"),
        ("http://example.net/robots.txt", "http://example.net/robots.txt"),
        ("//EXAMPLE.net:443/r", "https://example.net/r"),
        ("https://user@example.net/r", None),
        ("ftp://example.net/r", None),
        ("https://[bad", None),
        ("", None),
        ("/robots.txt", None),  # to itself
    ],
)
def test_a_redirect_is_followed_if_it_leads_somewhere(status: int, location: str, target: str | None) -> None:
    found = robots_redirect(answered(status, f"Location: {location}"), ROBOTS)
    assert (found.url if found else None) == target


@pytest.mark.parametrize("answer", [answered(200, "Location: /x"), answered(304, "Location: /x"), answered(404)])
def test_what_is_no_redirect_leads_nowhere(answer: Fetched) -> None:
    assert robots_redirect(answer, ROBOTS) is None
    assert robots_redirect(failed(Reason.TIMEOUT), ROBOTS) is None


def test_the_largest_crawl_delay_of_its_hosts_is_the_sites() -> None:
    states = [HostState(host=str(delay), rules=f"User-agent: *\nCrawl-delay: {delay}") for delay in (3, 20, 0.5)]
    assert asked_delay_s([*states, HostState(host="none")]) == 20.0
    assert asked_delay_s([HostState(host="absurd", rules="User-agent: *\nCrawl-delay: 99999")]) == HOUR_S
    assert asked_delay_s([HostState(host="none"), judge(answered(500)).state]) == 0.0
    assert asked_delay_s([]) == 0.0


# ---------------------------------------------------------------------- hosts that do not answer

PACE = PaceSettings(retry_wait_s=60, max_tries=3)
ANSWERED = HostState(host=HOST, rules="r", expires_at=NOW_AT)


def silences(state: HostState | None, reason: Reason, tries: int) -> list[HostState]:
    """Return the states of a host that does not answer this many times in a row."""
    found = []
    for _ in range(tries):
        state = after_silence(state, host=HOST, reason=reason, settings=PACE)
        found.append(state)
    return found


@pytest.mark.parametrize("reason", sorted(NO_HOST - NO_ADDRESS))
def test_a_host_that_never_answered_gets_all_tries_and_is_then_given_up_for_a_day(reason: Reason) -> None:
    states = silences(None, reason, 4)
    assert [state.blocked_s for state in states] == [60, 240, 960, 86_400]
    assert [state.given_up for state in states] == [None, None, None, reason]
    assert [state.silent for state in states] == [1, 2, 3, 4]


@pytest.mark.parametrize("reason", sorted(NO_ADDRESS))
def test_a_name_that_leads_nowhere_is_given_up_at_once(reason: Reason) -> None:
    (state,) = silences(None, reason, 1)
    assert (state.given_up, state.blocked_s) == (reason, 86_400)


def test_a_host_that_answered_before_gets_twice_the_tries() -> None:
    states = silences(ANSWERED, Reason.CONNECT_REFUSED, 7)
    assert [state.given_up for state in states] == [None] * 6 + [Reason.CONNECT_REFUSED]
    assert [state.blocked_s for state in states[:6]] == [60, 240, 960, 3_840, 15_360, 61_440]


def test_a_name_that_vanishes_is_tried_again_if_its_host_answered_before() -> None:
    states = silences(ANSWERED, Reason.NO_SUCH_NAME, 4)
    assert [state.given_up for state in states] == [None, None, None, Reason.NO_SUCH_NAME]


def test_a_host_that_was_given_up_gets_one_try_for_each_further_day() -> None:
    given_up = silences(None, Reason.TLS_FAILED, 4)[-1]
    again = after_silence(replace(given_up, blocked_s=0.0), host=HOST, reason=Reason.CONNECT_REFUSED, settings=PACE)
    assert (again.given_up, again.blocked_s) == (Reason.CONNECT_REFUSED, 86_400)


def test_silence_forgets_nothing_that_a_host_has_said() -> None:
    (state,) = silences(ANSWERED, Reason.DNS_FAILED, 1)
    assert (state.rules, state.expires_at) == (ANSWERED.rules, ANSWERED.expires_at)


@pytest.mark.parametrize(
    ("state", "answering"),
    [
        (HostState(host=HOST), False),
        (HostState(host=HOST, silent=1), False),
        (ANSWERED, True),
        (replace(ANSWERED, silent=1), False),
        (HostState(host=HOST, failures=1), True),
    ],
)
def test_a_host_answers_if_it_did_when_it_was_last_asked(state: HostState, answering: bool) -> None:
    assert answers(state) is answering


@pytest.mark.parametrize("reason", sorted(NO_HOST | ROBOTS_FAILED | OURS))
def test_a_failure_is_silence_an_answer_or_ours(reason: Reason) -> None:
    answer = failed(reason)
    assert [is_silence(answer), is_answered(answer), reason in OURS].count(True) == 1
