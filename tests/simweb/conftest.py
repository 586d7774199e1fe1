"""Fixtures and functions that tests of the simulated web share."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from gossamer_simweb import WebSpec, serve
from gossamer_simweb.hosts import split_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer_simweb import WebServer


@pytest.fixture(scope="session")
def server() -> Iterator[WebServer]:
    """A small web with every feature, for tests of single responses."""
    with serve(WebSpec(sites=10, pages=30, slow_s=0.05)) as running:
        yield running


def connect(server: WebServer, url: str) -> socket.socket:
    """Return a connection to the server of a URL."""
    address = server.web.address(split_url(url)[1])
    assert address is not None
    return socket.create_connection((address, server.port), timeout=5)


def talk(server: WebServer, url: str, request: bytes) -> bytes:
    """Send bytes to the server of a URL; return everything that it sends until it closes the connection."""
    with connect(server, url) as connection:
        connection.sendall(request)
        return read_all(connection)


def read_all(connection: socket.socket) -> bytes:
    """Read until the other side closes the connection."""
    pieces = []
    while piece := connection.recv(65_536):
        pieces.append(piece)
    return b"".join(pieces)


def get(url: str, *headers: str, method: str = "GET", version: str = "HTTP/1.1") -> bytes:
    """Return a request as bytes; it closes the connection unless its headers say otherwise."""
    host, slash, target = url.partition("://")[2].partition("/")
    lines = [f"{method} {slash}{target} {version}", f"Host: {host}", *headers]
    if not any(header.lower().startswith("connection:") for header in headers):
        lines.append("Connection: close")
    return "\r\n".join((*lines, "", "")).encode()
