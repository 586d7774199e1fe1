"""The settings by which a worker decides its turns, gathered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gossamer.politeness.sitemaps import SitemapSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gossamer.politeness.hosts import RobotsSettings
    from gossamer.politeness.keeping import KeepingSettings
    from gossamer.politeness.outage import OutageSettings
    from gossamer.politeness.pace import PaceSettings
    from gossamer.politeness.scope import ScopeSettings
    from gossamer.politeness.traps import TrapSettings
    from gossamer.politeness.url_patterns import UrlPatterns
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
