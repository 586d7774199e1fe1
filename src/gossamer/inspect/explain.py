"""Explains why a URL was fetched or not, or why a site waits: the rule that decides, and the next turn. Reads only.

The worker decides with the same functions; here they are called again, with the state of the frontier and the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gossamer.inspect.facts import (
    Terms,
    answer_of,
    awaits_robots,
    exclusion_of,
    host_facts,
    host_in_words,
    known_as,
    rules_in_words,
    scope_of,
    site_facts,
    trap_of,
    way_in_words,
)
from gossamer.inspect.linking import (
    SEARCH_S,
    Found,
    find_linking_page,
    read_linking_page,
    refusal_by_page,
    remembered_refusals,
    trap_on_page,
)
from gossamer.inspect.requests import RequestFilter, RequestLog, requests_of
from gossamer.records import Link, Reason, RequestKind, UrlStatus
from gossamer.rules.address_pace import address_delay_s
from gossamer.rules.answers import NO_HOST
from gossamer.rules.hosts import has_answered, is_fresh, rules_of
from gossamer.rules.pace import WaitCause, turn_wait, with_slowness
from gossamer.rules.robots import decide
from gossamer.rules.scope import Exclusions, Scope, target_in_words
from gossamer.rules.shares import SHARE_CAUSES
from gossamer.rules.sitemaps import names_any
from gossamer.rules.traps import strip_session
from gossamer.rules.url_patterns import UrlPatterns
from gossamer.wording import count, delay, moment, span, wait
from gossamer.worker.figures import OVER_SHARE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.frontier import FrontierReader
    from gossamer.inspect.linking import LinkingPage
    from gossamer.records import HostState, RequestRow, SiteState, UrlState
    from gossamer.rules.pace import TurnWait
    from gossamer.store.reading import Folders
    from gossamer.urls import Url

MAX_REQUESTS = 5
SLACK_S = 1.0  # a wait this much longer than the rules say has another cause
TURNED_AWAY = frozenset({429, 503})


SHARES_IN_WORDS = {
    WaitCause.PARSER_SHARE: "its pages take more processor time than its share, and others wait.",
    WaitCause.SLOT_SHARE: "it does not answer, and silent sites hold as many request slots as they may.",
    WaitCause.LINK_SHARE: "its pages have more links than its share, and others wait.",
    WaitCause.BYTE_SHARE: "its pages take more memory than its share, and others wait.",
}


class Cause(StrEnum):
    """The cause of a decision or a wait."""

    DONE = "done"
    GIVEN_UP = "given up"
    EXCLUDED = "excluded"
    TRAP = "trap"
    TARGET = "address or port"
    SESSION = "session id"
    OUT_OF_SCOPE = "out of scope"
    NOT_INCLUDED = "not included"
    NOFOLLOW = "nofollow"
    TOO_DEEP = "too deep"
    ROBOTS = "robots.txt"
    UNKNOWN = "not known"
    IDLE = "nothing to do"
    IN_HAND = "in hand"
    PAGE_LIMIT = "page limit"
    SITE_LIMIT = "pages per site"
    BLOCKED = "robots.txt unavailable"
    SILENT = "host does not answer"
    RETRY = "retry"
    RETRY_AFTER = "Retry-After"
    SUSPENDED = "suspended"
    BACK_OFF = "back-off"
    CRAWL_DELAY = "Crawl-delay"
    SITE_DELAY = "site delay"
    SLOW = "slow"
    OVER_SHARE = "over its share"
    ADDRESS = "address"
    DELAY = "delay"
    DUE = "due"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The cause, in a word and in a sentence, and what is known."""

    cause: Cause
    sentence: str
    facts: tuple[tuple[str, str], ...]  # name and text
    requests: tuple[RequestRow, ...]  # the latest, oldest first


def explain_url(
    frontier: FrontierReader,
    folders: Folders,
    url: Url,
    terms: Terms,
    linked_from: Url | None = None,
    *,
    search_s: float = SEARCH_S,
) -> Explanation:
    """Explain why a URL was fetched or not, or when it will be.

    `linked_from` is a stored page that links to it; without, one is looked for, for `search_s`.
    """
    state = frontier.find_url(url.site, url.url_hash)
    site = frontier.find_site(url.site)
    host = next((one for one in frontier.find_hosts(url.site) if one.host == url.host), None)
    requests = requests_of(folders, url.url_hash)
    excluded = exclusion_of(frontier, url, terms)
    robots = _robots(host, url, terms)
    found: Found | None = None
    if state is None:
        found = _find_linking(folders, url, terms, linked_from, search_s)
        cause, sentence = _why_unknown(frontier, url, site, excluded, robots, found, terms)
    elif state.status is UrlStatus.QUEUED:
        cause, sentence = _when(frontier, folders, state, requests, site, host, excluded, robots, terms)
    else:
        cause, sentence = _settled(state, requests, excluded, robots, site, host, terms)
    facts = [
        ("known", known_as(folders, state, requests)),
        *([("linked", _linked_in_words(found, search_s))] if found else []),
        ("excluded", excluded or "no"),
        ("scope", scope_of(site, terms)),
        ("trap", trap_of(url, terms) or "no limit refuses it"),
        ("robots", robots.text),
        *(host_facts(host, url.url) if host else []),
        *site_facts(site, terms),
    ]
    return Explanation(
        cause=cause, sentence=sentence, facts=tuple(facts), requests=tuple(requests[-MAX_REQUESTS:])
    )  # fmt: skip


def _find_linking(folders: Folders, url: Url, terms: Terms, linked_from: Url | None, search_s: float) -> Found:
    if linked_from is not None:
        return Found(read_linking_page(folders, linked_from, url, agent=terms.agent), 1, is_complete=True)
    return find_linking_page(folders, url, agent=terms.agent, search_s=search_s)


def explain_site(
    frontier: FrontierReader, folders: Folders, name: str, terms: Terms, last: Sequence[RequestRow] | None = None
) -> Explanation:
    """Explain when a site has its next turn, and why then; `last` are its last requests, if they were read before."""
    site = frontier.find_site(name)
    hosts = frontier.find_hosts(name)
    last = tuple(RequestLog(folders, RequestFilter(site=name)).last(MAX_REQUESTS)) if last is None else tuple(last)
    excluded = Exclusions.parse(frontier.exclusions())[0].find(f"https://{name}/", f"https://{name}")
    if excluded:
        cause, sentence = Cause.EXCLUDED, f"It is excluded by {excluded}: none of its URLs is requested."
    elif site is None:
        cause, sentence = Cause.UNKNOWN, "No URL of it was ever accepted. " + scope_of(site, terms)
    elif site.wait_s is None and site.owner is None and not site.spent:
        cause, sentence = Cause.IDLE, "Nothing of it is left to fetch."
    else:
        cause, sentence = _next_turn(frontier, site, hosts, last, terms)
    facts = [*site_facts(site, terms), ("scope", scope_of(site, terms))]
    facts += [("host", f"{host.host}: {host_in_words(host) or rules_in_words(host, terms)}") for host in hosts]
    return Explanation(cause=cause, sentence=sentence, facts=tuple(facts), requests=last)


# ---------------------------------------------------------------------- a URL


@dataclass(frozen=True, slots=True, kw_only=True)
class _Robots:
    """What robots.txt says about a URL."""

    text: str
    refuses: bool = False
    names: bool = False  # as a sitemap


def _robots(host: HostState | None, url: Url, terms: Terms) -> _Robots:
    if host is None:
        return _Robots(text="not requested yet: it is requested before the first page of its host")
    if not has_answered(host):
        return _Robots(text="not read yet: its host has never answered")
    if awaits_robots(host):
        return _Robots(text=rules_in_words(host, terms))
    rules = rules_of(host)
    allowed, rule = decide(rules, url.url)
    is_named = names_any(host, (url.url_hash,))
    said = f"{rule} (group {rules.group})" if rule else "no rule matches"
    stale = "" if is_fresh(host, terms.now_at) else "; stale: requested again before the next page"
    sitemap = "; names it as a sitemap" if is_named else ""
    text = f"{'allowed' if allowed else 'disallowed'}: {said}{way_in_words(rules)}{sitemap}{stale}"
    return _Robots(text=text, refuses=not allowed, names=is_named)


def _why_unknown(
    frontier: FrontierReader,
    url: Url,
    site: SiteState | None,
    excluded: str,
    robots: _Robots,
    found: Found,
    terms: Terms,
) -> tuple[Cause, str]:
    """Explain why a URL was never accepted: by the page that links to it, and by the URL itself."""
    linking = found.linking
    if linking and (refusal := refusal_by_page(linking, terms)):
        return Cause(refusal[0]), refusal[1]
    if refused := _refused_by_url(frontier, url, site, excluded, linking, terms):
        return refused
    if robots.names:
        return Cause.UNKNOWN, "It is a sitemap: with --sitemaps it is read after the next request for robots.txt."
    if linking:
        return _why_not_followed(frontier, url, linking, terms)
    if robots.refuses:
        return Cause.ROBOTS, f"It was never accepted, and would not be fetched: {robots.text}."
    deep = (
        f", or those pages are at the maximum depth ({terms.scope.max_depth})"
        if terms.scope.max_depth is not None
        else ""
    )
    return Cause.UNKNOWN, f"It was never accepted: no page that was read so far links to it{deep}."


def _refused_by_url(
    frontier: FrontierReader,
    url: Url,
    site: SiteState | None,
    excluded: str,
    linking: LinkingPage | None,
    terms: Terms,
) -> tuple[Cause, str] | None:
    """Explain which rule about a URL refuses links to it; None if none does."""
    if excluded:
        return Cause.EXCLUDED, f"It would not be fetched: it is {excluded}."
    if (linking or site is None or not site.seeded) and (
        reason := terms.scope.targets(terms.seed_ports).refuse(url.host, by=linking.page.host if linking else "")
    ):
        return Cause.TARGET, f"It would not be fetched: {target_in_words(url.host, reason)}."
    if trap := trap_of(url, terms):
        return Cause.TRAP, f"It would not be fetched: {trap}."
    if terms.traps.strip_session_ids and (stripped := strip_session(url.url)) != url.url:
        return Cause.SESSION, f"Links to it are followed without the session id: explain {stripped}."
    if terms.scope.scope is not Scope.WEB and not (site and site.seeded and frontier.in_scope([Link(*url, 1)])):
        return Cause.OUT_OF_SCOPE, f"It would not be fetched: {scope_of(site, terms, is_host_inside=False)}."
    if not UrlPatterns(terms.scope.include).admits(url):
        return Cause.NOT_INCLUDED, "It would not be fetched: no pattern of --include matches it."
    return None


def _why_not_followed(frontier: FrontierReader, url: Url, linking: LinkingPage, terms: Terms) -> tuple[Cause, str]:
    """Explain why a link that no rule about the URL refuses was not followed: a limit with a memory, or none."""
    page = linking.page.url
    if trap := trap_on_page(frontier, linking, url, terms):
        return Cause.TRAP, f"It is linked from {page}, and such links are refused as a trap: {trap}."
    if counted := remembered_refusals(frontier):
        limits = ", ".join(f"{name} ({count(times, 'link')})" for name, times in counted.items())
        return (
            Cause.TRAP,
            f"It is linked from {page}; a limit that counts earlier links must have refused it: {limits}.",
        )
    return Cause.UNKNOWN, (
        f"It is linked from {page}, and no rule of now refuses it: that page was read under other rules, its links "
        "are not queued yet, or a hook of your program refused it."
    )


def _linked_in_words(found: Found, search_s: float) -> str:
    """Return which stored page links to a URL, or how far the search for one came."""
    if found.linking:
        return f"from {found.linking.page.url}, depth {found.linking.depth}"
    pages = count(found.pages, "archived page")
    if found.is_complete:
        return f"from none of {pages}"
    return f"from none of {pages} that were read in {span(search_s)}: name one with --from"


def _settled(
    state: UrlState,
    requests: list[RequestRow],
    excluded: str,
    robots: _Robots,
    site: SiteState | None,
    host: HostState | None,
    terms: Terms,
) -> tuple[Cause, str]:
    if state.reason is None:
        when = f", last requested {moment(requests[-1].ended_at)}" if requests else ""
        is_sitemap = bool(requests) and requests[-1].kind == RequestKind.SITEMAP
        return Cause.DONE, f"It is {'a sitemap that was read' if is_sitemap else 'done'}{when}."
    why = {
        Reason.EXCLUDED: excluded or "it was excluded then, and is not any more",
        Reason.OUT_OF_SCOPE: "" if requests else scope_of(site, terms),
        Reason.PORT_REFUSED: "" if requests else "no request goes to its port, as in browsers",
        Reason.IP_HOST: "it redirects to an address instead of a name, and --allow-ip-hosts is off",
        Reason.TOO_DEEP: f"{count(state.depth, 'link')} from a seed, and --max-depth is {terms.scope.max_depth}",
        Reason.NOT_INCLUDED: "no pattern of --include matches it",
        Reason.NOINDEX: "the page or its server says so: it is not stored, and its links are followed unless it "
        "says nofollow",
        Reason.NO_SITEMAP: "a sitemap was looked for there by convention, as the robots.txt of its host names none",
        Reason.ROBOTS_DISALLOWED: robots.text,
        Reason.ROBOTS_UNREACHABLE: robots.text,
        Reason.NOT_CANONICAL: "it names another page of its site, queued in its place; if that fails, neither is kept",
    }.get(state.reason, "")
    if state.reason is Reason.BLOCKED and requests and requests[-1].blocked:
        why = f"a protection service sent a page of its own, at attempt {requests[-1].attempt}: {requests[-1].blocked}"
    if not why and requests:
        last = requests[-1]
        why = f"the last answer was {answer_of(last)}, at attempt {last.attempt}"
    elif not why and host and host.given_up is state.reason:
        why = f"its host {host_in_words(host)}"
    return Cause.GIVEN_UP, f"It was given up: {state.reason}{f' ({why})' if why else ''}."


def _when(
    frontier: FrontierReader,
    folders: Folders,
    state: UrlState,
    requests: list[RequestRow],
    site: SiteState | None,
    host: HostState | None,
    excluded: str,
    robots: _Robots,
    terms: Terms,
) -> tuple[Cause, str]:
    """Explain when a queued URL will be fetched, if it will."""
    assert site is not None, "a queued URL has a site"
    if excluded:
        return Cause.EXCLUDED, f"It is queued and will not be requested: it is {excluded}."
    if host and host.blocked_s:
        return _waits_for(host)
    if robots.refuses:
        return Cause.ROBOTS, f"It will be given up when its turn comes: {robots.text}."
    if (state.wait_s or 0.0) > (site.wait_s or 0.0) and site.owner is None and not site.spent:
        failed = f", the last time with {answer_of(requests[-1])}," if requests else ""
        again = wait(state.wait_s or 0.0)
        return Cause.RETRY, f"It failed {count(state.tries or 0, 'time')}{failed} and may be requested again {again}."
    last = RequestLog(folders, RequestFilter(site=site.site)).last(MAX_REQUESTS)
    cause, sentence = _next_turn(frontier, site, [], last, terms)
    if site.queued > 1:
        sentence += f" {count(site.queued, 'URL')} of the site are queued."
    return cause, sentence


def _waits_for(host: HostState) -> tuple[Cause, str]:
    """Explain what a queued URL of a blocked host waits for."""
    if host.given_up:
        return Cause.SILENT, f"It will be given up when its turn comes: its host {host_in_words(host)}."
    if host.silent:
        return Cause.SILENT, f"It waits for its host, which {host_in_words(host)}."
    if awaits_robots(host):
        return Cause.BLOCKED, f"It waits for the robots.txt of its host, requested again {wait(host.blocked_s)}."
    return Cause.BACK_OFF, f"It waits for its host, which {host_in_words(host)}."


# ---------------------------------------------------------------------- a site's next turn


def _next_turn(
    frontier: FrontierReader, site: SiteState, hosts: Sequence[HostState], last: Sequence[RequestRow], terms: Terms
) -> tuple[Cause, str]:
    """Explain when a site with queued URLs has its next turn, and what it waits for."""
    if site.owner is not None:
        return _in_hand(frontier, site, last, terms)
    if site.spent:
        given = f"Its site has {count(site.pages, 'page')} stored, all that --max-pages-per-site allows"
        return Cause.SITE_LIMIT, f"{given}: resume with a larger limit."
    if frontier.stats().pages_left == 0:
        return Cause.PAGE_LIMIT, "The page limit is reached: resume with a larger --max-pages."
    wait_s = site.wait_s or 0.0
    if wait_s == 0:
        return Cause.DUE, "Its site is due: the next worker with free capacity takes it."
    turn = f"Its site's next turn is {wait(wait_s)}: "
    if share := _over_share(frontier, site.site):
        return Cause.OVER_SHARE, turn + SHARES_IN_WORDS[share]
    return _ruled_turn(frontier, site, hosts, last, turn, terms)


def _ruled_turn(
    frontier: FrontierReader,
    site: SiteState,
    hosts: Sequence[HostState],
    last: Sequence[RequestRow],
    turn: str,
    terms: Terms,
) -> tuple[Cause, str]:
    """Explain which rule makes a site wait for its next turn."""
    wait_s = site.wait_s or 0.0
    ruled = turn_wait(
        terms.pace,
        delay_s=terms.site_delay_s,
        crawl_delay_s=site.own_delay_s,
        retry_after_s=None,
        failures=site.failures,
    )
    if blocked := [host for host in hosts if host.blocked_s > ruled.wait_s]:
        host = blocked[0]
        if awaits_robots(host) and not host.silent:
            return Cause.BLOCKED, turn + f"the robots.txt of {host.host} failed and is requested again then."
        return Cause.SILENT if host.silent else Cause.BACK_OFF, turn + f"{host.host} {host_in_words(host)}."
    if slow := _slowness(site, last, ruled, terms):
        return Cause.SLOW, turn + slow
    if wait_s > ruled.wait_s + SLACK_S:
        return _long_wait(frontier, last, turn, terms)
    return _paced(site, ruled, turn, terms)


def _over_share(frontier: FrontierReader, site: str) -> WaitCause | None:
    """Return which share a site took more of than its own, as far as a living worker still knows."""
    for worker in frontier.workers():
        for cause in SHARE_CAUSES:
            if not worker.gone and f"{OVER_SHARE}{cause.name.lower()}:{site}" in worker.figures:
                return cause
    return None


def _long_wait(frontier: FrontierReader, last: Sequence[RequestRow], turn: str, terms: Terms) -> tuple[Cause, str]:
    """Explain why a site waits longer than its pace demands."""
    if last and last[-1].status in TURNED_AWAY:
        return Cause.RETRY_AFTER, turn + f"it answered {last[-1].status} with a Retry-After."
    if _waiting_sites(frontier) and not (last and last[-1].reason):
        return Cause.ADDRESS, turn + _address_in_words(last, terms)
    return Cause.RETRY, turn + "all its queued URLs failed before and are tried again then."


def _in_hand(frontier: FrontierReader, site: SiteState, last: Sequence[RequestRow], terms: Terms) -> tuple[Cause, str]:
    """Explain what a site in hand waits for: its pace, or, if that would allow a turn, its address."""
    held = f"Worker {site.owner} has its site in hand"
    waiting = _waiting_sites(frontier, site.owner)
    rest_s = terms.now_at - last[-1].ended_at if last else terms.now_at
    if waiting and rest_s > max(terms.site_delay_s, site.own_delay_s) + SLACK_S:
        return Cause.ADDRESS, f"{held}: {_address_in_words(last, terms)} Of its sites, {waiting:,} wait like this."
    return Cause.IN_HAND, f"{held} and visits it at its pace."


def _waiting_sites(frontier: FrontierReader, worker: int | None = None) -> int:
    """Return how many sites wait for an address, at one worker or at all living ones."""
    found = [each for each in frontier.workers() if not each.gone and worker in (None, each.worker)]
    return sum(int(each.figures.get("address_waits", 0)) for each in found)


def _address_in_words(last: Sequence[RequestRow], terms: Terms) -> str:
    """Explain that a site waits for its address, which gets one request per delay, whatever the names."""
    addresses = [request.address for request in last if request.address]
    address = f"its address, {addresses[-1]}," if addresses else "its address"
    return (
        f"it waits for {address} which other sites share: an address gets one request per "
        f"{delay(address_delay_s(terms.pace))} (address_delay)."
    )


def _slowness(site: SiteState, last: Sequence[RequestRow], ruled: TurnWait, terms: Terms) -> str:
    """Return a sentence if the site waits because its last answer was slow; empty if it waits for another reason.

    The frontier knows the wait but not its cause. The last request shows it: how long it took, and what it asked for.
    """
    in_turns = [request for request in last if request.kind != RequestKind.ROBOTS_ELSEWHERE]
    if not in_turns or in_turns[-1].reason in NO_HOST:
        return ""
    request = in_turns[-1]
    response_s = request.ended_at - request.started_at
    slow = with_slowness(ruled, delay_s=max(terms.site_delay_s, site.own_delay_s), response_s=response_s)
    is_cause = slow.cause is WaitCause.SLOWNESS and slow.wait_s > request.wait_s
    if not is_cause or (site.wait_s or 0.0) > slow.wait_s + SLACK_S:
        return ""
    return f"its last answer took {span(response_s)}, so it is left alone for {span(slow.wait_s)}."


def _paced(site: SiteState, ruled: TurnWait, turn: str, terms: Terms) -> tuple[Cause, str]:
    """Explain which rule of pace makes a site wait between two turns."""
    failed = f"it failed {count(site.failures, 'time')} in a row and is"
    if ruled.cause is WaitCause.SUSPENDED:
        return Cause.SUSPENDED, turn + f"{failed} suspended for {delay(ruled.wait_s)}."
    if ruled.cause is WaitCause.BACKOFF:
        return Cause.BACK_OFF, turn + f"{failed} left alone for {delay(ruled.wait_s)}."
    if ruled.cause is WaitCause.CRAWL_DELAY:
        return Cause.CRAWL_DELAY, turn + f"its robots.txt asks for {delay(site.own_delay_s)} between two pages."
    if terms.site_delay_s > terms.pace.delay_s:
        return Cause.SITE_DELAY, turn + f"you gave it a delay of {delay(terms.site_delay_s)}."
    return Cause.DELAY, turn + f"the crawl's delay is {delay(terms.pace.delay_s)}."
