"""Which sitemaps a host has, and of which hosts a sitemap may list pages. Pure. See `docs/sitemaps.md`.

A sitemap may list pages of its own host, and of every other host whose robots.txt names it. Entries for other hosts
are ignored: any site can publish a list of another site's pages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from gossamer.records import Kind, Reason
from gossamer.rules.hosts import robots_url, rules_of
from gossamer.rules.memories import DistinctLimiter
from gossamer.rules.robots import allows
from gossamer.urls import Url, hash_url, identify, name_of_host, normalise

if TYPE_CHECKING:
    from collections.abc import Container

    from gossamer.records import HostState, QueuedUrl

MAX_STEPS: Final = 5  # indexes and redirects in a row; the protocol allows one index
HOST_PLACES: Final = 1 << 14  # for hosts and the first sitemaps of each: 0.7 MB
CONVENTIONAL_PATH: Final = "/sitemap.xml"
_BEHALF: Final = "#"  # no normalised URL has a fragment


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapSettings:
    """Whether sitemaps are read, and how many of a host."""

    sitemaps: bool = field(
        default=False, metadata={"help": "Read the sitemaps of sites, and follow the links that they list."}
    )
    max_sitemaps: int = field(
        default=100,
        metadata={
            "help": "The most sitemaps of one host that are read, including those that an index lists. "
            "Raise it for a host that has more.",
            "minimum": 1,
        },
    )


class SitemapQuota:
    """Limits the sitemaps of each host. A restart resets the counts, as with other limits."""

    def __init__(self, settings: SitemapSettings) -> None:
        self._files = DistinctLimiter(settings.max_sitemaps, HOST_PLACES)

    def take(self, sitemap: Url) -> bool:
        """Count a sitemap of its host; return whether it is within the limit."""
        return self._files.take(sitemap.host, sitemap.url_hash)


class Submission(NamedTuple):
    """A sitemap that is read again for a host whose robots.txt named it after it had been read."""

    url: str
    host: str  # empty: for its own host


def sitemaps_of(state: HostState) -> list[Url]:
    """Return the sitemaps that a host's robots.txt names, without those that cannot be requested."""
    named = rules_of(state).sitemaps
    return [*_resolve(state.host, named)] if named else []


@lru_cache(maxsize=64)  # called for every page
def _resolve(host: str, named: tuple[str, ...]) -> tuple[Url, ...]:
    found = (normalise(text, robots_url(host)) for text in named)
    return tuple(identify(url) for url in dict.fromkeys(found) if isinstance(url, str))


def guess_sitemap(state: HostState) -> Url | None:
    """Return the conventional URL of a host's sitemap, if its robots.txt names none and allows this URL."""
    rules = rules_of(state)
    url = state.host + CONVENTIONAL_PATH
    return identify(url) if not rules.sitemaps and not state.failures and allows(rules, url) else None


def is_guess(url: str, state: HostState | None) -> bool:
    """Return whether a URL is only the conventional one of a host's sitemap: its robots.txt names none."""
    return state is not None and url == state.host + CONVENTIONAL_PATH and not rules_of(state).sitemaps


def reason_for(url: QueuedUrl, state: HostState | None, reason: Reason) -> Reason:
    """Return why a URL is given up: without a sitemap at the conventional URL, NO_SITEMAP instead of a failure."""
    is_lacking = reason in (Reason.HTTP_ERROR, Reason.BAD_SITEMAP) and url.kind == Kind.SITEMAP
    return Reason.NO_SITEMAP if is_lacking and is_guess(url.url, state) else reason


def is_same_host(one: str, other: str) -> bool:
    """Return whether two hosts are the same, or differ only in http and https."""
    if one == other:
        return True
    name, other_name = (host.partition("://")[2] for host in (one, other))
    return name == other_name and name.rpartition("]")[2].find(":") < 0 and bool(name_of_host(one))


def names_any(state: HostState, sitemaps: Container[bytes]) -> bool:
    """Return whether a host's robots.txt names one of these sitemaps, given by the hashes of their URLs."""
    return any(url.url_hash in sitemaps for url in sitemaps_of(state))


def on_behalf(url: Url, host: str) -> Url:
    """Return a sitemap as it is queued to be read for another host, once per host: the host becomes its fragment."""
    text = f"{url.url}{_BEHALF}{host}"
    return url._replace(url=text, url_hash=hash_url(text))


def submission_of(url: str) -> Submission:
    """Return the parts that `on_behalf` joined."""
    plain, _, host = url.partition(_BEHALF)
    return Submission(plain, host)
