"""The process that serves a simulated web: pages over HTTP and HTTPS, names over DNS, commands over stdin.

`process.serve` starts it. When stdin ends, the parent process has stopped or died; this process then removes its
files, if the options say so, and ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import resource
import shutil
import signal
import socket
import ssl
import sys
import time
from collections import OrderedDict
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import trustme

from gossamer.urls import site_of_name
from gossamer_simweb.hostility.kind import Certificate
from gossamer_simweb.http import Connection
from gossamer_simweb.plan import WebPlan
from gossamer_simweb.server_state import ServerState
from gossamer_simweb.spec import LOOPBACK
from gossamer_simweb.text import prepare

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from gossamer_simweb.hostility.sites import HostileSites
    from gossamer_simweb.spec import ServerOptions

_BACKLOG = 4_096
_MAX_CONTEXTS = 2_000  # TLS contexts kept in memory, one per site


class Certificates:
    """Issues a certificate for each site and its subdomains on first use, from its own authority."""

    def __init__(self, ca_file: Path, hostile: HostileSites) -> None:
        self._authority = trustme.CA()
        self._hostile = hostile
        self._authority.cert_pem.write_to_path(ca_file)
        self._contexts: OrderedDict[str, ssl.SSLContext] = OrderedDict()
        self.context = self._issue("localhost")  # for clients that send no server name
        self.context.sni_callback = self._choose

    def _choose(self, connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        if name is not None:
            connection.context = self._for_site(site_of_name(name))

    def _for_site(self, site: str) -> ssl.SSLContext:
        context = self._contexts.get(site)
        if context is None:
            context = self._contexts[site] = self._issue(site)
            if len(self._contexts) > _MAX_CONTEXTS:
                self._contexts.popitem(last=False)
        return context

    def _issue(self, site: str) -> ssl.SSLContext:
        host = self._hostile.find(site)
        terms = host.kind.certificate if host is not None and host.kind.certificate else Certificate()
        authority = trustme.CA() if terms.unknown_authority else self._authority
        name = "another.test" if terms.other_name else site
        names = (f"*.{name}", *(f"n{number}.{name}" for number in range(1, terms.names)))
        not_after = datetime(2020, 1, 1, tzinfo=UTC) if terms.expired else None
        not_before = datetime(2019, 1, 1, tzinfo=UTC) if terms.expired else None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(name, *names, not_before=not_before, not_after=not_after).configure_cert(context)
        return context


class _NameProtocol(asyncio.DatagramProtocol):
    def __init__(self, state: ServerState) -> None:
        self._state = state

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        reply = self._state.resolve(data)
        if reply is not None:
            self._transport.sendto(reply, addr)


def _is_own(network: int) -> bool:
    """Return whether this machine owns a whole network, as it does loopback on Linux; elsewhere only 127.0.0.1."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((f"{network}.1.0.1", 0))
        except OSError:
            if network != LOOPBACK:
                raise
            return False
    return True


def _bind(socket_: socket.socket, address: str, port: int) -> None:
    try:
        socket_.bind((address, port))
    except OSError as error:
        raise OSError(error.errno, f"port {port} cannot be used ({os.strerror(error.errno or 0)})") from None


def _listen(port: int, network: int | None) -> socket.socket:
    """Return a socket that listens on all addresses of a network, or on 127.0.0.1 if `network` is None."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if network == LOOPBACK:
        # If the system forbids this, `Connection` still refuses every client that does not use loopback.
        with suppress(OSError, AttributeError):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
    _bind(listener, "0.0.0.0" if network else "127.0.0.1", port)  # noqa: S104
    listener.listen(_BACKLOG)
    return listener


async def _serve(options: ServerOptions) -> None:
    loop = asyncio.get_running_loop()
    network = options.network if _is_own(options.network) else None
    plain = _listen(options.port, network)
    tls = _listen(options.tls_port, network) if options.spec.has_certificates else None
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    _bind(names, f"{options.network}.0.0.1", options.dns_port)
    port, tls_port = plain.getsockname()[1], tls.getsockname()[1] if tls is not None else 0
    web = WebPlan(options.spec, port=port, tls_port=tls_port, network=network)
    state = ServerState(web, options.folder)
    await loop.create_datagram_endpoint(lambda: _NameProtocol(state), sock=names)
    await loop.create_server(lambda: Connection(state, "http"), sock=plain)
    if tls is not None:
        certificates = Certificates(options.folder / "ca.pem", web.hostile)
        await loop.create_server(lambda: Connection(state, "https"), sock=tls, ssl=certificates.context)
    prepare(options.spec.seed)
    web.hostile.prepare()
    if options.warm:
        state.warm()
    state.close_idle()
    _report(port=port, tls_port=tls_port, dns_port=names.getsockname()[1], network=network)
    await _follow_commands(state)


async def _follow_commands(state: ServerState) -> None:
    """Answer every byte on stdin with a status line, until stdin ends; `.` stops the server's connections."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    bugs = 0

    def on_bug(_: object, context: dict[str, Any]) -> None:
        nonlocal bugs
        bugs += 1
        loop.default_exception_handler(context)

    loop.set_exception_handler(on_bug)
    loop.add_signal_handler(signal.SIGTERM, ended.set)

    def on_command() -> None:
        command = os.read(0, 1)
        if not command:
            loop.remove_reader(0)
            ended.set()
            return
        if command == b".":
            state.stop()
        state.flush()
        _report(answered=state.answered, cpu_s=time.process_time(), bugs=bugs)

    loop.add_reader(0, on_command)
    await ended.wait()


def _report(**facts: object) -> None:
    os.write(1, json.dumps(facts).encode() + b"\n")


def _allow_many_connections() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _run(serving: Coroutine[None, None, None]) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(serving)
    else:
        uvloop.run(serving)


def main() -> None:
    """Serve the web that the options on stdin describe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    options: ServerOptions = pickle.load(sys.stdin.buffer)  # noqa: S301  (from our own parent, over a pipe)
    _allow_many_connections()
    try:
        _run(_serve(options))
    except OSError as error:
        _report(errno=error.errno, error=error.strerror or str(error))
    finally:
        if options.remove_folder:
            shutil.rmtree(options.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
