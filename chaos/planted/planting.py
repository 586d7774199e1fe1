"""Plants a bug in a copy of the source, and runs the tests or simulated crawls that must fail."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chaos.planted.changes import Change, plant
from chaos.planted.marks import find_mark

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = ROOT / "src"
TIMEOUT_S: Final = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """The changes of a bug at one or more marks, and which tests or crawls must fail."""

    changes: Mapping[str, Change | tuple[Change, ...]]  # by the name of the mark
    tests: str = ""  # a part of the test suite, ...
    only: str = ""  # ... or of it what this expression selects
    seeds: int = 0  # or at most this many simulated crawls, ...
    fault: str = ""  # ... of those with this fault
    server: bool = False  # the tests need PostgreSQL

    def planted(self, source: Path) -> dict[Path, str]:
        """Return the files of a source that the bug changes, each with its new text."""
        files: defaultdict[Path, list[tuple[int, Change]]] = defaultdict(list)
        for name, change in self.changes.items():
            mark = find_mark(source, name)
            files[mark.file] += [(mark.line, each) for each in (change if isinstance(change, tuple) else (change,))]
        return {file: plant(file.read_text(encoding="utf-8"), changes) for file, changes in files.items()}

    def plant(self, source: Path) -> None:
        """Change a copy of the source."""
        for file, text in self.planted(source).items():
            file.write_text(text, encoding="utf-8")


def try_out(bug: Bug) -> str:
    """Plant a bug in a copy; return the test or seed that noticed it, or an empty string."""
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
