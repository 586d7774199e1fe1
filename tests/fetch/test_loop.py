"""Transfers never block the event loop for long."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import TYPE_CHECKING

import pycurl
import uvloop

from gossamer.fetch import multi as multi_module
from gossamer.fetch.multi import Multi, Result
from tests.fetch.servers import PAGE, Peer, serving

if TYPE_CHECKING:
    import pytest

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


def test_what_libcurl_still_watches_when_it_ends_is_forgotten() -> None:
    async def scenario() -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            async with Multi() as multi:
                multi._watch(pycurl.POLL_INOUT, ours.fileno())
            loop = asyncio.get_running_loop()
            assert not loop.remove_reader(ours.fileno())
            assert not loop.remove_writer(ours.fileno())

    asyncio.run(scenario())  # uvloop does not tell


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
