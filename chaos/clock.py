"""A wall clock that jumps by a day or by thirty, forward and back, while a crawl runs and between two starts.

    python -m chaos clock                             6 crawls of 40 sites x 30 pages, 4 jumps each

Only the crawl's processes, and its PostgreSQL in every other run with one, see the jumps: a small preloaded library,
compiled by the campaign, adds an offset to the system's clock. The server's log, on a clock that never jumps, shows
that no site is requested too early and none is forgotten.
"""

from __future__ import annotations

import mmap
import os
import shutil
import signal
import struct
import subprocess
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import gossamer_simweb as simweb
from chaos.campaign import DELAY_S, Campaign, Run, Size
from chaos.crawling import TIMEOUT_S, instants, linger, wait_for, web
from chaos.judging import judge_all
from tests.end_to_end.crawls import Crawl
from tests.frontier import postgres_server
from tests.frontier.postgres_server import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.end_to_end.crawls import Start

DAY_S = 86_400
JUMPS_S = (DAY_S, -DAY_S, 30 * DAY_S, -30 * DAY_S)
SOURCE = Path(__file__).with_name("wall_clock.c")
BACK_S = 60.0  # from a jump to the next request, a start on a busy machine included


class WallClock:
    """The wall clock of every process that runs with `variables` in its environment."""

    def __init__(self, folder: Path) -> None:
        library, file = folder / "wall_clock.so", folder / "offset"
        subprocess.run(["gcc", "-O2", "-Wall", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
        file.write_bytes(bytes(mmap.PAGESIZE))
        for path in (folder, library, file):  # for a PostgreSQL that runs as another user
            path.chmod(0o755)
        with file.open("r+b") as opened:
            self._page = mmap.mmap(opened.fileno(), mmap.PAGESIZE)
        self.variables = {"LD_PRELOAD": str(library), "CHAOS_CLOCK": str(file)}
        self.offset_s = 0

    def jump(self, by_s: int) -> None:
        """Move the clock."""
        self.offset_s += by_s
        self._page[:8] = struct.pack("=q", self.offset_s)

    def is_seen(self) -> bool:
        """Return whether a process with the library sees the jump."""
        said = subprocess.run(["date", "+%s"], env={**os.environ, **self.variables}, capture_output=True, check=True)
        return abs(int(said.stdout) - time.time() - self.offset_s) < 60


def jump(run: Run) -> None:
    """Crawl a web while the wall clock jumps."""
    clock = WallClock(run.folder)
    jumps: list[str] = []
    first = 2 * run.seed % len(JUMPS_S)  # every other run begins with thirty days
    by_s = [*JUMPS_S[first:], *JUMPS_S] * run.size.faults
    with (
        _frontier(run, clock) as frontier,
        simweb.serve(web(run)) as server,
        ExitStack() as starts,
    ):
        crawl = Crawl(
            server, run.folder / "data", delay_s=DELAY_S, frontier=frontier, variables=clock.variables
        )  # fmt: skip
        start = starts.enter_context(crawl.start())
        for number, requests in enumerate(instants(run, crawl, until=0.8)):
            wait_for(crawl, start, requests)
            linger(run)
            live = run.dice.random() < 0.5
            if not live:
                start.signal(signal.SIGTERM)
                start.end()
            clock.jump(by_s[number])
            run.check(clock.is_seen(), "the jump was not seen")
            if not live:
                start = starts.enter_context(crawl.start())
            jumps.append(f"{by_s[number] // DAY_S:+} days {'while it ran' if live else 'between starts'}")
            _go_on(run, crawl, start)
        start.end(timeout_s=TIMEOUT_S)
        run.facts.append(", ".join(jumps))
        judge_all(run, crawl, clock_jumps=True)


@contextmanager
def _frontier(run: Run, clock: WallClock) -> Iterator[str]:
    """Give the frontier's address; in every other run its database sees the jumps, too."""
    if run.engine == "sqlite":
        yield ""
        return
    if run.seed % 4 < 2:
        yield run.new_frontier()
        return
    run.facts.append("its database jumps, too")
    with _environment(clock.variables):
        server = Server(postgres_server.binaries_of(postgres_server.versions()[-1]))
        server.start()
    try:
        yield server.address
    finally:
        server.remove()


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]


def _go_on(run: Run, crawl: Crawl, start: Start) -> None:
    """Check that the crawl continues to request pages."""
    jumped_s = time.monotonic()
    wait_for(crawl, start, crawl.server.answered() + 1)
    took_s = time.monotonic() - jumped_s
    run.check(took_s < BACK_S, f"nothing was asked for {took_s:.1f} s after a jump")


CAMPAIGN = Campaign(
    name="clock", about=__doc__, full=Size(runs=6, faults=4, sites=40, pages=30),
    short=Size(runs=1, faults=2, sites=8, pages=12), run=jump, faults="jumps",
)  # fmt: skip


def main(arguments: list[str]) -> None:
    """Run the campaign, if there is a compiler."""
    if shutil.which("gcc") is None:
        print("clock: left out, there is no gcc here")
    else:
        CAMPAIGN.main(arguments)
