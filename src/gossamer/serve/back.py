"""The process behind the dashboard that opens the crawl's tables and archives, and carries out orders.

It is apart from the server because pages of strangers are read in it, a query may take much memory, and either may take
long: it can be ended at any time, and it ends itself when it has nothing to do. Both sides speak lines of JSON.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Sequence
    from pathlib import Path

log = logging.getLogger(__name__)

DEADLINE_S: Final = 60.0  # for one answer
IDLE_S: Final = 120.0  # after which the process is ended
MAX_WAITING: Final = 8  # requests, besides the one that is answered
MAX_LINE_BYTES: Final = 64_000_000  # an archived page has at most 20 MB inflated, unless the operator allows more


class BusyError(GossamerError):
    """Too many requests wait for the process."""


class Back:
    """Asks the process, one request at a time; starts it when there is something to ask."""

    def __init__(self, folders: Sequence[Path], scratch: Path) -> None:
        """`scratch` is a folder for what the process keeps between its lives."""
        self._arguments = [json.dumps([str(folder) for folder in folders]), str(scratch)]
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._process: Process | None = None
        self._idle: asyncio.TimerHandle | None = None

    async def ask(self, what: str, **parameters: Any) -> Any:
        """Return the answer; raise GossamerError with the sentence if there is none."""
        if self._waiting > MAX_WAITING:
            raise BusyError("Too many pages are being made: try again in a few seconds.")
        self._waiting += 1
        try:
            async with self._turn:
                return await self._ask({"what": what, **parameters})
        finally:
            self._waiting -= 1

    async def _ask(self, request: dict[str, Any]) -> Any:
        if self._idle is not None:
            self._idle.cancel()
        try:
            async with asyncio.timeout(DEADLINE_S):
                line = await self._exchange(json.dumps(request).encode() + b"\n")
        except TimeoutError:
            await self.end()
            raise GossamerError(f"This takes longer than {DEADLINE_S:.0f} s: use the command line for it.") from None
        except BaseException:  # an answer that is not read would be taken for that of the next request
            await self.end()
            raise
        self._idle = asyncio.get_running_loop().call_later(IDLE_S, self._end_soon)
        if not line:
            await self.end()
            raise GossamerError("The process that reads the crawl has died: try again.")
        answer = json.loads(line)
        if "refused" in answer:
            raise GossamerError(answer["refused"])
        return answer["answer"]

    async def _exchange(self, line: bytes) -> bytes:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "gossamer.serve.answering", *self._arguments,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=MAX_LINE_BYTES,
                start_new_session=True,  # Ctrl-C in a terminal is for the server, which ends this process
            )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line)
        with suppress(ConnectionError):  # it has died: then it answers nothing
            await self._process.stdin.drain()
        return await self._process.stdout.readline()

    def _end_soon(self) -> None:
        if not self._turn.locked() and self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            self._process = None

    async def end(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if self._idle is not None:
            self._idle.cancel()
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
