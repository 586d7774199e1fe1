"""Starts a simulated web in its own process, queries it and stops it."""

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
    """A simulated web that a child process serves on this machine."""

    def __init__(self, child: subprocess.Popen[bytes], options: ServerOptions, facts: dict[str, Any]) -> None:
        self._child = child
        self.folder = options.folder  # has the logs and the certificate of the authority
        self._logs: dict[str, bytes] = {}  # their content when the server stopped
        self.pid = child.pid
        self.port: int = facts["port"]
        self.tls_port: int | None = facts["tls_port"] or None
        self.dns = f"{options.network}.0.0.1:{facts['dns_port']}"
        self.network = f"{options.network}.0.0.0/8"  # contains all addresses of the web
        self.ca_file = self.folder / "ca.pem" if options.spec.has_certificates else None
        self.web = WebPlan(
            options.spec,
            port=self.port,
            tls_port=facts["tls_port"],
            network=facts["network"],
        )
        self._responder = Responder(self.web)

    def seeds(self, count: int | None = None) -> list[str]:
        """Return seeds for a crawl: one for each of the first `count` sites, or for all sites, traps included."""
        return self.web.seeds(count)

    def log(self) -> list[LoggedRequest]:
        """Return all answered and aborted requests so far, in the order in which they ended."""
        return parse_log(self._read("access.log").decode("latin-1"))

    def lookups(self) -> list[tuple[float, str, int]]:
        """Return all questions to the name server so far: monotonic seconds, name, record type (1 is A)."""
        lines = self._read("dns.log").decode("latin-1").split("\n")[:-1]
        fields = [line.split("\t") for line in lines]
        return [(float(asked_at), name, int(record)) for asked_at, name, record in fields]

    def alive(self) -> bool:
        """Return whether the server still runs."""
        return self._child.poll() is None

    def answered(self) -> int:
        """Return the number of requests answered so far."""
        return int(self._ask()["answered"])

    def cpu_s(self) -> float:
        """Return the processor time that the server has used, in seconds."""
        return float(self._ask()["cpu_s"])

    def payload_digest(self, url: str, accept_encoding: str = "") -> str:
        """Return the SHA-1 (hex) of the body that the server sends for a URL after any planned first failure.

        The body is hashed as it travels: with its content coding, without the chunks of a transfer coding.
        """
        normalised = normalise(url)
        if not isinstance(normalised, str):
            raise ValueError(f"{url}: {normalised.value}")
        scheme, name, target = split_url(normalised)
        answer = self._responder.respond(scheme, name, target, accepts=accept_encoding, attempt=2)
        if answer is None:
            raise ValueError(f"{url} is not on any host of this web")
        return hashlib.sha1(answer.body).hexdigest()  # noqa: S324  (WARC digests are SHA-1)

    def stop(self) -> None:
        """Stop the server; its logs stay readable. Raises RuntimeError if the server had internal errors."""
        if self._logs:
            return
        bugs = self._ask(b".")["bugs"]
        self._logs = {name: (self.folder / name).read_bytes() for name in ("access.log", "dns.log")}
        _end(self._child)
        if bugs:
            raise RuntimeError(f"The simulated web had internal errors ({bugs}); see stderr, and do not trust its log.")

    def _ask(self, command: bytes = b"?") -> dict[str, Any]:
        options, replies = _pipes(self._child)
        options.write(command)
        options.flush()
        return _read_report(replies)

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
    """Serve a simulated web on this machine until the block ends, or until the calling process does.

    A port of 0 means any free port. Logs and the certificate of the authority stay in `folder`; without it they go into
    a temporary folder, which is removed at the end. `warm` makes all bodies first, as far as they fit into memory, so
    that a benchmark measures the crawler only. `network` is the first number of all addresses. If it is not that of
    loopback, this machine must own all addresses of the network, and any client that reaches them is served. Raises
    OSError if a port cannot be used.
    """
    home = folder or Path(tempfile.mkdtemp(prefix="simweb-"))
    options = ServerOptions(
        spec=spec,
        folder=home,
        remove_folder=folder is None,
        warm=warm,
        port=port,
        tls_port=tls_port,
        dns_port=dns_port,
        network=network,
    )
    child = _start_child()
    try:
        server = WebServer(child, options, _send_options(child, options))
        yield server
        server.stop()
    finally:
        _end(child)
        if folder is None:
            shutil.rmtree(home, ignore_errors=True)


def _start_child() -> subprocess.Popen[bytes]:
    path = os.pathsep.join(filter(None, (str(_PACKAGE_ROOT), os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-m", "gossamer_simweb.server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )


def _send_options(child: subprocess.Popen[bytes], options: ServerOptions) -> dict[str, Any]:
    """Tell the child what to serve; return the ports and the network that it uses."""
    to_child, replies = _pipes(child)
    pickle.dump(options, to_child)
    to_child.flush()
    facts = _read_report(replies)
    if "error" in facts:
        raise OSError(facts["errno"], facts["error"])
    return facts


def _pipes(child: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert child.stdin is not None
    assert child.stdout is not None
    return child.stdin, child.stdout


def _read_report(replies: IO[bytes]) -> dict[str, Any]:
    line = replies.readline()
    if not line:
        raise RuntimeError("The process that serves the simulated web has ended.")
    facts: dict[str, Any] = json.loads(line)
    return facts


def _end(child: subprocess.Popen[bytes]) -> None:
    """Close the child's stdin and wait until it ends; kill it if it does not."""
    for pipe in _pipes(child):
        with suppress(BrokenPipeError):
            pipe.close()
    try:
        child.wait(timeout=5)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
