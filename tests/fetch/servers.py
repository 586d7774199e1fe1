"""Servers that answer as a test specifies, down to the byte, and record the requests."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from gossamer.fetch import Fetcher, FetchSettings

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable

    Behaviour = Callable[["Peer"], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
PAGE = OK + b"Content-Length: 5\r\n\r\nhello"
LOOPBACK = ("127.0.0.0/8", "::1/128")


class Peer:
    """One connection of a client, as the server sees it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        """Send, no faster than the client takes it."""
        self._writer.write(data)
        await self._writer.drain()

    async def send_forever(self, data: bytes, *, gap_s: float = 0.0) -> None:
        """Send over and over until the client hangs up."""
        while True:
            await self.send(data)
            await asyncio.sleep(gap_s)

    async def wait_until_gone(self) -> None:
        """Send nothing until the client hangs up."""
        await self._reader.read()

    def reset(self) -> None:
        """Reset the connection."""
        connection = self._writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


class Server:
    """A server that behaves the same on every connection."""

    def __init__(self, behaviour: bytes | Behaviour, *, listens: bool) -> None:
        self._behaviour = behaviour
        self._listens = listens
        self.port = 0
        self.scheme = "http"
        self.connections = 0
        self.heard: list[bytes] = []  # the heads of all requests
        self.gone = asyncio.Event()  # a client hung up, or was hung up on

    def url(self, path: str = "/", *, host: str = "127.0.0.1") -> str:
        """Return the URL of a path."""
        return f"{self.scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.connections += 1
        peer = Peer(reader, writer)
        try:
            if self._listens:
                self.heard.append(await reader.readuntil(b"\r\n\r\n"))
            if isinstance(self._behaviour, bytes):
                await peer.send(self._behaviour)
            else:
                await self._behaviour(peer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.gone.set()
            writer.close()


@asynccontextmanager
async def serving(
    behaviour: bytes | Behaviour,
    *,
    tls: ssl.SSLContext | None = None,
    address: str = "127.0.0.1",
    listens: bool = True,
) -> AsyncIterator[Server]:
    """Run a server; unless it `listens`, it acts without waiting for a request."""
    server = Server(behaviour, listens=listens)
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(server.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    listening = await asyncio.start_server(accept, address, 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    server.scheme = "http" if tls is None else "https"
    try:
        yield server
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(OSError):
            await listening.wait_closed()


def fetcher(
    *,
    user_agent: str = "Tester/1",
    email: str = "",
    archives: bool = True,
    allow_network: tuple[str, ...] = LOOPBACK,
    **settings: Any,
) -> Fetcher:
    """Return a fetcher that may contact this machine."""
    terms = FetchSettings(allow_network=allow_network, **settings)
    return Fetcher(
        terms,
        in_flight=terms.in_flight,
        user_agent=user_agent,
        email=email,
        archives=archives,
    )
