"""One crawler on a simulated web: undisturbed, and with kill -9. The server's log says what it did."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import gossamer_simweb as simweb
from compare.crawlers import AGENT, Errand, environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compare.crawlers import Crawler
    from gossamer_simweb import LoggedRequest, Verdict, WebPlan, WebServer, WebSpec

LIMIT_S = 900.0  # of one start
LOOK_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A crawl, over all its starts."""

    web: WebPlan
    log: Sequence[LoggedRequest]  # the server's
    delay_s: float
    kills: Sequence[float]  # when: seconds of CLOCK_MONOTONIC
    cpu_s: float  # of the processes that ended by themselves, and of their children
    wall_s: float

    def pages(self) -> list[str]:
        """Return the URLs of the pages that the server sent, in this order."""
        return [request.url for request in self.log if request.kind == "page" and request.status == 200]

    def judge(self) -> Verdict:
        """Return what the judge finds in the server's log."""
        wanted = simweb.expected(self.web, self.web.seeds(), token=AGENT)
        return simweb.judge(self.log, delay_s=self.delay_s, expected=wanted, kills=self.kills)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How one start of a crawler ended."""

    killed_at: float | None  # seconds of CLOCK_MONOTONIC
    cpu_s: float


def crawl(
    crawler: Crawler, spec: WebSpec, *, delay_s: float, max_pages: int | None = None, kill_after: Sequence[int] = ()
) -> Trial:
    """Crawl a web of its own to the end. `kill_after` are numbers of requests after which all its processes are killed.

    After each kill, the same command is given again at once.
    """
    began_s, kills, cpu_s = time.monotonic(), [], 0.0
    with simweb.serve(spec) as web, tempfile.TemporaryDirectory(prefix="compare-") as folder:
        command = crawler.command(Errand(web=web, folder=Path(folder), delay_s=delay_s, max_pages=max_pages))
        for requests in (*kill_after, None):
            ended = _start(command, web, requests)
            cpu_s += ended.cpu_s
            if ended.killed_at is None:
                break
            kills.append(ended.killed_at)
        return Trial(
            web=web.web, log=web.log(), delay_s=delay_s, kills=kills, cpu_s=cpu_s, wall_s=time.monotonic() - began_s
        )


def _start(command: Sequence[str], web: WebServer, kill_after: int | None) -> Ended:
    """Start a crawler and wait for its end; kill its processes once the server has answered `kill_after` requests."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment(), start_new_session=True)
    give_up_s, killed_at = time.monotonic() + LIMIT_S, None
    try:
        while True:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            if killed_at is None and kill_after is not None and web.answered() >= kill_after:
                killed_at = time.monotonic()
                os.killpg(process.pid, signal.SIGKILL)
            if time.monotonic() > give_up_s:
                raise SystemExit(f"The crawl did not end within {LIMIT_S:.0f} s: {command[0]}")
            time.sleep(LOOK_S)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.returncode and killed_at is None:
        raise SystemExit(f"The crawl failed with exit status {process.returncode}: {' '.join(command)}")
    was_killed = process.returncode == -signal.SIGKILL
    return Ended(killed_at=killed_at if was_killed else None, cpu_s=usage.ru_utime + usage.ru_stime)
