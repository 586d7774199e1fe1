"""`gossamer status`: shows the state of a crawl, on one screen or as one JSON object."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from gossamer.cli.data_dir import data_dir_option
from gossamer.cli.printing import LABEL, print_facts, terminal_width
from gossamer.cli.wording import count, in_use, plain, size, wait
from gossamer.commands import to_type
from gossamer.crawl.engines import open_existing
from gossamer.crawl.folder import SETTINGS_FILE, read_settings
from gossamer.crawl.standing import heartbeat_of, silence_of, state_of
from gossamer.inspect.status import Status, read_status
from gossamer.worker.settings import WorkerSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

WIDTH = 80  # of a table, without a terminal
MAX_WORKERS = 16  # shown on one screen; JSON has them all


@click.command("status")
@data_dir_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(folder: Path, as_json: bool) -> None:
    """Show the state of a crawl, running or not.

    The figures of each worker are those of its last heartbeat, counted since that worker started.

    \b
    Example:
      gossamer status --data-dir crawl-data
    """
    with open_existing(folder) as frontier:
        worker = read_settings(folder).worker if (folder / SETTINGS_FILE).exists() else WorkerSettings()
        status = read_status(frontier, folder, heartbeat_s=worker.heartbeat_s)
    if as_json:
        click.echo(json.dumps(status.as_json()))
    else:
        print_facts(_lines(status))


def _lines(status: Status) -> Iterator[tuple[str, str]]:
    stats, running = status.stats, status.running
    yield "crawl", f"{status.folder}, {state_of(status)}"
    if stats.is_paused and not status.is_finished:
        resume = to_type("resume", folders=status.folder)
        yield "paused", f"by the operator, on all machines: nothing is begun until `{resume}`"
    for trouble in running.troubles if running else ():
        yield "trouble", f"{plain(trouble)}; nothing new is started meanwhile"
    yield from _store(status)
    yield (
        "sites",
        (
            f"{stats.sites:,} known, {stats.sites_with_work:,} with work, {stats.sites_in_hand:,} in hand, "
            f"{stats.in_trouble:,} in trouble"
        ),
    )
    yield from _address_waits(status)
    given_up = sum(stats.given_up.values())
    yield "URLs", f"{stats.known:,} known: {stats.queued:,} queued, {stats.done:,} done, {given_up:,} given up"
    limit = "" if stats.page_limit is None else f" of {stats.page_limit:,}"
    yield "pages", f"{stats.pages:,}{limit} stored, over all starts"
    if status.without_page:
        yield "", f"{status.without_page:,} done without a page: redirects, and sitemaps that were read"
    if stats.sites_spent:
        yield (
            "",
            f"{count(stats.sites_spent, 'site')} gave all pages that --max-pages-per-site allows",
        )
    yield from _counts(status)
    if running is not None:
        yield "next due", "nothing waits" if stats.wait_s is None else wait(stats.wait_s)
    yield from _workers(status)
    if status.workers:
        yield "files", in_use(max((worker.figures for worker in status.workers), key=_fullness), before="") or "unknown"
    for damage in status.damage:
        yield "damage", plain(damage)
    used = {name: bytes_ for name, bytes_ in status.used_bytes.items() if bytes_}
    largest = ", ".join(f"{name} {size(bytes_)}" for name, bytes_ in list(used.items())[:4])
    yield "disk", f"{size(sum(used.values()))} used" + (f" ({largest})" if largest else "")
    yield "", f"{size(status.free_bytes)} free on {status.disk}"


def _store(status: Status) -> Iterator[tuple[str, str]]:
    if status.store:
        yield "store", plain(status.uploads) or f"{status.store}: nothing is left to upload"


def _counts(status: Status) -> Iterator[tuple[str, str]]:
    """Tell what became of URLs, links, sites and pages, the most frequent first."""
    for reason, urls in sorted(status.stats.given_up.items(), key=lambda item: -item[1]):
        yield "given up", f"{urls:>11,} {reason.value}"
    for trap, links in sorted(status.traps.items(), key=lambda item: -item[1]):
        yield "traps", f"{links:>11,} refused: {trap}"
    for share, times in sorted(status.share_backoffs.items(), key=lambda item: -item[1]):
        yield "over share", f"{times:>11,} back-offs: {share.replace('_', ' ')}"
    for service, pages in sorted(status.block_pages.items(), key=lambda item: -item[1]):
        yield "block pages", f"{pages:>11,} of {plain(service)}"
    for name, found in sorted(status.sitemaps.items()):
        yield "sitemaps", f"{found:>11,} {name.replace('_', ' ')}"


def _address_waits(status: Status) -> Iterator[tuple[str, str]]:
    if waiting := status.address_waits:
        yield "", f"{count(waiting, 'site')} waiting for an address that others share: see address_delay"


def _workers(status: Status) -> Iterator[tuple[str, str]]:
    if not status.workers:
        return
    width = terminal_width() or WIDTH
    yield "workers", _worker_row("", "heartbeat", "pages", "requests", "received", "sites", width=width)
    for worker in status.workers[:MAX_WORKERS]:
        figures = worker.figures
        cells = (
            heartbeat_of(status, worker),
            f"{figures.get('pages', 0):,.0f}",
            f"{figures.get('requests', 0):,.0f}",
            size(figures.get("bytes", 0)),
            f"{figures.get('sites_in_hand', worker.sites):,.0f}",
        )
        yield "", _worker_row(plain(worker.label), *cells, width=width)
    if len(status.workers) > MAX_WORKERS:
        yield "", f"and {len(status.workers) - MAX_WORKERS} more"
    for sentence in silence_of(status):
        yield "", sentence


def _fullness(figures: Mapping[str, float]) -> float:
    """Return which part of its descriptors a worker uses."""
    return figures.get("descriptors", 0) / max(1, figures.get("max_descriptors", 1))


def _worker_row(label: str, heartbeat: str, *figures: str, width: int) -> str:
    """Return a line of the table, with as many figures as there is room for."""
    label = label if len(label) <= 17 else f"…{label[-16:]}"  # its end is the process
    room = (width - LABEL - 31) // 10
    return f"{label:<17} {heartbeat:>13}" + "".join(f" {figure:>9}" for figure in figures[: max(0, room)])
