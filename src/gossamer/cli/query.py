"""`gossamer query`: SQL over what a crawl has stored, also while it runs."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from gossamer.cli.data_dir import data_dirs_option
from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROWS_SHOWN = 100  # of a table, unless --limit says otherwise
_WIDTH_OF_NO_TERMINAL = 160


@click.command("query")
@click.argument("sql", required=False)
@data_dirs_option
@click.option("--tables", is_flag=True, help="List the tables and what their columns mean, and nothing else.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json", "jsonl", "parquet"]),
    help="How to write the answer.  [default: table on a terminal, else csv]",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=f"At most so many rows; 0 means all.  [default: {ROWS_SHOWN} for tables, else all]",
)
def command(
    sql: str | None, folders: Sequence[Path], tables: bool, form: str | None, output: Path | None, limit: int | None
) -> None:
    """Ask a crawl's tables in SQL: pages, requests, sites, links.

    DuckDB's SQL, over everything that is stored at this moment. Reads only: no file and no setting can be changed, and
    nothing but these tables can be read. `-` reads the SQL from standard input.

    \b
    Example:
      gossamer query "select site, count(*) from pages group by 1 order by 2 desc limit 20"
      gossamer query "from pages select url, title where lang = 'de'" --format csv -o german.csv
    """
    if tables:
        click.echo("\n".join(_described()))
        return
    if not sql:
        raise GossamerError(
            'Say what to ask: gossamer query "select count(*) from pages"; --tables lists what there is.'
        )
    sql = sys.stdin.read() if sql == "-" else sql
    form = form or ("table" if output is None and sys.stdout.isatty() else "csv")
    if form == "table":
        for line in _table(folders, sql, ROWS_SHOWN if limit is None else limit):
            click.echo(line)
    elif output is not None:
        _write_file(folders, sql, output, form, limit or 0)
    elif form == "parquet":
        raise GossamerError("Parquet needs a file: add --output answer.parquet.")
    else:
        _write(folders, sql, sys.stdout.buffer, form, limit or 0)


def _write(folders: Sequence[Path], sql: str, file: BinaryIO, form: str, limit: int) -> int:
    from gossamer.inspect.query import write

    return write(folders, sql, file, form, limit=limit)


def _write_file(folders: Sequence[Path], sql: str, output: Path, form: str, limit: int) -> None:
    from gossamer.store.files import replacing

    try:
        with replacing(output) as file:
            rows = _write(folders, sql, file, form, limit)
    except OSError as error:
        raise GossamerError(f"{output} cannot be written: {error.strerror}.") from None
    click.echo(f"{rows:,} rows written to {output}.", err=True)


def _table(folders: Sequence[Path], sql: str, limit: int) -> Iterator[str]:
    from gossamer.cli.grid import grid
    from gossamer.inspect.query import look

    answer = look(folders, sql, limit=limit)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH_OF_NO_TERMINAL
    yield from grid(answer.columns, answer.rows, numeric=answer.numeric, width=width)
    if answer.more_rows:
        yield f"... {answer.more_rows:,} more rows: --limit 0 or --format csv"
    elif not answer.rows:
        yield "no rows"


def _described() -> Iterator[str]:
    from gossamer.inspect.views import sql_type, views

    for view in views():
        yield f"{view.name}: {view.meaning}"
        for column in view.columns:
            yield f"  {column.name:<17} {sql_type(column):<24} {column.meaning}"
        yield ""
