"""Runs a scenario: one crawl with one worker against real servers on this machine, reduced to text."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

import gossamer_simweb as simweb
from tests.end_to_end.crawls import EMAIL, Start, said, wait_until
from tests.golden.reducing import Asked, Reducer
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.golden.scenarios import Outage, Scenario

FLAGS: Final = (
    *("--email", EMAIL, "--workers", "1", "--delay", "0", "--links", "--allow-network", "127.0.0.0/8"),
    *("--set", "batch=0.1", "--set", "retry_wait=0.1", "--set", "max_tries=1", "--set", "heartbeat=0.2"),
    # A busy machine may take its time: no limit of ours decides anything.
    *("--set", "dns_timeout=60", "--set", "connect_timeout=60", "--set", "total_timeout=120"),
    *("--set", "parse_deadline=30"),
)


class PlainServer:
    """A server without TLS for all of 127.0.0.0/8: a front page with a link, one more page, and no robots.txt.

    It answers whatever is no HTTP at once, which a simulated web does not: that waits for more.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._socket = socket.create_server(("0.0.0.0", free_port()))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        with suppress(OSError):  # shut down
            while True:
                connection, _ = self._socket.accept()
                with connection, suppress(OSError):  # the client has gone
                    connection.sendall(self._answer(connection.recv(65_536)))

    def _answer(self, head: bytes) -> bytes:
        status, body = "400 Bad Request", ""
        if head.startswith(b"GET "):
            path = head.split()[1].decode()
            host = head.lower().partition(b"\r\nhost:")[2].split()[0].decode()
            status = "200 OK" if path in ("/", "/more") else "404 Not Found"
            if status == "200 OK":
                body = f"<title>{path}</title><p>{path} of {host.partition(':')[0]}</p><a href=/more>more</a>"
            self.asked.append(Asked(f"http://{host}{path}", "page" if body else "robots", int(status[:3])))
        return (
            f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            f"{body}"
        ).encode()


class Names:
    """A name server that fails until it is told to work; then every name leads to this machine."""

    def __init__(self) -> None:
        self.works = False
        self._socket = socket.socket(type=socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.address = "{}:{}".format(*self._socket.getsockname())
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.sendto(b"", self._socket.getsockname())  # an empty question ends it
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            question, sender = self._socket.recvfrom(512)
            if not question:
                return
            self._socket.sendto(self._reply(question), sender)

    def _reply(self, question: bytes) -> bytes:
        end = question.index(b"\0", 12) + 5  # behind the name: type and class
        is_address = self.works and question[end - 4 : end - 2] == b"\0\1"
        code = 0x8180 if self.works else 0x8182  # no error, or a failure of the server
        record = struct.pack(">HHHIH4B", 0xC00C, 1, 1, 300, 4, 127, 0, 0, 1) if is_address else b""
        return question[:2] + struct.pack(">HHHHH", code, 1, is_address, 0, 0) + question[12:end] + record


def run(scenario: Scenario | Outage, folder: Path, frontier: str) -> str:
    """Crawl in an empty folder, with the frontier there or at a database's address; return the crawl as text."""
    from tests.golden.scenarios import Scenario

    data = folder / "data"
    if isinstance(scenario, Scenario):
        return _run(scenario, data, frontier)
    return _run_outage(scenario, data, frontier)


def _run(scenario: Scenario, data: Path, frontier: str) -> str:
    # Ports of five digits, so that no body is longer because of its port.
    with simweb.serve(scenario.web, port=free_port()) as server, PlainServer() as plain:

        def filled(texts: Sequence[str]) -> list[str]:
            ports = ("{port}", str(server.port)), ("{plain}", str(plain.port))
            return [text.replace(*ports[0]).replace(*ports[1]) for text in texts]

        seeds = [*(server.seeds() if scenario.planned else ()), *filled(scenario.seeds)]
        with _start(data, seeds, frontier, "--nameserver", server.dns, *filled(scenario.flags)) as start:
            start.end()
        asked = [Asked(request.url, request.kind, request.status) for request in sorted(server.log())]
        named = filled([f"http://{planted.host}:{{port}}{planted.path}" for planted in scenario.web.planted])
        ports = {server.port: "PORT", plain.port: "PLAIN"}
    return Reducer(data, asked=[*asked, *plain.asked], ports=ports, named=named).text()


def _run_outage(outage: Outage, data: Path, frontier: str) -> str:
    """Crawl sites none of which can be reached until the worker takes that for an outage; then all of them can."""
    with PlainServer() as plain, Names() as names:
        seeds = [f"http://site-{number}.test:{plain.port}/" for number in range(outage.sites)]
        flags = ("--nameserver", names.address, "--set", f"outage_sites={outage.sites}", "--set", "outage_window=60")
        with _start(data, seeds, frontier, *flags) as start:
            wait_until(lambda: start.status is not None or _is_paused(data), "an outage")
            names.works = True
            start.end()
    return Reducer(data, asked=plain.asked, ports={plain.port: "PLAIN"}, failed_once=True).text()


def _is_paused(data: Path) -> bool:
    with suppress(AssertionError):  # there is nothing to tell of before the crawl has begun
        return "the network seems down" in said("status", "--data-dir", str(data))
    return False


def _start(data: Path, seeds: Sequence[str], frontier: str, *flags: str) -> Start:
    file = data.parent / "seeds.txt"
    file.write_text("".join(f"{seed}\n" for seed in seeds))
    there = ("--frontier", frontier) if frontier else ()
    return Start(["crawl", str(file), "--data-dir", str(data), *FLAGS, *there, *flags])
