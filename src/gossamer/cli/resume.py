"""`gossamer resume`: ends a pause."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gossamer.cli.data_dir import data_dir_option
from gossamer.crawl.orders import resume

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
    click.echo(resume(folder))
