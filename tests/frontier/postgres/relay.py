"""A way to a PostgreSQL server that can fall silent at a chosen moment, as a server does that hangs."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo

if TYPE_CHECKING:
    from types import TracebackType

SILENCE_S = 30.0  # then it hangs up, so that whoever would wait for ever fails
_READY = b"Z\0\0\0\5"  # what the server says when it waits for the next question


class Relay:
    """Passes on so many questions, of all its clients together; then nobody is answered, nor let in, any more."""

    def __init__(self, server: str, *, questions: int) -> None:
        """Listen on this machine, for clients of the server at this address."""
        parts = conninfo_to_dict(server)
        self._host, self._port = str(parts.get("host") or "localhost"), int(parts.get("port") or 5432)
        self._left = questions
        self._is_closed = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = [self._listener]
        port = self._listener.getsockname()[1]
        self.address = make_conninfo(server, host="127.0.0.1", port=port)

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closed.set()
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    @property
    def is_silent(self) -> bool:
        """Whether a question was left without an answer."""
        return self._left < 0

    def _accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                client, _ = self._listener.accept()
                self._open.append(client)
                if not self.is_silent:
                    threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        server = self._reach_server()
        self._open.append(server)
        is_ready = threading.Event()
        with suppress(OSError):
            threading.Thread(target=_pass_on, args=(server, client, is_ready), daemon=True).start()
            while data := client.recv(1 << 16):
                if is_ready.is_set():
                    self._left -= 1
                    if self.is_silent:
                        self._is_closed.wait(SILENCE_S)
                        client.shutdown(socket.SHUT_RDWR)
                        break
                server.sendall(data)
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)

    def _reach_server(self) -> socket.socket:
        if not self._host.startswith("/"):
            return socket.create_connection((self._host, self._port))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{self._host}/.s.PGSQL.{self._port}")
        return server


def _pass_on(server: socket.socket, client: socket.socket, is_ready: threading.Event) -> None:
    with suppress(OSError):
        while data := server.recv(1 << 16):
            if _READY in data:
                is_ready.set()
            client.sendall(data)
        client.shutdown(socket.SHUT_RDWR)
