"""Which of the links that a crawl finds it follows: depth, exclusions, patterns, traps, and the program's hooks.

Scope is the frontier's to judge: only the frontier knows the seeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gossamer.records import Link
from gossamer.rules.scope import FOREIGN_RANK, rank_from, select_links
from gossamer.rules.traps import content_key
from gossamer.urls import Url

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gossamer.frontier.batches import RecentLinks
    from gossamer.records import PageRow, QueuedUrl
    from gossamer.rules.scope import Exclusions, ScopeSettings
    from gossamer.rules.traps import TrapGuard
    from gossamer.rules.url_patterns import UrlPatterns
    from gossamer.turn.hooks import HookFailure, Hooks
    from gossamer.turn.state import Turn


class LinkRules(NamedTuple):
    """What decides which links are followed. A named tuple: each page makes one."""

    scope: ScopeSettings
    exclusions: Exclusions
    include: UrlPatterns
    traps: TrapGuard
    hooks: Hooks
    year: int  # the present one
    seed_ports: Collection[int]
    recent: RecentLinks | None = None  # links that may be left out; None: none may


class FollowedLinks(NamedTuple):
    """The links of a page that the crawl follows, and what came of asking."""

    links: Sequence[Link]
    hook_failures: Sequence[HookFailure]
    refused: Sequence[tuple[str, int]]  # how many, by the limits against traps, by port and by address
    known: int = 0  # how many were left out because the frontier has them


def follow_links(
    found: Sequence[Url],
    *,
    page: Url,
    rules: LinkRules,
    depth: int,
    rank: int = 0,
    hops: int = 0,
    pages: int = 0,
    counted: PageRow | None = None,
) -> FollowedLinks:
    """Return which links of a page are followed; they get this depth. `pages` counts the stored ones of its site.

    If the page is `counted`, it is one of those of its site that show something new, or nothing new.
    """
    site, via = page.site, page.url_hash
    foreign_rank = rank_from(site, "", rank)
    chosen = select_links(
        found, depth=depth - 1, max_depth=rules.scope.max_depth, exclusions=rules.exclusions, include=rules.include
    )
    chosen, closed = rules.scope.targets(rules.seed_ports).select(chosen, by=page.host)
    content = content_key(counted.text, counted.content_hash) if counted else None
    chosen, refused = rules.traps.select(
        chosen, host=page.host, site=site, pages=pages, year=rules.year, content=content
    )
    new = chosen if rules.recent is None else rules.recent.unknown_at(depth, chosen)
    # Not by keywords: they take half the time of making a link, and a page has dozens.
    links = [Link(*link, depth, rank if link.site == site else foreign_rank, False, hops, via) for link in new]
    left_out = [*refused.items(), *closed.items()]
    if not rules.hooks.judges_links:
        return FollowedLinks(links, (), left_out, len(chosen) - len(new))
    return FollowedLinks(*rules.hooks.choose(links), left_out)


def choose_links(
    turn: Turn, url: QueuedUrl, found: Sequence[Url], *, depth: int, rank: int = 0, counted: PageRow | None = None
) -> Sequence[Link]:
    """Return the links at a URL that the crawl follows; count what was refused, and note hooks that failed."""
    memories, scope = turn.memories, turn.settings.scope
    wants_all = memories.hooks.judges_links or scope.max_pages_per_site is not None
    rules = LinkRules(
        scope=scope,
        exclusions=memories.orders.exclusions,
        include=turn.settings.include,
        traps=memories.traps,
        hooks=memories.hooks,
        year=turn.year,
        seed_ports=memories.orders.seed_ports,
        recent=None if wants_all else memories.recent,
    )
    page = Url(url.url, url.url_hash, turn.site.site, url.host)
    followed = follow_links(
        found, page=page, rules=rules, depth=depth, rank=rank, pages=turn.site.pages, counted=counted
    )
    turn.effects.hook_failures += followed.hook_failures
    for reason, times in followed.refused:
        turn.count("traps", reason, times)
    turn.count("known_links", times=followed.known)
    if scope.max_pages_per_site is not None and not turn.found_own:  # only such a limit asks for it
        turn.found_own = any(link.rank < FOREIGN_RANK for link in followed.links)
    return followed.links
