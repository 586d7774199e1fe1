"""One HTTP connection to the simulated web: it reads requests, sends responses and logs both."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from typing import TYPE_CHECKING, cast

from gossamer_simweb.hostile import HostileResponse, ScriptedResponse
from gossamer_simweb.hostility.kind import Ending
from gossamer_simweb.log import LoggedRequest
from gossamer_simweb.responses import PlannedResponse
from gossamer_simweb.spec import Behaviour
from gossamer_simweb.wire import RequestHead, parse_head, response

if TYPE_CHECKING:
    from gossamer_simweb.hostility.kind import HostileKind
    from gossamer_simweb.server_state import ServerState

_MAX_HEAD_BYTES = 65_536
_PIECE_BYTES = 65_536
_NOTHING = memoryview(b"")


class Connection(asyncio.Protocol):
    """Answers requests one at a time, also when the client pipelines them."""

    def __init__(self, state: ServerState, scheme: str) -> None:
        self._state = state
        self._scheme = scheme
        self._buffer = b""
        self._address = ""
        self._request: LoggedRequest | None = None  # the one being answered
        self._keep_alive = True
        self._reading = self._writing = False
        self._rest = _NOTHING  # of the response being sent
        self._sending: HostileResponse | ScriptedResponse | None = None
        self._is_deaf = False  # a hostile site that reads no request
        self._timer: asyncio.TimerHandle | None = None
        self._active_at = 0.0  # seconds of the monotonic clock
        self.transport: asyncio.Transport

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._address = transport.get_extra_info("sockname")[0]
        if not self._state.is_own(self._address):  # serve this machine only
            self.transport.abort()
            return
        self._active_at = time.monotonic()
        self.transport.set_write_buffer_limits(0)  # `resume_writing` then means that the kernel has everything
        self._state.connections.add(self)
        if self._scheme == "http" and (kind := self._state.greeter(self._address)) is not None:
            self._greet(kind)

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        if self._is_deaf:
            self._buffer = b""
        elif self._request is None:
            self._read()

    def resume_writing(self) -> None:
        if self._writing:
            return  # over TLS, a write can pause and resume before it returns
        if self._sending is not None:
            self._sending.send_next()
        elif self._rest:
            self._send_rest()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._state.connections.discard(self)
        self._keep_alive = False
        self._stop_sending()
        if self._request is not None:
            self._end(time.monotonic(), self.transport.get_write_buffer_size() + len(self._rest))

    def idle_since(self, moment: float) -> bool:
        """Return whether the connection has had no request since `moment`."""
        return self._request is None and self._active_at < moment

    def abort(self) -> None:
        """Log the current request and drop the connection, because the server stops."""
        self.connection_lost(None)
        self.transport.abort()

    # A request

    def _read(self) -> None:
        """Answer every complete request, until one of them has to wait."""
        self._reading = True
        while self._request is None and self._keep_alive:
            self._buffer = self._buffer.lstrip(b"\r\n")
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > _MAX_HEAD_BYTES:
                    self._refuse(431)
                break
            head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
            arrived = time.monotonic()
            self._active_at = arrived
            parsed = parse_head(head)
            if isinstance(parsed, int):
                self._refuse(parsed)
            else:
                self._begin(arrived, parsed, self._state.respond(self._scheme, self._address, parsed))
        self._reading = False

    def _refuse(self, status: int) -> None:
        head = RequestHead("GET", "/", "", False, True, True, "", "")
        self._begin(time.monotonic(), head, PlannedResponse(status, b"", b"", kind="other"))

    def _begin(self, arrived: float, head: RequestHead, answer: PlannedResponse) -> None:
        self._keep_alive = head.keep_alive and not head.has_body
        status = answer.status if answer.behaviour not in _WITHOUT_STATUS else 0
        self._request = LoggedRequest(
            arrived, 0.0, answer.kind, head.method, self._scheme, head.host, head.target, status, 0,
            answer.leads_to, answer.wait_s, answer.retryable, head.agent,
        )  # fmt: skip
        if answer.script is not None:
            self._keep_alive = False
            self._sending = ScriptedResponse(answer.script, self._write, lambda: self._finish(answer.ending))
            self._sending.send_next()
        elif answer.behaviour is not Behaviour.NORMAL:
            self._misbehave(answer)
        elif answer.delay_s > 0:
            self._timer = asyncio.get_running_loop().call_later(answer.delay_s, self._send, head, answer)
        else:
            self._send(head, answer)

    def _send(self, head: RequestHead, answer: PlannedResponse) -> None:
        self._timer = None
        assert self._request is not None
        size_bytes = len(answer.body) if head.method != "HEAD" else 0
        self._request = self._request._replace(body_bytes=size_bytes)
        self._rest = memoryview(response(answer, head, keep_alive=self._keep_alive))
        self._send_rest()

    def _send_rest(self) -> None:
        """Send the rest of the response, each piece after the kernel has taken the one before.

        The log's end time is taken before the last piece is sent, so that no client has the whole response earlier.
        The response goes out in pieces because TLS reports one big write as sent when it is only encrypted.
        """
        while len(self._rest) > _PIECE_BYTES:
            piece, self._rest = self._rest[:_PIECE_BYTES], self._rest[_PIECE_BYTES:]
            if not self._write(piece):
                return  # `resume_writing` continues
        last, self._rest = self._rest, _NOTHING
        ended = time.monotonic()
        self._write(last)
        self._end(ended)

    def _write(self, data: bytes | memoryview) -> bool:
        """Send data; return whether the kernel now has everything."""
        self._writing = True
        self.transport.write(data)
        self._writing = False
        return self.transport.get_write_buffer_size() == 0

    def _end(self, ended: float, unsent_bytes: int = 0) -> None:
        request, self._request = self._request, None
        assert request is not None
        if unsent_bytes:
            request = request._replace(body_bytes=max(0, request.body_bytes - unsent_bytes))
        self._state.log_request(request._replace(ended=ended))
        self._active_at = ended
        if not self._keep_alive:
            self.transport.close()
        elif self._buffer and not self._reading:
            self._read()

    # Planted misbehaviour

    def _misbehave(self, answer: PlannedResponse) -> None:
        self._keep_alive = False
        if answer.behaviour is Behaviour.HANG:
            return
        if answer.behaviour in _WITHOUT_STATUS:
            if answer.behaviour is Behaviour.RESET:
                self._reset()
            else:
                self._end(time.monotonic())
            return
        self._sending = HostileResponse(answer, self._write, self._sent_all)
        self._sending.send_next()

    def _greet(self, kind: HostileKind) -> None:
        """Do what a hostile site does before it has read a request; it never reads one."""
        assert kind.on_connect is not None
        self._is_deaf = True
        self._keep_alive = False
        self._sending = ScriptedResponse(kind.on_connect, self._write, lambda: self._finish(kind.connect_ending))
        self._sending.send_next()

    def _finish(self, ending: Ending) -> None:
        """Treat the connection as a hostile site does after it has sent everything."""
        self._stop_sending()
        if ending is Ending.RESET:
            self._reset()
        elif ending is Ending.HALF_CLOSE:
            self.transport.write_eof()
        elif ending is Ending.CLOSE and self._request is not None:
            self._end(time.monotonic())
        elif ending is Ending.CLOSE:
            self.transport.close()

    def _reset(self) -> None:
        linger = struct.pack("ii", 1, 0)
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        if self._request is not None:
            self._end(time.monotonic())
        self.transport.abort()

    def _sent_all(self, ended: float) -> None:
        self._stop_sending()
        self._end(ended)

    def _stop_sending(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._sending is not None:
            if self._request is not None:
                self._request = self._request._replace(body_bytes=self._sending.body_bytes)
            self._sending.stop()
            self._sending = None


_WITHOUT_STATUS = frozenset({Behaviour.HANG, Behaviour.CLOSE, Behaviour.RESET})
