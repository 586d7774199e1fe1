"""Kills at chosen points in the life of a page, found by their system calls: no switch in the crawler helps.

    python -m chaos points                            6 crawls of 40 sites x 30 pages, killed at every point

strace waits for a process to make the call, and kills it there. The crawl continues, and ends with exactly the pages of
an undisturbed one, each requested again only if it was under way or not yet reported.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from chaos.campaign import DELAY_S, Campaign, Run, Size
from chaos.crawling import TIMEOUT_S, crawl_of, is_under_way
from chaos.judging import Loss, judge_all, loss
from tests.end_to_end.crawls import Crawl, is_running, wait_until

if TYPE_CHECKING:
    from tests.end_to_end.crawls import Start

TRACE_S = 5.0  # until the files to watch are looked up again
KILLED = "+++ killed by SIGKILL +++"  # as strace prints
FLAGS = ("--set", "part_rows=40")  # journals become parts every few seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point in the life of a worker, or of a process that it has started."""

    name: str
    call: str
    files: str = ""  # only calls on these, in the crawl's folder
    engine: str = ""  # else of either
    ends_worker: bool = True
    most: int = 3  # the call that kills is one of this many first ones


POINTS = (
    Point(name="between claim and fetch", call="connect"),
    Point(name="between fetch and store", call="pwrite64", files="warc/*.warc.gz"),
    Point(name="in the archive's sync", call="fdatasync", files="warc/*.warc.gz"),
    Point(name="between archive and journals", call="pwrite64", files="journal/*", most=1),
    Point(name="in a journal's sync", call="fdatasync", files="journal/*", most=1),
    Point(name="between sync and completion", call="pwrite64", files="frontier.sqlite-wal", engine="sqlite"),
    Point(name="in the completion's commit", call="fdatasync", files="frontier.sqlite-wal", engine="sqlite"),
    Point(name="between sync and completion", call="sendto", engine="postgres"),
    Point(name="before a part has its name", call="rename", ends_worker=False, most=1),
    Point(name="before a part's journal is removed", call="unlink", ends_worker=False, most=1),
)


def strike(run: Run) -> None:
    """Crawl a web, killing at one point after another."""
    points = [point for point in POINTS if point.engine in ("", run.engine)]
    run.dice.shuffle(points)
    points = points[: run.size.faults]
    losses: list[Loss] = []
    struck: list[str] = []
    with crawl_of(run) as crawl, ExitStack() as starts:
        if run.engine == "sqlite":
            _kill_while_migrating(run, crawl)
        start = starts.enter_context(crawl.start(*FLAGS))
        for number, point in enumerate(points, start=1):
            if not is_under_way(crawl, start, run.size.sites * number):
                break  # some points are rare, and the crawl was over before the last
            killed = _kill_at(crawl, start, point, when=run.dice.randrange(point.most) + 1)
            if not point.ends_worker:  # the other processes die too, so that a start has to finish the work
                start.kill_group()
            losses.append(loss(crawl, whole=not point.ends_worker))
            if not point.ends_worker:
                start = starts.enter_context(crawl.start(*FLAGS))
            struck += [point.name] * killed
        start.end(timeout_s=TIMEOUT_S)
        run.check(len(struck) >= len(points) / 2, f"only {len(struck)} of {len(points)} points were met")
        run.facts.append(f"{len(struck)} kills: {', '.join(struck)}")
        judge_all(run, crawl, losses=losses)


def _kill_at(crawl: Crawl, start: Start, point: Point, *, when: int) -> bool:
    """Kill a worker, or a process that it starts, at its call number `when` of a kind; return whether it was killed.

    Files come and go: after a while without such a call, the files that exist now are traced.
    """
    while start.status is None:
        if (victims := start.workers()) and _trace(crawl, victims[0], point, when):
            return True
    return False


def _trace(crawl: Crawl, victim: int, point: Point, when: int) -> bool:
    with tempfile.NamedTemporaryFile() as told:
        command = ["strace", "-f", "-o", told.name, "-p", str(victim), "-e", f"trace={point.call}"]
        command += [f"--trace-path={path}" for path in crawl.folder.glob(point.files or "no file")]
        command += ["-e", f"inject={point.call}:signal=SIGKILL:when={when}"]
        tracer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        give_up_s = time.monotonic() + TRACE_S
        while is_running(victim) and KILLED not in Path(told.name).read_text() and time.monotonic() < give_up_s:
            time.sleep(0.05)
        tracer.kill()  # after SIGTERM it may wait for threads that only it could reap
        tracer.wait()
        return KILLED in Path(told.name).read_text()


def _kill_while_migrating(run: Run, crawl: Crawl) -> None:
    """Kill starts in the middle of making the frontier, or of bringing an older one up to date."""
    scripts = sorted(resources.files("gossamer.frontier.sqlite").joinpath("migrations").iterdir(), key=lambda f: f.name)
    older = run.dice.randrange(len(scripts))
    if older:
        crawl.folder.mkdir()
        with sqlite3.connect(crawl.folder / "frontier.sqlite") as made:
            for number, script in enumerate(scripts[:older], start=1):
                made.executescript(f"BEGIN;\n{script.read_text()}\nPRAGMA user_version = {number};\nCOMMIT;")
        made.close()
    writes = random.Random(run.seed).sample(range(1, 16), 3)
    for when in sorted(writes):
        inject = f"inject=pwrite64:signal=SIGKILL:when={when}"
        tracer = ("strace", "-f", "-o", "/dev/null", "-e", "trace=pwrite64", "-e", inject)
        doomed = Crawl(crawl.server, crawl.folder, delay_s=DELAY_S, wrapper=tracer)
        with doomed.start(*FLAGS) as start:
            wait_until(lambda start=start: start.status is not None, "a start to be killed", timeout_s=TIMEOUT_S)  # type: ignore[misc]
            run.check(start.status == -9, f"a start ended with {start.status} at write {when}")
    run.facts.append(f"killed at writes {', '.join(map(str, sorted(writes)))} of a migration from {older}")


CAMPAIGN = Campaign(
    name="points", about=__doc__, full=Size(runs=6, faults=10, sites=40, pages=30),
    short=Size(runs=1, faults=3, sites=8, pages=20), run=strike, faults="points",
)  # fmt: skip


def main(arguments: list[str]) -> None:
    """Run the campaign, if strace works."""
    if shutil.which("strace") is None or subprocess.run(["strace", "-o", "/dev/null", "true"]).returncode:
        print("points: left out, there is no strace here, or it may not trace")
    else:
        CAMPAIGN.main(arguments)
