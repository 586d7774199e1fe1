"""The tools that run the tests as on a bare machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_machine_that_cannot_have_a_debian_is_told_why_in_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tools" / "bare_debian.py")]
    ended = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    why = "the program debootstrap is missing" if os.geteuid() == 0 else "only root can install a Debian"
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"bare_debian: {why}")
    assert ended.stderr.count("\n") == 1
    assert ended.stdout == ""
