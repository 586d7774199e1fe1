"""What an answer means for the page that was asked for."""

from __future__ import annotations

import re
from importlib import resources
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.records import Failed, Fetched, Kind, QueuedUrl, Reason, Truncation
from gossamer.rules.answers import (
    NOTHING_UNDER_HTTPS,
    PERMANENT_REASONS,
    TEMPORARY_REASONS,
    Kept,
    Moved,
    Refused,
    TryLater,
    Verdict,
    http_fallback,
    judge_answer,
    retry_wait_s,
    shows_trouble,
)
from gossamer.rules.pace import DAY_S, PaceSettings
from gossamer.turn.state import CUT_CAUSES
from gossamer.urls import hash_url, host_of
from tests.rules.samples import NOW_AT, failed, fetched

SETTINGS = PaceSettings()
REDIRECTING = (301, 302, 303, 307, 308)
PASSING = (408, 425, 429, *range(500, 600))


def judge(answer: Fetched | Failed, tries: int = 0, settings: PaceSettings = SETTINGS) -> Verdict:
    return judge_answer(answer, tries=tries, now_at=NOW_AT, settings=settings)


def reasons_that_fetch_names() -> set[Reason]:
    sources = [file.read_text() for file in resources.files("gossamer.fetch").iterdir() if file.name.endswith(".py")]
    return {Reason[name] for source in sources for name in re.findall(r"\bReason\.([A-Z_]+)\b", source)}


# ---------------------------------------------------------------------------- statuses


@pytest.mark.parametrize("status", range(200, 300))
def test_every_2xx_is_a_page(status: int) -> None:
    assert judge(fetched(status, body=b"<p>")) == Kept()
    assert judge(fetched(status)) == Kept()  # an empty one, too


@pytest.mark.parametrize("truncated", Truncation)
def test_half_a_page_is_kept(truncated: Truncation) -> None:
    assert judge(fetched(200, body=b"<p>", truncated=truncated)) == Kept()


def test_a_type_that_is_not_accepted_is_refused() -> None:
    assert judge(fetched(200, "Content-Type: image/png", type_refused=True)) == Refused(reason=Reason.TYPE_REFUSED)


@pytest.mark.parametrize("status", REDIRECTING)
def test_a_redirect_says_where_the_page_is(status: int) -> None:
    assert judge(fetched(status, "Location: ../there?x#y")) == Moved(location="../there?x#y")


@pytest.mark.parametrize("status", REDIRECTING)
@pytest.mark.parametrize("headers", [(), ("Location:",), ("Location: \t",)])
def test_a_redirect_to_nowhere_is_refused(status: int, headers: tuple[str, ...]) -> None:
    assert judge(fetched(status, *headers)) == Refused(reason=Reason.BAD_REDIRECT)


@pytest.mark.parametrize(
    ("sent", "location"),
    [
        ("/caf\xc3\xa9", "/café"),  # UTF-8, as most servers send it
        ("/caf\xe9", "/café"),  # Latin-1, as the standard had it once
    ],
)
def test_a_redirect_may_be_written_in_utf_8_or_latin_1(sent: str, location: str) -> None:
    assert judge(fetched(302, f"Location: {sent}")) == Moved(location=location)


@pytest.mark.parametrize("status", PASSING)
def test_a_status_that_may_pass_is_tried_again_with_growing_waits(status: int) -> None:
    answer = fetched(status)
    assert [judge(answer, tries) for tries in range(5)] == [
        TryLater(wait_s=60.0),
        TryLater(wait_s=240.0),
        TryLater(wait_s=960.0),
        Refused(reason=Reason.HTTP_ERROR),
        Refused(reason=Reason.HTTP_ERROR),
    ]


@pytest.mark.parametrize(
    "status", sorted({*range(100, 200), *range(300, 600), 600, 999} - set(REDIRECTING) - set(PASSING))
)
def test_every_other_status_is_final(status: int) -> None:
    answer = fetched(status, "Location: /there", "Retry-After: 100")
    assert judge(answer) == Refused(reason=Reason.HTTP_ERROR)
    assert not shows_trouble(answer)


@pytest.mark.parametrize("status", PASSING)
@pytest.mark.parametrize(
    ("header", "wait_s", "retry_after_s"),
    [
        ("Retry-After: 10", 60.0, 10.0),  # shorter than ours: the page waits, the site need not
        ("Retry-After: 61", 61.0, 61.0),
        ("Retry-After: Fri, 15 Jan 2027 09:00:00 GMT", 3_600.0, 3_600.0),
        ("Retry-After: 99999999", DAY_S, DAY_S),
        ("Retry-After: later", 60.0, None),
    ],
)
def test_retry_after_lengthens_the_wait_of_page_and_site(
    status: int, header: str, wait_s: float, retry_after_s: float | None
) -> None:
    assert judge(fetched(status, header)) == TryLater(wait_s=wait_s, retry_after_s=retry_after_s)


def test_a_page_that_is_given_up_still_tells_how_long_its_site_wants_to_be_left_alone() -> None:
    answer = fetched(503, "Retry-After: 7200")
    assert judge(answer, tries=3) == Refused(reason=Reason.HTTP_ERROR, retry_after_s=7_200.0)


# ---------------------------------------------------------------------------- failures


def test_every_reason_that_fetch_can_give_is_deliberately_treated() -> None:
    given_by_fetch = reasons_that_fetch_names()
    assert len(given_by_fetch) > 10
    assert given_by_fetch <= TEMPORARY_REASONS | PERMANENT_REASONS | {Reason.CANCELLED, *CUT_CAUSES}
    assert not TEMPORARY_REASONS & PERMANENT_REASONS


@pytest.mark.parametrize(
    "reason",
    [
        Reason.DNS_FAILED,
        Reason.CONNECT_REFUSED,
        Reason.CONNECT_TIMEOUT,
        Reason.CONNECT_FAILED,
        Reason.TIMEOUT,
        Reason.TOO_SLOW,
        Reason.CONNECTION_LOST,
        Reason.INTERNAL_ERROR,
    ],
)
def test_a_passing_failure_is_tried_again_with_growing_waits(reason: Reason) -> None:
    assert [judge(failed(reason), tries) for tries in range(5)] == [
        TryLater(wait_s=60.0),
        TryLater(wait_s=240.0),
        TryLater(wait_s=960.0),
        Refused(reason=reason),
        Refused(reason=reason),
    ]


@pytest.mark.parametrize(
    "reason",
    [
        Reason.NO_SUCH_NAME,
        Reason.ADDRESS_REFUSED,
        Reason.TLS_FAILED,
        Reason.BAD_RESPONSE,
        Reason.HEADERS_TOO_LARGE,
    ],
)
def test_a_lasting_failure_is_given_up_at_once_with_its_own_reason(reason: Reason) -> None:
    assert judge(failed(reason)) == Refused(reason=reason)
    assert not shows_trouble(failed(reason))


@pytest.mark.parametrize("answer", [fetched(503), failed(Reason.TIMEOUT)])
def test_a_failure_of_theirs_burns_a_try(answer: Fetched | Failed) -> None:
    verdict = judge(answer)
    assert isinstance(verdict, TryLater)
    assert verdict.counted


def test_what_we_cancelled_ourselves_goes_back_at_once_and_burns_no_try() -> None:
    for tries in (0, 3, 100):
        assert judge(failed(Reason.CANCELLED), tries) == TryLater(wait_s=0.0, counted=False)


def test_the_number_of_tries_and_the_first_wait_can_be_set() -> None:
    settings = PaceSettings(retry_wait_s=0.5, max_tries=1)
    assert judge(failed(Reason.TIMEOUT), 0, settings) == TryLater(wait_s=0.5)
    assert judge(failed(Reason.TIMEOUT), 1, settings) == Refused(reason=Reason.TIMEOUT)
    assert judge(fetched(500), 0, PaceSettings(max_tries=0)) == Refused(reason=Reason.HTTP_ERROR)


@pytest.mark.parametrize(
    "answer",
    [
        *(failed(reason) for reason in sorted(TEMPORARY_REASONS - {Reason.INTERNAL_ERROR})),
        *(fetched(status) for status in (408, 425, 429, 500, 502, 503, 504, 599)),
    ],
)
def test_a_site_that_fails_or_asks_for_rest_is_in_trouble(answer: Fetched | Failed) -> None:
    assert shows_trouble(answer)


@pytest.mark.parametrize(
    "answer",
    [
        *(fetched(status) for status in (200, 204, 301, 304, 403, 404, 410, 451)),
        fetched(200, type_refused=True),
        failed(Reason.CANCELLED),
        failed(Reason.INTERNAL_ERROR),
    ],
)
def test_a_site_that_answers_or_that_we_failed_is_not_in_trouble(answer: Fetched | Failed) -> None:
    assert not shows_trouble(answer)


@given(st.floats(min_value=0, max_value=DAY_S))
def test_retry_waits_grow_and_stay_within_a_day(first_s: float) -> None:
    settings = PaceSettings(retry_wait_s=first_s)
    waits_s = [retry_wait_s(tries, settings) for tries in (*range(40), 10**9)]
    assert waits_s[0] == first_s
    assert all(shorter <= longer <= DAY_S for shorter, longer in pairwise(waits_s))


@given(
    st.integers(100, 999), st.lists(st.sampled_from(["Retry-After", "Location", "X"])), st.text(), st.integers(0, 10)
)
def test_every_answer_has_a_verdict_and_no_wait_is_shorter_than_ours(
    status: int, names: list[str], value: str, tries: int
) -> None:
    value = value.encode("utf-8", "replace").decode("latin-1").replace("\r", "").replace("\n", "")
    verdict = judge(fetched(status, *(f"{name}: {value}" for name in names)), tries)
    if isinstance(verdict, TryLater):
        assert tries < SETTINGS.max_tries
        assert retry_wait_s(tries, SETTINGS) <= verdict.wait_s <= DAY_S
    if isinstance(verdict, Moved):
        assert verdict.location


# ---------------------------------------------------------------------------- from https to http


def guess(url: str, kind: Kind = Kind.BARE) -> QueuedUrl:
    return QueuedUrl(url, hash_url(url), host_of(url), 0, 0, 0, 0, kind)


@pytest.mark.parametrize("reason", sorted(NOTHING_UNDER_HTTPS))
@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("https://a.test/", "http://a.test/"),
        ("https://a.test/blog?x=1", "http://a.test/blog?x=1"),
        ("https://a.test:8000/", "http://a.test:8000/"),
        ("https://a.test:80/", "http://a.test/"),
        ("https://[::1]:8000/", "http://[::1]:8000/"),
    ],
)
def test_a_guess_that_does_not_answer_is_tried_under_http(url: str, plain: str, reason: Reason) -> None:
    found = http_fallback(guess(url), reason)
    assert found is not None
    assert (found.url, found.host) == (plain, host_of(plain))


@pytest.mark.parametrize("reason", [None, *sorted(set(Reason) - NOTHING_UNDER_HTTPS)])
def test_any_other_failure_leaves_a_guess_as_it_is(reason: Reason | None) -> None:
    assert http_fallback(guess("https://a.test/"), reason) is None


@pytest.mark.parametrize("kind", [Kind.PAGE, Kind.SITEMAP])
def test_what_was_named_with_its_scheme_keeps_it(kind: Kind) -> None:
    assert http_fallback(guess("https://a.test/", kind), Reason.CONNECT_REFUSED) is None
