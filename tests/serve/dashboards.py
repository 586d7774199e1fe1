"""A real dashboard in a process of its own, and clients that speak HTTP to it."""

from __future__ import annotations

import http.client
import re
import select
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

STARTED = re.compile(r"The dashboard is at (\S+) ; its tokens are in (\S+)\.")
WAIT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer of the dashboard."""

    status: int
    headers: Mapping[str, str]
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedCrawl:
    """A dashboard that runs."""

    port: int
    pid: int
    tokens: Mapping[str, str] = field(repr=False)  # by name

    @property
    def host(self) -> str:
        """Its Host."""
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{self.host}"

    def bearer(self, name: str) -> dict[str, str]:
        """The header that shows a token."""
        return {"Authorization": f"Bearer {self.tokens[name]}"}

    def ask(
        self, path: str, *, as_: str = "", method: str = "GET", body: str = "", headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a request, and return the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        sent = {"Host": self.host, **(self.bearer(as_) if as_ else {}), **(headers or {})}
        if method == "POST":
            sent.setdefault("Content-Type", "application/x-www-form-urlencoded")
        try:
            connection.request(method, path, body=body or None, headers=sent)
            answer = connection.getresponse()
            said = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(status=answer.status, headers=said, body=answer.read().decode())
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        """Open a connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S)


@contextmanager
def dashboard(
    folder: Path, tokens: Path, *options: str, port: int = 0, wrapper: Sequence[str] = ()
) -> Iterator[ServedCrawl]:  # fmt: skip
    """Serve a crawl inside the block, at a free port unless one is given; `wrapper` is a command that starts it."""
    command = [*wrapper, sys.executable, "-m", "gossamer", "serve", "--data-dir", str(folder), "--tokens", str(tokens)]
    process = subprocess.Popen(
        [*command, "--listen", str(port), *options], stdout=subprocess.PIPE, text=True
    )  # fmt: skip
    try:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], WAIT_S)
        found = STARTED.match(process.stdout.readline() if ready else "")
        assert found, "the dashboard has not started"
        yield ServedCrawl(port=port or int(found[1].rpartition(":")[2]), pid=process.pid, tokens=read_tokens(tokens))
    finally:
        process.send_signal(signal.SIGTERM)
        with process:
            process.wait(WAIT_S)


def read_tokens(file: Path) -> dict[str, str]:
    """Return the secrets of a file, by name."""
    lines = [line.split() for line in file.read_text().splitlines() if not line.startswith("#")]
    return {name: secret for name, _, secret in lines}
