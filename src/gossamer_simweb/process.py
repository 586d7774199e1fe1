"""Starts a simulated web in a process of its own, asks it how it is doing, and ends it."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gossamer.urls import normalise
from gossamer_simweb.hosts import split_url
from gossamer_simweb.log import LoggedRequest, parse_log
from gossamer_simweb.plan import WebPlan
from gossamer_simweb.responses import Responder
from gossamer_simweb.spec import LOOPBACK, ServerOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer_simweb.spec import WebSpec

_PACKAGE_ROOT = Path(__file__).parents[1]


class WebServer:
    """A simulated web that is being served on this machine."""

    def __init__(self, child: subprocess.Popen[bytes], orders: ServerOptions, facts: dict[str, Any]) -> None:
        self._child = child
        self.folder = orders.folder  # with the logs and the authority's certificate
        self._logs: dict[str, bytes] = {}  # as they were when the server stopped
        self.pid = child.pid
        self.port: int = facts["port"]
        self.tls_port: int | None = facts["tls_port"] or None
        self.dns = f"{orders.network}.0.0.1:{facts['dns_port']}"
        self.network = f"{orders.network}.0.0.0/8"  # that all addresses are in
        self.ca_file = self.folder / "ca.pem" if orders.spec.tls else None
        self.web = WebPlan(
            orders.spec,
            port=self.port,
            tls_port=facts["tls_port"],
            network=facts["network"],
        )
        self._answers = Responder(self.web)

    def seeds(self, count: int | None = None) -> list[str]:
        """Return URLs to start a crawl from: one for each of the first `count` sites, or for all."""
        return self.web.seeds(count)

    def log(self) -> list[LoggedRequest]:
        """Return every request answered so far, or aborted, in the order in which they ended."""
        return parse_log(self._read("access.log").decode("latin-1"))

    def lookups(self) -> list[tuple[float, str, int]]:
        """Return every question to the name server so far: monotonic seconds, name, record type (1 is A)."""
        lines = self._read("dns.log").decode("latin-1").split("\n")[:-1]
        fields = [line.split("\t") for line in lines]
        return [(float(asked_at), name, int(record)) for asked_at, name, record in fields]

    def alive(self) -> bool:
        """Say whether the server still runs."""
        return self._child.poll() is None

    def answered(self) -> int:
        """Return how many requests have been answered so far."""
        return int(self._ask()["answered"])

    def cpu_s(self) -> float:
        """Return how much processor time the server has used since it started."""
        return float(self._ask()["cpu_s"])

    def payload_digest(self, url: str, accept_encoding: str = "") -> str:
        """Return the SHA-1 (hex) of the body that is sent for a URL when nothing goes wrong.

        Of the body as it travels: in its content coding, without the chunks of a transfer coding.
        """
        normalised = normalise(url)
        if not isinstance(normalised, str):
            raise ValueError(f"{url}: {normalised.value}")
        scheme, name, target = split_url(normalised)
        answer = self._answers.answer(scheme, name, target, accepts=accept_encoding, attempt=2)
        if answer is None:
            raise ValueError(f"{url} is not on any host of this web")
        return hashlib.sha1(answer.body).hexdigest()  # noqa: S324  (WARC digests are SHA-1)

    def stop(self) -> None:
        """End the server; its logs stay readable. Raises RuntimeError if it went wrong on the way."""
        if self._logs:
            return
        bugs = self._ask(b".")["bugs"]
        self._logs = {name: (self.folder / name).read_bytes() for name in ("access.log", "dns.log")}
        _end(self._child)
        if bugs:
            raise RuntimeError(f"{bugs} errors in the simulated web, reported on stderr; do not trust its log")

    def _ask(self, order: bytes = b"?") -> dict[str, Any]:
        orders, replies = _pipes(self._child)
        orders.write(order)
        orders.flush()
        return _hear(replies)

    def _read(self, name: str) -> bytes:
        if self._logs:
            return self._logs[name]
        self._ask()
        return (self.folder / name).read_bytes()


@contextmanager
def serve(
    spec: WebSpec,
    *,
    port: int = 0,
    tls_port: int = 0,
    dns_port: int = 0,
    folder: Path | None = None,
    warm: bool = False,
    network: int = LOOPBACK,
) -> Iterator[WebServer]:
    """Serve a simulated web on this machine until the block ends, or the process that entered it does.

    Ports are free ones unless given. Logs and the authority's certificate go into `folder`, where they stay,
    or into a temporary folder that is removed at the end. `warm` makes all bodies first, as far as they fit
    into memory, so that a benchmark measures its crawler. `network` is the first number of all addresses: unless it is
    loopback's, this machine must take all of them for its own, and whoever reaches them is served. Raises OSError if it
    cannot listen.
    """
    home = folder or Path(tempfile.mkdtemp(prefix="simweb-"))
    orders = ServerOptions(
        spec=spec,
        folder=home,
        remove_folder=folder is None,
        warm=warm,
        port=port,
        tls_port=tls_port,
        dns_port=dns_port,
        network=network,
    )
    path = os.pathsep.join(filter(None, (str(_PACKAGE_ROOT), os.environ.get("PYTHONPATH"))))
    child = subprocess.Popen(
        [sys.executable, "-m", "gossamer_simweb.server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    try:
        to_child, replies = _pipes(child)
        pickle.dump(orders, to_child)
        to_child.flush()
        facts = _hear(replies)
        if "error" in facts:
            raise OSError(facts["errno"], facts["error"])
        server = WebServer(child, orders, facts)
        yield server
        server.stop()
    finally:
        _end(child)
        if folder is None:
            shutil.rmtree(home, ignore_errors=True)


def _pipes(child: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert child.stdin is not None
    assert child.stdout is not None
    return child.stdin, child.stdout


def _hear(replies: IO[bytes]) -> dict[str, Any]:
    line = replies.readline()
    if not line:
        raise RuntimeError("the process that serves the simulated web has ended")
    facts: dict[str, Any] = json.loads(line)
    return facts


def _end(child: subprocess.Popen[bytes]) -> None:
    """Let the child see the end of its stdin, and wait for it; kill it if it does not go."""
    for pipe in _pipes(child):
        with suppress(BrokenPipeError):
            pipe.close()
    try:
        child.wait(timeout=5)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
