"""Transfers never block the event loop for long."""

from __future__ import annotations

import asyncio
import select
import socket
import time
from typing import TYPE_CHECKING

import pycurl
import pytest
import uvloop

from gossamer.fetch import multi as multi_module
from gossamer.fetch.multi import Multi, Result
from gossamer.fetch.poller import SelectorPoller
from tests.fetch.servers import PAGE, Peer, serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.fetch.multi import Poller

TRANSFERS = 60
WORK_S = 0.01  # of each transfer, in one piece


def work(_: bytes) -> None:
    """Use as much CPU as one to ten TLS handshakes."""
    until_s = time.thread_time() + WORK_S
    while time.thread_time() < until_s:
        pass


async def test_many_transfers_that_are_ready_at_once_do_not_stop_the_loop() -> None:
    waiting = 0
    everyone_is_there = asyncio.Event()

    async def answer_all_at_once(peer: Peer) -> None:
        nonlocal waiting
        waiting += 1
        if waiting == TRANSFERS:
            everyone_is_there.set()
        await everyone_is_there.wait()
        await peer.send(PAGE)

    longest_s = 0.0

    async def watch() -> None:
        nonlocal longest_s
        while True:
            before_s = time.thread_time()  # CPU: how long the loop was busy, not how long others had the machine
            await asyncio.sleep(0)
            longest_s = max(longest_s, time.thread_time() - before_s)

    async with serving(answer_all_at_once) as server, Multi() as multi:
        handles = [pycurl.Curl() for _ in range(TRANSFERS)]
        for handle in handles:
            handle.setopt(pycurl.URL, server.url())
            handle.setopt(pycurl.WRITEFUNCTION, work)
        watcher = asyncio.create_task(watch())
        results = await asyncio.gather(*(multi.perform(handle) for handle in handles))
        watcher.cancel()
    assert results == [Result()] * TRANSFERS
    assert longest_s < TRANSFERS * WORK_S / 3


@pytest.mark.parametrize("poller", [getattr(select, "epoll", SelectorPoller), SelectorPoller])
async def test_transfers_end_with_the_poller_of_either_system(poller: Callable[[], Poller]) -> None:
    body = b"x" * 1_000_000  # more than a socket holds

    async def answer(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)

    async with serving(answer) as server, Multi(poller) as multi:
        received = bytearray()
        handle = pycurl.Curl()
        handle.setopt(pycurl.URL, server.url())
        handle.setopt(pycurl.WRITEFUNCTION, received.extend)
        assert await multi.perform(handle) == Result()
    assert received == body


async def test_a_transfer_times_out_also_behind_a_timer_that_came_too_early() -> None:
    async def stay_silent(peer: Peer) -> None:
        await peer.wait_until_gone()

    async def perform(url: str, timeout_ms: int) -> Result:
        handle = pycurl.Curl()
        handle.setopt(pycurl.URL, url)
        handle.setopt(pycurl.TIMEOUT_MS, timeout_ms)
        handle.setopt(pycurl.WRITEFUNCTION, lambda _: None)
        return await multi.perform(handle)

    async with serving(PAGE) as server, serving(stay_silent) as silent, Multi() as multi:
        late = asyncio.create_task(perform(silent.url(), 2_000))
        assert await perform(server.url(), 1_000) == Result()  # the timer is set for this one, which needs it no more
        assert (await late).code == pycurl.E_OPERATION_TIMEDOUT


def test_a_refused_connection_is_noticed_even_if_the_time_of_an_iteration_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """uvloop tells only once that a connection was refused; a busy machine made a time-out of it."""
    monkeypatch.setattr(multi_module, "_SLICE_S", -1.0)  # only the first transfer of an iteration may act

    async def scenario() -> Result:
        with socket.socket() as closed:  # bound, but not listening
            closed.bind(("127.0.0.1", 0))
            async with Multi() as multi:
                handle = pycurl.Curl()
                handle.setopt(pycurl.URL, f"http://127.0.0.1:{closed.getsockname()[1]}/")
                handle.setopt(pycurl.CONNECTTIMEOUT, 60)
                return await multi.perform(handle)

    assert uvloop.run(scenario()).code == pycurl.E_COULDNT_CONNECT
