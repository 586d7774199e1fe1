"""Runs the dashboard's server: listens, bounds connections, and stops at Ctrl-C or SIGTERM."""

from __future__ import annotations

import socket
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from gossamer.errors import GossamerError
from gossamer.serve.limits import HEAD_S, MAX_CONNECTIONS, MAX_HEAD_BYTES

if TYPE_CHECKING:
    import asyncio
    from ipaddress import IPv4Address, IPv6Address

    from starlette.types import ASGIApp

_BUSY: Final = b"Too many connections: try again in a few seconds.\n"
_BUSY_ANSWER: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b"
    % (len(_BUSY), _BUSY)
)


class BoundedProtocol(H11Protocol):
    """A connection: one of a bounded number, and closed if its client does not finish a request in time."""

    _seen: object = None  # the request that was there at the last look

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, unless there are too many."""
        if len(self.connections) >= MAX_CONNECTIONS:
            self.transport = transport
            transport.write(_BUSY_ANSWER)
            transport.close()
            return
        super().connection_made(transport)
        self.loop.call_later(HEAD_S, self._look)

    def data_received(self, data: bytes) -> None:
        """Read what a client sent."""
        if not self.transport.is_closing():
            super().data_received(data)

    def _look(self) -> None:
        """Close the connection if the client has sent no complete request since the last look."""
        if self.transport.is_closing():
            return
        cycle: RequestResponseCycle | None = self.cycle
        waits_for_client = cycle is None or cycle.response_complete or cycle.more_body
        if waits_for_client and cycle is self._seen:
            self.transport.abort()
            return
        self._seen = cycle
        self.loop.call_later(HEAD_S, self._look)


def listen(host: IPv4Address | IPv6Address, port: int) -> socket.socket:
    """Return a socket that listens; refuse a port that is taken."""
    family = socket.AF_INET6 if host.version == 6 else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((str(host), port))
        made.listen(MAX_CONNECTIONS)
    except OSError as error:
        made.close()
        raise GossamerError(
            f"The dashboard cannot be served at {host}, port {port} ({error.strerror}): give --listen another port."
        ) from None
    return made


def run(application: ASGIApp, listener: socket.socket) -> None:
    """Serve until the operator ends it."""
    config = uvicorn.Config(
        application,
        http=BoundedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=1,
    )
    with closing(listener):
        _Server(config).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Ends streams at once: nothing is lost when they are cut."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> Any:
        """Cut what is open, then end."""
        for connection in list(self.server_state.connections):
            cycle = connection.cycle if isinstance(connection, BoundedProtocol) else None
            if cycle and cycle.response_started and not cycle.response_complete:
                cycle.transport.abort()
        await super().shutdown(sockets)
