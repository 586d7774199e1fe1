"""`gossamer query`: runs SQL over what a crawl has stored, also while it runs."""

from __future__ import annotations

import shutil
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from gossamer.cli.data_dir import data_dirs_option
from gossamer.cli.wording import count
from gossamer.commands import to_type
from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

ROWS_SHOWN = 100  # by default, in a table
_WIDTH_OF_NO_TERMINAL = 160
_TO_BE_READ = ("auto", "table", "lines")


@click.command("query")
@click.argument("sql", required=False)
@data_dirs_option
@click.option("--tables", is_flag=True, help="List the tables and what their columns mean, and nothing else.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["auto", "table", "lines", "csv", "json", "jsonl", "parquet"]),
    help="How to write the rows: lines is one line per column; auto is a table, or lines if a table would cut much. "
    " [default: auto on a terminal, else csv]",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"At most N rows; 0 means all.  [default: {ROWS_SHOWN} for auto, table and lines, else all]",
)
@click.option("--spreadsheet-safe", is_flag=True, help="Quote CSV cells that a spreadsheet would run as a formula.")
def command(
    sql: str | None,
    folders: Sequence[Path],
    tables: bool,
    form: str | None,
    output: Path | None,
    limit: int | None,
    spreadsheet_safe: bool,
) -> None:
    """Query a crawl's tables with SQL: pages, requests, sites, links.

    The SQL is that of DuckDB, over everything that is stored at this moment. A query can change no file and no setting,
    and can read nothing but these tables. `-` reads the SQL from standard input.

    queue, frontier_sites and workers are copied from the frontier, which does not hold up the crawl. If one of them has
    more than a million rows, add `where site = '...'` or `limit` to the query.

    \b
    Examples:
      gossamer query "select site, count(*) from pages group by 1 limit 20"
      gossamer query "select url from pages where lang = 'de'" -o german.csv
      gossamer query "from queue where site = 'example.org' order by rank"
    """
    if tables:
        click.echo("\n".join(_described()))
        return
    sql = _read_query(sql, folders)
    form = form or ("auto" if output is None and sys.stdout.isatty() and not spreadsheet_safe else "csv")
    if spreadsheet_safe and form != "csv":
        raise GossamerError("--spreadsheet-safe is about CSV: add --format csv.")
    write = partial(_write, folders, sql, form=form, limit=limit or 0, spreadsheet_safe=spreadsheet_safe)
    if form in _TO_BE_READ:
        _show(_laid_out(folders, sql, form, ROWS_SHOWN if limit is None else limit), output)
    elif output is not None:
        _write_file(output, write)
    elif form == "parquet":
        raise GossamerError("Parquet needs a file: add --output answer.parquet.")
    else:
        write(sys.stdout.buffer)


def _read_query(sql: str | None, folders: Sequence[Path]) -> str:
    if not sql:
        example = to_type("query", "select count(*) from pages", folders=folders)
        raise GossamerError(f"Give a query: `{example}`; --tables lists the tables.")
    return sys.stdin.read() if sql == "-" else sql


def _show(lines: Iterable[str], output: Path | None) -> None:
    shown = "".join(f"{line}\n" for line in lines)
    if output is None:
        click.echo(shown, nl=False)
    else:
        from gossamer.cli.report import write_whole

        write_whole(output, shown)


def _write(folders: Sequence[Path], sql: str, file: BinaryIO, *, form: str, limit: int, spreadsheet_safe: bool) -> int:
    from gossamer.crawl.engines import open_existing
    from gossamer.inspect.query import write

    return write(
        folders, sql, file, form, limit=limit, spreadsheet_safe=spreadsheet_safe, open_frontier=open_existing
    )  # fmt: skip


def _write_file(output: Path, write: Callable[[BinaryIO], int]) -> None:
    from gossamer.store.files import replacing

    try:
        with replacing(output) as file:
            rows = write(file)
    except OSError as error:
        raise GossamerError(f"{output} cannot be written ({error.strerror}): name another file.") from None
    click.echo(f"{count(rows, 'row')} written to {output}.", err=True)


def _laid_out(folders: Sequence[Path], sql: str, form: str, limit: int) -> Iterator[str]:
    from gossamer.cli.grid import grid, is_legible, line_per_column
    from gossamer.crawl.engines import open_existing
    from gossamer.inspect.query import look

    answer = look(folders, sql, limit=limit, open_frontier=open_existing)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH_OF_NO_TERMINAL
    if form == "lines" or (form == "auto" and not is_legible(answer.columns, answer.rows, width=width)):
        yield from line_per_column(answer.columns, answer.rows)
    else:
        yield from grid(answer.columns, answer.rows, numeric=answer.numeric, width=width)
    if answer.more_rows:
        yield f"... {count(answer.more_rows, 'more row')}: --limit 0 or --format csv"
    elif not answer.rows:
        yield "no rows"


def _described() -> Iterator[str]:
    from gossamer.cli.printing import broken, terminal_width
    from gossamer.inspect.views import sql_type, views

    width = terminal_width()
    for view in views():
        yield from broken(f"{view.name}: {view.meaning}", width)
        for column in view.columns:
            indent = f"  {column.name:<17} {sql_type(column):<24} "
            yield from broken(column.meaning, width, indent=indent, hanging=" " * (len(indent) - 25))
        yield ""
