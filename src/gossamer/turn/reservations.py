"""What a host reserves, if the operator respects that: its tdmrep.json is asked for in a turn of its own.

So the site's delay lies between this request and the next one, as between any two pages. There are two exceptions, in
which the page follows in the same turn, but also after the site's delay: a file that was read before and is no longer
fresh, and a robots.txt that had to be asked for again. A site whose turns are rarer than its files are fresh would else
never come to its pages.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gossamer.records import Failed, RequestKind
from gossamer.rules.answers import NO_HOST, OURS, retry_after_of
from gossamer.rules.elsewhere import MAX_HOPS
from gossamer.rules.hosts import (
    has_answered,
    judge_tdmrep,
    knows_reservations,
    robots_redirect,
    rules_of,
    with_reservations,
)
from gossamer.rules.reservations import TDMREP_PATH, find_reservation
from gossamer.rules.robots import allows
from gossamer.turn.steps import Missing, Wait
from gossamer.urls import identify

if TYPE_CHECKING:
    from collections.abc import Generator

    from gossamer.records import Fetched, HostState, ParsedPage, QueuedUrl
    from gossamer.turn.state import Turn
    from gossamer.turn.steps import Step


def learn_reservations(turn: Turn, url: QueuedUrl, known: HostState | None) -> Generator[Step, Any, bool]:
    """Return whether a URL may be asked for in this turn, as it is known what its host reserves.

    `known` is what was known about the host when the turn came to the URL.
    """
    state = turn.site.hosts[url.host]
    if knows_reservations(state, turn.now.wall_at):
        return True
    is_read_again = known is not None and known is not state and has_answered(known)
    in_line = rules_of(state).reservations.was_read or is_read_again or turn.closes_canonical_loop
    if turn.ended_s is not None and not in_line:
        _leave(turn, url)
        return False
    asked_before_s = turn.ended_s
    if not (yield from _renew(turn, url, state)):
        return False
    if turn.ended_s in (None, asked_before_s):
        return True  # the file must not be asked for
    if not in_line:
        _leave(turn, url)
        return False
    turn.now = yield Wait(until_s=turn.ended_s + turn.site.delay_s)
    return True


def add_reservation(turn: Turn, url: QueuedUrl, parsed: ParsedPage) -> ParsedPage:
    """Return a page with what its host's tdmrep.json says about it. What the page itself says counts before it."""
    reserved = find_reservation(rules_of(turn.site.hosts[url.host]).reservations, url.url)
    if reserved is None:
        return parsed
    signals = parsed.row.signals.split("\n") if parsed.row.signals else []
    is_free = not reserved or "tdm-reservation=0" in signals
    return parsed._replace(
        row=parsed.row._replace(signals="\n".join([*signals, f"tdmrep.json tdm-reservation={int(reserved)}"])),
        noai=parsed.noai or not is_free,
    )


def _leave(turn: Turn, url: QueuedUrl) -> None:
    """Leave a URL to a later turn of the site. What a redirect led to is in the queue."""
    if url.url_hash == turn.queued.url_hash:
        turn.site.urls.appendleft(turn.queued)


def _renew(turn: Turn, url: QueuedUrl, state: HostState) -> Generator[Step, Any, bool]:
    """Ask for a host's tdmrep.json and note what it says; return whether there is something to go by for now."""
    answer = yield from _find(turn, url, state)
    if isinstance(answer, Missing):
        return False
    if isinstance(answer, Failed) and (answer.reason in NO_HOST | OURS or turn.is_excused(answer)):
        turn.give_up_or_retry(url, answer, turn.take_answer(url, answer))
        return False
    found = judge_tdmrep(answer, rules_of(state).reservations, now_at=turn.now.wall_at)
    blocked_s = 0.0
    if answer is not None and found.failures:
        turn.retry_after_s = retry_after_of(answer, turn.now.wall_at)
        blocked_s = max(turn.settings.robots.robots_retry_waits_s[0], turn.retry_after_s or 0.0)
        turn.site.take_urls_of(url.host)  # they stay queued until the block ends
    turn.note_host(replace(with_reservations(state, found), blocked_s=blocked_s))
    return not blocked_s


def _find(turn: Turn, page: QueuedUrl, state: HostState) -> Generator[Step, Any, Fetched | Failed | Missing | None]:
    """Return the answer for a host's tdmrep.json, behind redirects on the host; None: it must not be asked for."""
    url = identify(page.host + TDMREP_PATH)
    seen: list[str] = []
    answer: Fetched | Failed | Missing | None = None
    while url.url not in seen and len(seen) <= MAX_HOPS:
        is_excluded = turn.memories.orders.exclusions.find(url.url, url.host)
        if url.host != page.host or is_excluded or not allows(rules_of(state), url.url):
            break
        seen.append(url.url)
        answer = yield from turn.ask(url.url, RequestKind.TDMREP, page=page, finishing=len(seen) > 1)
        target = None if isinstance(answer, Missing) else robots_redirect(answer, url.url)
        if target is None:
            break
        url = target
    return answer
