"""The settings by which a worker decides its turns, gathered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gossamer.rules.sitemaps import SitemapSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gossamer.rules.hosts import RobotsSettings
    from gossamer.rules.keeping import KeepingSettings
    from gossamer.rules.outage import OutageSettings
    from gossamer.rules.pace import PaceSettings
    from gossamer.rules.scope import ScopeSettings
    from gossamer.rules.traps import TrapSettings
    from gossamer.rules.url_patterns import UrlPatterns
    from gossamer.worker.settings import WorkerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """All the settings by which turns are decided."""

    pace: PaceSettings
    site_delays_s: Mapping[str, float]  # of single sites, where the operator wants more than the delay of all
    robots: RobotsSettings
    keeping: KeepingSettings
    outage: OutageSettings
    scope: ScopeSettings
    include: UrlPatterns
    traps: TrapSettings
    sitemaps: SitemapSettings = field(default_factory=SitemapSettings)
    worker: WorkerSettings
    in_flight: int
    agent: str  # the name we go by in robots.txt
