"""How long a million seeds take to load, while another process sends heartbeats.

python -m bench seeding --seeds 1000000
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress

from gossamer.crawl.seeding import load_seeds
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.seeds import read_seeds

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event


def beat(path: Path, stop: Event) -> list[float]:
    """Send heartbeats ten times a second and return how long each took."""
    took = []
    with SqliteFrontier(path) as frontier:
        frontier.join("beater")
        while not stop.wait(0.1):
            began = time.perf_counter()
            frontier.heartbeat({})
            took.append(time.perf_counter() - began)
    return took


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench seeding", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1_000_000)
    count = parser.parse_args(arguments).seeds
    with tempfile.TemporaryDirectory(dir=".bench" if Path(".bench").is_dir() else None) as folder:
        file = Path(folder) / "seeds.txt"
        with file.open("w") as lines:
            lines.writelines(f"{'www.' if n % 3 == 0 else ''}domain-{n}.example\n" for n in range(count))
        path = Path(folder) / "frontier.sqlite"
        with SqliteFrontier(path) as frontier:
            frontier.resume(delay_s=70)
            manager = multiprocessing.get_context("spawn")
            with manager.Manager() as shared, manager.Pool(1) as pool:
                stop = shared.Event()
                beats = pool.apply_async(beat, (path, stop))
                wall, cpu = time.perf_counter(), time.process_time()
                with Progress(
                    *Progress.get_default_columns(), MofNCompleteColumn(), console=Console(stderr=True)
                ) as bar:
                    task = bar.add_task("Loading seeds", total=count)
                    loaded = load_seeds(
                        frontier, read_seeds([file]),
                        report=lambda done: bar.update(task, completed=done.lines), on_bad_line=print,
                    )  # fmt: skip
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
                stop.set()
                took = sorted(beats.get(timeout=60))
        size = sum(f.stat().st_size for f in Path(folder).glob("frontier*"))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1 << 20)
    print(f"{loaded.new:,} seeds in {wall:.1f} s: {count / wall:,.0f}/s, {cpu / count * 1e6:.1f} µs CPU each, "
          f"{size / 1e6:,.0f} MB on disk, peak memory {memory:.0f} MB")  # fmt: skip
    print(f"    {len(took)} heartbeats meanwhile: median {took[len(took) // 2] * 1000:.0f} ms, "
          f"longest {took[-1] * 1000:.0f} ms")  # fmt: skip
