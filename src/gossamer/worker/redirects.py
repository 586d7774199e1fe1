"""Where a redirect leads, and whether its target is fetched in the same turn. It is queued in any case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.records import Done, GivenUp, Kind, Link, QueuedUrl, Reason
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
        self._desk.ledger.note_links([Link(*named, url.depth, url.rank, seeded, hops, url.url_hash, url.kind)])
        ours = is_ours(turn, url, named, self._manners.scope.scope)
        state = turn.site.hosts.get(named.host)
        if not ours or (state and state.blocked_s) or not await self._is_new(turn, named):
            return None
        return QueuedUrl(*named[:2], named.host, url.depth, url.rank, hops, 0, url.kind)

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

    async def _is_new(self, turn: Turn, named: Url) -> bool:
        """Tell whether a redirect's target is this turn's: not known yet, or left out for what now leads to it."""
        if not await self._desk.known(named.site, named.url_hash):
            return True
        turn.closes_circle = self._manners.keeping.canonical and await was_left_out(named, desk=self._desk)
        return turn.closes_circle
