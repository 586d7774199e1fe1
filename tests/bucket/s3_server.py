"""A real S3 server (moto) behind a proxy of ours, which counts every request and injects faults."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.end_to_end.crawls import wait_until
from tests.ports import free_port
from tools.environments import python_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BUCKET = "crawls"
_START = "from moto.server import main; main()"
_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "expect"}


class Fault(Enum):
    """What the proxy does to a request."""

    BUSY = auto()  # 503 SlowDown
    CUT = auto()  # the connection is closed in the middle of the body, which never reaches the bucket
    LOST_ANSWER = auto()  # the bucket has done it, and the answer gets lost
    SLOW = auto()  # it takes a moment
    AWAY = auto()  # the connection is closed at once
    DENIED = auto()  # 403 AccessDenied
    ELSEWHERE = auto()  # 301 PermanentRedirect: another region


_REFUSALS = {
    Fault.BUSY: (503, "SlowDown"),
    Fault.DENIED: (403, "AccessDenied"),
    Fault.ELSEWHERE: (301, "PermanentRedirect"),
}


@dataclass
class Asked:
    """A request that reached the proxy."""

    method: str
    path: str  # with its query
    sent: int  # bytes of the answer's body


@dataclass
class S3Server:
    """The address of the proxy, what it was asked for, and what it does."""

    port: int
    asked: list[Asked] = field(default_factory=list)
    fault: Callable[[str, str], Fault | None] = lambda _method, _path: None  # of a method and a path
    injected: int = 0  # faults so far

    @property
    def environment(self) -> dict[str, str]:
        """What a client needs to use it."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "AKIAEXAMPLEKEY",
            "AWS_SECRET_ACCESS_KEY": "a-very-secret-key",
            "AWS_REGION": "us-east-1",
        }

    def keys(self, prefix: str = "") -> list[str]:
        """Return the keys of all objects that are there."""
        import obstore
        from obstore.store import S3Store

        store = S3Store(BUCKET, endpoint=f"http://127.0.0.1:{self.port}", client_options={"allow_http": True},
                        access_key_id="a", secret_access_key="b", region="us-east-1")  # fmt: skip
        return sorted(each["path"] for each in obstore.list(store, prefix or None).collect())


@contextmanager
def serving_s3() -> Iterator[S3Server]:
    """Run moto and the proxy in front of it, with one empty bucket; raise MissingError if moto cannot be installed."""
    behind = free_port()
    command = [str(python_with("s3-server")), "-c", _START, "-H", "127.0.0.1", "-p", str(behind)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    process = subprocess.Popen(command, env=clean, **quiet)  # type: ignore[call-overload]
    try:
        wait_until(lambda: _answers(behind), "moto")
        _make_bucket(behind)
        server = _Server(("127.0.0.1", 0), _Proxy)
        server.s3 = S3Server(server.server_address[1])  # type: ignore[attr-defined]
        server.behind = behind  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server.s3  # type: ignore[attr-defined]
        finally:
            server.shutdown()
            server.server_close()
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _make_bucket(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("PUT", f"/{BUCKET}")
    assert connection.getresponse().status == 200
    connection.close()


class _Server(ThreadingHTTPServer):
    """Is not surprised by clients that are killed."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Proxy(BaseHTTPRequestHandler):
    """Hands requests on, or does not."""

    protocol_version = "HTTP/1.1"
    server: Any

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._behind: http.client.HTTPConnection | None = None

    def finish(self) -> None:
        if self._behind is not None:
            self._behind.close()
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the standard library
        pass

    def _answer(self) -> None:
        s3: S3Server = self.server.s3
        fault = s3.fault(self.command, self.path)
        s3.injected += fault is not None
        length = int(self.headers.get("Content-Length", 0))
        if fault is Fault.AWAY:
            self._drop()
            return
        if fault is Fault.CUT:
            self.rfile.read(length // 2)
            self._drop()
            return
        body = self.rfile.read(length)
        if fault in _REFUSALS:
            status, code = _REFUSALS[fault]
            said = f"<Error><Code>{code}</Code><AWSAccessKeyId>AKIAEXAMPLEKEY</AWSAccessKeyId></Error>".encode()
            self._send(status, [("Content-Type", "application/xml")], said)
            return
        if fault is Fault.SLOW:
            threading.Event().wait(0.3)
        status, headers, answer = self._ask(body)
        if fault is Fault.LOST_ANSWER:
            self._drop()
            return
        s3.asked.append(Asked(self.command, self.path, len(answer)))
        self._send(status, headers, answer)

    def _ask(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        if self._behind is None:
            self._behind = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
        self._behind.request(self.command, self.path, body=body or None, headers=headers)
        answer = self._behind.getresponse()
        return answer.status, answer.getheaders(), answer.read()

    def _send(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in _HOP or (name.lower() == "content-length" and self.command == "HEAD"):
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(body)))
        with suppress(ConnectionError):  # the client was killed meanwhile
            self.end_headers()
            self.wfile.write(body)

    def _drop(self) -> None:
        self.close_connection = True
        with suppress(OSError):  # the client has closed it
            self.connection.shutdown(socket.SHUT_RDWR)

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _answer  # noqa: N815 - names of the standard library
