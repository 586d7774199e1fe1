"""Whether a host's robots.txt allows a URL. A robots.txt that is not fresh is asked for first, in the same turn.

What it says is durable, its sitemaps are queued and its delay is obeyed before anything else of the host is asked for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gossamer.records import Failed, Fetched, GivenUp, ParsedRobots, ParseFailed, Reason, RequestKind
from gossamer.rules.answers import retry_after_of
from gossamer.rules.elsewhere import MAX_HOPS, FoundRobots, judge_found
from gossamer.rules.hosts import (
    asked_delay_s,
    is_fresh,
    is_long_robots,
    refusal_of,
    robots_redirect,
    robots_url,
    rules_of,
    with_reservations,
)
from gossamer.turn.sitemaps import collect_sitemaps
from gossamer.turn.steps import AskElsewhere, Commit, Missing, Parse, StepInterruptedError
from gossamer.urls import host_of, identify

if TYPE_CHECKING:
    from collections.abc import Generator

    from gossamer.records import HostState, QueuedUrl
    from gossamer.rules.hosts import RobotsRead
    from gossamer.turn.state import Turn
    from gossamer.turn.steps import AskedElsewhere, Step


def obey_site_delay(turn: Turn) -> Generator[Step, Any, None]:
    """Give a site the delay that the operator wants for it; the frontier knows it before the site is asked."""
    site = turn.site
    wanted_s = turn.settings.site_delays_s.get(site.site, 0.0)
    former_s = site.own_delay_s
    if wanted_s > former_s:
        site.own_delay_s = wanted_s
        _lengthen_delay(turn)
        turn.effects.own_delay_s = site.own_delay_s
        try:
            yield Commit(effects=turn.take_effects())
        except StepInterruptedError:
            site.own_delay_s = former_s  # perhaps it is not durable: the site's next turn commits it again
            raise


def obtain_permission(turn: Turn, url: QueuedUrl) -> Generator[Step, Any, bool]:
    """Return whether robots.txt allows a URL, after asking for it if need be; settle what it forbids."""
    state = turn.site.hosts.get(url.host)
    if not is_fresh(state, turn.now.wall_at):
        state = yield from _renew(turn, url, state)
    elif turn.guess is not None:
        turn.adopt_guess(url)
    if state is None:
        return False
    if reason := refusal_of(state, url.url):
        turn.settle(url, GivenUp(reason=reason))
        return False
    return True


def _renew(turn: Turn, url: QueuedUrl, former: HostState | None) -> Generator[Step, Any, HostState | None]:
    """Ask for a host's robots.txt and keep what it says; return None if there is nothing to go by for now."""
    site = turn.site
    found = yield from _find(turn, url)
    read = (yield from _read(turn, url, found, former)) if found else None
    if found is None or read is None:
        return None
    answer = found.answer
    if answer is not None and (read.unreachable or turn.is_excused(answer)):
        turn.give_up_or_retry(url, answer, turn.take_answer(url, answer))
        return None
    if former is not None and turn.settings.keeping.respect_ai_optout:
        read = replace(read, state=with_reservations(read.state, rules_of(former).reservations))
    if turn.guess is not None:
        turn.adopt_guess(url)
    is_alias = host_of(found.own_url) != url.host
    sitemaps = yield from collect_sitemaps(turn, url, read.state, previous=former, is_alias=is_alias)
    if rules_of(read.state).delay_clamped:
        turn.count("clamped_delays")
    site.hosts[url.host] = read.state
    _lengthen_delay(turn)
    turn.effects.links += sitemaps
    turn.note_host(read.state)
    if read.blocked:
        if answer is not None and found.keep_s is None:  # another site speaks for itself
            turn.retry_after_s = retry_after_of(answer, turn.now.wall_at)
        site.take_urls_of(url.host)  # they stay queued until the block ends
        return None
    # plant: rules-not-committed-first
    yield from _commit_rules(turn, url.host, former)
    return read.state


def _commit_rules(turn: Turn, host: str, former: HostState | None) -> Generator[Step, Any, None]:
    """Make new rules durable before the page that they allow is asked for; a long delay at once."""
    hosts = turn.site.hosts
    try:
        yield Commit(effects=turn.take_effects(), urgent=turn.site.own_delay_s > turn.settings.pace.delay_s)
    except StepInterruptedError:
        # Perhaps they are not durable: the site's next turn asks for them again.
        del hosts[host]
        hosts.update({host: former} if former else {})
        raise


def _read(
    turn: Turn, url: QueuedUrl, found: FoundRobots, former: HostState | None
) -> Generator[Step, Any, RobotsRead | None]:
    """Return what the robots.txt that was found says; None if the page process has no time for it now.

    The page process reads a long one. One that it cannot read has failed.
    """
    parsed: ParsedRobots | ParseFailed | None = None
    if isinstance(found.answer, Fetched) and is_long_robots(found.answer):
        parsed = yield Parse(answer=found.answer, kind=RequestKind.ROBOTS)
    if isinstance(parsed, ParseFailed):
        if parsed.reason is Reason.PARSER_BUSY:
            turn.settle(url, turn.judge_unread(url, parsed))
            return None
        parsed = ParsedRobots(rules=None)
    return judge_found(
        found,
        host=url.host,
        previous=former,
        agent=turn.settings.agent,
        now_at=turn.now.wall_at,
        settings=turn.settings.robots,
        parsed=parsed,
    )


def _find(turn: Turn, page: QueuedUrl) -> Generator[Step, Any, FoundRobots | None]:
    """Look for the robots.txt of a page's host, behind at most `MAX_HOPS` redirects; None: nothing was sent."""
    url = identify(robots_url(page.host))
    own_url = url.url
    seen = [own_url]
    while True:
        keep_s = None
        if url.site == turn.site.site:
            own_url = url.url
            answer = yield from turn.ask(url.url, RequestKind.ROBOTS, page=page, finishing=len(seen) > 1)
            if isinstance(answer, Missing):
                return None
        else:
            asked: AskedElsewhere = yield AskElsewhere(url=url, tries=turn.tries(page))
            turn.now = asked.moment
            if asked.answer is None:
                return FoundRobots(own_url=own_url, moved_to=tuple(seen[1:]), wait_s=asked.wait_s)
            answer, keep_s = asked.answer, asked.keep_s
        target = robots_redirect(answer, url.url)  # plant: page-before-foreign-robots
        same_port = target is not None and target.site != turn.site.site  # within a site, http leads to https
        if target and (reason := turn.targets.refuse(target.host, by=url.host, same_port=same_port)):
            turn.count("traps", reason)
            refused = Failed(url=target.url, reason=reason, started_at=turn.now.wall_at, duration_s=0.0)
            return FoundRobots(own_url=own_url, answer=refused, moved_to=(*seen[1:], target.url), keep_s=keep_s)
        is_last = target is None or target.url in seen or len(seen) > MAX_HOPS
        if target is not None:
            seen.append(target.url)
            url = target
        if is_last:
            return FoundRobots(own_url=own_url, answer=answer, moved_to=tuple(seen[1:]), keep_s=keep_s)


def _lengthen_delay(turn: Turn) -> None:
    """Keep the longest delay that any host of the site asks for."""
    site = turn.site
    site.own_delay_s = max(site.own_delay_s, asked_delay_s(site.hosts.values()))  # plant: crawl-delay-ignored
    site.delay_s = max(turn.settings.pace.delay_s, site.own_delay_s)
