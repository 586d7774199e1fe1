"""Rewrites the golden files: `make golden`, or `make golden ARGS="redirects robots"` for some of them.

Each scenario is crawled on both engines. Where they disagree nothing is written: that is a bug, or a scenario that
depends on timing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

from tests.frontier.postgres_server import new_database
from tests.golden import file_of
from tests.golden.crawling import run
from tests.golden.scenarios import SCENARIOS

if TYPE_CHECKING:
    from tests.golden.scenarios import Outage, Scenario


def main(arguments: list[str]) -> int:
    """Crawl and write; return 1 if the engines disagree about a scenario."""
    parser = argparse.ArgumentParser(prog="make golden", description=__doc__)
    parser.add_argument("scenarios", nargs="*", help=f"some of {', '.join(each.name for each in SCENARIOS)}; else all")
    wanted = parser.parse_args(arguments).scenarios
    if unknown := {*wanted} - {each.name for each in SCENARIOS}:
        parser.error(f"there is no scenario {', '.join(sorted(unknown))}")
    chosen = [each for each in SCENARIOS if not wanted or each.name in wanted]
    written = [_write(each) for each in chosen]
    return int(not all(written))


def _write(scenario: Scenario | Outage) -> bool:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        on_sqlite, on_postgres = run(scenario, Path(one), ""), run(scenario, Path(other), new_database())
    if on_sqlite != on_postgres:
        print(f"{scenario.name}: the engines disagree; nothing was written")
        lines = on_sqlite.splitlines(), on_postgres.splitlines()
        print("\n".join(unified_diff(*lines, "SQLite", "PostgreSQL", n=1, lineterm="")))
        return False
    file = file_of(scenario.name)
    changed = not file.exists() or file.read_text(encoding="utf-8") != on_sqlite
    file.write_text(on_sqlite, encoding="utf-8")
    print(f"{scenario.name}: {'written' if changed else 'unchanged'}", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
