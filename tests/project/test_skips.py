"""What a machine cannot test is skipped, and each reason is counted at the end of the run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOME_TESTS = """
import pytest
from tests.frontier.postgres_programs import MissingError

@pytest.fixture(scope="module")
def database():
    raise MissingError("there is no PostgreSQL here")

@pytest.mark.parametrize("number", range(2))
def test_with_a_database(database, number): ...

def test_that_starts_one_itself():
    raise MissingError("there is no PostgreSQL here")

@pytest.mark.skipif(True, reason="needs curl")
def test_with_curl(): ...

def test_that_works_anywhere(): ...
"""


def last_lines(folder: Path, **environment: str) -> list[str]:
    """Run the tests above in processes of their own, as `make test` does, and return what the run says at its end."""
    (folder / "test_some.py").write_text(SOME_TESTS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.conftest",
        "-q",
        "-n",
        "2",
        f"--rootdir={folder}",
        str(folder),
    ]
    path = {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", "PATH": "/usr/bin:/bin"}
    said = subprocess.run(command, cwd=ROOT, env=path | environment, capture_output=True, text=True).stdout
    return said.splitlines()[-3:]


def test_skips_are_counted_by_reason_before_the_last_line(tmp_path: Path) -> None:
    *reasons, last = last_lines(tmp_path)
    assert reasons == ["3 skipped: there is no PostgreSQL here", "1 skipped: needs curl"]
    assert last.startswith("1 passed, 4 skipped in ")


def test_a_version_of_postgres_that_was_asked_for_by_name_is_never_skipped(tmp_path: Path) -> None:
    *_, reason, last = last_lines(tmp_path, GOSSAMER_TEST_POSTGRES_VERSIONS="15")
    assert reason == "1 skipped: needs curl"
    assert last.startswith("1 failed, 1 passed, 1 skipped, 2 errors in ")
