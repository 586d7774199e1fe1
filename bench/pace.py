"""Whether a polite crawl keeps up with what its delay allows, and never runs ahead of it.

    python -m bench pace --sites 2000 --delay 5 --workers 2 --seconds 60

Crawls a simulated web for a while and lets the server's log judge: no early turn, and pages per second against the
ideal of sites / delay, once every site has had its robots.txt read. What the machine had to spare is printed too: a
rate below the ideal on a busy machine says nothing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

from gossamer import simweb


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench pace", description=__doc__)
    parser.add_argument("--sites", type=int, default=2_000)
    parser.add_argument("--delay", type=float, default=5.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args(arguments)
    pages = int(options.seconds / options.delay) + 10  # no site runs dry
    with (
        simweb.serve(simweb.plain_web(sites=options.sites, pages=pages)) as server,
        tempfile.TemporaryDirectory(dir=".bench" if Path(".bench").is_dir() else None) as folder,
    ):
        seeds = Path(folder) / "seeds.txt"
        seeds.write_text("\n".join(server.seeds()))
        psutil.cpu_percent()
        subprocess.run(
            [
                sys.executable, "-m", "gossamer", "crawl", str(seeds), "--email", "bench@example.org",
                "--data-dir", f"{folder}/data", "--delay", str(options.delay), "--workers", str(options.workers),
                "--nameserver", server.dns, "--allow-network", "127.0.0.0/8", "--max-duration", str(options.seconds),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        idle = 100 - psutil.cpu_percent()
        log = server.log()
        verdict = simweb.judge(log, delay_s=options.delay, expected=None)
    arrivals = sorted(request.arrived for request in log if request.kind == "page")
    # Once warm: from two delays after the first page to two seconds before the last, when the stop began.
    begin, end = arrivals[0] + 2 * options.delay, arrivals[-1] - 2
    warm = sum(begin <= arrived < end for arrived in arrivals)
    rate, ideal = warm / (end - begin), options.sites / options.delay
    print(f"{options.sites:,} sites, delay {options.delay:g} s, {options.workers} workers: {len(arrivals):,} pages, "
          f"{len(verdict.early)} early turns")  # fmt: skip
    print(f"    warm rate {rate:.1f}/s of {ideal:.1f}/s: {rate / ideal:.1%}; {idle:.0f} % of the machine idle")
