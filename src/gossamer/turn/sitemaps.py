"""Sitemaps in a turn: found when a host's robots.txt is read, asked for like pages, their entries queued in portions.

`docs/sitemaps.md` has the rules; `rules.sitemaps` decides which hosts a sitemap may speak for; the page process reads
the files.
"""

from __future__ import annotations

from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gossamer.records import Done, Kind, Link, ParseFailed, RequestKind, Retry, UrlState, UrlStatus
from gossamer.rules.hosts import robots_url
from gossamer.rules.sitemaps import (
    MAX_STEPS,
    guess_sitemap,
    is_same_host,
    names_any,
    on_behalf,
    sitemaps_of,
    submission_of,
)
from gossamer.turn.links import choose_links
from gossamer.turn.steps import Commit, KeepAnswer, LookUp, LookUpHosts, Missing, Parse
from gossamer.urls import Url, hash_url, host_of, identify, site_of

if TYPE_CHECKING:
    from collections.abc import Generator

    from gossamer.records import Fetched, HostState, Outcome, ParsedSitemap, QueuedUrl
    from gossamer.turn.state import Turn
    from gossamer.turn.steps import Step

PORTION_LINKS: Final = 2_000  # committed at once: more would hold the frontier for too long
CROWDED_S: Final = 60.0  # a sitemap for which there is no room comes again after this wait
MAX_FOREIGN_SITES: Final = 50  # sites whose robots.txt files are looked up for one sitemap


class _Authority(NamedTuple):
    """For which hosts a sitemap may speak."""

    behalf: str  # the host for which it is read once more; empty: for none
    root: bytes  # hash of the sitemap that led to it, or of itself
    hosts: set[str]


# ---------------------------------------------------------------------- which there are


def collect_sitemaps(
    turn: Turn, page: QueuedUrl, state: HostState, *, previous: HostState | None, is_alias: bool
) -> Generator[Step, Any, list[Link]]:
    """Return the sitemaps of a host whose robots.txt was just read, to be queued together with its rules.

    They lie as deep as links of the page for which robots.txt was read. A sitemap of another host that was read already
    was read without this host's consent: it is queued once more, on this host's behalf. So is one of another site,
    which may be read at any moment. But an alias, whose robots.txt is that of another host, has no pages to list.
    """
    depth = page.depth + 1
    if not turn.settings.sitemaps.sitemaps or state.failures or _is_too_deep(turn, depth):
        return []
    found = sitemaps_of(state)
    if not found and not is_alias and (guess := guess_sitemap(state)):
        found = [guess]
    named_before = {sitemap.url_hash for sitemap in sitemaps_of(previous)} if previous else set()
    via = hash_url(robots_url(state.host))
    links = []
    for sitemap in found:
        is_late = not is_alias and not is_same_host(sitemap.host, state.host)
        if sitemap.site != turn.site.site:
            if is_alias:
                continue
            sitemap = on_behalf(sitemap, state.host)
        elif is_late and sitemap.url_hash not in named_before and (yield from _was_read(turn, sitemap)):
            sitemap = on_behalf(sitemap, state.host)
        if _take_quota(turn, sitemap, by=state.host):
            links.append(Link(*sitemap, depth, via=via, kind=Kind.SITEMAP))
    turn.count("sitemaps", "found", len(links))
    turn.found_own = turn.found_own or bool(links)
    return links


def as_sitemap(turn: Turn, url: QueuedUrl) -> QueuedUrl:
    """Return a URL that was met as a link as a sitemap, if its host's robots.txt calls it one."""
    state = turn.site.hosts.get(url.host)
    if url.kind == Kind.SITEMAP or state is None or state.failures:
        return url
    return url._replace(kind=Kind.SITEMAP) if names_any(state, (url.url_hash,)) else url


def _take_quota(turn: Turn, sitemap: Url, *, by: str) -> bool:
    """Count a sitemap that a host names, unless it is excluded; return whether it may be queued."""
    if turn.memories.orders.exclusions.find(sitemap.url, sitemap.host):
        return False
    if reason := turn.targets.refuse(sitemap.host, by=by):
        turn.count("traps", reason)
        return False
    if turn.memories.sitemap_quota.take(sitemap):
        return True
    turn.count("sitemaps", "too_many")
    return False


def _is_too_deep(turn: Turn, depth: int) -> bool:
    max_depth = turn.settings.scope.max_depth
    return max_depth is not None and depth > max_depth


def _was_read(turn: Turn, sitemap: Url) -> Generator[Step, Any, bool]:
    """Return whether a sitemap was read before, by this worker or another."""
    yield Commit(effects=turn.take_effects())  # that it was read a moment ago may not be durable yet
    state = yield LookUp(url=sitemap)
    return isinstance(state, UrlState) and state.status is not UrlStatus.QUEUED


# ---------------------------------------------------------------------- what is in one


def read_sitemap(turn: Turn, url: QueuedUrl, answer: Fetched) -> Generator[Step, Any, Outcome]:
    """Read a sitemap that came and queue its entries; return its outcome."""
    parsed: ParsedSitemap | ParseFailed | Missing = yield Parse(answer=answer, kind=RequestKind.SITEMAP)
    if isinstance(parsed, Missing):
        return Retry(wait_s=CROWDED_S, counted=False)
    if isinstance(parsed, ParseFailed):
        turn.count("sitemaps", "unread")
        return turn.judge_unread(url, parsed)
    if parsed.archive:
        yield KeepAnswer(url=url, answer=answer, parsed=parsed)
    turn.count("sitemaps", "read")
    turn.count("sitemap_entries", "bad_url", parsed.refused)
    authority = yield from _find_authority(turn, url, parsed)
    yield from _queue_pages(turn, url, parsed, authority)
    _queue_sitemaps(turn, url, parsed, authority)
    return Done(page=False)


def _queue_pages(
    turn: Turn, url: QueuedUrl, parsed: ParsedSitemap, authority: _Authority
) -> Generator[Step, Any, None]:
    """Queue the pages in portions, each rank after the other; the sitemap is done when all of them are durable."""
    depth = max(1, url.depth)
    url = url._replace(url_hash=hash_url(url.url))  # the pages are found on this, on whatever behalf it is read
    for rank, ranked in groupby(zip(parsed.ranks, parsed.urls, strict=True), itemgetter(0)):
        while portion := [identify(page) for _, page in islice(ranked, PORTION_LINKS)]:
            ours = [page for page in portion if page.host in authority.hosts]
            links = choose_links(turn, url, ours, depth=depth, rank=rank)
            turn.count("sitemap_entries", "foreign_host", len(portion) - len(ours))
            turn.count("sitemap_entries", "not_wanted", len(ours) - len(links))
            turn.count("sitemap_entries", "accepted", len(links))
            turn.effects.links += links
            if len(turn.effects.links) >= PORTION_LINKS:  # plant: sitemap-in-one-portion
                yield Commit(effects=turn.take_effects())


def _queue_sitemaps(turn: Turn, url: QueuedUrl, parsed: ParsedSitemap, authority: _Authority) -> None:
    """Queue the sitemaps that an index names, of its own site, unless too many indexes stand behind each other."""
    found = [] if url.hops >= MAX_STEPS else [identify(sitemap) for sitemap in parsed.sitemaps]
    ours = [sitemap for sitemap in found if sitemap.site == turn.site.site]
    turn.count("sitemaps", "refused", len(parsed.sitemaps) - len(ours))
    if authority.behalf:
        ours = [on_behalf(sitemap, authority.behalf) for sitemap in ours]
    ours = [sitemap for sitemap in ours if _take_quota(turn, sitemap, by=url.host)]
    turn.count("sitemaps", "found", len(ours))
    depth, hops = max(1, url.depth), url.hops + 1
    turn.effects.links += [Link(*sitemap, depth, hops=hops, via=authority.root, kind=Kind.SITEMAP) for sitemap in ours]


# ---------------------------------------------------------------------- for whom it speaks


def _find_authority(turn: Turn, url: QueuedUrl, parsed: ParsedSitemap) -> Generator[Step, Any, _Authority]:
    """Find out for which hosts a sitemap may speak, of those whose pages it lists."""
    asked, behalf = submission_of(turn.queued.url)
    root = hash_url(asked)
    if turn.queued.hops:  # an index led here, and that is what a robots.txt would name
        root = yield from _find_root(turn, root)
    names = {root, hash_url(asked), hash_url(url.url)}
    listed = {host_of(page) for page in parsed.urls}
    hosts = {host for host in listed if is_same_host(host, url.host) or host == behalf}
    foreign: dict[str, set[str]] = {}
    for host in listed - hosts:
        foreign.setdefault(site_of(f"{host}/"), set()).add(host)
    for site, theirs in islice(sorted(foreign.items()), MAX_FOREIGN_SITES):
        own = turn.site.hosts if site == turn.site.site else {}
        known: list[HostState] = yield LookUpHosts(site=site)
        states = [*own.values(), *(state for state in known if state.host not in own)]
        hosts |= {state.host for state in states if state.host in theirs and names_any(state, names)}
    return _Authority(behalf, root, hosts)


def _find_root(turn: Turn, url_hash: bytes) -> Generator[Step, Any, bytes]:
    """Return the hash of the sitemap that led to this one, as far as the frontier knows."""
    queued = turn.queued
    state = yield LookUp(url=Url(queued.url, queued.url_hash, turn.site.site, queued.host))
    return state.via if isinstance(state, UrlState) and state.via is not None else url_hash
