"""Look for known holes in the versions that the lock files pin. Run by `make audit`, before a release.

pip-audit lives in a throw-away environment of its own. It asks a vulnerability service on the internet. A package that
the service does not know was not audited, and pip-audit itself would call that a success.

Exit status: 0 no known hole; 1 a hole; 2 something could not be audited.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
AUDITOR = "pip-audit>=2.9,<3"
LOCKS = ("requirements.lock", "requirements-dev.lock")


class Verdict(NamedTuple):
    """What an audit has found."""

    status: int
    sentence: str


def main() -> None:
    """Audit both lock files; exit with the worst status."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", AUDITOR]
        if subprocess.run(install, capture_output=True).returncode:
            sys.exit(_print(Verdict(2, "pip-audit cannot be installed: audit on a machine with access to PyPI.")))
        sys.exit(max(_print(_audit(python, lock)) for lock in LOCKS))


def _audit(python: str, lock: str) -> Verdict:
    command = [python, "-m", "pip_audit", "--requirement", lock, "--disable-pip", "--no-deps", "--format", "json"]
    ran = subprocess.run([*command, "--progress-spinner", "off"], cwd=ROOT, capture_output=True, text=True)
    try:
        return judge(lock, json.loads(ran.stdout)["dependencies"])
    except (ValueError, LookupError):
        return Verdict(2, f"{lock}: the vulnerability service cannot be reached: audit on a machine that can.")


def judge(lock: str, dependencies: list[dict[str, Any]]) -> Verdict:
    """Return what pip-audit's report says about a lock file."""
    holes = [
        f"{each['name']} {each['version']}: {hole['id']}, fixed in {', '.join(hole['fix_versions']) or 'nothing yet'}"
        for each in dependencies
        for hole in each.get("vulns", ())
    ]
    if holes:
        return Verdict(1, f"{lock}: known holes:\n  " + "\n  ".join(holes))
    skipped = [each["name"] for each in dependencies if "skip_reason" in each]
    if skipped or not dependencies:
        known = f"{len(dependencies) - len(skipped)} of {len(dependencies)} packages"
        return Verdict(2, f"{lock}: the vulnerability service knows {known}: audit on a machine that can reach PyPI.")
    return Verdict(0, f"{lock}: no known hole in {len(dependencies)} packages.")


def _print(verdict: Verdict) -> int:
    print(verdict.sentence)
    return verdict.status


if __name__ == "__main__":
    main()
