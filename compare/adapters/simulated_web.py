"""What every adapter needs: the options that it is called with, and the names of the simulated web.

It imports nothing but the standard library, because it runs in the environment of another crawler.
"""

from __future__ import annotations

import argparse
import secrets
import socket
from functools import cache
from pathlib import Path
from typing import Any

_TIMEOUT_S = 20.0
_RECORD_BYTES = 10  # type, class, lifetime and size, before the data
_A = 1


def read_options(description: str | None) -> argparse.Namespace:
    """Return the options of an adapter's command, and look up names at the simulated web's name server from now on."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seeds", type=Path, required=True, help="a file with one URL per line")
    parser.add_argument("--folder", type=Path, required=True, help="keeps the crawl; if there is one, resume it")
    parser.add_argument("--nameserver", required=True, help="an IPv4 address and a port: 127.0.0.1:5353")
    parser.add_argument("--agent", required=True, help="the crawler's name in robots.txt")
    parser.add_argument("--delay", type=float, required=True, help="seconds between two pages of a site")
    parser.add_argument("--max-pages", type=int, help="stop after N pages")
    parser.add_argument("--parallel", type=int, help="with a delay of 0: requests at once (Scrapy only)")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    use_name_server(options.nameserver)
    return options


def use_name_server(server: str) -> None:
    """Replace the functions of `socket` that look up names: every library that uses Python's sockets calls them."""
    host, _, port = server.rpartition(":")
    system_getaddrinfo = socket.getaddrinfo

    @cache
    def look_up(name: str) -> str:
        return _ask((host, int(port)), name)

    def getaddrinfo(name: Any, *arguments: Any, **more: Any) -> Any:
        text = name.decode() if isinstance(name, bytes) else name
        return system_getaddrinfo(look_up(text) if text and text.endswith(".test") else name, *arguments, **more)

    socket.getaddrinfo = getaddrinfo  # type: ignore[assignment]
    socket.gethostbyname = look_up  # Twisted calls this one


def _ask(server: tuple[str, int], name: str) -> str:
    """Return the first IPv4 address of a name; raise `socket.gaierror` if it has none."""
    number = secrets.token_bytes(2)
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.rstrip(".").split("."))
    question = number + b"\x01\x00" + b"\x00\x01" + bytes(6) + labels + b"\x00" + b"\x00\x01" + b"\x00\x01"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(_TIMEOUT_S)
        client.connect(server)
        client.send(question)
        answer = client.recv(4096)
    place = len(question)
    for _ in range(int.from_bytes(answer[6:8], "big")):
        place = _after_name(answer, place)
        kind = int.from_bytes(answer[place : place + 2], "big")
        size = int.from_bytes(answer[place + 8 : place + 10], "big")
        place += _RECORD_BYTES + size
        if kind == _A:
            return socket.inet_ntoa(answer[place - size : place])
    raise socket.gaierror(socket.EAI_NONAME, f"{name} has no address")


def _after_name(answer: bytes, place: int) -> int:
    """Return where the name that begins at `place` ends."""
    while answer[place]:
        if answer[place] >= 0xC0:
            return place + 2  # the rest is elsewhere in the answer
        place += answer[place] + 1
    return place + 1
