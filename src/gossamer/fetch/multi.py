"""libcurl on the event loop: many transfers at once, none of which blocks the loop for long.

Built on pycurl's `CurlMulti`, because `AsyncCurlMulti` runs every ready transfer in one iteration of the loop: three
hundred TLS handshakes that become ready together then block everything else for half a second.
"""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import NamedTuple, Self

import pycurl

# How long transfers may run in one iteration of the loop; the others continue in the next one. That costs 10 % more CPU
# with a fifth of this time, and nothing measurable with this time.
_SLICE_S = 0.05

_READ, _WRITE = pycurl.POLL_IN, pycurl.POLL_OUT


class Result(NamedTuple):
    """How a transfer ended, according to libcurl."""

    code: int = 0
    message: str = ""


class Multi:
    """Performs transfers on the event loop. An async context: transfers under way when it ends are cancelled."""

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._multi = pycurl.CurlMulti()
        self._under_way: dict[pycurl.Curl, asyncio.Future[Result]] = {}
        self._watched: dict[int, int] = {}  # descriptor: to be read, written or both
        self._postponed: dict[int, int] = {}  # descriptor: events that came when the time of an iteration was over
        self._timer: asyncio.Handle | None = None
        self._turn: asyncio.Handle | None = None
        self._turn_ends = 0.0
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        return self

    async def __aexit__(self, *_: object) -> None:
        for curl, future in self._under_way.items():
            self._multi.remove_handle(curl)
            future.cancel()
        self._under_way.clear()
        for descriptor in list(self._watched):  # of connections that were still closing
            self._watch(pycurl.POLL_REMOVE, descriptor)
        for handle in (self._timer, self._turn):
            if handle is not None:
                handle.cancel()
        self._multi.close()

    async def perform(self, curl: pycurl.Curl) -> Result:
        """Make the transfer that the handle is configured for. Cancelling this closes the connection at once."""
        future: asyncio.Future[Result] = self._loop.create_future()
        self._under_way[curl] = future
        self._multi.add_handle(curl)
        try:
            return await future
        except asyncio.CancelledError:
            if self._under_way.pop(curl, None) is not None:
                self._multi.remove_handle(curl)
            raise

    def cut(self, curl: pycurl.Curl) -> None:
        """End a transfer now, if it is under way. Must not be called by a callback of libcurl."""
        if curl in self._under_way:
            self._finish(curl, Result(pycurl.E_ABORTED_BY_CALLBACK))

    def _watch(self, what: int, descriptor: int, *_: object) -> None:
        """Wait for what libcurl asks for: a descriptor that can be read, written, both, or is no longer watched."""
        wanted = what & (_READ | _WRITE) if what != pycurl.POLL_REMOVE else 0
        if not wanted:
            self._postponed.pop(descriptor, None)
        changed = wanted ^ self._watched.pop(descriptor, 0)
        if wanted:
            self._watched[descriptor] = wanted
        if changed & _READ:
            if wanted & _READ:
                self._loop.add_reader(descriptor, self._act, descriptor, pycurl.CSELECT_IN)
            else:
                self._loop.remove_reader(descriptor)
        if changed & _WRITE:
            if wanted & _WRITE:
                self._loop.add_writer(descriptor, self._act, descriptor, pycurl.CSELECT_OUT)
            else:
                self._loop.remove_writer(descriptor)

    def _set_timer(self, timeout_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if timeout_ms < 0:
            self._timer = None
        elif timeout_ms == 0:
            self._timer = self._loop.call_soon(self._fire)
        else:
            self._timer = self._loop.call_later(timeout_ms / 1_000, self._fire)

    def _fire(self) -> None:
        self._timer = None
        self._act(pycurl.SOCKET_TIMEOUT, 0)

    def _act(self, descriptor: int, events: int) -> None:
        """Let the transfer of a descriptor continue, if there is time left in this iteration, else in the next one.

        The loop may not tell us again: uvloop stops watching a descriptor whose connection was refused.
        """
        now = perf_counter()
        if self._turn is None:
            self._turn = self._loop.call_soon(self._end_turn)
            self._turn_ends = now + _SLICE_S
        elif now > self._turn_ends and descriptor != pycurl.SOCKET_TIMEOUT:
            self._postponed[descriptor] = self._postponed.get(descriptor, 0) | events
            return
        self._postponed.pop(descriptor, None)
        self._multi.socket_action(descriptor, events)

    def _end_turn(self) -> None:
        """Return the results of the transfers that finished in this iteration."""
        self._turn = None
        _, finished, failed = self._multi.info_read()
        for curl in finished:
            self._finish(curl, Result())
        for curl, code, message in failed:
            self._finish(curl, Result(code, message))
        for descriptor, events in list(self._postponed.items()):
            if descriptor in self._postponed:  # else another transfer has closed it meanwhile
                self._act(descriptor, events)

    def _finish(self, curl: pycurl.Curl, result: Result) -> None:
        self._multi.remove_handle(curl)
        future = self._under_way.pop(curl)
        if not future.done():
            future.set_result(result)
