"""When a site may be asked again."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import format_datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.rules.pace import (
    DAY_S,
    MAX_BACKOFF_S,
    PaceSettings,
    parse_retry_after,
    slowness_wait_s,
    step_gap_s,
    turn_wait,
)
from tests.rules.samples import NOW_AT

SETTINGS = PaceSettings(suspension_failures=10**9)
seconds = st.floats(min_value=0, max_value=DAY_S)
maybe_seconds = st.none() | seconds


def turn_wait_s(settings: PaceSettings, **facts: Any) -> float:
    return turn_wait(settings, **facts).wait_s


@pytest.mark.parametrize(
    ("delay_s", "crawl_delay_s", "retry_after_s", "failures", "wait_s"),
    [
        (70.0, None, None, 0, 70.0),
        (0.0, None, None, 0, 0.0),
        (70.0, 10.0, None, 0, 70.0),  # a Crawl-delay never shortens
        (70.0, 100.0, None, 0, 100.0),
        (70.0, None, 5.0, 0, 70.0),  # nor does Retry-After
        (70.0, None, 7_200.0, 0, 7_200.0),
        (70.0, 100.0, 300.0, 0, 300.0),
        (70.0, 300.0, 100.0, 0, 300.0),
        (70.0, None, None, 1, 70.0),
        (70.0, None, None, 2, 70.0),
        (70.0, None, None, 3, 140.0),
        (70.0, None, None, 4, 280.0),
        (70.0, None, None, 7, 2_240.0),
        (70.0, None, None, 8, 3_600.0),  # an hour is the most
        (70.0, None, None, 10**6, 3_600.0),
        (1.0, None, None, 8, 64.0),
        (1.0, None, None, 9, 64.0),  # 64 times the delay is the most
        (1.0, None, None, 10**6, 64.0),
        (10.0, 20.0, None, 3, 40.0),  # what is doubled is the site's own delay
        (10.0, None, 1_000.0, 4, 1_000.0),
        (10.0, None, 15.0, 4, 40.0),
        (0.0, None, None, 2, 0.0),
        (0.0, None, None, 3, 2.0),  # without a delay, a failing site is still left alone
        (0.0, None, None, 100, 64.0),
        (5_000.0, None, None, 100, 5_000.0),  # never less than the delay
    ],
)
def test_the_longest_wait_that_anyone_asks_for_holds(
    delay_s: float, crawl_delay_s: float | None, retry_after_s: float | None, failures: int, wait_s: float
) -> None:
    assert wait_s == turn_wait_s(
        SETTINGS, delay_s=delay_s, crawl_delay_s=crawl_delay_s, retry_after_s=retry_after_s, failures=failures
    )


@given(seconds, maybe_seconds, maybe_seconds, st.integers(0, 200))
def test_no_wait_is_shorter_than_what_is_asked_for(
    delay_s: float, crawl_delay_s: float | None, retry_after_s: float | None, failures: int
) -> None:
    wait_s = turn_wait_s(
        SETTINGS, delay_s=delay_s, crawl_delay_s=crawl_delay_s, retry_after_s=retry_after_s, failures=failures
    )
    asked_s = max(delay_s, crawl_delay_s or 0.0, retry_after_s or 0.0)
    assert asked_s <= wait_s <= max(asked_s, MAX_BACKOFF_S)


@given(seconds, maybe_seconds, maybe_seconds)
def test_the_wait_never_shrinks_while_failures_go_on(
    delay_s: float, crawl_delay_s: float | None, retry_after_s: float | None
) -> None:
    waits_s = [
        turn_wait_s(
            SETTINGS, delay_s=delay_s, crawl_delay_s=crawl_delay_s, retry_after_s=retry_after_s, failures=failures
        )
        for failures in range(80)
    ]
    assert all(shorter <= longer for shorter, longer in pairwise(waits_s))


@given(seconds, seconds, st.integers(0, 80))
def test_a_longer_delay_never_makes_a_shorter_wait(delay_s: float, more_s: float, failures: int) -> None:
    def wait_s(delay_s: float) -> float:
        return turn_wait_s(SETTINGS, delay_s=delay_s, crawl_delay_s=None, retry_after_s=None, failures=failures)

    assert wait_s(delay_s) <= wait_s(delay_s + more_s)


@pytest.mark.parametrize(("failures", "wait_s"), [(9, 64.0), (10, 21_600.0), (11, 21_600.0), (10**6, 21_600.0)])
def test_a_site_that_fails_ten_times_is_suspended_and_tried_again_later(failures: int, wait_s: float) -> None:
    settings = PaceSettings()
    asked: dict[str, float | None] = {"crawl_delay_s": None, "retry_after_s": None}
    assert turn_wait_s(settings, delay_s=1.0, failures=failures, **asked) == wait_s
    assert turn_wait_s(settings, delay_s=1.0, failures=0, **asked) == 1.0  # it has answered


def test_how_long_a_failing_site_is_suspended_can_be_set() -> None:
    settings = PaceSettings(suspension_failures=3, suspension_s=5_000.0)
    waits_s = [
        turn_wait_s(settings, delay_s=100.0, crawl_delay_s=None, retry_after_s=retry_after_s, failures=failures)
        for failures, retry_after_s in ((2, None), (3, None), (3, 6_000.0))
    ]
    assert waits_s == [100.0, 5_000.0, 6_000.0]


@pytest.mark.parametrize(
    ("delay_s", "response_s", "wait_s"),
    [
        (70.0, 0.0, 0.0),
        (70.0, 0.5, 5.0),
        (70.0, 8.0, 80.0),  # longer than the delay
        (70.0, 14.0, 140.0),
        (70.0, 30.0, 140.0),  # twice the delay is the most
        (1.0, 0.15, 1.5),
        (1.0, 30.0, 2.0),
        (0.0, 30.0, 0.0),  # who wants no delay gets none
    ],
)
def test_a_slow_server_is_given_ten_times_the_time_it_took(delay_s: float, response_s: float, wait_s: float) -> None:
    assert slowness_wait_s(delay_s=delay_s, response_s=response_s) == wait_s


@pytest.mark.parametrize(("delay_s", "gap_s"), [(70.0, 1.0), (1.0, 1.0), (0.5, 0.5), (0.0, 0.0)])
def test_the_gap_inside_a_turn_is_a_second_or_the_delay_if_that_is_shorter(delay_s: float, gap_s: float) -> None:
    assert step_gap_s(PaceSettings(), delay_s) == gap_s


def test_the_gap_inside_a_turn_can_be_set() -> None:
    assert step_gap_s(PaceSettings(step_gap_s=3.0), 70.0) == 3.0


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [
        ("0", 0.0),
        ("120", 120.0),
        ("  120\t", 120.0),
        ("1.5", 1.5),
        ("120.", 120.0),
        ("86400", DAY_S),
        ("86401", DAY_S),  # one header cannot stop us for longer than a day
        ("9" * 400, DAY_S),
        ("-1", None),
        ("+5", None),
        ("1e3", None),
        ("inf", None),
        ("nan", None),
        ("٣", None),  # a digit, but none of HTTP's
        ("", None),
        ("soon", None),
        ("120 seconds", None),
        ("120, 240", None),
        ("Fri, 15 Jan 2027 08:02:00 GMT", 120.0),
        ("Friday, 15-Jan-27 08:02:00 GMT", 120.0),  # the two old spellings of a date
        ("Fri Jan 15 08:02:00 2027", 120.0),
        ("Fri, 15 Jan 2027 09:02:00 +0100", 120.0),
        ("Fri, 15 Jan 2027 08:02:00 -0000", 120.0),
        ("Fri, 15 Jan 2027 08:00:00 GMT", 0.0),
        ("Thu, 14 Jan 2027 08:00:00 GMT", 0.0),  # it is over
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("Sat, 16 Jan 2027 08:00:00 GMT", DAY_S),
        ("Fri, 31 Dec 9999 23:59:59 GMT", DAY_S),
        ("Fri, 31 Dec 99999 23:59:59 GMT", None),
        ("Mon, 01 Jan 1000 00:00:00 GMT", 0.0),
        ("Fri, 15 Jan 2027 25:00:00 GMT", None),
        ("Fri, 15 Jan 2027 08:00:00 +9999", None),
    ],
)
def test_retry_after_is_a_number_of_seconds_or_a_date(value: str, wait_s: float | None) -> None:
    assert parse_retry_after(value, NOW_AT) == wait_s


retry_after_like = st.text(alphabet="0123456789 :,+-GMTJanFri.\t", max_size=40)


@given(st.text() | retry_after_like, st.floats(min_value=0, max_value=4e9))
def test_no_retry_after_can_do_harm(value: str, now_at: float) -> None:
    wait_s = parse_retry_after(value, now_at)
    assert wait_s is None or 0 <= wait_s <= DAY_S


@given(st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2100, 1, 1)))  # noqa: DTZ001 - made aware below
def test_a_date_means_the_seconds_until_then(date: datetime) -> None:
    date = date.replace(tzinfo=UTC, microsecond=0)
    for early_s in (0, 1, 3_600, 86_400):
        wait_s = parse_retry_after(format_datetime(date, usegmt=True), date.timestamp() - early_s)
        assert wait_s is not None
        assert math.isclose(wait_s, early_s, abs_tol=1e-6)
