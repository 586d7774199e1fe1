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
    """A copy of the package and of its contracts, to be spoilt."""
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


def test_the_package_as_it_is_keeps_every_contract(copy: Path) -> None:
    linted = lint(copy)
    assert linted.returncode == 0, linted.stdout
    assert "0 broken" in linted.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("stray.py", "", "A layer imports only"),
        ("urls.py", "import gossamer.records", "A layer imports only"),
        ("errors.py", "import gossamer.urls", "A layer imports only"),
        ("fetch/__init__.py", "import gossamer.frontier", "A layer imports only"),
        ("simweb/__init__.py", "import gossamer.errors", "The simulated web is an independent judge"),
        ("records.py", "import sqlite3", "Database drivers are imported only"),
        ("metrics.py", "import psycopg.rows", "Database drivers are imported only"),
        ("urls.py", "import asyncio", "asyncio stays out"),
        ("rules/__init__.py", "from asyncio import sleep", "asyncio stays out"),
    ],
)
def test_a_stray_import_breaks_a_contract(copy: Path, module: str, line: str, contract: str) -> None:
    with (copy / "src" / "gossamer" / module).open("a") as file:
        file.write(f"\n{line}\n")
    linted = lint(copy)
    assert linted.returncode == 1, linted.stdout
    broken = [said for said in linted.stdout.splitlines() if " BROKEN" in said]
    assert any(said.startswith(contract) for said in broken), linted.stdout
