"""Every planted bug stands where it can be planted, and those that are cheap to notice are noticed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from chaos.planted import SHORT
from chaos.planted.bugs import BUGS, CRAWL_BUGS
from chaos.planted.planting import ROOT, SOURCE, Bug, try_out

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_can_still_be_planted_and_somebody_is_named_who_notices(name: str, tmp_path: Path) -> None:
    bug = BUGS[name]
    copy = tmp_path / "gossamer" / bug.file
    copy.parent.mkdir(parents=True)
    shutil.copy(SOURCE / "gossamer" / bug.file, copy)
    bug.plant(tmp_path)
    assert copy.read_text() != (SOURCE / "gossamer" / bug.file).read_text()
    assert bool(bug.seeds) != bool(bug.tests)
    if bug.tests:
        assert (ROOT / bug.tests.partition("::")[0]).exists()


def test_a_line_that_has_moved_is_said_so(tmp_path: Path) -> None:
    shutil.copytree(SOURCE / "gossamer" / "worker", tmp_path / "gossamer" / "worker")
    with pytest.raises(LookupError, match="plant the bug anew"):
        Bug(file="worker/lease.py", right="no such line", wrong="", seeds=1).plant(tmp_path)


@pytest.mark.parametrize("name", SHORT)
def test_a_planted_bug_is_noticed(name: str) -> None:
    assert try_out(CRAWL_BUGS[name])


def test_a_change_that_is_no_bug_is_not_noticed() -> None:
    harmless = Bug(
        file="worker/lease.py", right="import math\n", wrong="import math\n\n", tests="tests/worker/test_lease.py"
    )
    assert try_out(harmless) == ""
