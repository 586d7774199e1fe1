"""Whether hostile sites cost only themselves: good sites beside them get what they get when left alone.

    python -m chaos hostile                           2,000 sites of which 500 are hostile: a mix of all kinds, then
                                                      each of the worst kinds alone, on both engines
    python -m chaos hostile --short                   a mix, in a small form
    python -m chaos hostile --kind tarpit --sites 200 --hostile 50 --engine sqlite
    python -m chaos hostile --kinds                   list the kinds

An undisturbed crawl of the good sites runs first. Beside hostile sites and in the same time, the good sites must get
95 % of their pages, and p95 of the gaps between their pages may grow by 20 %. No event loop may be held up for half a
second, the crawl may take 150 MB more and log 1 MB, no traceback may show, and `gossamer verify` must find nothing. The
delay must be long enough: the undisturbed crawl and the simulated web together may use half of the processors. If other
programs use more than a quarter of them, the limits of pages, gaps and lag are wide (75 %, twice, two seconds).
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from chaos.campaign import ENGINES, Run, Size
from chaos.hostile_crawl import Result, Terms, crawl
from chaos.judging import verify
from gossamer_simweb import plain_web
from gossamer_simweb.hostility.kinds import HOSTILE_KINDS

BUSY: Final = 0.25  # if others use more of the processors than this, the limits are wide
MAX_MORE_MB: Final = 150.0
MAX_LOG_BYTES: Final = 1_000_000
MAX_CPU: Final = 0.5
MIX: Final = "mix"
WORST: Final = (
    "robots-wildcards", "nested-tables", "font-tower", "ipv4-literals", "tarpit", "slow-answer", "large-pages",
    "link-flood", "private-suffix", "invented-urls", "scattered-urls", "silent-names", "sitemap-bomb", "sitemap-flood",
)  # fmt: skip


def main(arguments: list[str]) -> None:
    """Run the campaign; exit with 1 if a crawl is not as it should be."""
    options = _parse(arguments)
    if options.kinds:
        print("\n".join(f"{name:<24} {kind.sentence}" for name, kind in HOSTILE_KINDS.items()))
        return
    failed, begun_s = 0, time.monotonic()
    kinds = options.kind or ([MIX] if options.short else [MIX, *WORST])
    for engine in [options.engine] if options.engine else ENGINES:
        failed += _compare(engine, kinds, options)
    crawls = len(kinds) * (1 if options.engine else len(ENGINES))
    print(
        f"hostile: {crawls - failed} of {crawls} crawls as they should be, {options.hostile} of {options.sites} sites "
        f"hostile, delay {options.delay:g} s, {time.monotonic() - begun_s:.0f} s",
        flush=True,
    )
    if failed:
        sys.exit(1)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m chaos hostile", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="a small form that takes seconds")
    parser.add_argument("--kind", action="append", choices=[MIX, *HOSTILE_KINDS], metavar="KIND", help="only this kind")
    parser.add_argument("--kinds", action="store_true", help="list the kinds and end")
    parser.add_argument("--sites", type=int, help="with the hostile ones")
    parser.add_argument("--hostile", type=int, help="how many of the sites are hostile")
    parser.add_argument("--pages", type=int, help="of each good site")
    parser.add_argument("--delay", type=float, help="seconds")
    parser.add_argument(
        "--paired", action="store_true", help="an undisturbed crawl before each kind: on a busy machine"
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=ENGINES, help="else both")
    options = parser.parse_args(arguments)
    full = {"sites": 2_000, "hostile": 500, "pages": 8, "delay": 10.0, "engine": None}
    short = {"sites": 80, "hostile": 20, "pages": 8, "delay": 1.0, "engine": "sqlite"}
    for name, value in (short if options.short else full).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    return options


def _compare(engine: str, kinds: list[str], options: argparse.Namespace) -> int:
    """Crawl the good sites alone, then beside the hostile ones of each kind; return how many crawls failed."""
    good = options.sites - options.hostile
    terms = Terms(
        sites=good, pages=options.pages, delay_s=options.delay, workers=options.workers, seed=options.seed,
        longest_s=60 + 4 * options.pages * (options.delay + 1),
    )  # fmt: skip
    size = Size(runs=len(kinds), faults=options.hostile, sites=options.sites, pages=options.pages)
    alone, failed = None, 0
    for kind in kinds:
        if alone is None or options.paired:
            run = _new_run(engine, options.seed, size)
            alone = _crawl_alone(run, terms)
            failed += not _report(run, "undisturbed", engine)
        run = _new_run(engine, options.seed, size)
        _crawl_beside(run, kind, terms, alone)
        failed += not _report(run, kind, engine)
    return min(failed, len(kinds))


def _crawl_alone(run: Run, terms: Terms) -> Result:
    """Crawl the good sites alone."""
    web = plain_web(sites=terms.sites, pages=terms.pages, seed=terms.seed)
    alone = crawl(web, terms, run.folder / "data", frontier=run.new_frontier())
    _describe(run, alone)
    run.check(
        alone.usage.cpu_share <= MAX_CPU, f"the delay is too short: {alone.usage.cpu_share:.0%} of the processors"
    )
    run.check(alone.pages == terms.sites * terms.pages, f"it got {alone.pages} pages")
    return alone


def _crawl_beside(run: Run, kind: str, terms: Terms, alone: Result) -> None:
    """Crawl the good sites beside hostile ones, and compare."""
    names = [*HOSTILE_KINDS] if kind == MIX else [kind]
    random.Random(terms.seed).shuffle(names)
    web = plain_web(
        sites=terms.sites, pages=terms.pages, seed=terms.seed, hostile=tuple(names), hostile_sites=run.size.faults
    )
    beside = crawl(web, terms, run.folder / "data", frontier=run.new_frontier(), stop_s=alone.took_s)
    _describe(run, beside)
    run.problems += find_problems(alone, beside)
    verify(run, run.folder / "data")


class Limits(NamedTuple):
    """What hostile sites may cost good ones."""

    pages: float  # at least, of those of the undisturbed crawl
    gap: float  # p95 of the gaps: less than this many times that of the undisturbed crawl
    lag_s: float  # less than this


STRICT: Final = Limits(pages=0.95, gap=1.2, lag_s=0.5)
WIDE: Final = Limits(pages=0.75, gap=2.0, lag_s=2.0)


def is_busy(*results: Result) -> bool:
    """Return whether others used so much of the processors that times say little."""
    return any(result.usage.others_share > BUSY for result in results)


def find_problems(alone: Result, beside: Result) -> list[str]:
    """Return what hostile sites cost good ones beyond the limits. On a busy machine, the limits of times are wide."""
    limits = WIDE if is_busy(alone, beside) else STRICT
    share, gap = beside.pages / max(1, alone.pages), beside.p95_gap_s / alone.p95_gap_s
    more_mb = beside.usage.peak_mb - alone.usage.peak_mb
    checks = (
        (share >= limits.pages, f"good sites got {share:.1%} of their pages"),
        (gap < limits.gap, f"p95 of the gaps is {gap:.2f} times that of the undisturbed crawl"),
        (beside.lag_s < limits.lag_s, f"an event loop was held up for {beside.lag_s:.2f} s"),
        (more_mb <= MAX_MORE_MB, f"{more_mb:.0f} MB more than the undisturbed crawl"),
        (beside.log_bytes < MAX_LOG_BYTES, f"{beside.log_bytes:,} bytes of log"),
        (not beside.has_traceback, "a traceback in the log"),
        (not beside.politeness, beside.politeness),
    )
    return [problem for holds, problem in checks if not holds]


def _new_run(engine: str, seed: int, size: Size) -> Run:
    folder = Path(tempfile.mkdtemp(prefix="chaos-hostile-"))
    return Run(seed=seed, engine=engine, size=size, folder=folder, dice=random.Random(f"hostile {seed}"))


def _describe(run: Run, result: Result) -> None:
    run.facts += [
        f"{result.pages:,} good pages in {result.took_s:.0f} s",
        f"p95 gap {result.p95_gap_s:.2f} s",
        f"{result.hostile_requests:,} hostile requests",
        f"lag {result.lag_s:.2f} s",
        f"{result.usage.peak_mb:.0f} MB",
        f"log {result.log_bytes:,} bytes",
        f"CPU {result.usage.cpu_share:.0%}, others {result.usage.others_share:.0%}"
        + (" (busy: wide limits)" if is_busy(result) else ""),
    ]


def _report(run: Run, name: str, engine: str) -> bool:
    """Print what came of a crawl; return whether it is as it should be."""
    print(f"hostile {name} {engine}: {'FAILED' if run.problems else 'ok'}; {'; '.join(run.facts)}", flush=True)
    for problem in run.problems:
        print(f"    {problem}"[:2_000], flush=True)
    if run.problems:
        print(f"    its files are in {run.folder}", flush=True)
    else:
        shutil.rmtree(run.folder, ignore_errors=True)
    return not run.problems
