"""What a report says about its crawl besides figures: where it is, its settings, and how it stands."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gossamer import __version__
from gossamer.bucket.paths import is_remote_folder
from gossamer.crawl.engines import has_frontier, open_existing
from gossamer.crawl.folder import read_settings
from gossamer.inspect.delays import read_all_delays
from gossamer.inspect.report import About
from gossamer.inspect.running import is_under_way
from gossamer.wording import delay

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gossamer.crawl.settings import Settings


def about_crawl(folders: Sequence[Path]) -> About:
    """Return what to say about the crawl in these folders, as of now."""
    if not has_frontier(folders):
        return _about_bucket(folders)
    with open_existing(*folders) as frontier:
        stats = frontier.stats()
        is_running = is_under_way(frontier, *folders)
    settings = read_settings(next(folder for folder in folders if not is_remote_folder(folder)))
    return About(
        folder=", ".join(map(str, folders)),
        delay_s=settings.pace.delay_s,
        settings=_what_matters(settings),
        stats=stats,
        made_at=time.time(),
        version=__version__,
        is_running=is_running,
    )


def _about_bucket(folders: Sequence[Path]) -> About:
    """Return what a bucket alone tells about its crawl."""
    delays = read_all_delays(folders)
    delay_s = delays[-1][1] if delays else 0.0
    return About(
        folder=", ".join(map(str, folders)),
        delay_s=delay_s,
        settings=[("delay", f"{delay(delay_s)} between two pages of a site")],
        stats=None,
        made_at=time.time(),
        version=__version__,
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
