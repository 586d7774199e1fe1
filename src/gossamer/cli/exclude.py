"""`gossamer exclude`: excludes sites or parts of them from a crawl, running or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gossamer.cli.data_dir import data_dir_option
from gossamer.cli.wording import count, plain
from gossamer.crawl.compose import read_exclusions
from gossamer.crawl.engines import change_existing, open_existing
from gossamer.crawl.exclusions import give_up_queued, read_entries, stored_pages
from gossamer.crawl.orders import exclude, readmit, scope_of
from gossamer.errors import GossamerError
from gossamer.store.files import replacing

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.frontier import FrontierReader, OperatorFrontier
    from gossamer.rules.scope import Exclusions

PURGED_FILE = "purged-pages.tsv"


@click.command("exclude")
@click.argument("entries", metavar="[DOMAIN|PATTERN]...", nargs=-1)
@data_dir_option
@click.option("--remove", is_flag=True, help="Take these entries off the list; their queued URLs are fetched again.")
@click.option("--list", "list_them", is_flag=True, help="Print the list, one entry per line.")
@click.option(
    "--purge", is_flag=True,
    help=f"Give up their queued URLs for good, and list their stored pages in {PURGED_FILE} for deletion.",
)  # fmt: skip
def command(entries: tuple[str, ...], folder: Path, remove: bool, list_them: bool, purge: bool) -> None:
    """Exclude sites, or parts of them, from a crawl.

    An entry is a domain (with all names below it), *.domain (only the names below it), or the beginning of URLs. A
    running crawl obeys it on all its machines within five seconds; running requests are finished. An excluded site
    keeps its queue until --remove readmits it or --purge gives it up. URLs on an excluded host or under an excluded
    beginning leave the queue when their turn comes; --remove queues them again.

    \b
    Examples:
      gossamer exclude example.org
      gossamer exclude https://example.org/private/ '*.shop.example.org'
      gossamer exclude example.org --purge
      gossamer exclude example.org --remove
      gossamer exclude --list
    """
    if list_them == bool(entries) or (list_them and (remove or purge)) or (remove and purge):
        raise GossamerError("Name what to exclude, or to --remove or --purge, or use --list alone.")
    named = read_entries(entries)
    if list_them:
        with open_existing(folder) as reader:
            _print_list(reader, read_exclusions(scope_of(folder).exclude_file))
        return
    click.echo(readmit(folder, named) if remove else exclude(folder, named))
    if purge:
        with change_existing(folder) as frontier:
            _purge(frontier, folder, named)


def _print_list(frontier: FrontierReader, in_file: Exclusions) -> None:
    from_file = in_file.entries
    for entry in sorted(frontier.exclusions() | from_file):
        click.echo(plain(entry) + ("  (exclusion file)" if entry in from_file else ""))


def _purge(frontier: OperatorFrontier, folder: Path, entries: list[str]) -> None:
    given_up = give_up_queued(frontier, entries)
    file = folder / PURGED_FILE
    rows = 0
    try:
        with replacing(file) as lines:
            lines.write(b"url\twarc_file\twarc_offset\twarc_length\n")
            for row in stored_pages(folder, entries):
                lines.write(("\t".join(map(str, row)) + "\n").encode())
                rows += 1
    except (OSError, ValueError) as error:
        what = str(error).splitlines()[0]
        raise GossamerError(f"The pages cannot all be listed in {file} ({what}): fix that and purge again.") from None
    click.echo(f"{count(given_up, 'queued URL')} given up; {count(rows, 'stored page')} listed in {file} for deletion.")
