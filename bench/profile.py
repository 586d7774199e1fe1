"""Flame graphs: where each process of a crawl spends its time.

    python -m bench profile --web large --output profile

A crawl of a simulated web runs under py-spy. Every process (supervisor, worker, page process, converter) gets a file in
the format of speedscope, with one graph per thread: open it at https://www.speedscope.app, which reads it in the
browser, or with `npx speedscope FILE`. Waiting is left out: a sample counts when the thread runs.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from bench import recording
from bench.crawl import WEBS, Way, crawl, spec_of
from bench.postgres.building import server


def write(stacks: list[recording.Stack], folder: Path) -> list[tuple[Path, int]]:
    """Write one flame graph per process; return the files with their numbers of samples."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for process in dict.fromkeys(stack.part.process for stack in stacks):
        theirs = [stack for stack in stacks if stack.part.process == process]
        file = folder / f"{process.replace(' ', '-')}.speedscope.json"
        file.write_text(json.dumps(recording.speedscope(process, theirs)))
        written.append((file, sum(stack.samples for stack in theirs)))
    return written


def main(arguments: list[str]) -> None:
    """Record and write."""
    parser = argparse.ArgumentParser(prog="python -m bench profile", description=__doc__)
    parser.add_argument("--web", choices=WEBS, default="small")
    parser.add_argument("--sites", type=int)
    parser.add_argument("--pages", type=int)
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--frontier", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--output", type=Path, default=Path("profile"))
    options = parser.parse_args(arguments)
    spec = spec_of(options.web, sites=options.sites, pages=options.pages, tls=options.tls)
    place = server(None) if options.frontier == "postgresql" else ""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "stacks"
        cost = crawl(spec, Way(workers=options.workers, server=place, recording=file))
        stacks = list(recording.read(file.read_text()))
    for written, samples in write(stacks, options.output):
        print(f"{written}: {samples:,} samples in {cost.pages:,} pages")
