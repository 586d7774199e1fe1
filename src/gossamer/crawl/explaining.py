"""The settings of a crawl that its explanations go by."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gossamer.crawl.compose import read_exclusions
from gossamer.crawl.folder import read_settings
from gossamer.crawl.site_delays import read_own_sites, read_site_delays
from gossamer.inspect.facts import Terms

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def terms_of(folder: Path, site: str, seed_ports: frozenset[int]) -> Terms:
    """Return the settings that matter for explaining a site or its URLs, as of now."""
    return terms_by_site(folder, seed_ports)(site)


def terms_by_site(folder: Path, seed_ports: frozenset[int]) -> Callable[[str], Terms]:
    """Return a function that returns these settings for any site; the files are read once."""
    settings = read_settings(folder)
    delays, own = read_site_delays(settings.pace), read_own_sites(settings.pace)
    in_file = read_exclusions(settings.scope.exclude_file)
    now_at = time.time()

    def terms(site: str) -> Terms:
        return Terms(
            pace=settings.pace,
            scope=settings.scope,
            traps=settings.traps,
            agent=settings.crawl.agent_name,
            site_delay_s=delays.get(site, settings.pace.delay_s),
            parallel=own.parallel if site in own.names else 0,
            in_file=in_file,
            now_at=now_at,
            year=time.gmtime(now_at).tm_year,
            seed_ports=seed_ports,
        )

    return terms
