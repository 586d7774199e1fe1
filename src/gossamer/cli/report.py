"""`gossamer report`: a crawl in plots, as one HTML file."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer import __version__
from gossamer.cli.data_dir import data_dir_option
from gossamer.crawl.engines import open_existing
from gossamer.crawl.folder import read_settings
from gossamer.errors import GossamerError
from gossamer.inspect.running import find_running

if TYPE_CHECKING:
    from gossamer.crawl.settings import Settings

FILE_NAME = "report.html"


@click.command("report")
@data_dir_option
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="FILE",
    help=f"Where the report goes [default: {FILE_NAME} in the crawl's folder].",
)  # fmt: skip
def command(folder: Path, output: Path | None) -> None:
    """Write a report on a crawl: one HTML file with plots, which opens without the internet.

    Throughput, outcomes, status codes, sizes, depth, languages, sites, errors, and whether every site was left alone
    for as long as the delay asks. May be made while the crawl runs, and again later.

    \b
    Example:
      gossamer report --output report.html
    """
    from gossamer.inspect.report import About, gather, render

    with open_existing(folder) as frontier:
        stats = frontier.stats()
    settings = read_settings(folder)
    about = About(
        folder=str(folder),
        delay_s=settings.pace.delay_s,
        settings=_what_matters(settings),
        stats=stats,
        made_at=time.time(),
        version=__version__,
        is_running=find_running(folder) is not None,
    )
    file = output if output is not None else folder / FILE_NAME
    write_whole(file, render(about, gather([folder], delay_s=about.delay_s)))
    click.echo(f"The report is {file} ({file.stat().st_size / 1000:,.0f} kB): open it in a browser.")


def _what_matters(settings: Settings) -> list[tuple[str, str]]:
    crawl, scope = settings.crawl, settings.scope
    limits = {"pages": crawl.max_pages, "depth": scope.max_depth, "seconds": crawl.max_duration_s}
    limited = ", ".join(f"{value:,} {name}" for name, value in limits.items() if value is not None)
    return [
        ("delay", f"{settings.pace.delay_s:g} s between two pages of a site"),
        ("scope", scope.scope.value),
        ("agent", crawl.user_agent),
        ("limits", limited or "none"),
        ("archives", "kept as WARC" if settings.store.warc else "not kept"),
    ]


def write_whole(file: Path, text: str) -> None:
    """Write a file so that whoever looks finds the old one or the new one, whole."""
    new = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        new.write_text(text, encoding="utf-8", errors="replace")
        new.replace(file)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise GossamerError(f"{file} cannot be written ({error.strerror}): name another file.") from None
