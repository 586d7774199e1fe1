"""The option `--data-dir` of every command that reads a crawl."""

from __future__ import annotations

from pathlib import Path

import click

data_dir_option = click.option(
    "--data-dir",
    "folder",
    type=click.Path(path_type=Path),
    default="crawl-data",
    show_default=True,
    envvar="GOSSAMER_DATA_DIR",
    help="The crawl's folder.",
)

data_dirs_option = click.option(
    "--data-dir",
    "folders",
    type=click.Path(path_type=Path),
    multiple=True,
    default=["crawl-data"],
    show_default=True,
    envvar="GOSSAMER_DATA_DIR",
    help="The crawl's folder; repeat it for each machine of the crawl.",
)
