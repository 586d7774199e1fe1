"""`gossamer verify`: checks that no URL is lost and no file is damaged; its exit status says the same."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.cli.data_dir import data_dirs_option
from gossamer.cli.report import write_whole
from gossamer.cli.wording import count, plain
from gossamer.commands import to_type
from gossamer.crawl.engines import open_existing, open_if_any
from gossamer.crawl.folder import SETTINGS_FILE, read_settings
from gossamer.crawl.naming import read_site
from gossamer.errors import GossamerError
from gossamer.inspect.verify import verify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.inspect.check import Check

PROBLEMS = 1  # exit status

_SUMMARIES = {
    "bucket": "{objects:object} in the bucket, {damaged} of them missing or damaged",
    "frontier": "{known:URL} of {sites:site}: {queued} queued, {done} done, {given_up} given up",
    "pages": "{done_pages:page} done; {urls:URL} stored, in {rows:row}",
    "files": "{pages:row} of pages, {requests} of requests, {records:archived answer}",
    "conduct": "{turns:turn} of {sites:site}, {violations} of them against the rules",
}


class _Count(int):
    """A number that is formatted with the noun it counts: `{sites:site}`."""

    def __format__(self, noun: str) -> str:
        return count(int(self), noun) if noun else f"{int(self):,}"


@click.command("verify")
@data_dirs_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--report", "report", metavar="[FILE]", is_flag=False, flag_value="-",
    help="Instead, write a report in Markdown, for site owners, about how the crawl treated their sites.",
)  # fmt: skip
@click.option("--site", metavar="SITE", help="Report on this site only.")
def command(folders: Sequence[Path], as_json: bool, report: str | None, site: str | None) -> None:
    """Check that no URL is lost and no file is damaged.

    Checks that every accepted URL is queued, in hand, done, or given up with a reason; that every done page has its row
    and every row its intact archive record; that no file is damaged; and that no site was visited too early or against
    its robots.txt. Works while a crawl runs. The exit status is 0 without problems, 1 with problems, and 2 if the check
    failed. A crawl on several machines has a folder on each: name all of them, or the bucket to which they upload. A
    bucket alone has no list of URLs to check.

    \b
    Examples:
      gossamer verify --data-dir crawl-data
      gossamer verify --data-dir machine-1 --data-dir machine-2
      gossamer verify --data-dir s3://bucket/prefix
      gossamer verify --report conduct.md
      gossamer verify --site example.org --report
    """
    if site is not None and report is None:
        raise GossamerError(
            f"--site belongs to --report: `{to_type('verify', '--site', site, '--report', folders=folders)}`."
        )
    if report is not None:
        _report(folders, report, None if site is None else read_site(site))
        return
    checks: list[Check] = []
    with open_if_any(folders) as frontier:
        for checked in verify(frontier, folders):
            checks.append(checked)
            if not as_json:
                click.echo(_summary(checked))
    problems = [problem for checked in checks for problem in checked.problems]
    if as_json:
        click.echo(json.dumps(_as_json(checks, problems)))
    else:
        for problem in problems:
            click.echo(plain(problem))
        click.echo("No problems." if not problems else f"{count(len(problems), 'problem')}.")
    if problems:
        raise click.exceptions.Exit(PROBLEMS)


def _report(folders: Sequence[Path], file: str, site: str | None) -> None:
    from gossamer.inspect.conduct_report import write_conduct_report

    settings = folders[0] / SETTINGS_FILE
    user_agent = read_settings(folders[0]).crawl.user_agent if settings.exists() else "Gossamer"
    with open_existing(*folders) as frontier:
        if site is not None and frontier.find_site(site) is None:
            raise GossamerError(f"The crawl in {folders[0]} knows no site {site}: name one that it has crawled.")
        text, violations = write_conduct_report(frontier, folders, user_agent=user_agent, now_at=time.time(), site=site)
    if file == "-":
        click.echo(text, nl=False)
    else:
        write_whole(Path(file), text)
        click.echo(f"The report is {file}: {count(violations, 'violation')}.")
    if violations:
        raise click.exceptions.Exit(PROBLEMS)


def _summary(checked: Check) -> str:
    counts = {name: _Count(number) for name, number in checked.counts.items()}
    counted = _SUMMARIES[checked.name].format(**counts) if counts else "nothing could be counted"
    verdict = count(len(checked.problems), "PROBLEM") if checked.problems else "ok"
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
