"""Whether a long crawl stays small: memory, descriptors and tasks of every process, hour after hour.

    python -m chaos soak --minutes 120
    python -m chaos soak --minutes 2 --warm-minutes 0.5 --sites 500 --delay 5 --queued 10000

Crawls a simulated web with millions of its pages queued from the start, and more with every page; takes samples of each
worker and of its page process; prints how much memory each gained per hour after the warm-up (least squares), and
whether the descriptors and tasks at the end are what they were after it. All samples go to a CSV file. Exits with 1 if
a process gained more than it may.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from statistics import linear_regression, median
from typing import Any

import psutil

import gossamer_simweb as simweb
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.records import Link
from gossamer.urls import identify

SAMPLE_S = 10.0
SAMPLES_PER_STATUS = 6
MAX_SLOPE_MB_PER_H = 5.0
BATCH_LINKS = 50_000
MB = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One process at one moment."""

    at_s: float  # since the crawl began
    role: str  # "worker 1", "pages of worker 1", "supervisor"
    pid: int
    own_mb: float  # what would be freed if it ended
    descriptors: int
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The crawl at one moment, as `gossamer status` tells it."""

    at_s: float
    known: int
    pages: int
    turns: int  # tasks under way in all workers


def take_samples(supervisor: psutil.Process, at_s: float) -> list[Sample]:
    """Measure every process of a crawl."""
    named = [("supervisor", supervisor)]
    for number, worker in enumerate(sorted(supervisor.children(), key=lambda child: child.pid), start=1):
        named.append((f"worker {number}", worker))
        named += [(f"pages of worker {number}", child) for child in worker.children()]
    samples = []
    for role, process in named:
        try:
            memory = process.memory_full_info()
            samples.append(
                Sample(
                    at_s=round(at_s, 1),
                    role=role,
                    pid=process.pid,
                    own_mb=round(memory.uss / MB, 3),
                    descriptors=process.num_fds(),
                    threads=process.num_threads(),
                )
            )
        except psutil.Error:
            continue  # it has just ended
    return samples


def read_progress(data: Path, at_s: float) -> Progress:
    """Ask `gossamer status` how the crawl stands."""
    told = subprocess.run(
        [sys.executable, "-m", "gossamer", "status", "--json", "--data-dir", str(data)], check=True, capture_output=True
    )
    status: dict[str, Any] = json.loads(told.stdout)
    return Progress(
        at_s=round(at_s, 1),
        known=status["known"],
        pages=status["pages"],
        turns=int(sum(worker["figures"].get("turns", 0) for worker in status["workers"])),
    )


def summarise(samples: list[Sample], progress: list[Progress], warm_s: float) -> bool:
    """Print what the samples say; return whether every process stayed within its limits."""
    end_s = samples[-1].at_s
    window_s = min(600.0, (end_s - warm_s) / 3)
    by_role: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        if sample.at_s >= warm_s:
            by_role[sample.role].append(sample)
    good = True
    for role, taken in sorted(by_role.items()):
        if len(taken) < 3:
            continue
        processes = len({each.pid for each in taken})  # page processes are renewed now and then
        slope, _ = linear_regression([each.at_s / 3600 for each in taken], [each.own_mb for each in taken])
        first = [each for each in taken if each.at_s < warm_s + window_s]
        last = [each for each in taken if each.at_s > end_s - window_s]
        good = good and slope < MAX_SLOPE_MB_PER_H
        print(
            f"{role:<18} processes {processes}; {slope:+6.2f} MB/h, {median(s.own_mb for s in first):.1f} -> "
            f"{median(s.own_mb for s in last):.1f} MB; descriptors {median(s.descriptors for s in first):.0f} -> "
            f"{median(s.descriptors for s in last):.0f}; threads {first[0].threads} -> {last[-1].threads}"
        )
    warm = [each for each in progress if each.at_s >= warm_s] or progress
    if warm:
        early, late = warm[: max(1, len(warm) // 6)], warm[-max(1, len(warm) // 6) :]
        print(f"tasks under way {median(p.turns for p in early):.0f} -> {median(p.turns for p in late):.0f}")
        print(f"frontier {progress[0].known:,} -> {progress[-1].known:,} URLs; {progress[-1].pages:,} pages stored")
    return good


def fill_frontier(data: Path, web: simweb.WebPlan, urls: int) -> None:
    """Queue this many pages of a web, the same number of each site."""
    data.mkdir()
    sites = web.spec.sites
    with SqliteFrontier(data / "frontier.sqlite") as frontier:
        batch: list[Link] = []
        for number in range(urls):
            batch.append(Link(*identify(web.page_url(number % sites, number // sites)), 1))
            if len(batch) == BATCH_LINKS:
                frontier.add(batch)
                batch = []
        frontier.add(batch)


def soak(options: argparse.Namespace, folder: Path) -> bool:
    """Crawl for the given time, and take samples."""
    data, web = folder / "data", simweb.plain_web(sites=options.sites, pages=options.pages, links=options.links)
    samples: list[Sample] = []
    progress: list[Progress] = []
    with simweb.serve(web) as server, options.samples.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([field.name for field in fields(Sample)])
        seeds = folder / "seeds.txt"
        seeds.write_text("\n".join(server.seeds()))
        began_s = time.monotonic()
        fill_frontier(data, server.web, options.queued)
        print(f"{options.queued:,} URLs queued in {time.monotonic() - began_s:.0f} s", flush=True)
        crawl = subprocess.Popen(
            [
                sys.executable, "-m", "gossamer", "crawl", str(seeds), "--email", "soak@example.org",
                "--data-dir", str(data), "--delay", str(options.delay), "--scope", "web",
                "--workers", str(options.workers), "--nameserver", server.dns, "--allow-network", "127.0.0.0/8",
                *options.crawl,
            ],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        root, began_s = psutil.Process(crawl.pid), time.monotonic()
        try:
            while (at_s := time.monotonic() - began_s) < options.minutes * 60:
                time.sleep(SAMPLE_S)
                if crawl.poll() is not None:
                    sys.exit(f"the crawl ended by itself, with {crawl.returncode}: is the web too small?")
                samples += (taken := take_samples(root, at_s))
                table.writerows(astuple(sample) for sample in taken)
                file.flush()
                if len(samples) and int(at_s / SAMPLE_S) % SAMPLES_PER_STATUS == 0:
                    progress.append(read_progress(data, at_s))
                    print(progress[-1], flush=True)
        finally:
            if crawl.poll() is None:
                os.kill(crawl.pid, signal.SIGTERM)
        stopped_s = time.monotonic()
        code = crawl.wait(timeout=60)
        print(f"stopped with {code} after {time.monotonic() - stopped_s:.1f} s")
    return summarise(samples, progress, options.warm_minutes * 60) and code == 0


def main(arguments: list[str]) -> None:
    """Run the soak."""
    parser = argparse.ArgumentParser(prog="python -m chaos soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--warm-minutes", type=float, default=20)
    parser.add_argument("--sites", type=int, default=20_000)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--links", type=float, default=12)
    parser.add_argument("--queued", type=int, default=5_000_000, help="URLs that the frontier holds at the start")
    parser.add_argument("--delay", type=float, default=400)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--samples", type=Path, default=Path("soak.csv"))
    parser.add_argument("--folder", type=Path, help="where the crawl is kept; default: a temporary folder")
    parser.add_argument("crawl", nargs="*", help="further options of `gossamer crawl`, behind `--`")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        if not soak(options, Path(folder)):
            sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
