"""A bucket that fails in every way, a full disk and kills: in the end, the bucket has what an undisturbed crawl has.

    python -m chaos bucket                            4 crawls of 20 sites x 12 pages, each 10 kills, a minute's outage

Throughout, requests to the bucket are refused (503), cut short, slow, or done without an answer. With PostgreSQL, two
machines crawl into one bucket. After every kill of a crawl on one machine, `gossamer verify` finds every page that is
done: here, or in the bucket. During the outage the disk is full for a while. The S3 server is moto; the small disk is
mounted in a private namespace.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import gossamer
from chaos.campaign import DELAY_S, Campaign, Run, Size
from chaos.crawling import TIMEOUT_S, crawl_of, instants, is_under_way, linger
from chaos.disk import fill_for_a_while, mount, unmount
from chaos.judging import judge_log, loss
from chaos.namespaces import is_inside
from gossamer.bucket.uploading import closed_files
from tests.bucket.s3_server import BUCKET, Fault, S3Server, serving_s3
from tests.end_to_end.crawls import Crawl, environment, wait_until
from tools.environments import MissingError

if TYPE_CHECKING:
    from pathlib import Path

    from chaos.judging import Loss
    from tests.end_to_end.crawls import Start

STORE = f"s3://{BUCKET}/crawl"
FLAGS = ("--store", STORE, "--set", "part_age=1", "--set", "segment_size=1MB", "--set", "min_free_space=0")
FAULTS = (Fault.BUSY, Fault.CUT, Fault.LOST_ANSWER, Fault.SLOW)
SHARE = 0.15  # of the requests to the bucket
OUTAGE_S = {True: 60.0, False: 3.0}  # in the full form, and in a short one


def afflict(run: Run) -> None:
    """Crawl into a bucket that fails, and compare with a crawl that nothing happened to."""
    with ExitStack() as stack:
        s3 = stack.enter_context(serving_s3())
        os.environ.update(s3.environment)
        crawl = stack.enter_context(crawl_of(run))
        stack.callback(unmount, run.folder)
        machines = [crawl, *_second(run, crawl)]
        for machine in machines:
            machine.folder.mkdir()
            mount(machine.folder)
        kills = _run(run, s3, machines, stack)
        s3.fault = lambda _method, _path: None
        if len(machines) == 1:
            judge_log(run, crawl, losses=kills)
        _verify(run, *(str(machine.folder) for machine in machines), STORE)
        _verify(run, STORE)
        left = [file for machine in machines for file in closed_files(machine.folder)]
        run.check(not left, f"{len(left)} files were not uploaded")
        calm = Crawl(crawl.server, run.folder / "calm", delay_s=0.05, frontier=run.new_frontier())
        calm.finish()
        disturbed, undisturbed = _pages(STORE), _pages(str(calm.folder))
        run.check(disturbed == undisturbed, f"{len(disturbed)} pages in the bucket, {len(undisturbed)} undisturbed")
        run.facts.append(
            f"{len(disturbed)} pages, {len(s3.asked)} requests to the bucket, {s3.injected} faults in them"
        )


def _second(run: Run, crawl: Crawl) -> list[Crawl]:
    """Return a second machine of a crawl in a database."""
    if run.engine != "postgres":
        return []
    return [Crawl(crawl.server, run.folder / "data-2", delay_s=DELAY_S, frontier=crawl.frontier)]


def _run(run: Run, s3: S3Server, machines: list[Crawl], stack: ExitStack) -> list[Loss]:
    """Kill machines at random instants, let the bucket be away once, and let them finish; return what kills lost."""

    def troubled(_method: str, _path: str) -> Fault | None:
        return run.dice.choice(FAULTS) if run.dice.random() < SHARE else None

    starts: dict[int, Start] = {}
    for number, machine in enumerate(machines):
        starts[number] = stack.enter_context(machine.start(*FLAGS))
        wait_until((machine.folder / "bucket.json").exists, "the start to claim its prefix", timeout_s=TIMEOUT_S)
    s3.fault = troubled
    kills: list[Loss] = []
    moments = instants(run, machines[0], until=0.7)
    for moment, requests in enumerate(moments):
        number = run.dice.randrange(len(machines))
        if not is_under_way(machines[number], starts[number], requests):
            break
        linger(run)
        if moment == len(moments) // 2:
            _outage(run, s3, machines[number], starts[number])
            s3.fault = troubled
        starts[number].kill_group()
        kills.append(loss(machines[number], whole=True))
        s3.fault = lambda _method, _path: None  # for the reader
        if len(machines) == 1:
            _verify(run, str(machines[0].folder))
        starts[number] = stack.enter_context(machines[number].start(*FLAGS))
        wait_until(lambda: starts[number].workers() != [], "the start", timeout_s=TIMEOUT_S)  # noqa: B023
        s3.fault = troubled
    s3.fault = lambda _method, _path: run.dice.choice(FAULTS) if run.dice.random() < SHARE / 3 else None
    for start in starts.values():
        start.end(timeout_s=TIMEOUT_S)
    run.check(len(kills) >= run.size.faults / 2, f"only {len(kills)} kills")
    run.facts.append(f"{len(kills)} kills")
    return kills


def _outage(run: Run, s3: S3Server, crawl: Crawl, start: Start) -> None:
    """Let the bucket be away, and the disk be full meanwhile."""
    s3.fault = lambda _method, _path: Fault.AWAY
    until_s = time.monotonic() + OUTAGE_S[run.size.faults >= 10]
    wait_until(lambda: "stay here" in crawl.log, "the log to say so", timeout_s=TIMEOUT_S)
    fill_for_a_while(run, crawl, start, "everything")
    time.sleep(max(0.0, until_s - time.monotonic()))  # the outage is what takes this time
    run.facts.append("an outage with a full disk")


def _pages(where: str) -> dict[str, str]:
    rows = gossamer.open(where).query("select url, payload_digest from pages")
    return {row["url"]: row["payload_digest"] for row in rows}


def _verify(run: Run, *places: str | Path) -> None:
    named = [word for place in places for word in ("--data-dir", str(place))]
    command = [sys.executable, "-m", "gossamer", "verify", *named]
    said = subprocess.run(command, capture_output=True, text=True, env=environment())
    run.check(said.returncode == 0, f"verify {' '.join(map(str, places))}: {said.stdout[-800:]}{said.stderr[-400:]}")


CAMPAIGN = Campaign(
    name="bucket", about=__doc__, full=Size(runs=4, faults=10, sites=20, pages=12),
    short=Size(runs=2, faults=3, sites=8, pages=8), run=afflict, faults="kills",
)  # fmt: skip


def main(arguments: list[str]) -> None:
    """Run the campaign where it may mount disks, if there is an S3 server."""
    try:
        with serving_s3():
            pass
    except MissingError as error:
        print(f"bucket: left out, there is no S3 server ({error})")
        return
    if is_inside("bucket", arguments, "--mount"):
        CAMPAIGN.main(arguments)
