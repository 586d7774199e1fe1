"""What a page costs: CPU milliseconds of the whole process tree of `gossamer crawl`, per stored page.

    python -m bench crawl                       # small, large and wide webs, plain and TLS, in their short forms
    python -m bench crawl --web wide --sites 20000 --pages 20

A simulated web runs beside the crawl, in a process of its own that is not counted. The delay is 0 and all promises
are on: robots, archives, tables, synchronous commits. What starting costs is measured by a crawl of one page and
taken off.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import gossamer_simweb as simweb

WEBS = {"small": ("small", 60, 150), "large": ("large", 60, 80), "wide": ("small", 2_000, 20)}  # profile, sites, pages


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a crawl took."""

    pages: int
    cpu_s: float
    wall_s: float
    body_bytes: int
    verdict: simweb.Verdict


def crawl(spec: simweb.WebSpec, *, scope: str, workers: int) -> Cost:
    """Crawl a web that another process serves, and judge its log."""
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
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
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
        )


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench crawl", description=__doc__)
    parser.add_argument("--web", choices=WEBS, action="append")
    parser.add_argument("--sites", type=int)
    parser.add_argument("--pages", type=int)
    parser.add_argument("--tls", choices=("no", "yes", "both"), default="both")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args(arguments)
    start = crawl(simweb.plain_web(sites=1, pages=1), scope="site", workers=options.workers)
    print(f"starting and stopping: {start.cpu_s:.2f} s of CPU, taken off below")
    for web in options.web or WEBS:
        for tls in {"no": [False], "yes": [True], "both": [False, True]}[options.tls]:
            profile, sites, pages = WEBS[web]
            spec = simweb.plain_web(
                sites=options.sites or sites, pages=options.pages or pages, profile=profile, tls=tls
            )
            cost = crawl(spec, scope="site", workers=options.workers)
            ms = (cost.cpu_s - start.cpu_s) / cost.pages * 1000
            print(f"{web:<6} {'TLS' if tls else 'plain':<6} {ms:6.2f} ms CPU per page; {cost.pages:,} pages of "
                  f"{cost.body_bytes / cost.pages / 1000:.0f} KB on the wire, {cost.pages / cost.wall_s:,.0f}/s; "
                  f"{cost.verdict.summary()}", flush=True)  # fmt: skip
