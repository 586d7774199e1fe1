"""Plants a bug in a copy of the source, and runs whoever should notice it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = ROOT / "src"
TIMEOUT_S: Final = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """One line of the source, changed for the worse, and who should notice."""

    file: str  # in the package
    right: str  # stands there exactly once
    wrong: str
    also: tuple[str, str] | None = None  # a second guard that has to fall, right and wrong
    tests: str = ""  # a part of the test suite, ...
    only: str = ""  # ... or of it what this expression selects
    seeds: int = 0  # or so many simulated crawls, at most, ...
    fault: str = ""  # ... of those with this fault
    server: bool = False  # the tests need PostgreSQL

    def plant(self, source: Path) -> None:
        """Change the line in a copy of the source."""
        file = source / "gossamer" / self.file
        text = file.read_text(encoding="utf-8")
        for right, wrong in ((self.right, self.wrong), *([self.also] if self.also else [])):
            if text.count(right) != 1:
                raise LookupError(f"{self.file} has no such line any more: plant the bug anew ({right.strip()!r})")
            text = text.replace(right, wrong)
        file.write_text(text, encoding="utf-8")


def try_out(bug: Bug) -> str:
    """Plant a bug in a copy; return who noticed, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        bug.plant(copy)
        return _run_seeds(bug, copy) if bug.seeds else _run_tests(bug, copy)


def _run_tests(bug: Bug, copy: Path) -> str:
    command = [
        sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
        "-o", f"pythonpath={copy} {ROOT}", *(["-k", bug.only] if bug.only else []), bug.tests,
    ]  # fmt: skip
    environment = dict(os.environ)
    if bug.server:
        from tests.frontier import postgres_server

        environment["GOSSAMER_TEST_POSTGRES"] = postgres_server.server()  # one serves all runs
    run = _run(command, environment)
    failed = re.search(r"^FAILED (\S+)", run.stdout, re.MULTILINE)
    return failed[1] if run.returncode == 1 and failed else ""


def _run_seeds(bug: Bug, copy: Path) -> str:
    command = [sys.executable, "-m", "chaos", "simulate", "--seeds", str(bug.seeds), "--until-broken"]
    command += ["--with", bug.fault] if bug.fault else []
    run = _run(command, {**os.environ, "PYTHONPATH": f"{copy}{os.pathsep}{ROOT}"})
    broken = re.search(r"^seed \d+: .*", run.stdout, re.MULTILINE)
    return broken[0] if run.returncode == 1 and broken else ""


def _run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**environment, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
