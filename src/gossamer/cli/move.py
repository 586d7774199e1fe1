"""`gossamer move`: moves a crawl's frontier to another database, or back into the crawl's folder."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from gossamer.cli.data_dir import data_dir_option
from gossamer.cli.printing import say
from gossamer.cli.wording import count
from gossamer.commands import to_type
from gossamer.crawl.moving import move
from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from pathlib import Path

SHOW_EVERY_S = 2.0


@click.command("move")
@click.option(
    "--to", metavar="ADDRESS|sqlite",
    help="Move the frontier there: postgresql://user@host/database, or sqlite, which is a file in the crawl's folder.",
)  # fmt: skip
@click.option("--crawl-name", metavar="NAME", help="The crawl's name in that database [default: as before].")
@click.option("--delete-old", is_flag=True, help="Delete the frontiers that the crawl was moved away from.")
@data_dir_option
def command(to: str | None, crawl_name: str | None, delete_old: bool, folder: Path) -> None:
    """Move a crawl to another database: from SQLite to PostgreSQL, or back.

    Moves everything: queue, known URLs, waits, robots rules, figures, exclusions, limits. Stop the crawl first, on all
    machines. The copy is checked before the crawl switches to it. You may kill this at any time: the same command
    continues it, and --to with the present address calls it off. The old frontier then refuses all workers, and is kept
    until --delete-old. Pages, archives and tables stay where they are.

    \b
    Examples:
      gossamer move --to postgresql://crawler@db.example.org/crawls
      gossamer move --to sqlite
      gossamer move --delete-old
    """
    if to is None and not delete_old:
        raise GossamerError("Say where to: --to postgresql://user@host/database, or --to sqlite.")
    moved = move(folder, to, crawl_name, _Lines(), delete_old=delete_old)
    if to is not None:
        carried = "" if moved.urls is None else f", with {count(moved.urls, 'URL')}"
        say(f"The frontier is {moved.place}{carried}: resume the crawl with `{to_type('crawl', folders=folder)}`.")
    for kept in moved.kept:
        say(f"Kept until `{to_type('move', '--delete-old', folders=folder)}`: {kept}.")


class _Lines:
    """Prints progress every few seconds."""

    def __init__(self) -> None:
        self._shown_s = time.monotonic()

    def say(self, line: str) -> None:
        say(line)

    def show(self, done: str, urls: int, of_urls: int) -> None:
        if time.monotonic() - self._shown_s >= SHOW_EVERY_S:
            self._shown_s = time.monotonic()
            say(f"{done} {urls:,} of {count(of_urls, 'URL')}.")
