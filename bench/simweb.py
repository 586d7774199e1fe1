"""How fast the simulated web answers: server processor time per request, with a client in a process of its own.

    python -m bench simweb --profile large --keep-alive

Every URL of a web is asked for once, on a new connection each unless --keep-alive: first from a server that
makes bodies when they are asked for, then from one that has made them before.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import sys
import time
from typing import TYPE_CHECKING, cast

from gossamer_simweb import WebSpec, serve
from gossamer_simweb.hosts import split_url

if TYPE_CHECKING:
    from gossamer_simweb import WebServer

_CLIENTS = 32


class _Client(asyncio.Protocol):
    """Asks for one URL after the other, and counts answers."""

    def __init__(self, requests: list[tuple[str, bytes]], keep_alive: bool, done: asyncio.Future[None]) -> None:
        self._requests, self._keep_alive, self._done = requests, keep_alive, done

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._left_bytes = cast("asyncio.Transport", transport), -1
        self._transport.write(self._requests.pop()[1])

    def data_received(self, data: bytes) -> None:
        if not self._keep_alive:
            return
        if self._left_bytes < 0:
            head, _, data = data.partition(b"\r\n\r\n")
            self._left_bytes = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        self._left_bytes -= len(data)
        if self._left_bytes <= 0:
            self._left_bytes = -1
            if self._requests:
                self._transport.write(self._requests.pop()[1])
            else:
                self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if not self._done.done():
            self._done.set_result(None)


async def _ask_all(requests: list[tuple[str, bytes]], port: int, keep_alive: bool) -> None:
    loop = asyncio.get_running_loop()

    async def work(mine: list[tuple[str, bytes]]) -> None:
        while mine:
            done: asyncio.Future[None] = loop.create_future()
            address = mine[-1][0]
            await loop.create_connection(lambda: _Client(mine, keep_alive, done), address, port)  # noqa: B023
            await done

    if keep_alive:  # a connection serves one address only
        by_address: dict[str, list[tuple[str, bytes]]] = {}
        for request in requests:
            by_address.setdefault(request[0], []).append(request)
        shares = list(by_address.values())
    else:
        shares = [requests[start::_CLIENTS] for start in range(_CLIENTS)]
    for start in range(0, len(shares), _CLIENTS):
        await asyncio.gather(*(work(share) for share in shares[start : start + _CLIENTS]))


def _client(requests: list[tuple[str, bytes]], port: int, keep_alive: bool) -> None:
    import uvloop

    uvloop.run(_ask_all(requests, port, keep_alive))


def _requests(server: WebServer, keep_alive: bool) -> list[tuple[str, bytes]]:
    web = server.web
    found = []
    for number in range(web.spec.sites):
        for url in web.site(number).by_url:
            _, name, target = split_url(url)
            head = f"GET {target} HTTP/1.1\r\nHost: {name}:{server.port}\r\nUser-Agent: bench\r\n"
            head += "Accept: */*\r\nAccept-Encoding: gzip, br, zstd\r\n"
            head += "\r\n" if keep_alive else "Connection: close\r\n\r\n"
            found.append((web.address(name) or "", head.encode()))
    return found


def main(arguments: list[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sites", type=int, default=200)
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--profile", choices=("small", "large"), default="small")
    parser.add_argument("--keep-alive", action="store_true")
    args = parser.parse_args(arguments)
    spec = WebSpec(sites=args.sites, pages=args.pages, profile=args.profile, slow_s=0.0, chunked=0.0)
    for warm in (False, True):
        with serve(spec, warm=warm) as server:
            requests = _requests(server, args.keep_alive)
            started, cpu_before_s = time.perf_counter(), server.cpu_s()
            client = multiprocessing.Process(target=_client, args=(requests, server.port, args.keep_alive))
            client.start()
            client.join()
            took_s = time.perf_counter() - started
            answered = server.answered()
            cpu_ms = (server.cpu_s() - cpu_before_s) / answered * 1_000
            print(
                f"{'bodies made before' if warm else 'bodies made on demand'}: {answered} answers, "
                f"{answered / took_s:,.0f}/s; server {cpu_ms:.3f} ms CPU each: {1_000 / cpu_ms:,.0f}/s per core"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
