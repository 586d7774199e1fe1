"""The store of a crawl, if it has one: checked and claimed by a start, then filled by the upload process."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gossamer.bucket import claiming
from gossamer.crawl.log import LOG_FILE
from gossamer.supervisor.uploads import UploadSetup

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gossamer.crawl.settings import Settings
    from gossamer.frontier import FrontierReader


def check_store(folder: Path, settings: Settings) -> None:
    """Refuse a store that cannot be used. A crawl that has one may find it away: it goes on without."""
    store = settings.upload.store
    if store and claiming.read_bucket_note(folder) is None:
        claiming.check_store(store)


def claim_store(folder: Path, settings: Settings, frontier: FrontierReader, warn: Callable[[str], object]) -> None:
    """Take the prefix of the store for this crawl."""
    if settings.upload.store:
        claiming.claim(settings.upload.store, folder, frontier.identity, warn)


def upload_setup(lock: int, folder: Path, settings: Settings) -> UploadSetup | None:
    """Return how the upload process is started; None if files stay in the folder."""
    if not settings.upload.store:
        return None
    return UploadSetup(
        command=[sys.executable, "-P", "-m", "gossamer.crawl.upload_process", str(folder)],
        lock=lock,
        output=folder / LOG_FILE,
        store=settings.upload.store,
    )
