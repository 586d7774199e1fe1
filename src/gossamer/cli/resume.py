"""`gossamer resume`: ends a pause."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gossamer.cli.data_dir import data_dir_option
from gossamer.commands import to_type
from gossamer.crawl.engines import change_existing
from gossamer.errors import GossamerError
from gossamer.inspect.running import is_under_way
from gossamer.records import CrawlState

if TYPE_CHECKING:
    from pathlib import Path


@click.command("resume")
@data_dir_option
def command(folder: Path) -> None:
    """Let a paused crawl continue, on all its machines.

    A stopped crawl is started again with `gossamer crawl`.

    \b
    Example:
      gossamer resume --data-dir crawl-data
    """
    with change_existing(folder) as frontier:
        running = is_under_way(frontier, folder)
        start = to_type("crawl", folders=folder)
        if not frontier.stats().is_paused:
            advice = "it runs" if running else f"`{start}` starts it"
            raise GossamerError(f"The crawl in {folder} is not paused: {advice}.")
        frontier.order(CrawlState.RUNNING)
    effect = "continues within five seconds" if running else f"is not paused any more; `{start}` starts it"
    click.echo(f"The crawl in {folder} {effect}.")
