"""`gossamer log`: shows a crawl's requests and their results, one line each."""

from __future__ import annotations

import json
import time
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from gossamer.cli.data_dir import data_dirs_option
from gossamer.cli.wording import plain
from gossamer.crawl.engines import frontier_of
from gossamer.crawl.naming import read_site
from gossamer.errors import GossamerError
from gossamer.inspect.as_json import row_as_json
from gossamer.inspect.requests import RequestFilter, RequestLog, request_line
from gossamer.records import Reason, RequestKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from gossamer.records import RequestRow

POLL_S = 0.5  # as often as workers write


@click.command("log")
@data_dirs_option
@click.option("-n", "lines", type=click.IntRange(min=0), default=50, show_default=True, help="Lines to show at first.")
@click.option("-f", "--follow", is_flag=True, help="Keep printing new requests as they end; Ctrl-C stops it.")
@click.option("--errors", is_flag=True, help="Only failed requests: no answer, or a status of 400 and above.")
@click.option("--site", metavar="SITE", help="Only requests to this site.")
@click.option("--kind", type=click.Choice([kind.value for kind in RequestKind]), help="Only requests of this kind.")
@click.option("--reason", metavar="REASON", help="Only requests that failed for this reason, such as timeout.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per request.")
def command(
    folders: Sequence[Path],
    lines: int,
    follow: bool,
    errors: bool,
    site: str | None,
    kind: str | None,
    reason: str | None,
    as_json: bool,
) -> None:
    """Show the last requests, oldest first.

    Each line: when the request ended (UTC), its status or why there was no answer, the size of the body as sent, how
    long it took, and the URL.

    \b
    Examples:
      gossamer log -f --errors
      gossamer log --site example.org --reason timeout
    """
    if reason is not None and reason not in list(Reason):
        nearest = get_close_matches(reason, [one.value for one in Reason], n=1, cutoff=0)
        raise GossamerError(f"there is no reason {plain(reason)}; did you mean {nearest[0]}?")
    frontier_of(*folders)
    log = RequestLog(folders, RequestFilter(errors=errors, site=site and read_site(site), kind=kind, reason=reason))
    last = log.last(lines)
    line_of = _json_line if as_json else request_line
    _print(last, line_of)
    if not last and lines and not follow:
        click.echo("No request matches.", err=True)
    while follow:
        time.sleep(POLL_S)
        _print(log.new(), line_of)


def _print(rows: Iterable[RequestRow], line_of: Callable[[RequestRow], str]) -> None:
    for row in rows:
        click.echo(line_of(row))


def _json_line(row: RequestRow) -> str:
    return json.dumps(row_as_json(row))
