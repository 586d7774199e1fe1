"""`gossamer report`: writes a report about a crawl, with plots, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.cli.data_dir import data_dirs_option
from gossamer.errors import GossamerError
from gossamer.store.files import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence

FILE_NAME = "report.html"


@click.command("report")
@data_dirs_option
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
    help=f"Write the report to this file [default: {FILE_NAME} in the crawl's first folder].",
)  # fmt: skip
def command(folders: Sequence[Path], output: Path | None) -> None:
    """Write a report about a crawl: one HTML file with plots, which needs no internet.

    Shows throughput and, on the same time axis, what workers, database and machine did meanwhile; outcomes, status
    codes, sizes, depth, languages, sites, errors, and whether the delay was kept at every site. Works while the crawl
    runs.

    \b
    Example:
      gossamer report -o report.html
    """
    from gossamer.crawl.engines import has_frontier, open_existing
    from gossamer.crawl.reporting import about_crawl
    from gossamer.inspect.report import gather, render
    from gossamer.inspect.shared_history import open_sharing

    about = about_crawl(folders)
    here = next((folder for folder in folders if has_frontier([folder])), Path())
    file = output if output is not None else here / FILE_NAME
    with open_sharing(folders, open_existing) as frontier:
        text = render(about, gather(folders, delay_s=about.delay_s, frontier=frontier))
    write_whole(file, text, advice="name another file with -o, such as -o report.html")
    click.echo(f"The report is {file} ({file.stat().st_size / 1000:,.0f} kB): open it in a browser.")


def write_whole(file: Path, text: str, *, advice: str = "name another file") -> None:
    """Write a file in one step: a reader sees the old file or the new one, never a part."""
    try:
        with replacing(file) as new:
            new.write(text.encode("utf-8", "replace"))
    except FileNotFoundError:
        raise GossamerError(
            f"The folder {file.parent} does not exist: create it, or name a file in another folder."
        ) from None
    except OSError as error:
        raise GossamerError(f"{file} cannot be written ({error.strerror}): {advice}.") from None
