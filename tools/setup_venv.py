"""Make or repair `.venv` as lock files say, which the launcher names. It needs nothing but the standard library.

A lock file is copied into `.venv` once everything it names is installed, and that copy is removed before
anything changes. So `.venv` is whole exactly when the copies are there, and current when they equal their
originals; anything else is made again.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOG = VENV / "setup.log"
BASE = "requirements.lock"


class SetupError(Exception):
    """`.venv` could not be made; the message is one sentence that says what to do."""


def main() -> int:
    """Bring `.venv` up to date and return the exit status."""
    try:
        with _only_one_at_a_time() as lock:
            # What is there stays there, at its locked version: extras, and tools for working on Gossamer.
            kept = [path.name for path in sorted(VENV.glob("requirements-*.lock")) if (ROOT / path.name).exists()]
            wanted = list(dict.fromkeys([BASE, *sys.argv[1:], *kept]))
            if not all(_is_installed(name) for name in wanted):
                _set_up(wanted, lock)
    except SetupError as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"could not set up .venv: {error.strerror}: {error.filename}")
    except KeyboardInterrupt:
        return 130
    return 0


def _fail(why: str) -> int:
    print(f"gossamer: {why}", file=sys.stderr)
    return 2


@contextmanager
def _only_one_at_a_time() -> Iterator[IO[str]]:
    try:
        lock = (ROOT / ".venv.lock").open("a")
    except OSError as error:
        raise SetupError(
            f"cannot write to {ROOT} ({error.strerror}); start Gossamer once as a user who may, "
            "or copy the folder to a place of your own"
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Waiting for another start of Gossamer that is making .venv", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


def _is_installed(name: str) -> bool:
    copy = VENV / name
    return PYTHON.exists() and copy.exists() and copy.read_bytes() == (ROOT / name).read_bytes()


def _set_up(wanted: list[str], lock: IO[str]) -> None:
    whole = PYTHON.exists() and (VENV / BASE).exists()
    for copy in VENV.glob("requirements*.lock"):
        copy.unlink()
    packages = sum(line[:1].isalnum() for name in wanted for line in (ROOT / name).read_text().splitlines())
    with _Progress(packages) as progress:
        if not whole:
            _make_venv(lock)
        if packages:
            _install(wanted, lock, progress)
        _make_package_importable()
        for name in wanted:
            _copy_whole(ROOT / name, VENV / name)


def _make_venv(lock: IO[str]) -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    try:
        import ensurepip  # noqa: F401 - some distributions leave it out, and venv needs it
        import venv  # noqa: F401
    except ImportError:
        raise SetupError(
            f"Python {version} at {sys.executable} comes without venv; install its package "
            f"(Debian and Ubuntu: sudo apt install python{version}-venv) and start again"
        ) from None
    # The real file, not python3: when the system moves on to another Python, .venv/bin/python is gone.
    command = [os.path.realpath(sys.executable), "-m", "venv", "--clear", str(VENV)]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, pass_fds=[lock.fileno()])
    if run.returncode:
        raise SetupError(f"could not make {VENV}: {_last_word(run.stdout.splitlines())}")


def _install(wanted: list[str], lock: IO[str], progress: _Progress) -> None:
    """Run pip; it inherits the lock, so that others wait for a pip that outlives us."""
    options = ["--require-hashes", "--no-input", "--progress-bar=off", "--disable-pip-version-check"]
    files = [f"--requirement={ROOT / name}" for name in wanted]
    lines = []
    with (
        LOG.open("w") as log,
        subprocess.Popen(
            [str(PYTHON), "-m", "pip", "install", *options, *files],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            env=os.environ | {"PIP_USER": "0"},  # where that is set, pip refuses to work inside .venv
            pass_fds=[lock.fileno()],
        ) as pip,
    ):
        assert pip.stdout is not None
        for line in pip.stdout:
            log.write(line)
            lines.append(line)
            progress.see(line)
    if pip.returncode:
        raise SetupError(
            f"pip could not install what {' and '.join(wanted)} names: {_last_word(lines)} (all it said is in {LOG})"
        )


def _last_word(lines: list[str]) -> str:
    said = [line.strip() for line in lines if line.strip()]
    errors = [line for line in said if line.startswith("ERROR:")]
    return (errors or said or ["it said nothing"])[-1]


def _make_package_importable() -> None:
    """Point site-packages at `src`, relatively: a folder that is moved or copied still works."""
    site_packages = next((VENV / "lib").glob("python*/site-packages"))
    (site_packages / "gossamer.pth").write_text(os.path.relpath(ROOT / "src", site_packages) + "\n")


def _copy_whole(source: Path, target: Path) -> None:
    unfinished = target.with_suffix(".unfinished")
    shutil.copyfile(source, unfinished)
    unfinished.replace(target)


class _Progress:
    """One line on stderr that says what is being done; rewritten in place on a terminal."""

    def __init__(self, packages: int) -> None:
        self._packages = packages
        self._seen = 0
        self._on_terminal = sys.stderr.isatty()
        self._started = time.monotonic()

    def __enter__(self) -> _Progress:
        self._say(f"{self._packages} packages")
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        word = "failed" if kind else "done"
        self._write(f" {word} after {time.monotonic() - self._started:.0f} s\n")

    def see(self, line: str) -> None:
        """Follow pip's output."""
        if self._on_terminal and line.startswith(("Collecting ", "Processing ")):
            self._seen += 1
            self._say(f"{self._seen} of {self._packages} packages")
        elif self._on_terminal and line.startswith("Installing collected"):
            self._say(f"installing {self._packages} packages")

    def _say(self, what: str) -> None:
        start, end = ("\r", "\x1b[K") if self._on_terminal else ("", "")
        self._write(f"{start}Setting up .venv (only once): {what} ...{end}")

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
