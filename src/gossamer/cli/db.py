"""`gossamer db`: prepares a PostgreSQL database for crawls, upgrades it, and lists its crawls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from gossamer.cli.grid import grid
from gossamer.cli.printing import say
from gossamer.cli.wording import moment, plain, size
from gossamer.errors import GossamerError
from gossamer.frontier.settings import FrontierSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.frontier.postgres.administering import TableEntry

WIDTH = 120
CRAWL_COLUMNS = ("name", "state", "sites", "known", "queued", "done", "pages", "in_hand", "workers")
TABLE_COLUMNS = ("name", "rows", "dead_rows", "size", "vacuumed", "analyzed")

_frontier_option = click.option(
    "--frontier",
    "address",
    metavar="ADDRESS",
    envvar="GOSSAMER_FRONTIER",
    default="",
    help="The database: postgresql://user@host/database.",
)


@click.group("db")
def command() -> None:
    """Prepare a PostgreSQL database for crawls, upgrade it, or list its crawls.

    A crawl does not need this: its first worker creates or upgrades the schema, if the user may do so. The password
    comes from GOSSAMER_FRONTIER, PGPASSWORD or PGPASSFILE.

    \b
    Example:
      gossamer db stats --frontier postgresql://crawler@db.example.org/crawls
    """


@command.command("init")
@_frontier_option
def init(address: str) -> None:
    """Create the schema that crawls need in a database.

    \b
    Example:
      gossamer db init --frontier postgresql://crawler@db.example.org/crawls
    """
    from gossamer.frontier.postgres.administering import prepare

    done = prepare(_without_password(address))
    said = "is ready" if done.before != done.after else "was ready before"
    click.echo(f"The database {done.place} {said}: schema version {done.after}.")


@command.command("migrate")
@_frontier_option
def migrate(address: str) -> None:
    """Upgrade a database to this version of Gossamer.

    \b
    Example:
      gossamer db migrate --frontier postgresql://crawler@db.example.org/crawls
    """
    from gossamer.frontier.postgres.administering import prepare

    done = prepare(_without_password(address), is_new=False)
    click.echo(f"The database {done.place} has schema version {done.after}; before, it had {done.before}.")


@command.command("stats")
@_frontier_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def stats(address: str, as_json: bool) -> None:
    """Show the crawls in a database, and how large its tables are.

    A crawl is `finished` or `stopped` if no worker of it showed life within its lease. Its counts are exact. A number
    with `~` is an estimate of the database: dead rows, and the rows of a large table.

    \b
    Example:
      gossamer db stats --frontier postgresql://crawler@db.example.org/crawls
    """
    from gossamer.frontier.postgres.administering import look
    from gossamer.inspect.as_json import database_as_json
    from gossamer.supervisor.upkeep import LONG_S, long_transaction

    found = look(_without_password(address))
    if as_json:
        click.echo(json.dumps(database_as_json(found)))
        return
    crawls = [(*row[:2], *(f"{number:,}" for number in row[2:])) for row in found.crawls]
    for line in (*_table(CRAWL_COLUMNS, crawls, texts=2), ""):
        click.echo(line)
    for line in _table(TABLE_COLUMNS, list(map(_table_row, found.tables)), texts=1):
        click.echo(line)
    if found.oldest is not None and found.oldest.age_s >= LONG_S:
        say(long_transaction(found.oldest._replace(application=plain(found.oldest.application))))


def _table_row(table: TableEntry) -> tuple[str, ...]:
    return (
        table.name,
        f"{'' if table.rows_are_exact else '~'}{table.rows:,}",
        f"~{table.dead_rows:,}",
        size(table.bytes),
        "never" if table.vacuumed_at is None else moment(table.vacuumed_at),
        "never" if table.analyzed_at is None else moment(table.analyzed_at),
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int) -> Iterator[str]:
    """Return the lines of a table; the first `texts` columns are text, the others are numbers."""
    names = [column.replace("_", " ") for column in columns]
    numeric = [number >= texts for number in range(len(columns))]
    return grid(names, rows, numeric=numeric, width=WIDTH)


def _without_password(address: str) -> str:
    if not address:
        raise GossamerError("Name the database: --frontier postgresql://user@host/database.")
    return FrontierSettings(frontier=address).frontier
