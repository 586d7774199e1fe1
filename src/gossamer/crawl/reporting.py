"""What a report says about its crawl besides figures: where it is, its settings, and how it stands."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gossamer import __version__
from gossamer.crawl.engines import open_existing
from gossamer.crawl.folder import read_settings
from gossamer.inspect.report import About
from gossamer.inspect.running import is_under_way
from gossamer.wording import delay

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gossamer.crawl.settings import Settings


def about_crawl(folders: Sequence[Path]) -> About:
    """Return what to say about the crawl in these folders, as of now."""
    with open_existing(*folders) as frontier:
        stats = frontier.stats()
        is_running = is_under_way(frontier, *folders)
    settings = read_settings(folders[0])
    return About(
        folder=", ".join(map(str, folders)),
        delay_s=settings.pace.delay_s,
        settings=_what_matters(settings),
        stats=stats,
        made_at=time.time(),
        version=__version__,
        is_running=is_running,
    )


def _what_matters(settings: Settings) -> list[tuple[str, str]]:
    crawl, scope = settings.crawl, settings.scope
    limits = {"pages": crawl.max_pages, "depth": scope.max_depth, "seconds": crawl.max_duration_s}
    limited = ", ".join(f"{value:,} {name}" for name, value in limits.items() if value is not None)
    return [
        ("delay", f"{delay(settings.pace.delay_s)} between two pages of a site"),
        ("scope", scope.scope.value),
        ("agent", crawl.user_agent),
        ("limits", limited or "none"),
        ("archives", "kept as WARC" if settings.store.warc else "not kept"),
    ]
