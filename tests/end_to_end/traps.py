"""A server of traps: every name on it is a site that makes up pages without end, each in its own way."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TEXT = "<p>{}</p>" + "<p>Words that are on every page of this site, whatever its address may be.</p>" * 5
NOW = time.gmtime().tm_year
_fresh = count()


def _longer(path: str) -> str:
    return f"{path}{next(_fresh):080d}/"


def _deeper(path: str) -> str:
    return f"{path}{next(_fresh)}/"


def _again(path: str) -> str:
    return f"{path}shop/cart/"


def _more_parameters(path: str) -> str:
    return f"{path}&p{next(_fresh)}=1" if "?" in path else "/?p=1"


def _other_parameters(_path: str) -> str:
    return f"/shop?p{next(_fresh)}=1"


def _session(_path: str) -> str:
    return f"/page?PHPSESSID={next(_fresh)}"


def _later(path: str) -> str:
    _, _, year, month = path.split("/") if "calendar" in path else ("", "", str(NOW + 9), "1")
    years, month_before = divmod(int(year) * 12 + int(month), 12)
    return f"/calendar/{years}/{month_before + 1}"


def _earlier(path: str) -> str:
    day = path.partition("=")[2] or f"{NOW - 197}-01"
    years, month = divmod(int(day[:4]) * 12 + int(day[5:]) - 2, 12)
    return f"/day?date={years}-{month + 1:02d}"


def _same(_path: str) -> str:
    return f"/item-{next(_fresh)}"


TRAPS: dict[str, Callable[[str], str]] = {
    "longer.test": _longer,
    "deeper.test": _deeper,
    "again.test": _again,
    "parameters.test": _more_parameters,
    "filters.test": _other_parameters,
    "session.test": _session,
    "later.test": _later,
    "earlier.test": _earlier,
    "same.test": _same,
    "novel.test": _same,  # whose pages differ: only a budget ends it
    "flood.test": _same,  # under ever new names
    "redirect.test": _again,  # by redirects
}
FLOOD_HOSTS = 400


class TrapServer(ThreadingHTTPServer):
    """Counts the requests for pages of each site."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Trap)
        self.asked: Counter[str] = Counter()

    def seeds(self) -> list[str]:
        """Where each trap begins."""
        return [f"http://{name}:{self.server_port}/" for name in TRAPS]


class _Trap(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: TrapServer

    def do_GET(self) -> None:
        name = self.headers["Host"].partition(":")[0]
        site = ".".join(name.split(".")[-2:])
        if self.path == "/robots.txt":
            self._answer(404, b"")
            return
        self.server.asked[site] += 1
        following = TRAPS[site](self.path)
        if site == "flood.test":
            following = f"http://h{next(_fresh) % FLOOD_HOSTS}.flood.test:{self.server.server_port}/"
        if site == "redirect.test":
            self._answer(302, b"", ("Location", following))
            return
        words = str(next(_fresh)) if site == "novel.test" else ""
        self._answer(200, f'{TEXT.format(words)}<a href="{following}">on</a>'.encode())

    def _answer(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for header in (("Content-Type", "text/html"), ("Content-Length", str(len(body))), *headers):
            self.send_header(*header)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def serve_traps() -> Iterator[TrapServer]:
    """Serve all traps on one port."""
    with TrapServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
