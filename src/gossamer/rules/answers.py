"""What an answer means for the page that was requested: keep it, follow it, try later, or give it up. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gossamer.records import Failed, Kind, Reason
from gossamer.rules.heads import header
from gossamer.rules.pace import DAY_S, parse_retry_after
from gossamer.urls import identify, normalise

if TYPE_CHECKING:
    from gossamer.records import Fetched, QueuedUrl
    from gossamer.rules.pace import PaceSettings
    from gossamer.urls import Url

RETRY_GROWTH: Final = 4
HANG_UP_S: Final = 0.2  # a server notices later than we do that we hung up: for it, the request ends then
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
TEMPORARY_STATUSES: Final = frozenset({408, 425, 429, *range(500, 600)})

# Failures that may not occur next time. A TLS failure is none: no certificate is renewed within the hour.
TEMPORARY_REASONS: Final = frozenset(
    {
        Reason.DNS_FAILED,
        Reason.CONNECT_REFUSED,
        Reason.CONNECT_TIMEOUT,
        Reason.CONNECT_FAILED,
        Reason.TIMEOUT,
        Reason.TOO_SLOW,
        Reason.CONNECTION_LOST,
        Reason.INTERNAL_ERROR,  # perhaps memory or descriptors ran out; if it is a bug, all tries fail
    }
)
PERMANENT_REASONS: Final = frozenset(
    {
        Reason.ADDRESS_REFUSED,
        Reason.NO_SUCH_NAME,
        Reason.TLS_FAILED,
        Reason.BAD_RESPONSE,
        Reason.HEADERS_TOO_LARGE,
    }
)
NOTHING_UNDER_HTTPS: Final = frozenset(
    {
        Reason.CONNECT_REFUSED,
        Reason.CONNECT_TIMEOUT,
        Reason.CONNECT_FAILED,
        Reason.TLS_FAILED,
    }
)


# The host does not answer, or not us: the host backs off, and its URLs wait with it.
NO_HOST: Final = frozenset(
    {
        Reason.NO_SUCH_NAME,
        Reason.DNS_FAILED,
        Reason.CONNECT_REFUSED,
        Reason.CONNECT_TIMEOUT,
        Reason.CONNECT_FAILED,
        Reason.TLS_FAILED,
        Reason.ADDRESS_REFUSED,
    }
)
# Failures of ours: they say nothing about the host.
OURS: Final = frozenset({Reason.CANCELLED, Reason.CUT_SILENT, Reason.CUT_LARGE, Reason.INTERNAL_ERROR})


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The answer is a page, to be parsed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The answer redirects to another URL."""

    location: str  # as the server wrote it: neither resolved nor normalised


@dataclass(frozen=True, slots=True, kw_only=True)
class TryLater:
    """The failure may be temporary: the page goes back to the queue."""

    wait_s: float
    counted: bool = True  # whether it uses up one of the page's tries; False: not the page's fault
    retry_after_s: float | None = None  # how long the server asks us not to request anything of the site


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The URL yields no page: it is given up."""

    reason: Reason
    retry_after_s: float | None = None


Verdict = Kept | Moved | TryLater | Refused
KEPT: Final = Kept()


def judge_answer(answer: Fetched | Failed, *, tries: int, now_at: float, settings: PaceSettings) -> Verdict:
    """Return what to do about a page, given the answer and how often the page failed before."""
    if isinstance(answer, Failed):
        return _judge_failure(answer.reason, tries, settings)
    if 200 <= answer.status < 300:
        return Refused(reason=Reason.TYPE_REFUSED) if answer.type_refused else KEPT
    if answer.status in REDIRECTS:
        location = location_of(answer)
        return Moved(location=location) if location else Refused(reason=Reason.BAD_REDIRECT)
    retry_after_s = retry_after_of(answer, now_at)
    if answer.status in TEMPORARY_STATUSES and tries < settings.max_tries:
        wait_s = max(retry_wait_s(tries, settings), retry_after_s or 0.0)
        return TryLater(wait_s=wait_s, retry_after_s=retry_after_s)
    return Refused(reason=Reason.HTTP_ERROR, retry_after_s=retry_after_s)


def judge_block(answer: Fetched, *, tries: int, now_at: float, settings: PaceSettings) -> TryLater | Refused:
    """Return what to do about a page in whose place a protection service sent a page of its own.

    It may be there the next time: such services often let a crawler pass that has become slower.
    """
    value = header(answer.head, "Retry-After")
    retry_after_s = None if value is None else parse_retry_after(value, now_at)
    if tries < settings.max_tries:
        return TryLater(wait_s=max(retry_wait_s(tries, settings), retry_after_s or 0.0), retry_after_s=retry_after_s)
    return Refused(reason=Reason.BLOCKED, retry_after_s=retry_after_s)


def is_silence(answer: Fetched | Failed) -> bool:
    """Return whether a host did not answer at all."""
    return isinstance(answer, Failed) and answer.reason in NO_HOST


def is_answered(answer: Fetched | Failed) -> bool:
    """Return whether a host answered, with whatever status; after a failure of ours neither this nor silence holds."""
    return not (isinstance(answer, Failed) and (answer.reason in NO_HOST or answer.reason in OURS))


def hang_up_s(answer: Fetched | Failed, delay_s: float) -> float:
    """Return how much later the server may see the end of a request than we do."""
    is_cut = isinstance(answer, Failed) or answer.type_refused or answer.truncated
    return HANG_UP_S if delay_s and is_cut else 0.0


def shows_trouble(answer: Fetched | Failed) -> bool:
    """Return whether the site itself seems to have problems: several such answers in a row lengthen its wait.

    A page that does not exist, that moved, or that has another content type comes from a healthy site.
    """
    if isinstance(answer, Failed):
        return answer.reason in TEMPORARY_REASONS and answer.reason is not Reason.INTERNAL_ERROR
    return answer.status in TEMPORARY_STATUSES


def retry_wait_s(tries: int, settings: PaceSettings) -> float:
    """Return the wait before a page is requested again after its first, second, ... failure (`tries` 0, 1, ...)."""
    return min(settings.retry_wait_s * float(RETRY_GROWTH ** min(tries, 30)), DAY_S)


def http_fallback(url: QueuedUrl, reason: Reason | None) -> Url | None:
    """Return the http URL to try after an https URL failed to answer, if https was only our guess."""
    if url.kind != Kind.BARE or reason not in NOTHING_UNDER_HTTPS:  # plant: https-seed-becomes-http
        return None
    plain = normalise("http" + url.url.removeprefix("https"))
    return identify(plain) if isinstance(plain, str) else None


def retry_after_of(answer: Fetched | Failed, now_at: float) -> float | None:
    """Return the wait that a temporary error asks for in Retry-After; None if it asks for none that is valid."""
    if isinstance(answer, Failed) or answer.status not in TEMPORARY_STATUSES:
        return None
    value = header(answer.head, "Retry-After")
    return None if value is None else parse_retry_after(value, now_at)


def location_of(answer: Fetched) -> str:
    """Return the target of a redirect, as written; empty if it names none. Most targets beyond ASCII are UTF-8."""
    location = header(answer.head, "Location") or ""
    if location.isascii():
        return location
    try:
        return location.encode("latin-1").decode()
    except UnicodeDecodeError:
        return location


def _judge_failure(reason: Reason, tries: int, settings: PaceSettings) -> TryLater | Refused:
    if reason in (Reason.CANCELLED, Reason.CUT_SILENT, Reason.CUT_LARGE):
        return TryLater(wait_s=0.0, counted=False)
    if reason in TEMPORARY_REASONS and tries < settings.max_tries:
        return TryLater(wait_s=retry_wait_s(tries, settings))
    return Refused(reason=reason)
