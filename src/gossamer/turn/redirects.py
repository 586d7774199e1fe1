"""Where a redirect leads, and whether its target is fetched in the same turn. The target is queued in any case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gossamer.records import Done, GivenUp, Kind, Link, QueuedUrl, Reason
from gossamer.rules.answers import http_fallback
from gossamer.rules.scope import is_same_crawl, rank_from
from gossamer.rules.traps import find_trap
from gossamer.turn.steps import LookUp, LookUpHosts, Missing
from gossamer.urls import identify, normalise

if TYPE_CHECKING:
    from collections.abc import Generator

    from gossamer.records import UrlState
    from gossamer.turn.state import Turn
    from gossamer.turn.steps import Step
    from gossamer.urls import Url

MAX_CHAIN: Final = 10  # redirects behind each other, in however many turns


def follow_redirect(turn: Turn, url: QueuedUrl, location: str) -> Generator[Step, Any, QueuedUrl | None]:
    """Settle a redirect and queue its target; return the target if this turn fetches it.

    A target takes the place of what redirects to it: as deep, a seed if that was one, within its site as important.
    """
    named = _resolve_target(turn, url, location)
    if isinstance(named, Reason):
        turn.settle(url, GivenUp(reason=named))
        return None
    seeded = url.depth == 0  # only seeds, and what they redirect to, have depth 0
    turn.settle(url, Done(page=False))
    if not seeded and url.kind != Kind.SITEMAP and not turn.settings.include.admits(named):
        return None
    hops = url.hops + 1
    kind = Kind.SITEMAP if url.kind == Kind.SITEMAP else Kind.PAGE
    rank = url.rank if seeded else rank_from(turn.site.site, named.site, url.rank)
    turn.effects.links.append(Link(*named, url.depth, rank, seeded, hops, url.url_hash, kind))
    if not is_same_crawl(named, url, site=turn.site.site, scope=turn.settings.scope.scope):
        return None
    if not (yield from _admit_target(turn, named)):
        return None
    if turn.site.site in turn.settings.in_lanes and not turn.closes_canonical_loop:
        return None  # another turn of the site may lead there at the same time: it gets a turn of its own
    if (yield from _check_block(turn, named.host)):
        return None
    return QueuedUrl(*named[:2], named.host, url.depth, url.rank, hops, 0, kind, url.url_hash)


def step_to_http(turn: Turn, url: QueuedUrl) -> Generator[Step, Any, QueuedUrl | None]:
    """Return the same place under http, to be tried in this turn, if https was a guess and does not answer.

    It is queued, and the guess settled, only when its host answers: until then it is no URL of the crawl.
    """
    named = http_fallback(url, turn.silence) if turn.guess == url else None
    if named is None:
        return None
    state = turn.site.hosts.get(named.host)
    # A host that only did not answer is tried as often as its twin: the waits of that one are its own.
    is_closed = state is not None and state.blocked_s and (state.given_up or not state.silent)
    if is_closed or (yield LookUp(url=named)) is not None:
        return None
    return QueuedUrl(*named[:2], named.host, url.depth, url.rank, url.hops, 0, Kind.PAGE, url.url_hash)


def _resolve_target(turn: Turn, url: QueuedUrl, location: str) -> Url | Reason:
    """Return where a redirect leads, or why it is given up. The target of a seed may be anywhere."""
    target = normalise(location, url.url)
    if not isinstance(target, str):
        return Reason.BAD_REDIRECT
    if url.hops >= MAX_CHAIN:
        return Reason.TOO_MANY_REDIRECTS
    named = identify(target)
    is_own = url.depth == 0 and named.site == turn.site.site
    if reason := turn.targets.refuse(named.host, by=url.host, same_port=not is_own):
        turn.count("traps", reason)
        return reason
    if url.depth == 0:
        return named
    if not turn.accept(target):
        return Reason.OUT_OF_SCOPE
    trap = find_trap(named, settings=turn.settings.traps, year=turn.year)
    if trap is not None:
        turn.count("traps", trap)
    return named if trap is None else Reason.TRAP


def _admit_target(turn: Turn, named: Url) -> Generator[Step, Any, bool]:
    """Return whether this turn fetches a redirect's target: not known yet, or left out for what now leads to it."""
    if named.url_hash in turn.visited:
        return False
    state: UrlState | Missing | None = yield LookUp(url=named)
    if state is None:
        return True
    if isinstance(state, Missing) or not turn.settings.keeping.canonical:
        return False
    turn.closes_canonical_loop = state.reason is Reason.NOT_CANONICAL
    return turn.closes_canonical_loop


def _check_block(turn: Turn, host: str) -> Generator[Step, Any, bool]:
    """Return whether no request may go to a host now. A silent host may not have come with the claim: look it up."""
    hosts = turn.site.hosts
    if host not in hosts:
        found = yield LookUpHosts(site=turn.site.site)
        hosts.update((state.host, state) for state in found if state.host == host)
    return host in hosts and hosts[host].blocked_s > 0  # plant: blocked-target-asked
