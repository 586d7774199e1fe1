"""`gossamer pause`: lets a crawl begin nothing more on any machine, until `gossamer resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gossamer.cli.data_dir import data_dir_option
from gossamer.commands import to_type
from gossamer.crawl.engines import change_existing
from gossamer.inspect.running import is_under_way
from gossamer.records import CrawlState

if TYPE_CHECKING:
    from pathlib import Path


@click.command("pause")
@data_dir_option
def command(folder: Path) -> None:
    """Pause a crawl: its workers begin nothing more.

    A running crawl obeys on all its machines within five seconds; running requests are finished. Its processes go on
    and keep their sites. The pause outlives a restart, and holds for machines that join later: only `gossamer resume`
    ends it. --max-duration goes on counting meanwhile.

    \b
    Example:
      gossamer pause --data-dir crawl-data
    """
    with change_existing(folder) as frontier:
        again = " already" if frontier.stats().is_paused else ""
        frontier.order(CrawlState.PAUSED)
        effect = "it obeys within five seconds" if is_under_way(frontier, folder) else "it is not running"
    resume = to_type("resume", folders=folder)
    click.echo(f"The crawl in {folder} is{again} paused ({effect}). `{resume}` lets it continue.")
