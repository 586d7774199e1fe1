"""`gossamer explain`: says why a URL was fetched or not, or when a site is visited next, and which rule decides."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from gossamer.cli.data_dir import data_dirs_option
from gossamer.cli.printing import print_facts, say
from gossamer.cli.wording import plain
from gossamer.commands import to_type
from gossamer.crawl.engines import open_existing
from gossamer.crawl.explaining import terms_of
from gossamer.crawl.naming import read_url
from gossamer.inspect.as_json import explanation_as_json
from gossamer.inspect.explain import explain_site, explain_url
from gossamer.inspect.requests import request_line
from gossamer.inspect.running import is_under_way

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@click.command("explain")
@click.argument("what", metavar="URL|SITE")
@data_dirs_option
@click.option("--from", "source", metavar="URL", help="A stored page that links to the URL.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(what: str, folders: Sequence[Path], source: str | None, as_json: bool) -> None:
    """Say why a URL was fetched or not, or when a site is visited next.

    Names the rule that decides: an exclusion, the scope, a limit against traps, the line of robots.txt, or what makes
    the next turn wait. A URL has a scheme or a path; a bare name means its site. Works while a crawl runs.

    For a URL that was never queued, it looks for a stored page that links there, for at most 5 seconds, and says why
    that link was not followed. --from names such a page.

    \b
    Examples:
      gossamer explain https://example.org/private/
      gossamer explain example.org
    """
    is_site = "/" not in what
    named = read_url(what)
    with open_existing(*folders) as frontier:
        terms = terms_of(folders[0], named.site, frontier.seed_ports())
        found = explain_site(frontier, folders, named.site, terms) if is_site else explain_url(
            frontier, folders, named, terms, read_url(source) if source else None
        )  # fmt: skip
        under_way, paused = is_under_way(frontier, *folders), frontier.stats().is_paused
    if as_json:
        said = explanation_as_json(found, named, is_site=is_site, is_running=under_way, is_paused=paused)
        click.echo(json.dumps(said))
        return
    click.echo(named.site if is_site else named.url)
    say(f"{found.cause}: {plain(found.sentence)}")
    print_facts(((name, plain(text)) for name, text in found.facts), label=10, indent="  ")
    print_facts((("request", request_line(row)) for row in found.requests), label=10, indent="  ")
    if not under_way:
        click.echo("  The crawl is not running: waiting URLs wait until it is resumed.")
    if paused:
        resume = to_type("resume", folders=folders[0])
        click.echo(f"  The operator paused the crawl: no turn begins until `{resume}`.")
