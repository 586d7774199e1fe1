"""`gossamer report`: writes a report about a crawl, with plots, as one HTML file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer import __version__
from gossamer.cli.data_dir import data_dirs_option
from gossamer.cli.wording import delay
from gossamer.crawl.engines import open_existing
from gossamer.crawl.folder import read_settings
from gossamer.errors import GossamerError
from gossamer.inspect.running import is_under_way
from gossamer.store.files import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.crawl.settings import Settings

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
    from gossamer.inspect.report import About, gather, render

    with open_existing(*folders) as frontier:
        stats = frontier.stats()
        is_running = is_under_way(frontier, *folders)
    settings = read_settings(folders[0])
    about = About(
        folder=", ".join(map(str, folders)),
        delay_s=settings.pace.delay_s,
        settings=_what_matters(settings),
        stats=stats,
        made_at=time.time(),
        version=__version__,
        is_running=is_running,
    )
    file = output if output is not None else folders[0] / FILE_NAME
    text = render(about, gather(folders, delay_s=about.delay_s))
    write_whole(file, text, advice="name another file with -o, such as -o report.html")
    click.echo(f"The report is {file} ({file.stat().st_size / 1000:,.0f} kB): open it in a browser.")


def _what_matters(settings: Settings) -> list[tuple[str, str]]:
    crawl, scope = settings.crawl, settings.scope
    limits = {"pages": crawl.max_pages, "depth": scope.max_depth, "seconds": crawl.max_duration_s}
    limited = ", ".join(f"{value:,} {name}" for name, value in limits.items() if value is not None)
    return [
        ("delay", f"{delay(settings.pace.delay_s)} between two pages of a site"),
        ("scope", scope.scope.value),
        ("agent", crawl.user_agent),
        ("limits", limited or "none"),
        ("archives", "kept as WARC" if settings.store.warc else "not kept"),
    ]


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
