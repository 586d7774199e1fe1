"""The way of a page through the code stays as short as docs/architecture.md says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIGURES = re.compile(r"(\d+) files(?:,| with) (\d+) changes of file")


def test_a_stored_page_passes_through_as_few_files_as_the_document_says() -> None:
    told = FIGURES.search((ROOT / "docs/architecture.md").read_text())
    program = [sys.executable, "tools/trace_page.py"]
    shown = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = FIGURES.search(shown)
    assert told is not None
    assert found is not None, shown
    assert (int(told[1]), int(told[2])) <= (25, 60), "what the design allows"
    assert int(found[1]) <= int(told[1]), shown
    assert int(found[2]) <= int(told[2]), shown
