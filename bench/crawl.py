"""What a page costs: CPU of the whole process tree of `gossamer crawl`, per stored page.

    python -m bench crawl                       # small, large and wide webs, plain and TLS, in their short forms
    python -m bench crawl --web wide --sites 20000 --pages 20
    python -m bench crawl --web small --tls no --breakdown --frontier both
    python -m bench crawl --web small --tls no --old ../old --pairs 10

A simulated web runs beside the crawl, in a process of its own that is not counted. The delay is 0 and all promises
are on: robots, archives, tables, synchronous commits. What starting costs is measured by a crawl of one page and
taken off. With a PostgreSQL frontier, the CPU of its server is counted too. `--old` names the checkout of another
version: both crawl the same webs, alternately, and the ratio of each pair is shown.

`--breakdown` shows what each process, thread and stage takes; the rows add up to the total. A crawl without a profiler
gives the total, the processes and the threads. A second one, under py-spy, gives the shares of the stages in each
thread: a sample counts for the innermost module of Gossamer on its stack. What no sample of /proc saw, because it
ended before the next one, is a row of its own.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import gossamer_simweb as simweb
from bench import breakdown, recording
from bench.measuring import Measured, measure
from bench.postgres.building import database, server
from bench.process_tree import NAMED_THREADS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.process_tree import Part

WEBS = {"small": ("small", 60, 150), "large": ("large", 60, 80), "wide": ("small", 2_000, 20)}  # profile, sites, pages
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a crawl took."""

    pages: int
    measured: Measured
    body_bytes: int
    verdict: simweb.Verdict

    def per_page_us(self, start: Cost) -> dict[Part, float]:
        """Return the CPU microseconds of every part per page, without what starting costs."""
        ours, starts = self.measured.parts_s, start.measured.parts_s
        parts = dict.fromkeys((*ours, *starts))
        return {part: (ours.get(part, 0.0) - starts.get(part, 0.0)) / self.pages * 1e6 for part in parts}


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How to crawl."""

    workers: int = 1
    code: Path = ROOT  # a checkout
    server: str = ""  # the address of a PostgreSQL server that holds the frontier; empty: SQLite
    recording: Path | None = None  # where py-spy writes what it sampled; then the figures count py-spy, too


def crawl(spec: simweb.WebSpec, way: Way) -> Cost:
    """Crawl a web that another process serves, and judge the server's log."""
    with (
        simweb.serve(spec, warm=True) as web,
        tempfile.TemporaryDirectory(dir=".bench" if Path(".bench").is_dir() else None) as folder,
        ExitStack() as stack,
    ):
        frontier = stack.enter_context(database(way.server)) if way.server else ""
        command, environment = command_for(web, Path(folder), way)
        if way.recording is not None:
            command = recording.py_spy(way.recording, command)
        if frontier:
            environment["GOSSAMER_FRONTIER"] = frontier
        measured = measure(command, environment, server=way.server)
        log = web.log()
        pages = [request for request in log if request.kind == "page" and request.status == 200]
        expected = simweb.expected(web.web, web.seeds(), token="Gossamer")
        return Cost(
            pages=len(pages),
            measured=measured,
            body_bytes=sum(request.body_bytes for request in pages),
            verdict=simweb.judge(log, delay_s=0, expected=expected),
        )


def command_for(web: simweb.WebServer, folder: Path, way: Way) -> tuple[list[str], dict[str, str]]:
    """Return the command that crawls a web as fast as it can, and its environment."""
    seeds = folder / "seeds.txt"
    seeds.write_text("\n".join(web.seeds()))
    command = [
        sys.executable, "-m", "gossamer", "crawl", str(seeds), "--email", "bench@example.org",
        "--data-dir", f"{folder}/data", "--delay", "0", "--workers", str(way.workers),
        "--nameserver", web.dns, "--allow-network", "127.0.0.0/8", "--set", "step_gap=0",
        "--set", "max_body=8MB",
    ]  # fmt: skip
    if web.ca_file is not None:
        command += ["--ca-file", str(web.ca_file)]
    return command, {"PYTHONPATH": os.pathsep.join((str(way.code.resolve() / "src"), str(NAMED_THREADS)))}


def show(name: str, cost: Cost, start: Cost) -> None:
    """Print what one crawl took per page."""
    ms = sum(cost.per_page_us(start).values()) / 1000
    print(f"{name:<24} {ms:6.2f} ms CPU per page; {cost.pages:,} pages of "
          f"{cost.body_bytes / cost.pages / 1000:.0f} KB on the wire, {cost.pages / cost.measured.wall_s:,.0f}/s; "
          f"{cost.verdict.summary()}", flush=True)  # fmt: skip


def show_breakdown(spec: simweb.WebSpec, way: Way, parts_us: Mapping[Part, float]) -> None:
    """Crawl again under a profiler, and print what each process, thread and stage took."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "stacks"
        crawl(spec, Way(workers=way.workers, code=way.code, server=way.server, recording=file))
        shares = recording.shares_of_stages(recording.read(file.read_text()))
    print(breakdown.table(breakdown.split(parts_us, shares)), flush=True)


def compare(spec: simweb.WebSpec, name: str, ways: Mapping[str, Way], *, pairs: int) -> None:
    """Crawl a web with two versions alternately, and print the ratios of each pair, whole and by process."""
    starts = {which: crawl(TINY, way) for which, way in ways.items()}
    ratios: dict[str, list[float]] = {}
    for number in range(pairs):
        ms = {}
        for which in ("old", "new") if number % 2 else ("new", "old"):
            ms[which] = _by_process(crawl(spec, ways[which]).per_page_us(starts[which]))
        for part in ("all", "worker", "page process"):
            ratios.setdefault(part, []).append(ms["new"][part] / ms["old"][part])
        of_each = ", ".join(f"{part} {found[-1]:.3f}" for part, found in ratios.items())
        print(f"{name:<12} old {ms['old']['all']:6.2f} ms, new {ms['new']['all']:6.2f} ms: {of_each}", flush=True)
    for part, found in ratios.items():
        print(f"{name:<12} {part:<12} median of {pairs} pairs: {median(found):.3f} "
              f"({min(found):.3f} to {max(found):.3f})", flush=True)  # fmt: skip


def _by_process(parts_us: Mapping[Part, float]) -> dict[str, float]:
    """Return the CPU milliseconds per page: of everything, of workers with their threads, of page processes."""
    spent_ms = {"all": sum(parts_us.values()) / 1000, "worker": 0.0, "page process": 0.0}
    for part, us in parts_us.items():
        if part.process in spent_ms:
            spent_ms[part.process] += us / 1000
    return spent_ms


TINY = simweb.plain_web(sites=1, pages=1)


def spec_of(web: str, *, sites: int | None, pages: int | None, tls: bool) -> simweb.WebSpec:
    """Return one of the webs, of another size if one is given."""
    profile, usual_sites, usual_pages = WEBS[web]
    return simweb.plain_web(sites=sites or usual_sites, pages=pages or usual_pages, profile=profile, tls=tls)


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench crawl", description=__doc__)
    parser.add_argument("--web", choices=WEBS, action="append")
    parser.add_argument("--sites", type=int)
    parser.add_argument("--pages", type=int)
    parser.add_argument("--tls", choices=("no", "yes", "both"), default="both")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--frontier", choices=("sqlite", "postgresql", "both"), default="sqlite")
    parser.add_argument("--breakdown", action="store_true", help="show what each process, thread and stage takes")
    parser.add_argument("--old", type=Path, help="the checkout of another version to compare with")
    parser.add_argument("--pairs", type=int, default=10, help="with --old: how often both crawl")
    options = parser.parse_args(arguments)
    for frontier in ("sqlite", "postgresql") if options.frontier == "both" else (options.frontier,):
        way = Way(workers=options.workers, server=server(None) if frontier == "postgresql" else "")
        start = None if options.old else crawl(TINY, way)
        if start is not None:
            print(f"{frontier}: starting and stopping took {start.measured.cpu_s:.2f} s of CPU, taken off below")
        for web in options.web or WEBS:
            for tls in {"no": [False], "yes": [True], "both": [False, True]}[options.tls]:
                spec = spec_of(web, sites=options.sites, pages=options.pages, tls=tls)
                name = f"{web} {'TLS' if tls else 'plain'} {frontier}"
                if start is None:
                    ways = {"old": replace(way, code=options.old), "new": way}
                    compare(spec, name, ways, pairs=options.pairs)
                    continue
                cost = crawl(spec, way)
                show(name, cost, start)
                if options.breakdown:
                    show_breakdown(spec, way, cost.per_page_us(start))
