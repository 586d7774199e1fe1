"""The conformance suite is worth what it catches: each bug planted here in a copy of the engine must turn it red."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.frontier import postgres_server

ROOT = Path(__file__).parents[2]
ENGINES = "gossamer/frontier"
SUITE = "tests/frontier/conformance"
POSTGRES = "tests/frontier/test_postgres.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """One line of the engine, changed for the worse."""

    file: str
    right: str
    wrong: str
    suite: str  # the part of the conformance suite that is run; running less keeps the build fast
    engine: str = "sqlite"


BUGS = {
    "no epoch check": Bug(
        file="completing.py",
        right='(site["owner"], site["epoch"]) == (worker, visit.epoch)',
        wrong='site["owner"] == worker',
        suite=f"{SUITE}/test_complete.py",
    ),
    "no owner check": Bug(
        file="completing.py",
        right='(site["owner"], site["epoch"]) == (worker, visit.epoch)',
        wrong="True",
        suite=f"{SUITE}/test_complete.py",
    ),
    "recovery without delay": Bug(
        file="completing.py",
        right='paced_ms = tx.after_ms(site["delay_ms"] / 1000)',
        wrong="paced_ms = tx.now_ms",
        suite=f"{SUITE}/test_ownership.py",
    ),
    "claim ignores blocked hosts": Bug(
        file="claiming.py",
        right='if (row["blocked_until"] or 0) > tx.now_ms}',
        wrong="if False}",
        suite=f"{SUITE}/test_claim.py",
    ),
    "claim ignores retry waits": Bug(
        file="queries.sql",
        right="AND not_before > 0 AND not_before <= :now_ms",
        wrong="AND not_before > 0 AND :now_ms > 0",
        suite=f"{SUITE}/test_claim.py",
    ),
    "completion is not atomic": Bug(
        file="engine.py",
        right="            new = add_links(tx, admitted)\n            lost",
        wrong='            new = add_links(tx, admitted)\n            tx.save()\n            self._execute("COMMIT")\n'
        '            self._execute("BEGIN IMMEDIATE")\n            lost',
        suite=f"{SUITE}/test_crashes.py",
    ),
    "deferred BEGIN": Bug(
        file="queries.sql", right="\nBEGIN IMMEDIATE\n", wrong="\nBEGIN\n", suite="tests/frontier/test_sqlite.py"
    ),
    "lost wake-up": Bug(
        file="adding.py",
        right='tx.sites_with_work += tx.execute(SQL["wake_idle_sites"]).rowcount',
        wrong='tx.sites_with_work += tx.execute(SQL["wake_idle_sites"] + " AND epoch = 0").rowcount',
        suite=f"{SUITE}/test_crashes.py",
    ),
    "page limit overrun": Bug(
        file="claiming.py",
        right="rows = rows[: tx.pages_left]",
        wrong="rows = rows[: tx.page_limit]",
        suite=f"{SUITE}/test_operator.py",
    ),
    "page limit not given back": Bug(
        file="completing.py", right='tx.in_hand -= site["in_hand"]', wrong="pass", suite=f"{SUITE}/test_operator.py"
    ),
    "depth not lowered": Bug(
        file="adding.py", right="if changed > new:", wrong="if False:", suite=f"{SUITE}/test_add.py"
    ),
    "what the scope refused is believed known": Bug(
        file="engine.py",
        right="                new += add_links(tx, admitted)\n            self._recent.remember(admitted)",
        wrong="                new += add_links(tx, admitted)\n            self._recent.remember(part)",
        suite=f"{SUITE}/test_add.py",
    ),
    "excluded sites are claimed": Bug(
        file="queries.sql",
        right="WHERE owner IS NULL AND has_work = 1 AND excluded = 0 AND ready_at <= :now_ms",
        wrong="WHERE owner IS NULL AND has_work = 1 AND ready_at <= :now_ms",
        suite=f"{SUITE}/test_operator.py",
    ),
    "the dead may claim": Bug(
        file="engine.py",
        right='fetchone()["gone"]:',
        wrong='fetchone()["gone"] > 1:',
        suite=f"{SUITE}/test_ownership.py",
    ),
    "the clock runs on while nobody crawls": Bug(
        file="database.py",
        right="        self.now_ms = self.wait_from_ms = self._saved_ms\n",
        wrong="        self._saved_ms = self.now_ms\n",
        suite=f"{SUITE}/test_ownership.py",
    ),
    "waits are rounded down": Bug(
        file="database.py",
        right="return self.wait_from_ms + math.ceil(max(0.0, wait_s) * 1000)",
        wrong="return self.now_ms + math.floor(max(0.0, wait_s) * 1000)",
        suite=f"{SUITE}/test_ownership.py",
    ),
    "postgres: no epoch check": Bug(
        engine="postgres",
        file="completing.py",
        right="(row.owner, row.epoch) != (tx.worker, visit.epoch)",
        wrong="row.owner != tx.worker",
        suite=f"{SUITE}/test_complete.py",
    ),
    "postgres: recovery without delay": Bug(
        engine="postgres",
        file="releasing.py",
        right="paced_ms=tx.wait_from_ms + max(row.delay_ms, tx.delay_ms)",
        wrong="paced_ms=tx.wait_from_ms",
        suite=f"{SUITE}/test_ownership.py",
    ),
    "postgres: claims lock nothing": Bug(
        engine="postgres",
        file="queries.sql",
        right=" LIMIT %(sites)s FOR NO KEY UPDATE SKIP LOCKED",
        wrong=" LIMIT %(sites)s",
        suite=f"{POSTGRES}::test_a_site_whose_claim_is_not_committed_is_nobody_elses",
    ),
    "postgres: adding without a lock on the site": Bug(
        engine="postgres",
        file="queries.sql",
        right="ORDER BY site_id FOR KEY SHARE",
        wrong="ORDER BY site_id",
        suite=f"{POSTGRES}::test_a_link_that_comes_while_its_site_is_being_put_to_rest_wakes_it",
    ),
    "postgres: no second look before a site rests": Bug(
        engine="postgres",
        file="releasing.py",
        right="        first.update(dict.fromkeys(resting, 0))\n        first.update(first_queued(tx, locked))\n",
        wrong="        first.update(dict.fromkeys(set(resting) - set(locked), 0))\n",
        suite=f"{POSTGRES}::test_a_link_that_comes_just_before_its_site_is_locked_to_be_put_to_rest_is_seen",
    ),
    "postgres: a jump of the server's clock is followed": Bug(
        engine="postgres",
        file="crawl_clock.py",
        right="if self._run != reading.run:",
        wrong="if True:",
        suite=f"{POSTGRES}::test_a_jump_of_the_servers_clock_is_followed_by_nobody",
    ),
}


@pytest.mark.parametrize("bug", BUGS.values(), ids=BUGS.keys())
def test_the_suite_goes_red(bug: Bug, tmp_path: Path) -> None:
    copy = tmp_path / "src"
    shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
    file = copy / ENGINES / bug.engine / bug.file
    text = file.read_text()
    assert text.count(bug.right) == 1, "the line to break has moved: plant the bug anew"
    file.write_text(text.replace(bug.right, bug.wrong))
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-o",
            f"pythonpath={copy} {ROOT}",
            "-k",
            bug.engine,
            bug.suite,
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **_server(bug.engine)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 1, f"nobody noticed:\n{run.stdout}\n{run.stderr}"
    assert "FAILED tests/frontier" in run.stdout


def _server(engine: str) -> dict[str, str]:
    """One server serves all runs."""
    return {"GOSSAMER_TEST_POSTGRES": postgres_server.server()} if engine == "postgres" else {}
