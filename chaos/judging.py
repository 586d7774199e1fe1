"""Judges a crawl that had faults: by the server's log, by `gossamer verify`, and by readers of other projects."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import gossamer_simweb as simweb
from gossamer.crawl.engines import open_existing
from gossamer.urls import host_of, identify, site_of
from tests.end_to_end.crawls import environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from chaos.campaign import Run
    from gossamer_simweb import LoggedRequest, Verdict
    from tests.end_to_end.crawls import Crawl

STAMPED_LATE_S = 0.5  # a busy server logs arrivals late by at most this; no worker takes a site over in this time
RESTART_S = 2.0  # the least time from the start of a crawl to its first request: a delay, and loading the program
UNHEARD_S = 3.0  # at most, until a wish of a site (Crawl-delay, Retry-After) is committed


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """An instant at which a crawl may have lost unreported requests, and what the frontier knew then."""

    at: float  # on the server's clock
    looked: float  # when we had read the frontier: a crawl of which a part lives continues until then
    settled: frozenset[bytes]  # hashes of URLs
    hosts: frozenset[str]  # whose robots.txt was known
    late_s: float = STAMPED_LATE_S

    def may_have_lost(self, request: LoggedRequest) -> bool:
        """Return whether a request was made before the fault, and was not yet reported."""
        if request.arrived > self.looked + self.late_s:
            return False
        if request.kind == "robots":
            return host_of(request.url) not in self.hosts
        return identify(request.url).url_hash not in self.settled


def loss(crawl: Crawl, *, whole: bool = False) -> Loss:
    """Read the frontier right after a fault; `whole` if every process is dead, and the next start comes after this."""
    at = time.monotonic()
    sites = {site_of(request.url) for request in crawl.server.log()}
    settled: frozenset[bytes] = frozenset()
    hosts: frozenset[str] = frozenset()
    if (crawl.folder / "crawl.toml").is_file():
        with open_existing(crawl.folder) as frontier:
            settled = frozenset(url_hash for _, url_hash, _ in frontier.settled())
            hosts = frozenset(state.host for site in sites for state in frontier.find_hosts(site))
    late_s = RESTART_S if whole else STAMPED_LATE_S
    return Loss(at=at, looked=time.monotonic(), settled=settled, hosts=hosts, late_s=late_s)


def judge_all(run: Run, crawl: Crawl, *, losses: Sequence[Loss] = (), clock_jumps: bool = False) -> Verdict:
    """Run every check on a crawl that has ended."""
    verdict = judge_log(run, crawl, losses=losses, clock_jumps=clock_jumps)
    verify(run, crawl.folder, clock_jumps=clock_jumps)
    read_archives(run, crawl.folder)
    return verdict


def judge_log(run: Run, crawl: Crawl, *, losses: Sequence[Loss] = (), clock_jumps: bool = False) -> Verdict:
    """Check by the server's log that exactly the expected URLs were requested, none too early, none again in vain.

    A repeat is right for a request that was under way at a fault or not yet reported to the frontier, and for
    robots.txt if the wall clock jumps: it is requested again after a day.
    """
    log = sorted(crawl.server.log(), key=lambda request: request.arrived)
    expected = simweb.expected(crawl.server.web, crawl.seeds, token="Gossamer")
    kills = [loss.at for loss in losses]
    verdict = simweb.judge(
        log, delay_s=crawl.delay_s, expected=expected, allowed_repeats=sys.maxsize, kills=kills, unheard_s=UNHEARD_S
    )
    run.check(verdict.ok, verdict.summary())
    asked = defaultdict(list)
    for request in log:
        asked[request.url].append(request)
    unexplained = []
    for repeat in (*verdict.repeated, *(() if clock_jumps else verdict.repeated_robots)):
        explained = sum(
            any(
                loss.at <= again.arrived and (again.arrived <= loss.looked or loss.may_have_lost(before))
                for loss in losses
            )
            for before, again in pairwise(asked[repeat.url])
        )
        if repeat.asked - repeat.allowed > explained:
            unexplained.append(f"{repeat.url} at {', '.join(f'{each.arrived:.2f}' for each in asked[repeat.url])}")
    instants = ", ".join(f"{kill:.2f}" for kill in kills)
    run.check(
        not unexplained, f"{len(unexplained)} repeats without a reason ({instants}): {'; '.join(unexplained[:5])}"
    )
    run.facts.append(f"{verdict.requests:,} requests for {verdict.visited:,} pages, {len(verdict.early)} early")
    if losses:
        open_urls = sum(len({each.url for each in log if loss.may_have_lost(each)}) for loss in losses)
        run.facts.append(f"{verdict.repeats} repeats of {open_urls} requests under way or unreported")
    return verdict


def verify(run: Run, *folders: Path, clock_jumps: bool = False) -> None:
    """Run `gossamer verify` on the folders of a crawl. It judges conduct by the wall clock: not if that jumps."""
    named = [flag for folder in folders for flag in ("--data-dir", str(folder))]
    command = [sys.executable, "-m", "gossamer", "verify", "--json", *named]
    said = subprocess.run(command, capture_output=True, text=True, env=environment())
    try:
        checks = json.loads(said.stdout)["checks"]
    except ValueError:
        run.problems.append(f"verify: {said.stdout}{said.stderr}")
        return
    failed = [name for name, checked in checks.items() if not checked["ok"] and not (clock_jumps and name == "conduct")]
    run.check(not failed, f"verify: {said.stdout}")


def read_archives(run: Run, folder: Path) -> None:
    """Check that the readers of two other projects can read the archives, and find the same records."""
    from fastwarc.warc import ArchiveIterator as FastIterator
    from warcio.archiveiterator import ArchiveIterator

    for segment in sorted((folder / "warc").glob("*.warc.gz")):
        try:
            with segment.open("rb") as file:
                theirs = len([record.record_id for record in FastIterator(file, verify_digests=True)])
            with segment.open("rb") as file:
                others = 0
                for record in ArchiveIterator(file, check_digests="raise"):
                    record.raw_stream.read()
                    others += 1
            tested = subprocess.run(["gzip", "-t", segment], capture_output=True, text=True)
            run.check(tested.returncode == 0, f"{segment.name}: {tested.stderr}")
            run.check(theirs == others, f"{segment.name}: fastwarc reads {theirs} records, warcio {others}")
        except (OSError, EOFError, ValueError, gzip.BadGzipFile) as error:
            run.problems.append(f"{segment.name}: {error}")
