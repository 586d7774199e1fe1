"""The process that serves a simulated web: pages over HTTP and HTTPS, names over DNS, orders over its stdin.

Started by `process.serve`, and gone with it: the end of stdin means that whoever started this process has
stopped or died, and then it removes its files, if told to, and ends.
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
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from gossamer_simweb.http import Connection
from gossamer_simweb.orders import LOOPBACK
from gossamer_simweb.plan import Web
from gossamer_simweb.text import prepare
from gossamer_simweb.tls import Certificates
from gossamer_simweb.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from gossamer_simweb.orders import Orders

_BACKLOG = 4_096


class _NameProtocol(asyncio.DatagramProtocol):
    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        reply = self._traffic.resolve(data)
        if reply is not None:
            self._transport.sendto(reply, addr)


def _is_own(network: int) -> bool:
    """Say whether a whole network is this machine, as that of loopback is on Linux, or just 127.0.0.1."""
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
    """Return a listening socket for all addresses of a network, or for the only one there is."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if network == LOOPBACK:
        # Where this is not permitted, `Connection` still refuses whatever does not come in by loopback.
        with suppress(OSError, AttributeError):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
    _bind(listener, "0.0.0.0" if network else "127.0.0.1", port)  # noqa: S104
    listener.listen(_BACKLOG)
    return listener


async def _serve(orders: Orders) -> None:
    loop = asyncio.get_running_loop()
    network = orders.network if _is_own(orders.network) else None
    plain = _listen(orders.port, network)
    tls = _listen(orders.tls_port, network) if orders.spec.tls else None
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    _bind(names, f"{orders.network}.0.0.1", orders.dns_port)
    port, tls_port = plain.getsockname()[1], tls.getsockname()[1] if tls is not None else 0
    web = Web(orders.spec, port=port, tls_port=tls_port, network=network)
    traffic = Traffic(web, orders.folder)
    await loop.create_datagram_endpoint(lambda: _NameProtocol(traffic), sock=names)
    await loop.create_server(lambda: Connection(traffic, "http"), sock=plain)
    if tls is not None:
        certificates = Certificates(orders.folder / "ca.pem")
        await loop.create_server(lambda: Connection(traffic, "https"), sock=tls, ssl=certificates.context)
    prepare(orders.spec.seed)
    if orders.warm:
        traffic.warm()
    traffic.close_idle()
    _say(port=port, tls_port=tls_port, dns_port=names.getsockname()[1], network=network)
    await _obey(traffic)


async def _obey(traffic: Traffic) -> None:
    """Answer every byte on stdin with a line about how things stand, until it ends; `.` stops the traffic."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    bugs = 0

    def on_bug(_: object, context: dict[str, Any]) -> None:
        nonlocal bugs
        bugs += 1
        loop.default_exception_handler(context)

    loop.set_exception_handler(on_bug)
    loop.add_signal_handler(signal.SIGTERM, ended.set)

    def on_order() -> None:
        order = os.read(0, 1)
        if not order:
            loop.remove_reader(0)
            ended.set()
            return
        if order == b".":
            traffic.stop()
        traffic.flush()
        _say(answered=traffic.answered, cpu_s=time.process_time(), bugs=bugs)

    loop.add_reader(0, on_order)
    await ended.wait()


def _say(**facts: object) -> None:
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
    """Serve what the orders on stdin say."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the process that started this one
    orders: Orders = pickle.load(sys.stdin.buffer)  # noqa: S301  (from our own parent, over a pipe)
    _allow_many_connections()
    try:
        _run(_serve(orders))
    except OSError as error:
        _say(errno=error.errno, error=error.strerror or str(error))
    finally:
        if orders.remove_folder:
            shutil.rmtree(orders.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
