"""Every code of libcurl and c-ares has a meaning, or a reason why it cannot occur."""

from __future__ import annotations

import errno
from itertools import chain, product

import pycurl
import pytest
from pycares import errno as ares

from gossamer.fetch.failures import (
    ARES_NEVER,
    ARES_REASONS,
    CURL_NEVER,
    CURL_REASONS,
    Ending,
    Stop,
    judge_ending,
    reason_of_ares,
)
from gossamer.records import Reason, Truncation

LAST_CURL_CODE = 101  # ECH_REQUIRED; pycurl names only those up to 91


def test_every_code_of_libcurl_is_translated_or_excluded_and_never_both() -> None:
    named = {
        number
        for name, number in vars(pycurl).items()
        if name.startswith("E_") and not name.startswith("E_MULTI_")  # these are raised, as bugs
    }
    excluded = list(chain.from_iterable(CURL_NEVER.values()))
    assert sorted([*CURL_REASONS, *excluded]) == sorted(named | set(range(LAST_CURL_CODE + 1)))


def test_every_status_of_c_ares_is_translated_or_excluded_and_never_both() -> None:
    excluded = list(chain.from_iterable(ARES_NEVER.values()))
    assert sorted([*ARES_REASONS, *excluded]) == [*range(27)]
    assert set(ares.errorcode) <= set(range(27))


def test_what_cannot_happen_is_an_internal_error_if_it_does() -> None:
    for code in (*chain.from_iterable(CURL_NEVER.values()), 1_000):
        assert judge_ending(Ending(code=code)) is Reason.INTERNAL_ERROR
    for code in (*chain.from_iterable(ARES_NEVER.values()), 1_000):
        assert reason_of_ares(code) is Reason.INTERNAL_ERROR


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        (Ending(code=7, os_errno=errno.ECONNREFUSED), Reason.CONNECT_REFUSED),
        (Ending(code=7, os_errno=errno.ETIMEDOUT), Reason.CONNECT_TIMEOUT),
        (Ending(code=7, os_errno=errno.EHOSTUNREACH), Reason.CONNECT_FAILED),
        (Ending(code=7, os_errno=errno.ENETUNREACH), Reason.CONNECT_FAILED),
        (Ending(code=7, stop=Stop.ADDRESS), Reason.ADDRESS_REFUSED),
        (Ending(code=28, connected=False, secured=False, https=True), Reason.CONNECT_TIMEOUT),
        (Ending(code=28, secured=False, https=True), Reason.TLS_FAILED),
        (Ending(code=28, out_of_time=True), Reason.TIMEOUT),
        (Ending(code=28), Reason.TOO_SLOW),
        (Ending(code=56, os_errno=errno.ECONNRESET), Reason.CONNECTION_LOST),
        (Ending(code=56, https=True), Reason.TLS_FAILED),
        (Ending(code=56), Reason.BAD_RESPONSE),
        (Ending(code=56, https=True, status=200), Reason.BAD_RESPONSE),
        (Ending(code=42, stop=Stop.VETO), Reason.CANCELLED),
        (Ending(code=23, stop=Stop.HEAD), Reason.HEADERS_TOO_LARGE),
        (Ending(code=23, stop=Stop.CROWDED, status=200, body_bytes=9), Reason.CUT_LARGE),
        (Ending(code=42, stop=Stop.SILENT), Reason.CUT_SILENT),
        (Ending(code=23), Reason.INTERNAL_ERROR),
        (Ending(code=42), Reason.INTERNAL_ERROR),
        (Ending(code=0), Reason.CONNECTION_LOST),
        (Ending(code=0, status=101), Reason.BAD_RESPONSE),
    ],
)
def test_codes_that_mean_several_things_are_told_apart(ending: Ending, reason: Reason) -> None:
    assert judge_ending(ending) is reason


@pytest.mark.parametrize(("code", "status"), [*product(CURL_REASONS, (301, 404, 503))])
def test_a_complete_head_that_is_no_success_is_always_an_answer(code: int, status: int) -> None:
    verdict = judge_ending(Ending(code=code, status=status, keep_partial=False))
    assert verdict is None if code == 0 else isinstance(verdict, Truncation)


@pytest.mark.parametrize("code", [18, 28, 55, 56])
def test_part_of_a_page_is_kept_only_if_there_is_a_part_and_it_is_a_page(code: int) -> None:
    ending = Ending(code=code, status=200, body_bytes=1, out_of_time=True, os_errno=errno.ECONNRESET)
    assert judge_ending(ending) is (Truncation.TIME if code == 28 else Truncation.DISCONNECT)
    assert isinstance(judge_ending(ending._replace(body_bytes=0)), Reason)
    assert isinstance(judge_ending(ending._replace(keep_partial=False)), Reason)
    assert isinstance(judge_ending(ending._replace(status=0)), Reason)


def test_what_we_cut_ourselves_is_an_answer() -> None:
    assert judge_ending(Ending(code=23, stop=Stop.BODY, status=200, body_bytes=9)) is Truncation.LENGTH
    assert judge_ending(Ending(code=23, stop=Stop.TYPE, status=200)) is None
