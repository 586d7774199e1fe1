"""What an answer means for the page that was asked for: keep it, follow it, try later, or give it up. Pure."""

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
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
PASSING_STATUSES: Final = frozenset({408, 425, 429, *range(500, 600)})

# What may be different next time. A TLS failure is none: certificates do not mend themselves within the hour.
PASSING_REASONS: Final = frozenset(
    {
        Reason.DNS_FAILED,
        Reason.CONNECT_REFUSED,
        Reason.CONNECT_TIMEOUT,
        Reason.CONNECT_FAILED,
        Reason.TIMEOUT,
        Reason.TOO_SLOW,
        Reason.CONNECTION_LOST,
        Reason.INTERNAL_ERROR,  # memory or descriptors ran out; what is a bug indeed is given up after all tries
    }
)
LASTING_REASONS: Final = frozenset(
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A page: go on to parse it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The page is elsewhere."""

    location: str  # as the server wrote it: neither resolved nor normalised


@dataclass(frozen=True, slots=True, kw_only=True)
class TryLater:
    """The failure may pass: the page goes back to the queue."""

    wait_s: float
    counted: bool = True  # False: not the page's fault
    retry_after_s: float | None = None  # how long the server wants to be left alone, the whole site


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """There is no page to be had."""

    reason: Reason
    retry_after_s: float | None = None


Verdict = Kept | Moved | TryLater | Refused


def judge_answer(answer: Fetched | Failed, *, tries: int, now_at: float, settings: PaceSettings) -> Verdict:
    """Tell what to do about a page, given what came back and how many failures it has behind it."""
    if isinstance(answer, Failed):
        return _judge_failure(answer.reason, tries, settings)
    if 200 <= answer.status < 300:
        return Refused(reason=Reason.TYPE_REFUSED) if answer.type_refused else Kept()
    if answer.status in REDIRECTS:
        location = location_of(answer)
        return Moved(location=location) if location else Refused(reason=Reason.BAD_REDIRECT)
    retry_after_s = retry_after_of(answer, now_at)
    if answer.status in PASSING_STATUSES and tries < settings.max_tries:
        wait_s = max(retry_wait_s(tries, settings), retry_after_s or 0.0)
        return TryLater(wait_s=wait_s, retry_after_s=retry_after_s)
    return Refused(reason=Reason.HTTP_ERROR, retry_after_s=retry_after_s)


def shows_trouble(answer: Fetched | Failed) -> bool:
    """Tell whether the site itself seems to be in trouble: such answers in a row lengthen its wait.

    A page that does not exist, moved, or holds something else comes from a site in good health.
    """
    if isinstance(answer, Failed):
        return answer.reason in PASSING_REASONS and answer.reason is not Reason.INTERNAL_ERROR
    return answer.status in PASSING_STATUSES


def retry_wait_s(tries: int, settings: PaceSettings) -> float:
    """Return how long a page is left alone after its first, second, ... failure (`tries` 0, 1, ...)."""
    return min(settings.retry_wait_s * float(RETRY_GROWTH ** min(tries, 30)), DAY_S)


def plain_http(url: QueuedUrl, reason: Reason | None) -> Url | None:
    """Return what to try in place of a URL that does not answer, if https was only our guess."""
    if url.kind != Kind.BARE or reason not in NOTHING_UNDER_HTTPS:  # plant: https-seed-becomes-http
        return None
    plain = normalise("http" + url.url.removeprefix("https"))
    return identify(plain) if isinstance(plain, str) else None


def retry_after_of(answer: Fetched | Failed, now_at: float) -> float | None:
    """Return how long a server that refuses wants to be left alone, as far as it says so and is believed."""
    if isinstance(answer, Failed) or answer.status not in PASSING_STATUSES:
        return None
    value = header(answer.head, "Retry-After")
    return None if value is None else parse_retry_after(value, now_at)


def location_of(answer: Fetched) -> str:
    """Return where a redirect leads, as written; empty if it does not say. Most that is not ASCII is UTF-8."""
    location = header(answer.head, "Location") or ""
    if location.isascii():
        return location
    try:
        return location.encode("latin-1").decode()
    except UnicodeDecodeError:
        return location


def _judge_failure(reason: Reason, tries: int, settings: PaceSettings) -> TryLater | Refused:
    if reason is Reason.CANCELLED:
        return TryLater(wait_s=0.0, counted=False)
    if reason in PASSING_REASONS and tries < settings.max_tries:
        return TryLater(wait_s=retry_wait_s(tries, settings))
    return Refused(reason=reason)
