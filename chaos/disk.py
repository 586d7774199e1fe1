"""Disks that are full for a while: the one with archives and tables, with the log, with the database, with all of it.

    python -m chaos disk                              8 crawls of 40 sites x 40 pages, one fault each

The small disks are mounted in a private namespace. While one is full, no worker ends and no new page is requested; when
there is room again, the crawl continues by itself, and ends with exactly the pages of an undisturbed one. A full disk
under the log alone stops nothing.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from chaos.campaign import ENGINES, Campaign, Run, Size
from chaos.crawling import TIMEOUT_S, crawl_of, is_under_way, wait_for
from chaos.judging import judge_all, loss
from chaos.namespaces import is_inside
from chaos.namespaces import run as do
from tests.end_to_end.crawls import wait_until
from tests.end_to_end.test_database_faults import full, small_disk
from tests.frontier import postgres_server
from tests.frontier.postgres_server import SETTINGS, Server

if TYPE_CHECKING:
    from tests.end_to_end.crawls import Crawl, Start

KINDS = ("everything", "archives and tables", "log", "database")
STORED = ("warc", "journal", "pages", "requests", "links")
DISK_BYTES = 160 << 20
FULL_S = 8.0
BACK_S = 20.0  # from the return of room to the next request: workers look again every ten seconds
FLAGS = ("--set", "min_free_space=0")  # else the crawl would pause long before the disk is full


def fill(run: Run) -> None:
    """Crawl a web on small disks, one of which is full for a while."""
    kind = KINDS[run.seed // len(ENGINES) % len(KINDS)]  # each on each engine
    with ExitStack() as stack:
        server = _server_on_small_disk(stack) if (kind, run.engine) == ("database", "postgres") else None
        crawl = stack.enter_context(crawl_of(run, frontier=server.address if server else None))
        stack.callback(unmount, run.folder)
        crawl.folder.mkdir()
        if kind == "everything" or (kind == "database" and server is None):
            mount(crawl.folder)
        with crawl.start(*FLAGS) as start:
            wait_for(crawl, start, run.size.sites)
            start.signal(signal.SIGTERM)  # folders are exchanged while no process has a file open there
            start.end()
        losses = [loss(crawl)]  # in case the machine is too busy for a graceful shutdown
        if server is None:
            _part(crawl.folder, run.folder, kind)
        with crawl.start(*FLAGS) as start:
            assert is_under_way(crawl, start, crawl.server.answered() + run.size.sites), "it was over too soon"
            workers, full_from_s = start.workers(), time.monotonic()
            if server is None:
                fill_for_a_while(run, crawl, start, kind)
            else:
                _fill_server_for_a_while(crawl, server)
            _await_return(run, crawl, start, f"{kind}: full for {time.monotonic() - full_from_s:.0f} s")
            run.check(start.workers() == workers, "a worker ended")
            start.end(timeout_s=TIMEOUT_S)
        judge_all(run, crawl, losses=losses)


def _server_on_small_disk(stack: ExitStack) -> Server:
    folder = stack.enter_context(small_disk())
    binaries = postgres_server.binaries_of(postgres_server.versions()[-1])
    return stack.enter_context(Server(binaries, {**SETTINGS, "min_wal_size": "32MB"}, folder=folder))


def mount(folder: Path) -> None:
    """Put a small disk in the place of a folder."""
    do("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=755", "tmpfs", folder)


def unmount(folder: Path) -> None:
    """Unmount everything below a folder, the innermost first."""
    points = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for point in sorted((point for point in points if point.startswith(f"{folder}/")), reverse=True):
        do("umount", point)


def _part(folder: Path, outside: Path, kind: str) -> None:
    """Move the folders of this kind to a disk of their own; for the database, all other folders."""
    if kind == "log":
        _move(folder / "logs", outside)
    elif kind == "archives and tables":
        for name in STORED:
            (folder / name).mkdir(exist_ok=True)
        small = outside / "small"
        small.mkdir()
        mount(small)
        for name in STORED:
            shutil.copytree(folder / name, small / name)
            do("mount", "--bind", small / name, folder / name)
    elif kind == "database":
        for name in (*STORED, "logs"):
            (folder / name).mkdir(exist_ok=True)
            shutil.copytree(folder / name, outside / name)
            do("mount", "--bind", outside / name, folder / name)


def _move(folder: Path, outside: Path) -> None:
    """Give a folder a small disk of its own."""
    kept = shutil.copytree(folder, outside / f"{folder.name}-kept")
    mount(folder)
    shutil.copytree(kept, folder, dirs_exist_ok=True)


def fill_for_a_while(run: Run, crawl: Crawl, start: Start, kind: str) -> None:
    """Fill a disk, see that the crawl says so and waits, and make room again."""
    where = {"log": crawl.folder / "logs", "archives and tables": run.folder / "small"}.get(kind, crawl.folder)
    filler = where / "filler"
    give_back_s = time.monotonic() + FULL_S
    with filler.open("wb", buffering=0) as file:
        while time.monotonic() < give_back_s:
            _take_all(file.fileno())
            time.sleep(0.05)  # space that others free is taken too
        answered = crawl.server.answered()
        if kind != "log":
            wait_until(lambda: "No space left" in start.said or "full" in start.said, "the crawl to say so")
            quiet = crawl.server.answered() - answered
            run.check(quiet <= run.size.sites, f"{quiet} requests while nothing could be kept")
    filler.unlink()


def _fill_server_for_a_while(crawl: Crawl, server: Server) -> None:
    logged = len(crawl.log)
    with full(server):
        time.sleep(FULL_S)
        wait_until(lambda: bool(re.search("its disk is full|connection", crawl.log[logged:])), "the crawl to say so")


def _await_return(run: Run, crawl: Crawl, start: Start, fact: str) -> None:
    back_s = time.monotonic()
    wait_for(crawl, start, crawl.server.answered() + 1)
    took_s = time.monotonic() - back_s
    run.check(took_s < BACK_S, f"nothing was asked for {took_s:.1f} s after there was room again")
    run.facts.append(f"{fact}, asked again after {took_s:.1f} s")


def _take_all(descriptor: int) -> None:
    """Write until the disk is full."""
    for size in (1 << 20, 4096):
        try:
            while True:
                os.write(descriptor, bytes(size))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


CAMPAIGN = Campaign(
    name="disk", about=__doc__, full=Size(runs=8, faults=1, sites=40, pages=40),
    short=Size(runs=1, faults=1, sites=8, pages=30), run=fill, faults="full disks",
)  # fmt: skip


def main(arguments: list[str]) -> None:
    """Run the campaign where it may mount disks."""
    if is_inside("disk", arguments, "--mount"):
        CAMPAIGN.main(arguments)
