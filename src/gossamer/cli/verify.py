"""`gossamer verify`: is anything lost, is everything whole? Says so by its exit status too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from gossamer.cli.data_dir import data_dir_option
from gossamer.cli.wording import plain
from gossamer.crawl.engines import open_existing
from gossamer.inspect.verify import Check, verify

if TYPE_CHECKING:
    from pathlib import Path

PROBLEMS = 1  # exit status

_SUMMARIES = {
    "frontier": "{known:,} URLs of {sites:,} sites: {queued:,} queued, {done:,} done, {given_up:,} given up",
    "pages": "{done_pages:,} pages done; {urls:,} URLs stored, in {rows:,} rows",
    "files": "{pages:,} rows of pages, {requests:,} of requests, {records:,} archived answers",
}


@click.command("verify")
@data_dir_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(folder: Path, as_json: bool) -> None:
    """Check that nothing is lost and nothing is torn.

    Every accepted URL is queued, in hand, done, or given up with a reason; every page that is done has its row, and
    every row its intact archive record; no file is damaged. Works while a crawl goes on. The exit status is 0 if all
    is well, 1 if there are problems, 2 if the check could not be made.

    \b
    Example:
      gossamer verify --data-dir crawl-data
    """
    checks: list[Check] = []
    with open_existing(folder) as frontier:
        for checked in verify(frontier, folder):
            checks.append(checked)
            if not as_json:
                click.echo(_summary(checked))
    problems = [problem for checked in checks for problem in checked.problems]
    if as_json:
        click.echo(json.dumps(_as_json(checks, problems)))
    else:
        for problem in problems:
            click.echo(plain(problem))
        click.echo("No problems." if not problems else f"{len(problems):,} problems.")
    if problems:
        raise click.exceptions.Exit(PROBLEMS)


def _summary(checked: Check) -> str:
    counted = _SUMMARIES[checked.name].format(**checked.counts) if checked.counts else "could not be counted"
    verdict = f"{len(checked.problems)} PROBLEMS" if checked.problems else "ok"
    notes = "".join(f"\n{'':<9} note: {note}" for note in checked.notes)
    return f"{checked.name:<9} {verdict}: {counted}{notes}"


def _as_json(checks: list[Check], problems: list[str]) -> dict[str, object]:
    return {
        "ok": not problems,
        "checks": {
            checked.name: {"ok": not checked.problems, "counts": checked.counts, "notes": checked.notes}
            for checked in checks
        },
        "problems": problems,
    }
