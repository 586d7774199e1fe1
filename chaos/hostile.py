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
from typing import Final

from chaos.campaign import ENGINES, Run, Size
from chaos.hostile_crawl import Result, Terms, crawl
from chaos.hostile_limits import Check, Judged, is_busy, judge, table
from chaos.judging import verify
from gossamer_simweb import plain_web
from gossamer_simweb.hostility.kinds import HOSTILE_KINDS

MAX_CPU: Final = 0.5
MIX: Final = "mix"
UNDISTURBED: Final = "undisturbed"
WORST: Final = (
    "robots-wildcards", "nested-tables", "font-tower", "ipv4-literals", "tarpit", "slow-answer", "large-pages",
    "gzip-bomb", "link-flood", "private-suffix", "invented-urls", "scattered-urls", "silent-names", "sitemap-bomb",
    "sitemap-flood",
)  # fmt: skip


def main(arguments: list[str]) -> None:
    """Run the campaign; exit with 1 if a crawl is not as it should be."""
    options = _parse(arguments)
    if options.kinds:
        print("\n".join(f"{name:<24} {kind.sentence}" for name, kind in HOSTILE_KINDS.items()))
        return
    crawls: list[Judged] = []
    begun_s = time.monotonic()
    kinds = options.kind or ([MIX] if options.short else [MIX, *WORST])
    for engine in [options.engine] if options.engine else ENGINES:
        crawls += _compare(engine, kinds, options)
    print("\n".join(table(crawls)))
    passed = sum(crawl.holds for crawl in crawls)
    print(
        f"hostile: {passed} of {len(crawls)} crawls as they should be, {options.hostile} of {options.sites} sites "
        f"hostile, delay {options.delay:g} s, {time.monotonic() - begun_s:.0f} s",
        flush=True,
    )
    if passed < len(crawls):
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


def _compare(engine: str, kinds: list[str], options: argparse.Namespace) -> list[Judged]:
    """Crawl the good sites alone, then beside the hostile ones of each kind; return all crawls, judged."""
    good = options.sites - options.hostile
    terms = Terms(
        sites=good, pages=options.pages, delay_s=options.delay, workers=options.workers, seed=options.seed,
        longest_s=60 + 4 * options.pages * (options.delay + 1),
    )  # fmt: skip
    size = Size(runs=len(kinds), faults=options.hostile, sites=options.sites, pages=options.pages)
    alone: Result | None = None
    crawls: list[Judged] = []
    for kind in kinds:
        if alone is None or options.paired:
            run = _new_run(engine, options.seed, size)
            alone = _crawl_alone(run, terms)
            crawls.append(Judged(UNDISTURBED, engine, [_whole(run)]))
            _report(run, UNDISTURBED, engine)
        run = _new_run(engine, options.seed, size)
        crawls.append(Judged(kind, engine, _crawl_beside(run, kind, terms, alone)))
        _report(run, kind, engine)
    return crawls


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


def _crawl_beside(run: Run, kind: str, terms: Terms, alone: Result) -> list[Check]:
    """Crawl the good sites beside hostile ones, compare, and return what each limit says."""
    names = [*HOSTILE_KINDS] if kind == MIX else [kind]
    random.Random(terms.seed).shuffle(names)
    web = plain_web(
        sites=terms.sites, pages=terms.pages, seed=terms.seed, hostile=tuple(names), hostile_sites=run.size.faults
    )
    try:
        beside = crawl(web, terms, run.folder / "data", frontier=run.new_frontier(), stop_s=alone.took_s)
    except (AssertionError, OSError) as error:  # it did not start, or not end: the other kinds are crawled all the same
        run.problems.append(f"the crawl failed: {error}")
        return []
    _describe(run, beside)
    checks = judge(alone, beside)
    run.problems += [check.problem for check in checks if not check.holds]
    problems = len(run.problems)
    verify(run, run.folder / "data")
    is_clean = len(run.problems) == problems
    return [*checks, Check("verify", "clean" if is_clean else "problems", is_clean, "")]


def _whole(run: Run) -> Check:
    """Return whether the undisturbed crawl can be compared with."""
    return Check("undisturbed", "problems" if run.problems else "whole", not run.problems, "; ".join(run.problems))


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


def _report(run: Run, name: str, engine: str) -> None:
    """Print what came of a crawl; keep its files if it is not as it should be."""
    print(f"hostile {name} {engine}: {'FAILED' if run.problems else 'ok'}; {'; '.join(run.facts)}", flush=True)
    for problem in run.problems:
        print(f"    {problem}"[:2_000], flush=True)
    if run.problems:
        print(f"    its files are in {run.folder}", flush=True)
    else:
        shutil.rmtree(run.folder, ignore_errors=True)
