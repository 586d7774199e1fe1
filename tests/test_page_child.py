"""The worker's handle of a page process, with processes that end at inconvenient times."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import uvloop

from gossamer.page_process.child import PageChild
from gossamer.page_process.frames import LENGTH_BYTES

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

FRAME = (5).to_bytes(LENGTH_BYTES, "little") + b"hello"
ANSWERS_AND_ENDS = f"import os; os.write(0, {FRAME!r}); os._exit(3)"


def answers_and_ends(theirs: socket.socket) -> subprocess.Popen[bytes]:
    """Start a process that sends a frame and ends. It reads nothing, like one that fails on the page before."""
    return subprocess.Popen([sys.executable, "-c", ANSWERS_AND_ENDS], stdin=theirs.fileno())


@pytest.mark.parametrize("run", [uvloop.run, asyncio.run])
def test_the_end_of_a_process_is_noticed_behind_its_last_frame(run: Callable[[Any], None]) -> None:
    async def wait_for_the_end() -> None:
        loop = asyncio.get_running_loop()
        frames: list[bytes] = []
        ended: asyncio.Future[int] = loop.create_future()
        child = PageChild(
            loop,
            lambda _, frame: frames.append(bytes(frame)),
            lambda _, status: ended.set_result(status),
            start=answers_and_ends,
        )
        child.send([b"a page that it ", b"does not read"], max_reply_bytes=5)
        # Without the loop, so that it gets the frame and the end as one event.
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222
        assert await asyncio.wait_for(ended, 60) == 3
        assert frames == [b"hello"]

    run(wait_for_the_end())
