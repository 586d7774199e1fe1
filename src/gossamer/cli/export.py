"""`gossamer export`: writes stored pages in one of several formats."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.cli.data_dir import data_dirs_option
from gossamer.cli.terminal import own_sequences
from gossamer.cli.wording import count
from gossamer.crawl.naming import read_site
from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gossamer.inspect.export import Export, ExportProgress


@click.command("export")
@data_dirs_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv", "parquet", "txt", "warc", "wet", "cc-index", "wacz", "sqlite"]),
    default="jsonl",
    show_default=True,
    help="What to write: txt is a file per page, warc the archived records byte for byte, wet and cc-index the texts "
    "and the index of archives as Common Crawl has them, wacz an archive for ReplayWeb.page, sqlite a database with "
    "full-text search.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file; txt: below this folder.")
@click.option("--site", "sites", multiple=True, metavar="SITE", help="Only pages of this site; repeat for more.")
@click.option(
    "--since", default="", metavar="WHEN", help="Only pages fetched since 2026-01-31, or in the last 2d, 12h."
)
@click.option("--status", "statuses", multiple=True, metavar="CODE", help="Only pages of this status: 200, or 2xx.")
@click.option("--lang", "langs", multiple=True, metavar="LANG", help="Only pages in this language; de means de-AT too.")
@click.option("--where", default="", metavar="SQL", help="Only pages for which this condition holds.")
@click.option(
    "--spreadsheet-safe", is_flag=True,
    help="Quote CSV cells that a spreadsheet would run as a formula; for csv, and for the index of txt.",
)  # fmt: skip
def command(
    folders: tuple[Path, ...],
    form: str,
    output: Path | None,
    sites: tuple[str, ...],
    since: str,
    statuses: tuple[str, ...],
    langs: tuple[str, ...],
    where: str,
    spreadsheet_safe: bool,
) -> None:
    """Export stored pages as JSON lines, CSV, Parquet, SQLite, text or web archives.

    Exports the latest copy of each page. Works while a crawl runs, on the pages stored when it starts. With --output,
    the same command resumes an interrupted export, and the file gets its name when it is complete. A summary is printed
    at the end, on standard error.

    \b
    Examples:
      gossamer export --format jsonl > pages.jsonl
      gossamer export --format txt --where "length(text) > 1000" -o long
      gossamer export --format warc --site example.org --since 2d -o a.warc.gz
      gossamer export --format sqlite --lang de -o german.db
    """
    from gossamer.inspect.export import Export
    from gossamer.inspect.selection import Selection, read_since

    _check(form, output, spreadsheet_safe=spreadsheet_safe)
    selection = Selection(
        sites=tuple(map(read_site, sites)),
        since=read_since(since, time.time()) if since else None,
        statuses=statuses,
        langs=langs,
        where=where,
    )
    export = Export(folders=folders, selection=selection, form=form, output=output, since=since)
    _run(replace(export, spreadsheet_safe=spreadsheet_safe), output)


def _check(form: str, output: Path | None, *, spreadsheet_safe: bool) -> None:
    if output is None and form in ("warc", "wet") and sys.stdout.isatty():
        raise GossamerError(f"A {form.upper()} file is binary: add --output pages.warc{'.wet' * (form == 'wet')}.gz.")
    if spreadsheet_safe and form not in ("csv", "txt"):
        raise GossamerError("--spreadsheet-safe is about CSV: add --format csv.")


def _run(export: Export, output: Path | None) -> None:
    """Export, and print a summary."""
    try:
        with _bar() as tell:
            done = export.run(sys.stdout.buffer, tell)
    except BrokenPipeError:
        raise
    except OSError as error:
        what = error.filename or output or "Standard output"
        raise GossamerError(f"{what} cannot be written ({error.strerror}): name another file with --output.") from None
    except KeyboardInterrupt:
        if output is not None:
            click.echo("Interrupted; the same command resumes the export.", err=True)
        raise
    click.echo(_summary(done, output), err=True)


def _summary(done: ExportProgress, output: Path | None) -> str:
    missing = f"; without archive record: {done.without_record:,} more" if done.without_record else ""
    if done.originals:
        missing += f"; with the content of duplicates: {done.originals:,} more"
    where = f" to {output}" if output else ""
    return f"{count(done.pages, 'page')} exported{where}, of {count(done.rows_total, 'row')}{missing}."


@contextmanager
def _bar() -> Iterator[Callable[[ExportProgress], None]]:
    """Show a progress bar if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %  {task.fields[pages]}"),
        TimeRemainingColumn(),
    )
    console = Console(file=own_sequences(sys.stderr))
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task("export", total=None, pages="")
        yield lambda progress: bar.update(
            task, total=progress.rows_total, completed=progress.rows_done, pages=count(progress.pages, "page")
        )
