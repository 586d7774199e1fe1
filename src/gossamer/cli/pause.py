"""`gossamer pause`: lets a crawl begin nothing more on any machine, until `gossamer resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gossamer.cli.data_dir import data_dir_option
from gossamer.crawl.orders import pause

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
    click.echo(pause(folder))
