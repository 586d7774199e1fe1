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


def _distinct(_context: click.Context, _option: click.Parameter, folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """Count a folder once that was named twice."""
    return tuple({folder.resolve(): folder for folder in reversed(folders)}.values())[::-1]


data_dirs_option = click.option(
    "--data-dir",
    "folders",
    type=click.Path(path_type=Path),
    multiple=True,
    callback=_distinct,
    default=["crawl-data"],
    show_default=True,
    envvar="GOSSAMER_DATA_DIR",
    help="The crawl's folder; give it again for each machine that crawls along.",
)
