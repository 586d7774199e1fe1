"""The option `--data-dir` of every command that reads a crawl."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

data_dir_option = click.option(
    "--data-dir",
    "folder",
    type=click.Path(path_type=Path),
    default="crawl-data",
    show_default=True,
    envvar="GOSSAMER_DATA_DIR",
    help="The crawl's folder.",
)


def data_dirs_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add the option to a command, which gets the folders that it can read: of a bucket, one for each machine."""

    @wraps(command)
    def with_folders(*arguments: Any, folders: Sequence[str], **options: Any) -> None:
        command(*arguments, folders=_readable(folders), **options)

    option = click.option(
        "--data-dir",
        "folders",
        type=_DataDir(),
        multiple=True,
        default=["crawl-data"],
        show_default=True,
        envvar="GOSSAMER_DATA_DIR",
        help="The crawl's folder, or s3://BUCKET/PREFIX; repeat it for each machine of the crawl.",
    )
    return option(with_folders)


class _DataDir(click.Path):
    """A folder, or the address of a bucket, which is no path."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Leave an address as it is."""
        return value if "://" in str(value) else super().convert(value, parameter, context)


def _readable(given: Sequence[str]) -> tuple[Path, ...]:
    if any("://" in folder or (Path(folder) / "bucket.json").exists() for folder in given):
        from gossamer.bucket.paths import readable  # few crawls have a bucket

        return tuple(readable(*given))
    return tuple(map(Path, given))
