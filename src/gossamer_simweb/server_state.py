"""What all connections of one server share: the plan, the responses, the URLs that failed once, and the logs."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING

from gossamer.urls import normalise
from gossamer_simweb.dns import DnsResponder
from gossamer_simweb.hosts import split_url
from gossamer_simweb.log import format_line
from gossamer_simweb.responses import PlannedResponse, Responder, hostile_response
from gossamer_simweb.spec import LOOPBACK

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer_simweb.hostility.kind import HostileKind
    from gossamer_simweb.http import Connection
    from gossamer_simweb.log import LoggedRequest
    from gossamer_simweb.plan import WebPlan
    from gossamer_simweb.wire import RequestHead

_MAX_IDLE_S = 120.0
_MISDIRECTED = PlannedResponse(421, b"Content-Type: text/plain\r\n", b"Not a host of this address.\n", kind="other")
_BAD_METHOD = PlannedResponse(405, b"Allow: GET, HEAD\r\n", b"", kind="other")


class LogFile:
    """A log file; lines are appended before the event loop's next iteration."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
        self._waiting: list[str] = []

    def add(self, line: str) -> None:
        """Append a line in the event loop's next iteration."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self.flush)
        self._waiting.append(line)

    def flush(self) -> None:
        """Append all waiting lines now."""
        data = "".join(self._waiting).encode("latin-1", "replace")
        self._waiting.clear()
        while data:
            data = data[os.write(self._file, data) :]


class ServerState:
    """The state of one server: its responder, its name server, its connections and its logs."""

    def __init__(self, web: WebPlan, folder: Path) -> None:
        self._web = web
        self._responder = Responder(web)
        self._failed_once: set[str] = set()  # URLs
        self._names = DnsResponder(web)
        self._requests = LogFile(folder / "access.log")
        self._lookups = LogFile(folder / "dns.log")
        self._ports = {"http": web.port, "https": web.tls_port}
        self.connections: set[Connection] = set()
        self.answered = 0

    def is_own(self, address: str) -> bool:
        """Return whether an address is in the network of this web."""
        return address.startswith(f"{self._web.network or LOOPBACK}.")

    def greeter(self, address: str) -> HostileKind | None:
        """Return the kind of the hostile site at an address if it acts before it has read a request."""
        host = self._web.hostile.find_at(address)
        return host.kind if host is not None and host.kind.on_connect is not None else None

    def respond(self, scheme: str, address: str, head: RequestHead) -> PlannedResponse:
        """Return the response to a request that arrived at `address`."""
        if head.method not in ("GET", "HEAD"):
            return _BAD_METHOD
        name, _, port = head.host.lower().partition(":")
        name = name.removesuffix(".")
        if (port or ("443" if scheme == "https" else "80")) != str(self._ports[scheme]):
            return _MISDIRECTED
        if (hostile := self._web.hostile.find(name)) is not None:
            return hostile_response(self._web, hostile, head.target, scheme)
        if name not in self._web.planted.names and self._web.address(name) != address:
            return _MISDIRECTED
        url = normalise(self._web.origin(name, scheme) + head.target)
        if not isinstance(url, str):
            return PlannedResponse(404, b"Content-Type: text/plain\r\n", b"No such page.\n")
        attempt = 2 if url in self._failed_once else 1
        answer = self._responder.respond(scheme, name, split_url(url)[2], accepts=head.accepts, attempt=attempt)
        if answer is None:
            return _MISDIRECTED
        if answer.retryable:
            self._failed_once.add(url)
        return answer

    def warm(self) -> None:
        """Make responses before the first request."""
        self._responder.warm()

    def log_request(self, request: LoggedRequest) -> None:
        """Write a finished request to the access log."""
        self.answered += 1
        self._requests.add(format_line(request))

    def resolve(self, message: bytes) -> bytes | None:
        """Return the name server's reply to a DNS message, and log the question."""
        lookup, reply = self._names.reply(message)
        if lookup is not None:
            self._lookups.add(f"{time.monotonic():.6f}\t{lookup.name}\t{lookup.record}\n")
        return reply

    def close_idle(self) -> None:
        """Close connections that have been idle for long, and schedule the next such check."""
        oldest = time.monotonic() - _MAX_IDLE_S
        for connection in [known for known in self.connections if known.idle_since(oldest)]:
            connection.transport.close()
        asyncio.get_running_loop().call_later(_MAX_IDLE_S / 4, self.close_idle)

    def flush(self) -> None:
        """Write all waiting lines to both log files."""
        self._requests.flush()
        self._lookups.flush()

    def stop(self) -> None:
        """Drop all connections, and log the unfinished requests as they are."""
        for connection in list(self.connections):
            connection.abort()
        self.flush()
