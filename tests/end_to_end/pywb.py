"""A real pywb that replays archives."""

from __future__ import annotations

import http.client
import socket
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tests.archive_tools import tools_python
from tests.end_to_end.crawls import wait_until
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COLLECTION = "crawl"
_START = "from pywb.apps.cli import wayback; wayback()"
_CONFIGURATION = """\
collections:
  {name}:
    index_paths: {folder}/
    archive_paths: {folder}/
"""


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
    python = tools_python()
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
