"""Crawls do exactly what they did when the golden files were written, on both engines."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING

import pytest

from tests.frontier.postgres_server import new_database
from tests.golden import file_of
from tests.golden.crawling import run
from tests.golden.scenarios import SCENARIOS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.golden.scenarios import Outage, Scenario


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_crawl_asks_for_and_keeps_what_is_recorded(scenario: Scenario | Outage, engine: str, tmp_path: Path) -> None:
    golden = file_of(scenario.name).read_text(encoding="utf-8")
    found = run(scenario, tmp_path, new_database() if engine == "postgres" else "")
    if found != golden:
        lines = golden.splitlines(), found.splitlines()
        changes = "\n".join(unified_diff(*lines, "recorded", "found", n=1, lineterm=""))
        pytest.fail(
            f"The crawl is another. If that is the purpose of your change: make golden\n{changes}", pytrace=False
        )


def test_no_golden_file_is_left_of_a_scenario_that_is_gone() -> None:
    files = {file.name for file in file_of("").parent.iterdir()}
    assert files == {file_of(scenario.name).name for scenario in SCENARIOS}
