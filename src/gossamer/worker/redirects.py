"""Where a redirect leads, and whether its target is fetched in the same turn. It is queued in any case."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from gossamer.frontier import FrontierError
from gossamer.records import Done, GivenUp, Kind, Link, QueuedUrl, Reason
from gossamer.rules.answers import plain_http
from gossamer.urls import identify, normalise
from gossamer.worker.leaving_out import is_ours, was_left_out

if TYPE_CHECKING:
    from gossamer.urls import Url
    from gossamer.worker.asking import Turn
    from gossamer.worker.choosing import Chooser
    from gossamer.worker.desk import Desk
    from gossamer.worker.hooks import Hooks
    from gossamer.worker.manners import Manners
    from gossamer.worker.settling import Settler

MAX_CHAIN: Final = 10  # redirects behind each other, in however many turns


class Redirects:
    """Settles redirects. A target takes its place in the crawl: as deep, as important, and a seed if it was one."""

    def __init__(self, *, manners: Manners, desk: Desk, settler: Settler, chooser: Chooser, hooks: Hooks) -> None:
        self._manners = manners
        self._desk = desk
        self._settler = settler
        self._chooser = chooser
        self._hooks = hooks

    async def follow(self, turn: Turn, url: QueuedUrl, location: str) -> QueuedUrl | None:
        """Settle a redirect; return its target if it is this turn's to fetch."""
        named = self._target(url, location)
        if isinstance(named, Reason):
            self._settler.settle(turn, url, GivenUp(reason=named))
            return None
        seeded = url.depth == 0  # only seeds, and what they redirect to, have depth 0
        self._settler.settle(turn, url, Done(page=False))
        if not seeded and url.kind != Kind.SITEMAP and not self._manners.include.admits(named):
            return None
        hops = url.hops + 1
        kind = Kind.SITEMAP if url.kind == Kind.SITEMAP else Kind.PAGE
        self._desk.ledger.note_links([Link(*named, url.depth, url.rank, seeded, hops, url.url_hash, kind)])
        ours = is_ours(turn, url, named, self._manners.scope.scope)
        if not ours or not await self._is_new(turn, named) or await self._is_blocked(turn, named.host):
            return None
        return QueuedUrl(*named[:2], named.host, url.depth, url.rank, hops, 0, kind)

    async def step_to_http(self, turn: Turn, url: QueuedUrl) -> QueuedUrl | None:
        """Return the same place under http, to be tried in this turn, if https was a guess and does not answer.

        It is queued, and the guess settled, only when its host answers: until then it is no URL of the crawl.
        """
        named = plain_http(url, turn.silence) if turn.guess == url else None
        if named is None:
            return None
        state = turn.site.hosts.get(named.host)
        # One that only did not answer is tried as often as its twin: the waits of that one are its own.
        is_closed = state is not None and state.blocked_s and (state.given_up or not state.silent)
        if is_closed or await self._desk.known(named.site, named.url_hash):
            return None
        return QueuedUrl(*named[:2], named.host, url.depth, url.rank, url.hops, 0, Kind.PAGE)

    def _target(self, url: QueuedUrl, location: str) -> Url | Reason:
        """Return where a redirect leads, or why it is given up; what belongs to the seeds is welcome anywhere."""
        target = normalise(location, url.url)
        if not isinstance(target, str):
            return Reason.BAD_REDIRECT
        if url.hops >= MAX_CHAIN:
            return Reason.TOO_MANY_REDIRECTS
        named = identify(target)
        if url.depth == 0:
            return named
        if not self._hooks.accepts(target):
            return Reason.OUT_OF_SCOPE
        return Reason.TRAP if self._chooser.is_trap(named) else named

    async def _is_blocked(self, turn: Turn, host: str) -> bool:
        """Tell whether nothing may be asked of a host now; one that did not answer may not have come with the claim."""
        hosts = turn.site.hosts
        if host not in hosts:
            with suppress(FrontierError):
                found = await self._desk.find_hosts(turn.site.site)
                hosts.update((state.host, state) for state in found if state.host == host)
        return host in hosts and hosts[host].blocked_s > 0

    async def _is_new(self, turn: Turn, named: Url) -> bool:
        """Tell whether a redirect's target is this turn's: not known yet, or left out for what now leads to it."""
        if not await self._desk.known(named.site, named.url_hash):
            return True
        turn.closes_circle = self._manners.keeping.canonical and await was_left_out(named, desk=self._desk)
        return turn.closes_circle
