"""What memory a crawl takes, by part; and whether it grows with the frontier.

    python -m bench memory --breakdown                         # two workers at full speed, small and large pages
    python -m bench memory --breakdown --web large --old ../old
    python -m bench memory --urls 100000 2000000               # a small and a large queue
    python -m bench memory --delay 0.2

`--breakdown` crawls a web at full speed and shows the memory of every process at the moment at which the tree had most
(proportional set size, so that shared pages count once): what it has allocated, its libraries and programs, other
files that it has mapped, and its stacks. With `--old`, another version crawls the same web before. `--python` names the
interpreter of a plain installation, which has no libraries that only developers need.

Without it, the benchmark measures a crawl with a small and one with a large queue.

Fills a frontier with queued URLs of 20,000 sites, crawls them and a simulated web for a while, and prints the tree's
peak memory (proportional set size, so that shared pages count once). At the default delay as much is in hand in both
cases; with short delays a claim brings ten URLs of a site, and a small frontier has fewer to bring.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil

import gossamer_simweb as simweb
from bench.crawl import ROOT, Way, command_for, spec_of
from bench.frontier import links
from bench.process_tree import role_of
from gossamer.frontier.sqlite import SqliteFrontier

CRAWL_S = 25.0
SAMPLE_S = 0.2
PROCESSES = "processes"  # how many there are, beside the kinds of memory
KINDS = ("allocated", "libraries", "files", "stacks")
SITES = 20_000  # the same for both, so that as much is in hand; only the queues differ


def tree_bytes(root: psutil.Process) -> int:
    """Return what a process and all below it hold in memory."""
    total = 0
    for process in [root, *root.children(recursive=True)]:
        try:
            total += process.memory_full_info().pss
        except psutil.Error:
            continue  # it has just ended
    return total


def parts_of(root: psutil.Process) -> Counter[tuple[str, str]]:
    """Return the memory of a process and all below it, by what each is and by kind."""
    parts: Counter[tuple[str, str]] = Counter()
    for process in [root, *root.children(recursive=True)]:
        try:
            parent = process.parent()
            role = role_of(process.cmdline(), parent.cmdline() if parent is not None else ())
            parts[role, PROCESSES] += 1
            kind = ""
            for line in Path(f"/proc/{process.pid}/smaps").read_text().splitlines():
                first, *rest = line.split()
                if not first.endswith(":"):
                    kind = _kind_of(rest[4] if len(rest) > 4 else "")
                elif first == "Pss:":
                    parts[role, kind] += 1024 * int(rest[0])
        except (psutil.Error, OSError):
            continue  # it has just ended
    return parts


def _kind_of(mapped: str) -> str:
    """Return the kind of a mapping by what it maps."""
    if not mapped or mapped == "[heap]" or mapped.startswith("[anon"):
        return "allocated"
    if mapped.startswith("["):
        return "stacks"
    return "libraries" if ".so" in mapped or "/bin/" in mapped else "files"


def show_breakdown(spec: simweb.WebSpec, name: str, code: Path, python: str) -> None:
    """Crawl a web with two workers at full speed, and print what each part of the tree took at its peak."""
    most: Counter[tuple[str, str]] = Counter()
    with (
        simweb.serve(spec, warm=True) as web,
        tempfile.TemporaryDirectory(dir=".bench" if Path(".bench").is_dir() else None) as folder,
    ):
        command, environment = command_for(web, Path(folder), Way(workers=2, code=code))
        command[0] = python
        crawl = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
        root = psutil.Process(crawl.pid)
        while crawl.poll() is None:
            try:
                most = max(most, parts_of(root), key=_total)
            except psutil.Error:
                break
            time.sleep(SAMPLE_S)
        if crawl.wait() != 0:
            raise SystemExit("the crawl failed")
    print(f"{name}: {_total(most) / 1e6:.0f} MB")
    for role in sorted({role for role, _ in most}, key=lambda role: -sum(most[role, kind] for kind in KINDS)):
        shown = ", ".join(f"{kind} {most[role, kind] / 1e6:.0f}" for kind in KINDS)
        whole = sum(most[role, kind] for kind in KINDS) / 1e6
        print(f"  {most[role, PROCESSES]} x {role:<14} {whole:5.0f} MB: {shown}", flush=True)


def _total(parts: Counter[tuple[str, str]]) -> int:
    return sum(size for (_, kind), size in parts.items() if kind != PROCESSES)


def peak(urls: int, delay: str) -> int:
    """Crawl with this many URLs queued; return the peak memory of the process tree."""
    with (
        simweb.serve(simweb.plain_web(sites=200, pages=100)) as server,
        tempfile.TemporaryDirectory(dir=".bench" if Path(".bench").is_dir() else None) as folder,
    ):
        data = Path(folder) / "data"
        data.mkdir()
        seeds = Path(folder) / "seeds.txt"
        seeds.write_text("\n".join(server.seeds()))
        with SqliteFrontier(data / "frontier.sqlite") as frontier:
            batch = []
            for one in links(urls, SITES, random.Random(7)):
                batch.append(one)
                if len(batch) == 50_000:
                    frontier.add(batch)
                    batch = []
            frontier.add(batch)
        crawl = subprocess.Popen(
            [
                sys.executable, "-m", "gossamer", "crawl", str(seeds), "--email", "bench@example.org",
                "--data-dir", str(data), "--delay", delay, "--scope", "web", "--workers", "2",
                "--nameserver", server.dns, "--allow-network", "127.0.0.0/8", "--max-duration", str(CRAWL_S),
            ],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        root = psutil.Process(crawl.pid)
        most = 0
        while crawl.poll() is None:
            try:
                most = max(most, tree_bytes(root))
            except psutil.Error:
                break
            time.sleep(0.5)
        if crawl.wait() != 0:
            raise SystemExit("the crawl failed")
    return most


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench memory", description=__doc__)
    parser.add_argument("--urls", type=int, nargs=2, default=[100_000, 2_000_000])
    parser.add_argument("--delay", default="70")
    parser.add_argument("--breakdown", action="store_true", help="show what each part of a fast crawl takes")
    parser.add_argument("--web", choices=("small", "large"), action="append", help="with --breakdown")
    parser.add_argument("--old", type=Path, help="with --breakdown: the checkout of another version")
    parser.add_argument("--python", default=sys.executable, help="with --breakdown: the interpreter to run")
    options = parser.parse_args(arguments)
    if options.breakdown:
        for web in options.web or ("small", "large"):
            spec = spec_of(web, sites=None, pages=None, tls=False)
            for code in (options.old, ROOT) if options.old else (ROOT,):
                show_breakdown(spec, f"{web}{', old' if code is not ROOT else ''}", code, options.python)
        return
    few, many = options.urls
    small, large = peak(few, options.delay), peak(many, options.delay)
    print(
        f"peak of the process tree: {small / 1e6:.0f} MB with {few:,} URLs queued, {large / 1e6:.0f} MB with {many:,};"
    )
    print(f"    {(large - small) / 1e6:+.0f} MB")
