"""What all campaigns share: their arguments, their runs one after another, a line for each, and a summary."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ENGINES = ("sqlite", "postgres")
DELAY_S = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large a campaign is."""

    runs: int
    faults: int  # in each run
    sites: int
    pages: int  # of each site


@dataclass(slots=True, kw_only=True)
class Run:
    """One run of a campaign: everything except the timing follows from its seed."""

    seed: int
    engine: str
    size: Size
    folder: Path  # its own, and empty
    dice: random.Random
    facts: list[str] = field(default_factory=list)  # for its line
    problems: list[str] = field(default_factory=list)

    def new_frontier(self) -> str:
        """Return the address of a new database; empty if the frontier is a file."""
        return new_database() if self.engine == "postgres" else ""

    def check(self, holds: bool, problem: str) -> None:
        """Record a problem unless a condition holds."""
        if not holds:
            self.problems.append(problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """Runs that inflict one kind of fault."""

    name: str
    about: str  # the module's docstring
    full: Size
    short: Size
    run: Callable[[Run], None]  # records facts and problems
    faults: str  # what `Size.faults` counts
    engines: Sequence[str] = ENGINES

    def main(self, arguments: list[str]) -> None:
        """Run the campaign with the arguments of the command line; exit with 1 if a run fails."""
        options = self._parse(arguments)
        preset = self.short if options.short else self.full
        size = Size(**{name: _given(options, name, preset) for name in ("runs", "faults", "sites", "pages")})
        engines = [options.engine] if options.engine else list(self.engines)
        begun_s, failed = time.monotonic(), 0
        for number in range(size.runs):
            failed += not self._run_one(number, options.seed + number, engines[number % len(engines)], size)
        print(
            f"{self.name}: {size.runs - failed} of {size.runs} runs as they should be, {size.runs * size.faults} "
            f"{self.faults}, {size.sites} sites x {size.pages} pages, {time.monotonic() - begun_s:.0f} s",
            flush=True,
        )
        if failed:
            sys.exit(1)

    def _parse(self, arguments: list[str]) -> argparse.Namespace:
        parser = argparse.ArgumentParser(
            prog=f"python -m chaos {self.name}", description=self.about, formatter_class=argparse.RawTextHelpFormatter
        )
        parser.add_argument("--short", action="store_true", help="a small form that takes seconds")
        parser.add_argument("--runs", type=int)
        parser.add_argument("--faults", type=int, help=f"{self.faults} in each run")
        parser.add_argument("--sites", type=int)
        parser.add_argument("--pages", type=int, help="of each site")
        parser.add_argument("--seed", type=int, default=1, help="of the first run; each further one has the next")
        parser.add_argument("--engine", choices=self.engines, help="else each in turn")
        return parser.parse_args(arguments)

    def _run_one(self, number: int, seed: int, engine: str, size: Size) -> bool:
        folder = Path(tempfile.mkdtemp(prefix=f"chaos-{self.name}-"))
        run = Run(seed=seed, engine=engine, size=size, folder=folder, dice=random.Random(f"{self.name} {seed}"))
        begun_s = time.monotonic()
        try:
            self.run(run)
        except Exception as error:  # any failure: the next run tells more
            traceback.print_exc()
            run.problems.append(f"{type(error).__name__}: {error}")
        except BaseException:  # the campaign is interrupted
            shutil.rmtree(folder, ignore_errors=True)
            raise
        verdict = "ok" if not run.problems else "FAILED"
        head = f"{self.name} {number + 1}/{size.runs} seed {seed} {engine}: {verdict}"
        print("; ".join([head, *run.facts, f"{time.monotonic() - begun_s:.0f} s"]), flush=True)
        if not run.problems:
            shutil.rmtree(folder, ignore_errors=True)
            return True
        for problem in run.problems:
            print(f"    {problem}")
        again = (
            f"python -m chaos {self.name} --runs 1 --seed {seed} --engine {engine} --faults {size.faults} "
            f"--sites {size.sites} --pages {size.pages}"
        )
        print(f"    its files are in {folder}; again: {again}", flush=True)
        return False


def _given(options: argparse.Namespace, name: str, preset: Size) -> Any:
    given = getattr(options, name)
    return getattr(preset, name) if given is None else given
