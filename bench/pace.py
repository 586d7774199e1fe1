"""Whether a polite crawl keeps up with what its delay allows, and never runs ahead of it.

    python -m bench pace --sites 2000 --delay 5 --workers 2 --seconds 60
    python -m bench pace --sites 20000 --delay 70 --seconds 300        # the delay of a real crawl
    python -m bench pace --sites 60 --delay 1 --max-pages 300          # the last pages before a limit

Crawls a simulated web for a while and lets the server's log judge: no early turn, and pages per second against the
ideal of sites / delay, once every site has had its robots.txt read; and how much later than the delay allows turns
began. What the machine had to spare is printed too: a rate below the ideal on a busy machine says nothing.

With `--max-pages`, it prints how long all pages took from the first to the last, and the last sixth of them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

import gossamer_simweb as simweb
from gossamer.urls import site_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench pace", description=__doc__)
    parser.add_argument("--sites", type=int, default=2_000)
    parser.add_argument("--delay", type=float, default=5.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--max-pages", type=int)
    options = parser.parse_args(arguments)
    enough = int(options.seconds / options.delay) + 10  # no site runs out of pages
    limit = ["--max-pages", str(options.max_pages)] if options.max_pages else []
    with (
        simweb.serve(simweb.plain_web(sites=options.sites, pages=enough)) as server,
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
                *limit,
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        idle = 100 - psutil.cpu_percent()
        log = server.log()
        verdict = simweb.judge(log, delay_s=options.delay, expected=None)
    pages = sorted(request for request in log if request.kind == "page")
    if options.max_pages:
        rounds = -(-options.max_pages // options.sites)
        print(f"{len(pages):,} pages of {options.sites:,} sites in {pages[-1].arrived - pages[0].arrived:.2f} s, the "
              f"last sixth in {pages[-1].arrived - pages[-len(pages) // 6].arrived:.2f} s; the delay asks for "
              f"{(rounds - 1) * options.delay:g} s; {len(verdict.early)} early turns")  # fmt: skip
        return
    # Once warm, which is a delay after the first page, and over whole delays: sites that began together stay together.
    begin, end = pages[0].arrived + options.delay, pages[-1].arrived - 2
    delays = int((end - begin) / options.delay)
    if delays < 1:
        sys.exit(f"too short: give it at least {3 * options.delay:g} seconds")
    end = begin + delays * options.delay
    rate, ideal = sum(begin <= page.arrived < end for page in pages) / (end - begin), options.sites / options.delay
    late_s = [gap_s - options.delay for gap_s in _gaps_s(pages)]
    print(f"{options.sites:,} sites, delay {options.delay:g} s, {options.workers} workers: {len(pages):,} pages, "
          f"{len(verdict.early)} early turns, shortest gap {options.delay + min(late_s):.3f} s")  # fmt: skip
    print(f"    rate over {delays} delays {rate:.2f}/s of {ideal:.2f}/s: {rate / ideal:.1%}; {idle:.0f} % of the "
          "machine idle")  # fmt: skip
    print(f"    {sum(late <= 2 for late in late_s) / len(late_s):.2%} of the turns began at most 2 s after they were "
          f"due, the last one {max(late_s):.1f} s after")  # fmt: skip


def _gaps_s(pages: list[simweb.LoggedRequest]) -> Iterator[float]:
    """Yield the time from the end of a page to the beginning of the next one of the same site, for all pages."""
    ended: dict[str, float] = {}
    for page in pages:
        site = site_of(page.url)
        if site in ended:
            yield page.arrived - ended[site]
        ended[site] = page.ended
