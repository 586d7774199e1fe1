"""What a turn goes by: the settings, and the memories that outlast it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gossamer.rules.scope import Exclusions
from gossamer.rules.shares import SiteShares
from gossamer.rules.sitemaps import SitemapQuota, SitemapSettings
from gossamer.turn.hooks import Hooks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gossamer.frontier.batches import RecentLinks
    from gossamer.rules.hosts import RobotsSettings
    from gossamer.rules.keeping import KeepingSettings
    from gossamer.rules.outage import OutageGuard
    from gossamer.rules.pace import PaceSettings
    from gossamer.rules.scope import ScopeSettings
    from gossamer.rules.traps import TrapGuard, TrapSettings
    from gossamer.rules.url_patterns import UrlPatterns


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSettings:
    """All the settings by which turns are decided."""

    pace: PaceSettings
    in_lanes: frozenset[str] = frozenset()  # sites that may have several turns at once
    site_delays_s: Mapping[str, float]  # of single sites, where the operator wants more than the delay of all
    robots: RobotsSettings
    keeping: KeepingSettings
    scope: ScopeSettings
    include: UrlPatterns
    traps: TrapSettings
    sitemaps: SitemapSettings = field(default_factory=SitemapSettings)
    agent: str  # our name in robots.txt


@dataclass(slots=True)
class OperatorOrders:
    """What the operator excludes, and the ports of the seeds, as last heard.

    The worker's membership replaces them; turns only read them.
    """

    exclusions: Exclusions = field(default_factory=Exclusions)
    sites: frozenset[str] = frozenset()  # excluded as a whole: what is queued of them stays queued
    seed_ports: frozenset[int] = frozenset()  # besides 80 and 443: links to them are followed


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnMemories:
    """What turns remember beyond their end. Each is a pure object; the comment names its owner."""

    traps: TrapGuard  # turns: which links a site invented
    sitemap_quota: SitemapQuota  # turns: how many sitemaps a host has named
    outage: OutageGuard  # the driver reports requests to it; turns ask whether a failure is our own
    orders: OperatorOrders  # the membership: exclusions
    shares: SiteShares = field(default_factory=SiteShares)  # the driver reports what sites take
    hooks: Hooks = field(default_factory=Hooks)  # the program that runs the crawl
    recent: RecentLinks | None = None  # the frontier: links that it has
