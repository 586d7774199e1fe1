"""Crawls in one process, under a virtual clock, with a simulated network: thousands of them, each from a seed.

    python -m chaos simulate --seeds 10000      # run so many seeds and say what broke
    python -m chaos simulate --seed 4711        # replay one and show its trace

`world` puts a crawl together, `loop` runs it step by step, `monitor` says what must hold at every step.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from typing import Final

SHORT_SEEDS: Final = 100


def main(arguments: list[str]) -> None:
    """Run the campaign; exit with 1 if anything broke."""
    from chaos.simulation.run import simulate

    parser = argparse.ArgumentParser(prog="python -m chaos simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1_000, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--seed", type=int, help="replay this one, and show its trace")
    parser.add_argument("--short", action="store_true", help=f"{SHORT_SEEDS} seeds")
    options = parser.parse_args(arguments)
    if options.seed is not None:
        result = simulate(options.seed, keep_trace=True)
        print("\n".join(result.trace))
        print(result.terms)
        print(f"seed {result.seed}: trace {result.trace_hash}, {result.broken or 'all that must hold has held'}")
        sys.exit(bool(result.broken))
    seeds = SHORT_SEEDS if options.short else options.seeds
    began_s, cpu_s = time.monotonic(), time.process_time()
    sums: Counter[str] = Counter()
    failed = []
    for seed in range(options.first, options.first + seeds):
        result = simulate(seed)
        if result.broken:
            failed.append(seed)
            print(f"seed {seed}: {result.broken}", flush=True)
        sums.update(event.fault.value for event in result.terms.events)
        for name in ("time_s", "steps", "requests", "pages", "deaths", "fenced"):
            sums[name] += getattr(result, name)
        if (done := seed + 1 - options.first) % 1_000 == 0:
            print(f"{done:,} seeds, {len(failed)} broken, {time.monotonic() - began_s:,.0f} s", flush=True)
    cpu_s = time.process_time() - cpu_s
    print(f"{seeds:,} seeds in {cpu_s:,.0f} s of CPU ({seeds / cpu_s:.1f} a second); {len(failed)} broke something")
    print(", ".join(f"{name} {count:,.0f}" for name, count in sorted(sums.items())))
    if failed:
        sys.exit(f"replay with --seed: {', '.join(map(str, failed[:20]))}")
