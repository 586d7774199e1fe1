"""Crawls in one process, under a virtual clock, with a simulated network: thousands of them, each from a seed.

    python -m chaos simulate --seeds 10000      # run 10,000 seeds and print what broke
    python -m chaos simulate --seed 4711        # replay one and show its trace
    python -m chaos simulate --with reboot      # only seeds with a certain fault

`world` builds a crawl, `loop` runs it step by step, `monitor` checks the invariants at every step.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections import Counter
from contextlib import nullcontext
from itertools import count, islice
from multiprocessing import Pool
from random import Random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaos.simulation.run import Result

SHORT_SEEDS: Final = 60
COLLECT_EVERY: Final = 20  # seeds
REPORT_EVERY: Final = 500
FIGURES: Final = ("time_s", "steps", "requests", "pages", "deaths", "fenced")


def main(arguments: list[str]) -> None:
    """Run the campaign; exit with 1 if an invariant broke."""
    parser = argparse.ArgumentParser(prog="python -m chaos simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1_000, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes share the work")
    parser.add_argument("--seed", type=int, help="replay this seed, and show its trace")
    parser.add_argument("--with", dest="fault", default="", help="only seeds with this fault, or with a lease")
    parser.add_argument("--until-broken", action="store_true", help="end with the first seed that breaks an invariant")
    parser.add_argument("--short", action="store_true", help=f"{SHORT_SEEDS} seeds")
    options = parser.parse_args(arguments)
    if options.seed is not None:
        _replay(options.seed)
    else:
        seeds = SHORT_SEEDS if options.short else options.seeds
        _run(_choose(options.first, seeds, options.fault), options.jobs, until_broken=options.until_broken)


def _choose(first: int, seeds: int, fault: str) -> Sequence[int]:
    """Return this many seeds, all with the fault if one is named."""
    from chaos.simulation.faults import draw_terms

    if not fault:
        return range(first, first + seeds)
    found = (seed for seed in count(first) if draw_terms(Random(f"{seed} terms")).holds(fault))
    return list(islice(found, seeds))


def _replay(seed: int) -> None:
    from chaos.simulation.run import simulate

    result = simulate(seed, keep_trace=True)
    print("\n".join(result.trace))
    print(result.terms)
    print(f"seed {seed}: trace {result.trace_hash}; {result.broken or 'every invariant held'}")
    sys.exit(bool(result.broken))


def _run(seeds: Sequence[int], jobs: int, *, until_broken: bool) -> None:
    """Run many seeds, and print what broke and what it cost."""
    began_s, cpu_s = time.monotonic(), 0.0
    sums: Counter[str] = Counter()
    failed = []
    with Pool(jobs) if jobs > 1 else nullcontext() as pool:
        results = pool.imap_unordered(_simulate, seeds, chunksize=4) if pool else map(_simulate, seeds)
        for done, (result, took_s) in enumerate(results, start=1):
            cpu_s += took_s
            if result.broken:
                failed.append(result.seed)
                print(f"seed {result.seed}: {result.broken}", flush=True)
                if until_broken:
                    sys.exit(1)
            sums.update(event.fault.value for event in result.terms.events)
            sums.update({name: getattr(result, name) for name in FIGURES})
            if done % REPORT_EVERY == 0:
                print(f"{done:,} seeds, {len(failed)} broken, {time.monotonic() - began_s:,.0f} s", flush=True)
    print(f"{len(seeds):,} seeds in {cpu_s:,.0f} s of CPU ({len(seeds) / cpu_s:.1f} a second): {len(failed)} broken")
    print(", ".join(f"{name} {count:,.0f}" for name, count in sorted(sums.items())))
    if failed:
        sys.exit(f"replay with --seed: {', '.join(map(str, sorted(failed)[:20]))}")


def _simulate(seed: int) -> tuple[Result, float]:
    from chaos.simulation.run import simulate

    gc.set_threshold(100_000, 50, 100)  # collecting takes long
    if seed % COLLECT_EVERY == 0:  # a seed leaves the large tables of its workers behind
        gc.collect()
    began_s = time.process_time()
    return simulate(seed), time.process_time() - began_s
