"""`gossamer status`: how a crawl stands, on one screen or as one JSON object."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from gossamer.cli.data_dir import data_dir_option
from gossamer.cli.wording import moment, plain, size, wait
from gossamer.crawl.engines import open_existing
from gossamer.inspect.status import Status, read_status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_WORKERS = 16  # shown on one screen; JSON has them all


@click.command("status")
@data_dir_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(folder: Path, as_json: bool) -> None:
    """Show how a crawl stands, running or not.

    Workers show the figures of their last heartbeat, counted since each was started.

    \b
    Example:
      gossamer status --data-dir crawl-data
    """
    with open_existing(folder) as frontier:
        status = read_status(frontier, folder)
    if as_json:
        click.echo(json.dumps(status.as_json()))
    else:
        for name, text in _lines(status):
            click.echo(f"{name:<10} {text}")


def _lines(status: Status) -> Iterator[tuple[str, str]]:
    stats, running = status.stats, status.running
    if running is None:
        yield "crawl", f"{status.folder}, not running" + (" here, but elsewhere" if status.workers else "")
    else:
        since = f" since {moment(running.started_at)}" if running.started_at else ""
        yield "crawl", f"{status.folder}, running{since}" + (f" (pid {running.pid})" if running.pid else "")
        for trouble in running.troubles:
            yield "trouble", f"{plain(trouble)}: nothing new is started meanwhile"
    yield "sites", f"{stats.sites:,} known, {stats.sites_with_work:,} with work, {stats.sites_in_hand:,} in hand"
    given_up = sum(stats.given_up.values())
    yield "URLs", f"{stats.known:,} known: {stats.queued:,} queued, {stats.done:,} done, {given_up:,} given up"
    yield (
        "pages",
        f"{stats.pages:,} stored" + ("" if stats.pages_left is None else f", {stats.pages_left:,} left of the limit"),
    )
    if stats.sites_spent:
        yield (
            "",
            f"{stats.sites_spent:,} sites have given all their pages (--max-pages-per-site); the rest of them waits",
        )
    for reason, urls in sorted(stats.given_up.items(), key=lambda item: -item[1]):
        yield "given up", f"{urls:>11,} {reason.value}"
    for trap, links in sorted(status.traps.items(), key=lambda item: -item[1]):
        yield "traps", f"{links:>11,} links refused: {trap}"
    for name, count in sorted(status.sitemaps.items()):
        yield "sitemaps", f"{count:>11,} {name.replace('_', ' ')}"
    if running is not None:
        yield "next due", "nothing waits" if stats.wait_s is None else wait(stats.wait_s)
    yield from _workers(status)
    used = {name: count for name, count in status.used_bytes.items() if count}
    largest = ", ".join(f"{name} {size(count)}" for name, count in list(used.items())[:4])
    yield "disk", f"{size(sum(used.values()))} used" + (f" ({largest})" if largest else "")
    yield "", f"{size(status.free_bytes)} free"


def _workers(status: Status) -> Iterator[tuple[str, str]]:
    if not status.workers:
        return
    yield "workers", f"{'':<14}{'pages':>9} {'requests':>9} {'received':>9} {'sites':>7} {'turns':>6} {'late by':>8}"
    for worker in status.workers[:MAX_WORKERS]:
        figures = worker.figures
        yield (
            "",
            f"{plain(worker.label)[:13]:<14}{figures.get('pages', 0):>9,.0f} {figures.get('requests', 0):>9,.0f} "
            f"{size(figures.get('bytes', 0)):>9} {figures.get('sites_in_hand', worker.sites):>7,.0f} "
            f"{figures.get('turns', 0):>6,.0f} {figures.get('max_loop_lag_s', 0) * 1000:>5,.0f} ms"
            + ("  waits: the network seems down" if figures.get("outage") else ""),
        )
    if len(status.workers) > MAX_WORKERS:
        yield "", f"and {len(status.workers) - MAX_WORKERS} more"
