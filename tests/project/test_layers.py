"""The build fails when a module imports what it may not, or has no place among the layers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of both packages and of their contracts, for a test to break."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", program, "--no-cache"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )


def test_the_packages_as_they_are_keep_every_contract(copy: Path) -> None:
    linted = lint(copy)
    assert linted.returncode == 0, linted.stdout
    assert "0 broken" in linted.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("gossamer/stray.py", "", "A layer imports only"),
        ("gossamer/urls.py", "import gossamer.records", "A layer imports only"),
        ("gossamer/errors.py", "import gossamer.urls", "A layer imports only"),
        ("gossamer/fetch/__init__.py", "import gossamer.frontier", "A layer imports only"),
        ("gossamer_simweb/__init__.py", "import gossamer.errors", "The simulated web is an independent judge"),
        ("gossamer_simweb/judge.py", "from gossamer import Crawl", "The simulated web is an independent judge"),
        ("gossamer/crawl/__init__.py", "import gossamer_simweb", "The crawler does not know the simulated web"),
        ("gossamer/cli/demo.py", "import gossamer_simweb.judge", "The crawler does not know the simulated web"),
        ("gossamer/records.py", "import sqlite3", "Database drivers are imported only"),
        ("gossamer/metrics/samples.py", "import psycopg.rows", "Database drivers are imported only"),
        ("gossamer/urls.py", "import asyncio", "asyncio stays out"),
        ("gossamer/rules/__init__.py", "from asyncio import sleep", "asyncio stays out"),
        ("gossamer_simweb/judge.py", "import asyncio", "asyncio stays out"),
    ],
)
def test_a_stray_import_breaks_a_contract(copy: Path, module: str, line: str, contract: str) -> None:
    with (copy / "src" / module).open("a") as file:
        file.write(f"\n{line}\n")
    linted = lint(copy)
    assert linted.returncode == 1, linted.stdout
    broken = [said for said in linted.stdout.splitlines() if " BROKEN" in said]
    assert any(said.startswith(contract) for said in broken), linted.stdout
