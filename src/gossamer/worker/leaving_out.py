"""Pages that came but are not kept, although their robots wishes would let them be: whether, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.frontier import FrontierError
from gossamer.parse.wishes import reserves_ai
from gossamer.records import Link, Reason, Scope
from gossamer.rules.hosts import refusal_of
from gossamer.rules.keeping import is_deferred_to, is_foreign, other_canonical, robots_signals

if TYPE_CHECKING:
    from gossamer.records import ParsedPage, QueuedUrl
    from gossamer.urls import Url
    from gossamer.worker.asking import Turn
    from gossamer.worker.desk import Desk
    from gossamer.worker.hooks import Hooks
    from gossamer.worker.manners import Manners


def with_robots_signals(turn: Turn, url: QueuedUrl, parsed: ParsedPage) -> ParsedPage:
    """Return a page with what its host's robots.txt says about its use beside what it says itself."""
    found = robots_signals(turn.site.hosts.get(url.host), url.url)
    if not found:
        return parsed
    lines = [f"robots.txt {name}={value}" for name, value in found]
    signals = "\n".join([*filter(None, [parsed.row.signals]), *lines])
    return parsed._replace(
        row=parsed.row._replace(signals=signals),
        noai=parsed.noai or any(reserves_ai(name, value) for name, value in found),
    )


async def left_out_for(
    turn: Turn, url: QueuedUrl, parsed: ParsedPage, *, manners: Manners, desk: Desk, hooks: Hooks
) -> Reason | None:
    """Tell why a page is not kept; None if it is. What stands in its place is queued, as near to a seed as it is."""
    if manners.keeping.respect_ai_optout and parsed.noai:
        return Reason.AI_OPTED_OUT
    if is_foreign(parsed.row.lang, manners.keeping.languages):
        return Reason.OTHER_LANGUAGE
    is_wanted = manners.keeping.canonical and not turn.closes_circle
    canonical = other_canonical(parsed.row.canonical, url.url) if is_wanted else None
    if canonical is None or not _can_be_had(turn, url, canonical, manners=manners, desk=desk, hooks=hooks):
        return None
    try:
        if not is_deferred_to(await desk.find_url(canonical)):
            return None
    except FrontierError:
        return None
    seeded = url.depth == 0
    desk.ledger.note_links([Link(*canonical, url.depth, url.rank, seeded, url.hops, via=url.url_hash)])
    return Reason.NOT_CANONICAL


async def was_left_out(named: Url, *, desk: Desk) -> bool:
    """Tell whether a page was not kept because it names another one in its place."""
    try:
        state = await desk.find_url(named)
    except FrontierError:
        return False
    return state is not None and state.reason is Reason.NOT_CANONICAL


def is_ours(turn: Turn, url: QueuedUrl, named: Url, scope: Scope) -> bool:
    """Tell whether a page that stands in another's place may be asked for in the same crawl, of the same site."""
    seeded = url.depth == 0  # only seeds, and what they redirect to, have depth 0
    return named.site == turn.site.site and (seeded or named.host == url.host or scope is not Scope.HOST)


def _can_be_had(turn: Turn, url: QueuedUrl, named: Url, *, manners: Manners, desk: Desk, hooks: Hooks) -> bool:
    """Tell whether nothing that we know of keeps us from the other page: else this one is better than none."""
    state = turn.site.hosts.get(named.host)
    return (
        is_ours(turn, url, named, manners.scope.scope)
        and hooks.accepts(named.url)
        and manners.include.admits(named)
        and not desk.exclusions.find(named.url, named.host)
        and not (state and refusal_of(state, named.url))
    )
