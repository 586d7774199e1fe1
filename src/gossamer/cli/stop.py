"""`gossamer stop`: stops the crawl in a folder in good order, and waits until it has ended."""

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

PATIENCE_S = 15.0
LOOK_EVERY_S = 0.1


@click.command("stop")
@click.option(
    "--data-dir", type=click.Path(path_type=Path), default="crawl-data", show_default=True,
    envvar="GOSSAMER_DATA_DIR", help="The crawl's folder.",
)  # fmt: skip
def command(data_dir: Path) -> None:
    """Stop a running crawl in good order.

    Pages under way are finished, which takes a few seconds; `gossamer crawl` goes on from there.

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
    if not _has_ended(data_dir, LOOK_EVERY_S):
        with suppress(GossamerError), change_existing(data_dir) as frontier:
            if frontier.lease_s is None:  # else other machines, which go on, would hear it too
                frontier.order(CrawlState.STOPPING)  # its workers hear this even if it hangs itself
    if not _has_ended(data_dir, PATIENCE_S):
        raise GossamerError(
            f"The crawl in {data_dir} (pid {pid}) has not ended within {PATIENCE_S:g} s: "
            f"`kill -9 {pid}` ends it at once, and the next start puts everything in order."
        )
    click.echo(f"The crawl in {data_dir} is stopped. Resume it with `{to_type('crawl', folders=data_dir)}`.")


def _has_ended(folder: Path, patience_s: float) -> bool:
    give_up_s = time.monotonic() + patience_s
    while is_held(folder):
        if time.monotonic() >= give_up_s:
            return False
        time.sleep(LOOK_EVERY_S)
    return True
