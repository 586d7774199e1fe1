"""`gossamer doctor`: checks whether this machine and the database are fit for a crawl, and says how to fix problems."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from typing import TYPE_CHECKING

import click

from gossamer.cli.data_dir import data_dir_option
from gossamer.cli.environment import environment_for_settings
from gossamer.cli.printing import broken, terminal_width
from gossamer.cli.terminal import harmless, own_sequences
from gossamer.errors import GossamerError
from gossamer.inspect.doctor import (
    Finding,
    Grade,
    judge_clock,
    judge_disk,
    judge_memory,
    judge_names,
    judge_open_files,
    judge_server,
    judge_switches,
    judge_unreachable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.crawl.settings import Settings

UNFIT = 1  # exit status: a check is bad
_MARKS = {Grade.GOOD: "ok", Grade.POOR: "poor", Grade.BAD: "BAD"}
_COLOURS = {Grade.GOOD: "green", Grade.POOR: "yellow", Grade.BAD: "red"}


@click.command("doctor")
@data_dir_option
@click.option("--frontier", metavar="ADDRESS", help="Check this database too: postgresql://user@host/database.")
@click.option("--nameserver", metavar="IP[:PORT]", help="Use this name server [default: the system's].")
@click.option("--lookup", metavar="NAME", default="example.org", show_default=True, help="The name to look up.")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Workers planned for this machine [default: one per core].",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def command(
    folder: Path, frontier: str | None, nameserver: str | None, lookup: str, workers: int | None, as_json: bool
) -> None:
    """Check whether this machine is fit for a crawl, and say how to fix problems.

    Checks the limit of open files, the disk (kind, free space, speed of syncs), memory, the clock, DNS and, with
    --frontier or for a crawl that uses one, the PostgreSQL database. Changes nothing. Exits with 1 if a check is bad.

    \b
    Example:
      gossamer doctor --data-dir crawl-data
    """
    from gossamer.crawl.folder import SETTINGS_FILE, gather_settings

    flags = {"frontier": frontier, "nameserver": nameserver, "workers": workers}
    file = folder / SETTINGS_FILE
    settings = gather_settings(
        file if file.is_file() else None,
        environment=environment_for_settings(),
        flags={name: value for name, value in flags.items() if value is not None},
    )
    findings = list(_examine(folder, settings, lookup))
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(finding) for finding in findings]))
    else:
        _print(findings)
    if any(finding.grade is Grade.BAD for finding in findings):
        raise click.exceptions.Exit(UNFIT)


def _examine(folder: Path, settings: Settings, name: str) -> Iterator[Finding]:
    from gossamer.crawl.start import count_cores
    from gossamer.inspect import machine

    workers = settings.crawl.workers or count_cores()
    yield judge_open_files(
        *machine.open_files(), in_flight=settings.fetch.in_flight, has_user_manager=machine.has_user_manager()
    )
    yield from judge_disk(
        machine.disk(folder),
        min_free_bytes=settings.store.min_free_space_bytes,
        sqlite=not settings.frontier.frontier,
    )
    yield judge_memory(machine.memory(), workers=workers)
    yield judge_clock(machine.wall_clock())
    nameserver = settings.fetch.nameserver
    yield judge_names(asyncio.run(machine.look_up(name, nameserver)), nameserver)
    if settings.frontier.frontier:
        from gossamer.frontier.postgres.administering import examine

        try:
            server = examine(settings.frontier.frontier)
        except GossamerError as error:
            yield judge_unreachable(str(error).removesuffix("."))
            return
        yield from judge_server(
            place=server.place,
            version=server.version,
            standby=server.standby,
            connections=server.connections,
            max_connections=int(server.settings["max_connections"]),
            round_trip_s=server.round_trip_s,
            ahead_s=server.ahead_s,
            workers=workers,
        )
        yield from judge_switches(server.settings)


def _print(findings: list[Finding]) -> None:
    width, hanging = terminal_width(), " " * 25
    for finding in findings:
        mark = click.style(f"{_MARKS[finding.grade]:<5}", fg=_COLOURS[finding.grade])
        first, *rest = broken(finding.found, width, indent=f"{'':<5} {finding.topic:<18} ", hanging=hanging)
        click.echo(f"{mark}{harmless(first[5:])}", file=own_sequences(sys.stdout))  # the colour is our own
        if finding.advice:
            advice = f"{finding.advice[0].upper()}{finding.advice[1:]}."
            rest += broken(advice, width, indent=hanging, hanging=hanging)
        for line in rest:
            click.echo(line)
        if finding.command:
            click.echo(f"{'':<24} $ {finding.command}")
    worst = [finding for finding in findings if finding.grade is not Grade.GOOD]
    if not worst:
        click.echo("Fit for a crawl.")
    else:
        bad = sum(finding.grade is Grade.BAD for finding in worst)
        click.echo(f"{bad} bad, {len(worst) - bad} poor, of {len(findings)} looked at.")
