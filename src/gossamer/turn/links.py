"""Which of the links that a crawl finds it follows: depth, exclusions, patterns, traps, and the program's hooks.

Scope is the frontier's to judge: only the frontier knows the seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from gossamer.records import Link
from gossamer.rules.scope import rank_from, select_links
from gossamer.urls import Url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.records import QueuedUrl
    from gossamer.rules.scope import Exclusions
    from gossamer.rules.targets import TargetRules
    from gossamer.rules.traps import TrapGuard
    from gossamer.rules.url_patterns import UrlPatterns
    from gossamer.turn.hooks import HookFailure, Hooks
    from gossamer.turn.state import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRules:
    """What decides which links are followed."""

    max_depth: int | None
    exclusions: Exclusions
    include: UrlPatterns
    traps: TrapGuard
    hooks: Hooks
    year: int  # the present one
    targets: TargetRules


class FollowedLinks(NamedTuple):
    """The links of a page that the crawl follows, and what came of asking."""

    links: Sequence[Link]
    hook_failures: Sequence[HookFailure]
    refused: Sequence[tuple[str, int]]  # how many, by the limits against traps, by port and by address


def follow_links(
    found: Sequence[Url], *, page: Url, rules: LinkRules, depth: int, rank: int = 0, hops: int = 0, pages: int = 0
) -> FollowedLinks:
    """Return which links of a page are followed; they get this depth. `pages` counts the stored ones of its site."""
    chosen = select_links(
        found, depth=depth - 1, max_depth=rules.max_depth, exclusions=rules.exclusions, include=rules.include
    )
    chosen, closed = rules.targets.select(chosen, by=page.host)
    chosen, refused = rules.traps.select(chosen, host=page.host, site=page.site, pages=pages, year=rules.year)
    links = [Link(*link, depth, rank_from(page.site, link.site, rank), hops=hops, via=page.url_hash) for link in chosen]
    if not rules.hooks.judges_links:
        return FollowedLinks(links, (), [*refused.items(), *closed.items()])
    return FollowedLinks(*rules.hooks.choose(links), [*refused.items(), *closed.items()])


def choose_links(turn: Turn, url: QueuedUrl, found: Sequence[Url], *, depth: int, rank: int = 0) -> Sequence[Link]:
    """Return the links at a URL that the crawl follows; count what was refused, and note hooks that failed."""
    memories = turn.memories
    rules = LinkRules(
        max_depth=turn.settings.scope.max_depth,
        exclusions=memories.orders.exclusions,
        include=turn.settings.include,
        traps=memories.traps,
        hooks=memories.hooks,
        year=turn.year,
        targets=turn.settings.scope.targets,
    )
    page = Url(url.url, url.url_hash, turn.site.site, url.host)
    followed = follow_links(found, page=page, rules=rules, depth=depth, rank=rank, pages=turn.site.pages)
    turn.effects.hook_failures += followed.hook_failures
    for reason, times in followed.refused:
        turn.count("traps", reason, times)
    return followed.links
