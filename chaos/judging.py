"""How a crawl that met with faults is judged: by the server's log, by `gossamer verify`, and by others' readers."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections import defaultdict
from typing import TYPE_CHECKING

from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator

from gossamer import simweb
from tests.end_to_end.crawls import environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from chaos.campaign import Run
    from gossamer.simweb import Verdict
    from tests.end_to_end.crawls import Crawl

# What was answered so long before a kill may not have been reported yet: a batch is handed in twice a second, after
# the one before it is through, and on a machine whose disk is busy that takes its time.
UNREPORTED_S = 5.0
UNHEARD_S = 3.0  # what a site asks for (Crawl-delay, Retry-After) is reported at once


def judge_all(run: Run, crawl: Crawl, *, kills: Sequence[float] = ()) -> Verdict:
    """Check everything that can be checked of a crawl that has come to its end."""
    verdict = judge_log(run, crawl, kills=kills)
    verify(run, crawl.folder)
    read_archives(run, crawl.folder)
    return verdict


def judge_log(run: Run, crawl: Crawl, *, kills: Sequence[float] = ()) -> Verdict:
    """Check by the server's log that exactly what should be asked for was, nothing too early, nothing needlessly again.

    A repeat is explained by a kill if what it repeats was under way at that instant, or answered so shortly before
    that it may not have been reported.
    """
    log = crawl.server.log()
    expected = simweb.expected(crawl.server.web, crawl.seeds, token="Gossamer")
    verdict = simweb.judge(
        log, delay_s=crawl.delay_s, expected=expected, allowed_repeats=sys.maxsize, kills=kills, unheard_s=UNHEARD_S
    )
    run.check(verdict.ok, verdict.summary())
    asked = defaultdict(list)
    for request in sorted(log, key=lambda request: request.arrived):
        asked[request.url].append(request)
    oldest_s, unexplained, possible = 0.0, 0, 0
    for kill in kills:
        possible += sum(each.arrived <= kill <= each.ended + UNREPORTED_S for each in log)
    for repeat in (*verdict.repeated, *verdict.repeated_robots):
        ages_s = []
        for before, again in zip(asked[repeat.url], asked[repeat.url][1:], strict=False):
            between = [kill for kill in kills if before.arrived <= kill <= again.arrived]
            if between and between[0] - before.ended <= UNREPORTED_S:
                ages_s.append(max(0.0, between[0] - before.ended))
        unexplained += max(0, repeat.asked - repeat.allowed - len(ages_s))
        oldest_s = max(oldest_s, *ages_s, 0.0)
    run.check(not unexplained, f"{unexplained} repeats that no kill explains: {verdict.summary()}")
    run.facts.append(f"{verdict.requests:,} requests for {verdict.visited:,} pages, {len(verdict.early)} early")
    if kills:
        run.facts.append(
            f"{verdict.repeats} repeats where {possible} were possible, the oldest {oldest_s:.2f} s before its kill"
        )
    return verdict


def verify(run: Run, folder: Path) -> None:
    """Let `gossamer verify` look at a folder."""
    command = [sys.executable, "-m", "gossamer", "verify", "--data-dir", str(folder)]
    said = subprocess.run(command, capture_output=True, text=True, env=environment())
    run.check(said.returncode == 0, f"verify: {said.stdout}{said.stderr}")


def read_archives(run: Run, folder: Path) -> None:
    """Check that others can read the archives, and read the same."""
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
