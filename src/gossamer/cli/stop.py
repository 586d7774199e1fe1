"""`gossamer stop`: shuts down the crawl in a folder, and waits until it has ended."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import click

from gossamer.commands import to_type
from gossamer.crawl.engines import change_existing
from gossamer.errors import GossamerError
from gossamer.records import CrawlState
from gossamer.supervisor.lock import crawling_pid, is_held

STOP_TIMEOUT_S = 15.0
LOOK_EVERY_S = 0.1


@click.command("stop")
@click.option(
    "--data-dir", type=click.Path(path_type=Path), default="crawl-data", show_default=True,
    envvar="GOSSAMER_DATA_DIR", help="The crawl's folder.",
)  # fmt: skip
def command(data_dir: Path) -> None:
    """Shut down a running crawl gracefully.

    Running requests are finished, which takes a few seconds. `gossamer crawl` resumes the crawl.

    \b
    Example:
      gossamer stop --data-dir crawl-data
    """
    pid = crawling_pid(data_dir)
    if pid is None:
        raise GossamerError(f"No crawl is running in {data_dir}.")
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        pass  # it has just ended
    except PermissionError:
        raise GossamerError(f"The crawl in {data_dir} (pid {pid}) is another user's: ask them to stop it.") from None
    if not _has_ended(data_dir, LOOK_EVERY_S) and not _order_stop(data_dir):
        raise GossamerError(
            f"The crawl in {data_dir} (pid {pid}) has not ended within {STOP_TIMEOUT_S:g} s: "
            f"`kill -9 {pid}` ends it at once, and the next start repairs its files."
        )
    click.echo(f"The crawl in {data_dir} is stopped. Resume it with `{to_type('crawl', folders=data_dir)}`.")


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
