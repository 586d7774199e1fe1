"""A real pywb that replays archives, in an environment of its own.

It cannot live in `.venv`: it needs brotlipy, which installs a package `brotli` in place of the one that Gossamer needs.
What it consists of is pinned in `requirements-replay.lock`. The environment is made once and kept beyond any one clone.
"""

from __future__ import annotations

import fcntl
import hashlib
import http.client
import os
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.end_to_end.crawls import wait_until
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK_FILE = Path(__file__).parents[2] / "requirements-replay.lock"
COLLECTION = "crawl"
INSTALL_S = 200
_START = "from pywb.apps.cli import wayback; wayback()"
_CONFIGURATION = """\
collections:
  {name}:
    index_paths: {folder}/
    archive_paths: {folder}/
"""


class MissingError(Exception):
    """pywb is not available here; the message says why."""


class Replayed(NamedTuple):
    """What pywb answers."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes  # as it came


class Pywb:
    """A running pywb."""

    def __init__(self, port: int) -> None:
        self._port = port

    def get(self, url: str, *, rewritten: bool) -> Replayed:
        """Return what is archived of a URL: as it was, or rewritten for a browser."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        path = f"/{COLLECTION}/{'mp_' if rewritten else 'id_'}/{url}"
        connection.request("GET", path, headers={"Accept-Encoding": "gzip, deflate, br"})
        answer = connection.getresponse()
        replayed = Replayed(answer.status, answer.headers, answer.read())
        connection.close()
        return replayed


@contextmanager
def replaying(archives: Path, folder: Path) -> Iterator[Pywb]:
    """Run a pywb that replays a folder of archives, by the indexes beside them; its own files go into `folder`."""
    python = python_with_pywb()
    folder.mkdir()
    (folder / "config.yaml").write_text(_CONFIGURATION.format(name=COLLECTION, folder=archives.resolve()))
    port = free_port()
    command: list[str | Path] = [
        python,
        "-c",
        _START,
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--directory",
        folder,
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_until(lambda: _listens(process, port), "pywb")
        yield Pywb(port)
    finally:
        process.kill()
        process.wait()


def _listens(process: subprocess.Popen[bytes], port: int) -> bool:
    assert process.poll() is None, "pywb has ended"
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def python_with_pywb() -> Path:
    """Return the Python of an environment that has pywb; make the environment if there is none."""
    base = os.path.realpath(sys.executable)
    made_of = LOCK_FILE.read_bytes() + f"{base} {sys.version}".encode()
    try:
        store = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gossamer-tests"
        store.mkdir(parents=True, exist_ok=True)
        folder = store / f"pywb-{hashlib.sha256(made_of).hexdigest()[:16]}"
        with (store / "pywb.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                _install(base, folder)
    except OSError as error:
        raise MissingError(f"its environment cannot be made ({error})") from None
    return folder / "bin" / "python"


def _install(base: str, folder: Path) -> None:
    """Make the environment under another name first, so that it is whole if it has its own."""
    scratch = folder.with_name(f"{folder.name}-new")
    shutil.rmtree(scratch, ignore_errors=True)
    options = ["--require-hashes", "--no-deps", "--no-input", "--disable-pip-version-check", "--retries=1"]
    commands: list[list[str | Path]] = [
        [base, "-m", "venv", scratch],
        [scratch / "bin" / "python", "-m", "pip", "install", *options, "--requirement", LOCK_FILE],
        [scratch / "bin" / "python", "-c", "import pywb.apps.cli"],
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
