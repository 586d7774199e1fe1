"""While no site can be reached it is us, as it seems: no host is closed for a robots.txt that did not come then."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from tests.end_to_end.crawls import EMAIL, Start, said, wait_until

if TYPE_CHECKING:
    from pathlib import Path

SITES = 10  # this many that fail together look like an outage


def test_a_robots_txt_that_is_lost_in_an_outage_is_asked_for_again_soon(tmp_path: Path) -> None:
    data, seeds = tmp_path / "data", tmp_path / "seeds.txt"
    with socket.create_server(("127.0.0.1", 0)) as near, socket.socket() as far:
        far.bind(("0.0.0.0", 0))  # all of 127.0.0.0/8; no server listens yet
        urls = [f"http://127.0.1.{number}:{far.getsockname()[1]}/" for number in range(1, SITES + 1)]
        seeds.write_text("\n".join([f"http://127.0.0.1:{near.getsockname()[1]}/", *urls]))
        flags = ("--delay", "0.1", "--workers", "1", "--allow-network", "127.0.0.0/8", "--set", "retry_wait=0.1")
        with Start(["crawl", str(seeds), "--data-dir", str(data), "--email", EMAIL, *flags]) as start:
            lost, _ = near.accept()
            with lost:
                wait_until(lambda: "the network seems down" in said("status", "--data-dir", str(data)), "an outage")
            asked: list[str] = []
            far.listen()
            for web in (near, far):
                threading.Thread(target=_answer_all, args=(web, asked), daemon=True).start()
            start.end(status=3)  # no seed has a page
            for web in (near, far):
                web.shutdown(socket.SHUT_RDWR)
    assert sorted(asked) == sorted(["/", "/robots.txt"] * (SITES + 1))


def _answer_all(web: socket.socket, asked: list[str]) -> None:
    """Note what is asked for, and answer that there is nothing, until the socket is shut down."""
    with suppress(OSError):
        while True:
            connection, _ = web.accept()
            with connection:
                asked.append(connection.recv(65_536).split()[1].decode())
                connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
