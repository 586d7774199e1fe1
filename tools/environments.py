"""Environments of their own for programs of others: readers of archives in tests, and crawlers to compare with.

They cannot live in `.venv`: pywb needs brotlipy, which installs a package `brotli` in place of the one that Gossamer
needs, and no crawler of others belongs there. A lock file pins what an environment consists of. Each is made once and
kept beyond any one clone.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INSTALL_S = 270
IMPORTS = {  # by the name of the lock file: what must load
    "replay": "pywb.apps.cli, cdxj_indexer, wacz.main, datasette.app",
    "scrapy": "scrapy",
    "hadolint": "sys",  # a program, no module
    "site": "sphinx, furo, myst_parser",
    "s3-server": "moto.server",
    "crawlee": "crawlee.crawlers, parsel, httpx2",
}


class MissingError(Exception):
    """The programs are not available here; the message says why."""


def python_with(name: str) -> Path:
    """Return the Python of the environment that `requirements-NAME.lock` pins; make it if there is none."""
    base = os.path.realpath(sys.executable)
    lock_file = ROOT / f"requirements-{name}.lock"
    made_of = lock_file.read_bytes() + f"{base} {sys.version}".encode()
    try:
        store = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gossamer-tests"
        store.mkdir(parents=True, exist_ok=True)
        folder = store / f"{name}-{hashlib.sha256(made_of).hexdigest()[:16]}"
        with (store / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                _install(base, folder, lock_file, IMPORTS[name])
    except OSError as error:
        raise MissingError(f"its environment cannot be made ({error})") from None
    return folder / "bin" / "python"


def _install(base: str, folder: Path, lock_file: Path, imports: str) -> None:
    """Make the environment under another name first, so that it is whole if it has its own."""
    scratch = folder.with_name(f"{folder.name}-new")
    shutil.rmtree(scratch, ignore_errors=True)
    options = ["--require-hashes", "--no-deps", "--no-input", "--disable-pip-version-check", "--retries=1"]
    commands: list[list[str | Path]] = [
        [base, "-m", "venv", scratch],
        [scratch / "bin" / "python", "-m", "pip", "install", *options, "--requirement", lock_file],
        [scratch / "bin" / "python", "-c", f"import {imports}"],
    ]
    for command in commands:
        try:
            run = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=INSTALL_S,
                env=os.environ | {"PIP_USER": "0"},  # where that is set, pip refuses to work inside an environment
            )
        except subprocess.TimeoutExpired:
            raise MissingError(f"installing it took more than {INSTALL_S} s") from None
        if run.returncode:
            said = [line for line in (run.stdout + run.stderr).splitlines() if line.strip()]
            raise MissingError(f"it cannot be installed ({said[-1].strip() if said else command[2]})")
    scratch.rename(folder)
