"""A real pywb that replays archives."""

from __future__ import annotations

import http.client
import os
import re
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.end_to_end.crawls import wait_until
from tests.ports import free_port
from tools.environments import python_with

if TYPE_CHECKING:
    from collections.abc import Iterator

COLLECTION = "crawl"
HOW_TO = Path(__file__).parents[2] / "docs" / "howto" / "replay.md"
_START = "from pywb.apps.cli import wayback; wayback()"


class Replayed(NamedTuple):
    """What pywb answers."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes  # as it came


class Pywb:
    """A running pywb."""

    def __init__(self, port: int) -> None:
        self._port = port

    def address(self, url: str, *, rewritten: bool) -> str:
        """Return where a browser finds what is archived of a URL."""
        return f"http://127.0.0.1:{self._port}{_path(url, rewritten=rewritten)}"

    def get(self, url: str, *, rewritten: bool) -> Replayed:
        """Return what is archived of a URL: as it was, or rewritten for a browser."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        connection.request("GET", _path(url, rewritten=rewritten), headers={"Accept-Encoding": "gzip, deflate, br"})
        answer = connection.getresponse()
        replayed = Replayed(answer.status, answer.headers, answer.read())
        connection.close()
        return replayed


def _path(url: str, *, rewritten: bool) -> str:
    return f"/{COLLECTION}/{'mp_' if rewritten else 'id_'}/{url}"


@contextmanager
def replaying(folder: Path) -> Iterator[Pywb]:
    """Run a pywb that replays `crawl-data` in a folder, started by the first two commands of the how-to."""
    configure, start = _commands()
    programs = folder / "programs"
    programs.mkdir()
    (programs / "wayback").write_text(f'#!/bin/sh\nexec {python_with("replay")} -c "{_START}" "$@"\n')
    (programs / "wayback").chmod(0o755)
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["/bin/sh", "-c", configure], cwd=folder, check=True, env=environment)
    port = free_port()
    command = ["/bin/sh", "-c", "exec " + start.replace("8080", str(port))]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, env=environment
        )
    try:
        wait_until(lambda: _listens(process, port), "pywb")
        yield Pywb(port)
    finally:
        process.kill()
        process.wait()


def _commands() -> list[str]:
    """Return the commands of the how-to's first block."""
    (block, *_) = re.findall(r"(?m)(?:^    .+\n)+", HOW_TO.read_text())
    return [line.strip() for line in block.splitlines()]


def _listens(process: subprocess.Popen[bytes], port: int) -> bool:
    assert process.poll() is None, "pywb has ended"
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0
