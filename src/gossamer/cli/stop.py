"""`gossamer stop`: shuts down the crawl in a folder, and waits until it has ended."""

from __future__ import annotations

from pathlib import Path

import click

from gossamer.crawl.orders import stop


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
    click.echo(stop(data_dir))
