"""What an operator may order a crawl to do: pause, resume, stop, exclude, readmit. Each returns a sentence.

The commands and the dashboard give their orders here, so that both do the same and say the same.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from gossamer.commands import to_type
from gossamer.crawl.engines import change_existing
from gossamer.crawl.exclusions import read_entries
from gossamer.crawl.exclusions import readmit as take_off_list
from gossamer.crawl.folder import SETTINGS_FILE, read_settings
from gossamer.errors import GossamerError
from gossamer.inspect.running import is_under_way
from gossamer.records import CrawlState
from gossamer.rules.scope import ScopeSettings
from gossamer.supervisor.lock import crawling_pid, is_held
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

STOP_TIMEOUT_S: Final = 15.0
LOOK_EVERY_S: Final = 0.1


def pause(folder: Path) -> str:
    """Let the crawl begin nothing more on any machine, until it is resumed."""
    with change_existing(folder) as frontier:
        again = " already" if frontier.stats().is_paused else ""
        frontier.order(CrawlState.PAUSED)
        effect = "it obeys within five seconds" if is_under_way(frontier, folder) else "it is not running"
    resume = to_type("resume", folders=folder)
    return f"The crawl in {folder} is{again} paused ({effect}). `{resume}` lets it continue."


def resume(folder: Path) -> str:
    """End a pause."""
    with change_existing(folder) as frontier:
        running = is_under_way(frontier, folder)
        start = to_type("crawl", folders=folder)
        if not frontier.stats().is_paused:
            advice = "it runs" if running else f"`{start}` starts it"
            raise GossamerError(f"The crawl in {folder} is not paused: {advice}.")
        frontier.order(CrawlState.RUNNING)
    effect = "continues within five seconds" if running else f"is not paused any more; `{start}` starts it"
    return f"The crawl in {folder} {effect}."


def exclude(folder: Path, texts: Sequence[str]) -> str:
    """Exclude sites, or parts of them."""
    entries = read_entries(texts)
    with change_existing(folder) as frontier:
        frontier.exclude(entries)
        running = is_under_way(frontier, folder)
    effect = "the running crawl obeys within five seconds" if running else "no crawl is running"
    return f"Excluded: {', '.join(entries)}; {effect}."


def readmit(folder: Path, texts: Sequence[str]) -> str:
    """Take entries off the list of exclusions."""
    entries = read_entries(texts)
    with change_existing(folder) as frontier:
        back = take_off_list(frontier, entries, scope_of(folder))
    more = f"; {count(back, 'URL')} queued again that had been left out" if back else ""
    return f"Readmitted: {', '.join(entries)}{more}. Links found meanwhile come back with the next start."


def scope_of(folder: Path) -> ScopeSettings:
    """Return the crawl's settings of its scope."""
    return read_settings(folder).scope if (folder / SETTINGS_FILE).exists() else ScopeSettings()


def stop(folder: Path) -> str:
    """Shut down the crawl in a folder gracefully, and wait until it has ended."""
    pid = crawling_pid(folder)
    if pid is None:
        raise GossamerError(f"No crawl is running in {folder}.")
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        pass  # it has just ended
    except PermissionError:
        raise GossamerError(f"The crawl in {folder} (pid {pid}) is another user's: ask them to stop it.") from None
    if not _has_ended(folder, LOOK_EVERY_S) and not _order_stop(folder):
        raise GossamerError(
            f"The crawl in {folder} (pid {pid}) has not ended within {STOP_TIMEOUT_S:g} s: "
            f"`kill -9 {pid}` ends it at once, and the next start repairs its files."
        )
    return f"The crawl in {folder} is stopped. Resume it with `{to_type('crawl', folders=folder)}`."


def _order_stop(folder: Path) -> bool:
    """Order workers to stop, which reaches them even if the supervisor hangs; return whether they have ended.

    A pause outlives the stop.
    """
    paused = False
    with suppress(GossamerError), change_existing(folder) as frontier:
        if frontier.lease_s is None:  # else other machines, which must continue, would stop too
            paused = frontier.stats().is_paused
            frontier.order(CrawlState.STOPPING)
    has_ended = _has_ended(folder, STOP_TIMEOUT_S)
    if paused:
        with suppress(GossamerError), change_existing(folder) as frontier:
            frontier.order(CrawlState.PAUSED)
    return has_ended


def _has_ended(folder: Path, timeout_s: float) -> bool:
    give_up_s = time.monotonic() + timeout_s
    while is_held(folder):
        if time.monotonic() >= give_up_s:
            return False
        time.sleep(LOOK_EVERY_S)
    return True
