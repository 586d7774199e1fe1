"""What a fetch costs: CPU per request over HTTP and HTTPS, and how long the event loop is kept from turning.

The server is another process on this machine, so that the CPU counted is the client's alone; every request is a new
connection, for HTTPS with a whole handshake, to one of 250 addresses. Wall times include the server: watch the CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import random
import resource
import ssl
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

import trustme
import uvloop

from gossamer.fetch import Fetcher, FetchSettings, raise_descriptor_limit
from gossamer.records import Fetched

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

PULSE_S = 0.002


class Answering(asyncio.Protocol):
    """Answers the first data that it receives, and hangs up."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport for the answer."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, _data: bytes) -> None:
        """Answer."""
        self._transport.write(self._answer)
        self._transport.close()


def serve(pipe: Connection, body_bytes: int, ca_file: Path) -> None:
    """Serve both schemes until the other end of the pipe is closed."""
    raise_descriptor_limit()
    authority = trustme.CA()
    authority.cert_pem.write_to_path(ca_file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", *(f"127.0.0.{n}" for n in range(2, 251))).configure_cert(context)
    body = random.Random(7).randbytes(body_bytes)
    head = "HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nCache-Control: no-cache\r\n"
    head += f"Vary: Accept\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {body_bytes}\r\n\r\n"
    answer = head.encode() + body

    async def main() -> None:
        loop = asyncio.get_running_loop()
        servers = [
            await loop.create_server(lambda: Answering(answer), "0.0.0.0", 0, ssl=tls, backlog=4_096)
            for tls in (None, context)
        ]
        pipe.send([server.sockets[0].getsockname()[1] for server in servers])
        gone = asyncio.Event()
        loop.add_reader(pipe.fileno(), gone.set)
        await gone.wait()

    uvloop.run(main())


async def measure(fetcher: Fetcher, scheme: str, port: int, requests: int, at_once: int) -> str:
    """Make this many requests, with a bound on those at once, and return what they cost."""
    lags_s: list[float] = []

    async def watch() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(PULSE_S)
            lags_s.append(time.perf_counter() - before - PULSE_S)

    async def take(numbers: list[int]) -> None:
        while numbers:
            number = numbers.pop()
            outcome = await fetcher.fetch(f"{scheme}://127.0.0.{number % 250 + 1}:{port}/page/{number}")
            assert isinstance(outcome, Fetched), outcome
            assert outcome.status == 200
            assert outcome.truncated is None

    await take([0])  # handles, certificates
    watcher = asyncio.create_task(watch())
    numbers = list(range(requests))
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(take(numbers) for _ in range(at_once)))
    wall_s, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
    watcher.cancel()
    lags_s.sort()
    return (
        f"{scheme:5} {at_once:4} at once: {cpu_s / requests * 1e3:.3f} ms CPU, {requests / wall_s:7,.0f}/s, loop lag "
        f"p99 {lags_s[len(lags_s) * 99 // 100] * 1e3:.1f} ms, max {lags_s[-1] * 1e3:.1f} ms"
    )


async def run(ports: list[int], ca_file: Path, requests: int, at_once: int) -> None:
    """Measure both schemes."""
    settings = FetchSettings(allow_network=("127.0.0.0/8",), ca_file=ca_file)
    for scheme, port in zip(("http", "https"), ports, strict=True):
        async with Fetcher(settings, in_flight=at_once, user_agent="Gossamer/0 (bench)") as fetcher:
            print(f"    {await measure(fetcher, scheme, port, requests, at_once)}", flush=True)


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench fetch", description=__doc__)
    parser.add_argument("--requests", type=int, default=4_000)
    parser.add_argument("--at-once", type=int, nargs="+", default=[50, 300])
    parser.add_argument("--body-bytes", type=int, nargs="+", default=[12_000, 60_000])
    parser.add_argument("--asyncio", action="store_true", help="the standard event loop instead of uvloop")
    given = parser.parse_args(arguments)
    raise_descriptor_limit()
    for body_bytes in given.body_bytes:
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = multiprocessing.Pipe()
            ca_file = Path(folder) / "ca.pem"
            server = multiprocessing.get_context("spawn").Process(
                target=serve, args=(theirs, body_bytes, ca_file), daemon=True
            )
            server.start()
            theirs.close()
            ports = ours.recv()
            print(f"bodies of {body_bytes:,} bytes", flush=True)
            for at_once in given.at_once:
                work = run(ports, ca_file, given.requests, at_once)
                asyncio.run(work) if given.asyncio else uvloop.run(work)
            ours.close()
            server.join()
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")
