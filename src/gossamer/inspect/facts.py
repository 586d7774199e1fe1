"""Describes a URL, its site and its host in a few words each, for `explain`. Reads only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gossamer.inspect.requests import requests_of
from gossamer.records import Reason, UrlStatus
from gossamer.records.rows import NO_HASH
from gossamer.rules.elsewhere import NOT_DUE
from gossamer.rules.hosts import is_fresh, rules_of
from gossamer.rules.reservations import find_reservation
from gossamer.rules.scope import Exclusions, Scope
from gossamer.rules.traps import find_trap
from gossamer.rules.url_patterns import UrlPatterns
from gossamer.wording import count, delay, moment, wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.frontier import FrontierReader
    from gossamer.records import HostState, RequestRow, SiteState, UrlState
    from gossamer.rules.pace import PaceSettings
    from gossamer.rules.robots import RobotsRules
    from gossamer.rules.scope import ScopeSettings
    from gossamer.rules.traps import TrapSettings
    from gossamer.store.reading import Folders
    from gossamer.urls import Url


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The crawl's settings that matter for an explanation."""

    pace: PaceSettings
    scope: ScopeSettings
    traps: TrapSettings
    agent: str  # the crawler's name, by which pages may address it
    site_delay_s: float  # of this site: the crawl's delay, or a longer one that the operator gave this site
    parallel: int = 0  # requests at once that this site may get, if it is the operator's own; 0 if it is not
    in_file: Exclusions = field(default_factory=Exclusions)  # of the exclusion file
    now_at: float  # Unix seconds
    year: int
    seed_ports: frozenset[int] = frozenset()  # besides 80 and 443


def exclusion_of(frontier: FrontierReader, url: Url, terms: Terms) -> str:
    """Return what excludes a URL; empty if nothing does."""
    if entry := terms.in_file.find(url.url, url.host):
        return f"excluded by {entry} (exclusion file)"
    if pattern := UrlPatterns(terms.scope.exclude).find(url.url, url.host):
        return f"excluded by {pattern} (--exclude)"
    entry = Exclusions.parse(frontier.exclusions())[0].find(url.url, url.host)
    return f"excluded by {entry}" if entry else ""


def trap_of(url: Url, terms: Terms) -> str:
    """Return which limit against traps refuses links to a URL; empty if none does."""
    trap = find_trap(url, settings=terms.traps, year=terms.year)
    return f"links to it are refused as a trap: {trap}" if trap else ""


def scope_of(site: SiteState | None, terms: Terms, *, is_host_inside: bool = True) -> str:
    """Return whether a site is in the crawl's scope, in words; `is_host_inside` matters if only hosts are crawled."""
    scope = terms.scope.scope
    if scope is Scope.WEB:
        return "links are followed anywhere (--scope web)"
    seeded = bool(site and site.seeded)
    only = "hosts" if scope is Scope.HOST else "sites"
    if seeded and scope is Scope.HOST and not is_host_inside:
        return f"its host is not one of the seeds', which alone are crawled (--scope {scope})"
    return (
        f"its site {'is' if seeded else 'is not'} one of the seeds', whose {only} alone are crawled (--scope {scope})"
    )


def known_as(folders: Folders, state: UrlState | None, requests: Sequence[RequestRow]) -> str:
    """Return whether a URL was accepted, since when it is queued, and where it was found, in words."""
    if state is None:
        return "no: never accepted"
    if state.status is not UrlStatus.QUEUED:
        via = found_on(folders, requests[-1].via if requests else NO_HASH)
        return f"yes, {state.status.replace('_', ' ')}, depth {state.depth}{via}"
    via = found_on(folders, state.via or NO_HASH)
    since = f" since {moment(state.queued_at)}" if state.queued_at else ""
    failed = f"{count(state.tries or 0, 'failure')} so far"
    return f"yes, queued{since}, depth {state.depth}, rank {state.rank}, {failed}{via}"


def found_on(folders: Folders, via: bytes) -> str:
    """Return the page that a URL was found on, as the end of a sentence; empty if none is known: a seed, say."""
    if via == NO_HASH:
        return ""
    url = found_on_url(folders, via)
    return f", found on {url}" if url else ", found on a page that is not in the log here"


def found_on_url(folders: Folders, via: bytes) -> str | None:
    """Return the URL of the page that a URL was found on; None if it is a seed, or that page is not in the log here."""
    found = requests_of(folders, via) if via != NO_HASH else []
    return found[-1].url if found else None


def answer_of(request: RequestRow) -> str:
    """Return how a request ended."""
    return request.reason or f"status {request.status}"


def site_facts(site: SiteState | None, terms: Terms) -> list[tuple[str, str]]:
    """Return the state of a site and its pace, in words."""
    if site is None:
        return [("site", "not known")]
    is_asked = site.own_delay_s not in (0.0, terms.site_delay_s)  # an operator's delay for a site is stored as its own
    asks = f", its robots.txt asks for {delay(site.own_delay_s)}" if is_asked else ""
    failed = f", {count(site.failures, 'failure')} in a row" if site.failures else ""
    turn = "nothing to do" if site.wait_s is None else f"next turn {wait(site.wait_s)}"
    turn = "its page limit is reached" if site.spent else turn
    turn = f"in hand of worker {site.owner}" if site.owner is not None else turn
    return [
        ("site", f"{site.site}, {site.queued:,} queued, {turn}"),
        ("pace", f"delay {delay(terms.site_delay_s)}{asks}{failed}{_lanes_in_words(site, terms)}"),
    ]


def _lanes_in_words(site: SiteState, terms: Terms) -> str:
    """Return how many requests at once a site gets, if it is the operator's own."""
    if not terms.parallel:
        return ""
    lanes = 1 if terms.site_delay_s or site.own_delay_s else terms.parallel
    return f"; the site is yours: up to {count(lanes, 'request')} at once"


def awaits_robots(host: HostState) -> bool:
    """Return whether a host's robots.txt is still missing: it failed, or is on a site that is not due."""
    return host.failures > 0 or rules_of(host).outcome == NOT_DUE


def host_in_words(host: HostState) -> str:
    """Return why a host is left alone, as the end of a sentence about it; empty if it is not."""
    times = "once" if host.silent == 1 else f"{count(host.silent, 'time')} in a row"
    if host.given_up:
        again = f"; it may be tried again {wait(host.blocked_s)}" if host.blocked_s else ""
        return f"did not answer {times} and is given up ({host.given_up}){again}"
    if host.silent:
        return f"did not answer {times} and is tried again {wait(host.blocked_s)}"
    if host.blocked_s and not awaits_robots(host):
        return f"failed repeatedly and is requested again {wait(host.blocked_s)}"
    return ""


def rules_in_words(host: HostState, terms: Terms) -> str:
    """Return the state of a host's robots.txt, in words."""
    rules = rules_of(host)
    if host.failures:
        again = f", requested again {wait(host.blocked_s)}" if host.blocked_s else ""
        since = f" since {moment(host.failing_since)}" if host.failing_since else ""
        return f"robots.txt failed {count(host.failures, 'time')}{since}{again}{way_in_words(rules)}"
    if rules.outcome == NOT_DUE:
        return f"robots.txt is on another site, which is requested {wait(host.blocked_s)}{way_in_words(rules)}"
    ours = f"{count(len(rules.rules), 'rule')} for group {rules.group}"
    said = ours if rules.group else "robots.txt has no rules for us"
    return said + way_in_words(rules) + ("" if is_fresh(host, terms.now_at) else ", stale")


def host_facts(host: HostState, url: str) -> list[tuple[str, str]]:
    """Return what a host's tdmrep.json says about a page, and why the host is left alone, as far as there is any."""
    found = {"tdmrep": _reservation_in_words(host, url), "host": host_in_words(host)}
    return [(name, words) for name, words in found.items() if words]


def _reservation_in_words(host: HostState, url: str) -> str:
    """Return what a host's tdmrep.json says about a page; empty if it was not read."""
    reservations = rules_of(host).reservations
    if not reservations.was_read:
        return ""
    reserved = find_reservation(reservations, url)
    if reserved is None:
        return "no rule matches" if reservations.rules else "no rules were found"
    return "reserves it" if reserved else "does not reserve it"


def way_in_words(rules: RobotsRules) -> str:
    """Return where a robots.txt redirected, and the result there, in words; empty if it did not redirect."""
    *between, last = rules.moved_to or ("",)
    through = f", redirected through {', '.join(between)}" if between else ""
    if rules.outcome == Reason.TOO_MANY_REDIRECTS:
        return f", as if there were none: too many redirects{through} to {last}"
    if rules.outcome == Reason.BAD_REDIRECT:
        at = f" at {last}{through}" if last else ""
        return f", as if there were none: bad redirect{at}"
    met = f" ({rules.outcome})" if rules.outcome not in ("", NOT_DUE) else ""
    return f", from {last}{met}{through}" if last else ""
