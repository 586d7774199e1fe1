"""`gossamer db`: prepares a PostgreSQL database for crawls, upgrades it, and lists its crawls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gossamer.cli.grid import grid
from gossamer.errors import GossamerError
from gossamer.frontier.settings import FrontierSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WIDTH = 120

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
    from gossamer.frontier.postgres.administering import look, prepare

    look(_without_password(address))  # refuses a database without our schema
    done = prepare(address)
    click.echo(f"The database {done.place} has schema version {done.after}; before, it had {done.before}.")


@command.command("stats")
@_frontier_option
def stats(address: str) -> None:
    """Show the crawls in a database, and how large its tables are.

    \b
    Example:
      gossamer db stats --frontier postgresql://crawler@db.example.org/crawls
    """
    from gossamer.frontier.postgres.administering import look

    found = look(_without_password(address))
    for line in (*_table(("name", "state", "sites", "known", "done", "in_hand", "workers"), found.crawls), ""):
        click.echo(line)
    for line in _table(("name", "rows", "bytes"), found.tables):
        click.echo(line)


def _table(columns: Sequence[str], rows: Sequence[Any]) -> Iterator[str]:
    cells = [[getattr(row, column) for column in columns] for row in rows]
    shown = [[f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in cells]
    names = [column.replace("_", " ") for column in columns]
    return grid(names, shown, numeric=[column not in ("name", "state") for column in columns], width=WIDTH)


def _without_password(address: str) -> str:
    if not address:
        raise GossamerError("Name the database: --frontier postgresql://user@host/database.")
    return FrontierSettings(frontier=address).frontier
