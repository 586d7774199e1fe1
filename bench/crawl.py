"""What a page costs: CPU of the whole process tree of `gossamer crawl`, per stored page.

    python -m bench crawl                       # small, large and wide webs, plain and TLS, in their short forms
    python -m bench crawl --web wide --sites 20000 --pages 20
    python -m bench crawl --web small --tls no --breakdown
    python -m bench crawl --web small --tls no --old ../old --pairs 10

A simulated web runs beside the crawl, in a process of its own that is not counted. The delay is 0 and all promises
are on: robots, archives, tables, synchronous commits. What starting costs is measured by a crawl of one page and
taken off. `--breakdown` shows what each process and thread takes. `--old` names the checkout of another version: both
crawl the same webs, alternately, and the ratio of each pair is shown.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

import gossamer_simweb as simweb

WEBS = {"small": ("small", 60, 150), "large": ("large", 60, 80), "wide": ("small", 2_000, 20)}  # profile, sites, pages


ROOT = Path(__file__).resolve().parents[1]
SAMPLE_S = 0.05
ROLES = {"page_process": "page process", "worker_process": "worker"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a crawl took."""

    pages: int
    cpu_s: float
    wall_s: float
    body_bytes: int
    verdict: simweb.Verdict
    parts_s: dict[str, float]  # CPU seconds by process and thread; what ended between two samples is missing


def crawl(spec: simweb.WebSpec, *, scope: str, workers: int, code: Path = ROOT) -> Cost:
    """Crawl a web that another process serves with the code of a checkout, and judge the server's log."""
    with (
        simweb.serve(spec, warm=True) as server,
        tempfile.TemporaryDirectory(dir=".bench" if Path(".bench").is_dir() else None) as folder,
    ):
        seeds = Path(folder) / "seeds.txt"
        seeds.write_text("\n".join(server.seeds()))
        command = [
            sys.executable, "-m", "gossamer", "crawl", str(seeds), "--email", "bench@example.org",
            "--data-dir", f"{folder}/data", "--delay", "0", "--scope", scope, "--workers", str(workers),
            "--nameserver", server.dns, "--allow-network", "127.0.0.0/8", "--set", "step_gap=0",
            "--set", "max_body=8MB",
        ]  # fmt: skip
        if server.ca_file is not None:
            command += ["--ca-file", str(server.ca_file)]
        before, began = _children_cpu_s(), time.monotonic()
        parts_s = _run(command, code)
        cpu_s, wall_s = _children_cpu_s() - before, time.monotonic() - began
        log = server.log()
        pages = [request for request in log if request.kind == "page" and request.status == 200]
        expected = simweb.expected(server.web, server.seeds(), scope=scope, token="Gossamer")  # type: ignore[arg-type]
        return Cost(
            pages=len(pages),
            cpu_s=cpu_s,
            wall_s=wall_s,
            body_bytes=sum(request.body_bytes for request in pages),
            verdict=simweb.judge(log, delay_s=0, expected=expected),
            parts_s=parts_s,
        )


def _run(command: list[str], code: Path) -> dict[str, float]:
    """Run a crawl; return the CPU seconds of its processes and threads."""
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": f"{code.resolve() / 'src'}"}
    )
    spent_s: dict[tuple[str, int, int], float] = {}
    while process.poll() is None:
        try:
            root = psutil.Process(process.pid)
            for each in (root, *root.children(recursive=True)):
                _sample(each, spent_s, is_root=each.pid == process.pid)
        except psutil.Error:
            pass  # it has just ended
        time.sleep(SAMPLE_S)
    if process.returncode:
        raise SystemExit(f"the crawl failed with exit status {process.returncode}")
    parts_s: dict[str, float] = {}
    for (part, _, _), cpu_s in spent_s.items():
        parts_s[part] = parts_s.get(part, 0.0) + cpu_s
    return parts_s


def _sample(process: psutil.Process, spent_s: dict[tuple[str, int, int], float], *, is_root: bool) -> None:
    line = " ".join(process.cmdline())
    role = next((name for word, name in ROLES.items() if word in line), "supervisor" if is_root else "others")
    for thread in process.threads():
        name = Path(f"/proc/{process.pid}/task/{thread.id}/comm")
        is_main = thread.id == process.pid
        part = role if is_main else f"{role}, thread {name.read_text().strip() if name.exists() else ''}".rstrip()
        spent_s[part, process.pid, thread.id] = thread.user_time + thread.system_time


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def show(web: str, tls: bool, cost: Cost, start: Cost, *, breakdown: bool) -> None:
    """Print what one crawl took per page."""
    ms = (cost.cpu_s - start.cpu_s) / cost.pages * 1000
    print(f"{web:<6} {'TLS' if tls else 'plain':<6} {ms:6.2f} ms CPU per page; {cost.pages:,} pages of "
          f"{cost.body_bytes / cost.pages / 1000:.0f} KB on the wire, {cost.pages / cost.wall_s:,.0f}/s; "
          f"{cost.verdict.summary()}", flush=True)  # fmt: skip
    if breakdown:
        parts_s = {part: cpu_s - start.parts_s.get(part, 0.0) for part, cpu_s in cost.parts_s.items()}
        parts_s["between two samples"] = cost.cpu_s - start.cpu_s - sum(parts_s.values())
        for part, cpu_s in sorted(parts_s.items(), key=lambda item: -item[1]):
            print(f"    {part:<32} {cpu_s / cost.pages * 1e6:7.0f} µs", flush=True)


def compare(spec: simweb.WebSpec, name: str, *, workers: int, old: Path, pairs: int) -> None:
    """Crawl a web with two versions alternately, and print the ratios of each pair, whole and by process."""
    tiny = simweb.plain_web(sites=1, pages=1)
    starts = {code: crawl(tiny, scope="site", workers=workers, code=code) for code in (old, ROOT)}
    ratios: dict[str, list[float]] = {}
    for number in range(pairs):
        ms = {}
        for code in (old, ROOT) if number % 2 else (ROOT, old):
            ms[code] = _by_process(crawl(spec, scope="site", workers=workers, code=code), starts[code])
        for part in ("all", "worker", "page process"):
            ratios.setdefault(part, []).append(ms[ROOT][part] / ms[old][part])
        of_each = ", ".join(f"{part} {found[-1]:.3f}" for part, found in ratios.items())
        print(f"{name:<12} old {ms[old]['all']:6.2f} ms, new {ms[ROOT]['all']:6.2f} ms: {of_each}", flush=True)
    for part, found in ratios.items():
        print(f"{name:<12} {part:<12} median of {pairs} pairs: {median(found):.3f} "
              f"({min(found):.3f} to {max(found):.3f})", flush=True)  # fmt: skip


def _by_process(cost: Cost, start: Cost) -> dict[str, float]:
    """Return the CPU milliseconds per page: of everything, of workers with their threads, of page processes."""
    spent_s = {"all": cost.cpu_s - start.cpu_s, "worker": 0.0, "page process": 0.0}
    for parts_s, sign in ((cost.parts_s, 1), (start.parts_s, -1)):
        for part, cpu_s in parts_s.items():
            process = part.partition(",")[0]
            if process in spent_s:
                spent_s[process] += sign * cpu_s
    return {process: cpu_s / cost.pages * 1000 for process, cpu_s in spent_s.items()}


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench crawl", description=__doc__)
    parser.add_argument("--web", choices=WEBS, action="append")
    parser.add_argument("--sites", type=int)
    parser.add_argument("--pages", type=int)
    parser.add_argument("--tls", choices=("no", "yes", "both"), default="both")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--breakdown", action="store_true", help="show what each process and thread takes")
    parser.add_argument("--old", type=Path, help="the checkout of another version to compare with")
    parser.add_argument("--pairs", type=int, default=10, help="with --old: how often both crawl")
    options = parser.parse_args(arguments)
    start = None if options.old else crawl(simweb.plain_web(sites=1, pages=1), scope="site", workers=options.workers)
    if start is not None:
        print(f"starting and stopping: {start.cpu_s:.2f} s of CPU, taken off below")
    for web in options.web or WEBS:
        for tls in {"no": [False], "yes": [True], "both": [False, True]}[options.tls]:
            profile, sites, pages = WEBS[web]
            spec = simweb.plain_web(
                sites=options.sites or sites, pages=options.pages or pages, profile=profile, tls=tls
            )
            if start is None:
                name = f"{web} {'TLS' if tls else 'plain'}"
                compare(spec, name, workers=options.workers, old=options.old, pairs=options.pairs)
            else:
                cost = crawl(spec, scope="site", workers=options.workers)
                show(web, tls, cost, start, breakdown=options.breakdown)
