"""The life of a page: may it be asked for, ask, judge the answer, parse, keep. Read this first.

A turn is a generator without I/O. It yields the steps that it needs (`steps.py`), is sent what came of each, and
returns one `TurnResult`. The worker performs the steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gossamer.parse.wishes import reserves_ai
from gossamer.records import Barred, Done, Fetched, GivenUp, Kind, Link, ParseFailed, Reason, RequestKind
from gossamer.rules.answers import Kept, Moved, Refused, TryLater
from gossamer.rules.hosts import knows_wishes, refusal_of, rules_allowing
from gossamer.rules.keeping import is_deferred_to, is_foreign, other_canonical
from gossamer.rules.robots import robots_signals
from gossamer.rules.scope import FOREIGN_RANK, is_blocked, is_same_crawl, may_follow_links
from gossamer.rules.sitemaps import submission_of
from gossamer.rules.traps import Trap, content_key
from gossamer.turn.links import choose_links
from gossamer.turn.redirects import follow_redirect, step_to_http
from gossamer.turn.reservations import add_reservation, learn_reservations
from gossamer.turn.robots import obey_site_delay, obtain_permission
from gossamer.turn.rows import link_rows, page_row
from gossamer.turn.sitemaps import as_sitemap, read_sitemap
from gossamer.turn.state import Turn
from gossamer.turn.steps import (
    UNAVAILABLE,
    Commit,
    Deliver,
    Keep,
    KeepAnswer,
    LookUp,
    Missing,
    Parse,
    StepInterruptedError,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from gossamer.records import ParsedPage, QueuedUrl
    from gossamer.turn.effects import TurnResult
    from gossamer.turn.settings import TurnMemories, TurnSettings
    from gossamer.turn.steps import Moment, Step
    from gossamer.urls import Url
    from gossamer.workbench import SiteInHand

MAX_HOPS: Final = 5  # redirects within a site that one turn follows


def take_turn(
    site: SiteInHand, *, settings: TurnSettings, memories: TurnMemories, now: Moment
) -> Generator[Step, Any, TurnResult]:
    """Give a site its turn: one page or sitemap, and whatever has to come before it.

    `StepInterruptedError` is thrown in where a step was cancelled or met a bug; the turn then returns its result
    without another step. Each URL that it touched has at most one outcome; a URL without one stays queued.
    """
    turn = Turn(site, site.urls.popleft(), settings=settings, memories=memories, now=now)
    try:
        if settings.site_delays_s:
            yield from obey_site_delay(turn)
        yield from _get_page(turn)
    except StepInterruptedError as interrupted:
        turn.interrupt(interrupted)
    except Exception as bug:  # ours: it costs this page a try, not the crawl
        turn.settle_after_bug(bug)
    return turn.result()


def _get_page(turn: Turn) -> Generator[Step, Any, None]:
    """Fetch a page or a sitemap behind its redirects, and settle every URL on the way.

    A chain that is too long for one turn ends: its next page is queued and gets a turn of its own.
    """
    url = turn.queued
    if turn.site.turns > 1 and not knows_wishes(
        turn.site.hosts.get(url.host), turn.now.wall_at, reservations=turn.settings.keeping.respect_ai_optout
    ):
        turn.site.urls.appendleft(url)  # only one turn at a time asks for robots.txt: its turn comes when it is alone
        return
    following: QueuedUrl | None = url
    if url.kind == Kind.SITEMAP:
        following = url._replace(url=submission_of(url.url).url)
    for _ in range(MAX_HOPS + 1):
        if following is None:
            break
        turn.current = following
        turn.visited.add(following.url_hash)
        following = yield from _visit(turn, following)
    if turn.guess is not None:
        turn.drop_guess()


def _visit(turn: Turn, url: QueuedUrl) -> Generator[Step, Any, QueuedUrl | None]:
    """Ask for one URL if it may be asked for, and settle it; return what follows in the same turn."""
    if _settle_excluded(turn, url):
        return None
    for_links = may_follow_links(url.depth, turn.settings.scope.max_depth)
    known = turn.site.hosts.get(url.host)
    turn.rules = rules_allowing(known, url.url, turn.now.wall_at)
    # plant: redirect-without-robots
    if (turn.rules is None or turn.guess) and not (yield from obtain_permission(turn, url)):
        return (yield from step_to_http(turn, url))
    # plant: page-before-tdmrep
    if turn.settings.keeping.respect_ai_optout and not (yield from learn_reservations(turn, url, known)):
        return (yield from step_to_http(turn, url))
    if turn.settings.sitemaps.sitemaps:
        url = as_sitemap(turn, url)
    kind = RequestKind.SITEMAP if url.kind == Kind.SITEMAP else RequestKind.PAGE
    answer = yield from turn.ask(url.url, kind, page=url, for_links=for_links)
    if isinstance(answer, Missing):
        # plant: excluded-between-stays-queued
        _settle_excluded(turn, url)  # since a moment ago: robots.txt may have taken its time
        return None
    verdict = turn.take_answer(url, answer)
    if isinstance(verdict, Kept) and isinstance(answer, Fetched):
        location = yield from _read(turn, url, answer)
        return (yield from follow_redirect(turn, url, location)) if location else None
    if isinstance(answer, Fetched):
        yield KeepAnswer(url=url, answer=answer)
    if isinstance(verdict, TryLater | Refused):
        turn.give_up_or_retry(url, answer, verdict)
        return (yield from step_to_http(turn, url))
    assert isinstance(verdict, Moved)
    return (yield from follow_redirect(turn, url, verdict.location))


def _settle_excluded(turn: Turn, url: QueuedUrl) -> bool:
    """Settle a URL that the operator excludes, unless its whole site is, or whose port is blocked; return whether."""
    orders = turn.memories.orders
    if turn.site.site in orders.sites:  # plant: excluded-site-asked
        turn.site.urls.clear()  # they stay queued, for the day the site is readmitted
        return True
    turn.exclusions = orders.exclusions
    if orders.exclusions.find(url.url, url.host):
        turn.settle(url, Barred(reason=Reason.EXCLUDED))
        return True
    if is_blocked(url.host):
        turn.settle(url, GivenUp(reason=Reason.PORT_REFUSED))
        return True
    return False


def _read(turn: Turn, url: QueuedUrl, answer: Fetched) -> Generator[Step, Any, str]:
    """Parse a page, queue its links and store it; return its target if it is only a redirect in disguise."""
    if url.kind == Kind.SITEMAP:
        turn.settle(url, (yield from read_sitemap(turn, url, answer)))
        return ""
    parsed: ParsedPage | ParseFailed = yield Parse(answer=answer, kind=RequestKind.PAGE)
    if isinstance(parsed, ParseFailed):
        turn.settle(url, turn.judge_unread(url, parsed))
        return ""
    if parsed.blocked:
        yield KeepAnswer(url=url, answer=answer)
        turn.give_up_or_retry(url, answer, turn.take_block(url, answer, parsed.blocked))
        return ""
    if parsed.refresh and parsed.refresh != url.url:
        return parsed.refresh
    languages = turn.settings.keeping.languages
    # What other sites invent must not use up the site's patience.
    counted = parsed.row if url.rank < FOREIGN_RANK else None
    if url.depth == 0 or not languages or not is_foreign(parsed.row.lang, languages):
        turn.effects.links += choose_links(turn, url, parsed.links, depth=url.depth + 1, counted=counted)
        if parsed.links_cut:
            turn.count("traps", Trap.PAGE_LINKS, parsed.links_cut)
    elif counted is not None:
        turn.memories.traps.note_page(turn.site.site, content_key(counted.text, counted.content_hash))
    yield from _keep(turn, url, answer, parsed)
    return ""


def _keep(turn: Turn, url: QueuedUrl, answer: Fetched, parsed: ParsedPage) -> Generator[Step, Any, None]:
    """Store a page, or leave it out for a reason of its own; settle its URL either way."""
    if parsed.noindex:
        turn.settle(url, GivenUp(reason=Reason.NOINDEX))
        return
    if answer.links_only:
        turn.settle(url, GivenUp(reason=Reason.TYPE_REFUSED))
        return
    if turn.rules is None or turn.rules.usages:
        parsed = _with_robots_signals(turn, url, parsed)
    if turn.settings.keeping.respect_ai_optout:
        parsed = add_reservation(turn, url, parsed)  # plant: reservation-ignored
    reason = _refusal_to_keep(turn, parsed) or (yield from _give_way_to_canonical(turn, url, parsed))
    if reason:
        turn.settle(url, GivenUp(reason=reason))
        if reason is Reason.NOT_CANONICAL:  # its canonical may name this one: then it has to know
            yield Commit(effects=turn.take_effects())
        return
    row = yield Keep(
        row=page_row(url, turn.site.site, answer, parsed),
        archive=parsed.archive,
        response_offset=parsed.response_offset,
        answer=answer,
        links=link_rows(url, answer, parsed),
    )
    if turn.memories.hooks.on_page is not None:
        yield Deliver(row=row, answer=answer)
    turn.site.pages += 1
    turn.settle(url, Done(page=True))


def _with_robots_signals(turn: Turn, url: QueuedUrl, parsed: ParsedPage) -> ParsedPage:
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


def _refusal_to_keep(turn: Turn, parsed: ParsedPage) -> Reason | None:
    """Return why a page is not kept, by what it says itself; None if it is."""
    keeping = turn.settings.keeping
    if keeping.respect_ai_optout and parsed.noai:
        return Reason.AI_OPTED_OUT
    is_other = keeping.languages and is_foreign(parsed.row.lang, keeping.languages)
    return Reason.OTHER_LANGUAGE if is_other else None


def _give_way_to_canonical(turn: Turn, url: QueuedUrl, parsed: ParsedPage) -> Generator[Step, Any, Reason | None]:
    """Queue the canonical page in place of this one, as near to a seed; return why this one is not kept, if so."""
    is_wanted = turn.settings.keeping.canonical and not turn.closes_canonical_loop
    canonical = other_canonical(parsed.row.canonical, url.url) if is_wanted else None
    if canonical is None or canonical.url_hash in turn.visited:  # it led here, so it is no page itself
        return None
    if not _admit_canonical(turn, url, canonical):
        return None
    state = yield LookUp(url=canonical)
    if state is UNAVAILABLE or not is_deferred_to(state):  # plant: canonical-circle-loses-pages
        return None
    seeded = url.depth == 0
    turn.effects.links.append(Link(*canonical, url.depth, url.rank, seeded, url.hops, via=url.url_hash))
    return Reason.NOT_CANONICAL


def _admit_canonical(turn: Turn, url: QueuedUrl, named: Url) -> bool:
    """Return whether nothing that we know of keeps us from another page: else this one is better than none."""
    settings, state = turn.settings, turn.site.hosts.get(named.host)
    return (
        is_same_crawl(named, url, site=turn.site.site, scope=settings.scope.scope)
        and turn.accept(named.url)
        and settings.include.admits(named)
        and turn.targets.refuse(named.host, by=url.host) is None
        and not turn.memories.orders.exclusions.find(named.url, named.host)
        and not (state and refusal_of(state, named.url))
    )
