"""Telling an outage of our own from a web that fails."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.records import Reason
from gossamer.rules.answers import PERMANENT_REASONS, TEMPORARY_REASONS
from gossamer.rules.outage import MAX_OUTAGE_S, NOTHING_GETS_OUT, OutageGuard, OutageSettings

DOWN = Reason.CONNECT_TIMEOUT


def guard() -> OutageGuard:
    return OutageGuard(OutageSettings())


def paused_guard(at_s: float = 0.0) -> OutageGuard:
    found = guard()
    fail(found, 10, at_s)
    assert found.paused
    return found


def fail(found: OutageGuard, sites: int, at_s: float, reason: Reason = DOWN, *, first: int = 0, tries: int = 0) -> None:
    for number in range(first, first + sites):
        found.report(at_s, f"site-{number}.test", reason, tries=tries)


@pytest.mark.parametrize("reason", sorted(NOTHING_GETS_OUT))
def test_ten_sites_that_cannot_be_reached_within_seconds_are_an_outage(reason: Reason) -> None:
    found = guard()
    fail(found, 9, 100.0, reason)
    assert not found.paused
    fail(found, 1, 110.0, reason, first=9)
    assert found.paused


def test_only_names_and_connections_speak_for_an_outage() -> None:
    assert {
        Reason.DNS_FAILED,
        Reason.CONNECT_REFUSED,
        Reason.CONNECT_TIMEOUT,
        Reason.CONNECT_FAILED,
    } == NOTHING_GETS_OUT


@pytest.mark.parametrize("reason", sorted(set(Reason) - NOTHING_GETS_OUT))
def test_other_failures_are_no_outage(reason: Reason) -> None:
    found = guard()
    fail(found, 100, 0.0, reason)
    assert not found.paused


def test_one_site_that_fails_often_is_no_outage() -> None:
    found = guard()
    for _ in range(100):
        found.report(0.0, "one.test", DOWN, tries=0)
    assert not found.paused


def test_failures_that_lie_further_apart_are_no_outage() -> None:
    found = guard()
    for number in range(100):
        fail(found, 1, number * 1.2, first=number)
    assert not found.paused


def test_failures_at_both_ends_of_the_window_belong_together() -> None:
    found = guard()
    fail(found, 5, 0.0)
    fail(found, 5, 10.0, first=5)
    assert found.paused
    found = guard()
    fail(found, 5, 0.0)
    fail(found, 5, 10.001, first=5)
    assert not found.paused


@pytest.mark.parametrize(("others", "paused"), [(2, True), (3, False)])
def test_most_of_the_failing_sites_must_be_unreachable(others: int, paused: bool) -> None:
    found = guard()
    fail(found, others, 0.0, Reason.NO_SUCH_NAME, first=100)
    fail(found, 8, 0.0)
    assert found.paused is paused


def test_what_a_site_did_last_counts() -> None:
    found = guard()
    fail(found, 9, 0.0)
    fail(found, 9, 1.0, Reason.NO_SUCH_NAME)
    fail(found, 1, 1.0, first=9)
    assert not found.paused


def test_an_answer_within_the_window_means_that_we_are_connected() -> None:
    found = guard()
    found.report(0.0, "good.test", None, tries=0)
    fail(found, 100, 10.0)  # a burst: all had been started together
    assert not found.paused
    fail(found, 1, 10.001)
    assert found.paused


def test_a_failure_that_repeats_is_no_sign_of_an_outage() -> None:
    found = guard()
    fail(found, 1_000, 0.0, tries=1)
    assert not found.paused


def test_what_we_cancelled_says_nothing() -> None:
    found = guard()
    fail(found, 9, 0.0)
    fail(found, 100, 0.0, Reason.CANCELLED, first=9)
    fail(found, 1, 0.0, first=9)
    assert found.paused  # the cancelled ones did not dilute the rest


def test_an_answer_ends_an_outage_and_the_next_one_needs_new_evidence() -> None:
    found = paused_guard()
    found.report(1.0, "good.test", None, tries=0)
    assert not found.paused
    fail(found, 9, 12.0)
    assert not found.paused
    fail(found, 1, 12.0, first=9)
    assert found.paused


def test_what_happened_before_an_outage_is_no_evidence_after_it() -> None:
    found = paused_guard()
    found.report(1.0, "good.test", None, tries=0)
    fail(found, 100, 12.0, Reason.NO_SUCH_NAME)
    assert not found.paused


def test_only_what_fails_during_an_outage_is_excused() -> None:
    found = guard()
    assert not any(found.excuses(reason) for reason in Reason)
    found = paused_guard()
    assert {reason for reason in Reason if found.excuses(reason)} == TEMPORARY_REASONS
    assert not any(found.excuses(reason) for reason in PERMANENT_REASONS)


def test_what_fails_while_it_only_begins_to_look_like_an_outage_is_excused_too() -> None:
    found = guard()
    found.report(100.0, "alive.test", None, tries=0)
    fail(found, 9, 101.0)
    assert not found.excuses(DOWN)
    fail(found, 1, 101.0, first=9)
    assert not found.paused, "someone answered a second ago"
    assert {reason for reason in Reason if found.excuses(reason)} == NOTHING_GETS_OUT
    found.report(102.0, "alive.test", None, tries=0)
    assert not found.excuses(DOWN), "it is them"
    fail(found, 9, 103.0)
    assert not found.excuses(DOWN), "what failed before an answer is no evidence after it"


def test_probes_are_due_after_a_second_and_then_ever_more_rarely() -> None:
    found = paused_guard(at_s=100.0)
    now_s, gaps_s = 100.0, []
    for _ in range(8):
        gap_s = found.until_probe(now_s)
        assert gap_s is not None
        gaps_s.append(gap_s)
        now_s += gap_s
        assert found.until_probe(now_s) == 0.0
        found.probe(now_s)
        fail(found, 1, now_s)
        assert found.paused
    assert gaps_s == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]


def test_a_new_outage_is_probed_from_the_beginning() -> None:
    found = paused_guard()
    for now_s in (1.0, 3.0, 7.0):
        found.probe(now_s)
    found.report(8.0, "good.test", None, tries=0)
    assert found.until_probe(8.0) is None
    fail(found, 10, 100.0)
    assert found.until_probe(100.0) == 1.0


def test_a_probe_that_is_overdue_is_due() -> None:
    assert paused_guard(at_s=0.0).until_probe(50.0) == 0.0


def test_an_outage_ends_after_its_longest_time_and_can_begin_again_after_an_answer() -> None:
    found = OutageGuard(OutageSettings())
    ends_s = 1_000.0 + MAX_OUTAGE_S
    fail(found, 10, 1_000.0)
    fail(found, 1, ends_s - 0.1)
    assert found.paused
    fail(found, 1, ends_s)
    assert not found.paused
    fail(found, 100, ends_s + 1.0)
    assert not found.paused  # a web of dead sites must come to its end
    found.report(ends_s + 2.0, "good.test", None, tries=0)
    fail(found, 10, ends_s + 40.0)
    assert found.paused


def test_size_and_window_can_be_set() -> None:
    found = OutageGuard(OutageSettings(outage_sites=3, outage_window_s=1.0))
    fail(found, 2, 0.0)
    fail(found, 2, 2.0)
    assert not found.paused
    fail(found, 1, 2.5, first=2)
    assert found.paused


events = st.tuples(
    st.floats(min_value=0, max_value=2),
    st.integers(0, 14),
    st.sampled_from([None, DOWN, DOWN, DOWN, Reason.TLS_FAILED]),
)


@given(st.lists(events, max_size=120))
def test_the_guard_agrees_with_the_plain_rule(steps: list[tuple[float, int, Reason | None]]) -> None:
    found = guard()
    now_s, last, answered_s = 0.0, dict[int, tuple[float, Reason]](), -100.0
    for step_s, site, reason in steps:
        now_s += step_s
        if reason is None and not found.is_alert:
            found.answered_s = now_s  # that is all there is to report
        else:
            found.report(now_s, str(site), reason, tries=0)
        if reason is None:
            answered_s = now_s
            assert not found.paused
            continue
        last[site] = (now_s, reason)
        recent = [why for at_s, why in last.values() if at_s >= now_s - 10]
        unreachable = sum(why is DOWN for why in recent)
        expected = len(recent) >= 10 and unreachable >= 0.8 * len(recent) and answered_s < now_s - 10
        assert found.paused is expected
        if expected:
            return
