"""The upload process of a machine, as its parent sees it: kept running with the crawl, and let finish at the end."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gossamer.metrics.samples import add_up, without_gauges
from gossamer.supervisor.process import WorkerProcess
from gossamer.wording import count, size

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gossamer.metrics.samples import Samples

log = logging.getLogger(__name__)

AGAIN_S: Final = 5.0  # before an upload process that has ended is started again
STOP_S: Final = 10.0  # at a stop, how long uploads may go on
AWAY_S: Final = 30.0  # at the end of a finished crawl, how long the bucket may be away before files are left here


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadSetup:
    """How the upload process is started."""

    command: Sequence[str]  # see `WorkerProcess.start` for the added arguments
    lock: int  # descriptor of the folder's lock, which the process inherits
    output: Path  # the file to which its output is appended
    store: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadState:
    """How the uploads of a machine go."""

    store: str
    trouble: str = ""  # why nothing is uploaded, in a sentence
    waiting_files: int = 0
    waiting_bytes: int = 0
    uploaded_files: int = 0  # by this start
    uploaded_bytes: int = 0

    def __str__(self) -> str:
        done = f"{count(self.uploaded_files, 'file')} ({size(self.uploaded_bytes)}) uploaded to {self.store}"
        waiting = f"{count(self.waiting_files, 'file')} ({size(self.waiting_bytes)}) wait" if self.waiting_files else ""
        return "; ".join(filter(None, (done, waiting, self.trouble)))


class UploadKeeper:
    """Keeps the upload process of a folder running. Without a setup it does nothing."""

    def __init__(self, setup: UploadSetup | None) -> None:
        self._setup = setup
        self._child: WorkerProcess | None = None
        self._ended: Samples = {}  # the counts of processes that have ended

    @property
    def samples(self) -> Samples:
        """The samples of all metrics of the process, as of its last report, and the counts of earlier ones."""
        total: Samples = {}
        for samples in (self._ended, {} if self._child is None else self._child.samples):
            add_up(total, samples)
        return total

    @property
    def state(self) -> UploadState | None:
        """How uploads go; None if the crawl has no store."""
        if self._setup is None:
            return None
        figures = self._child.figures if self._child is not None else {}
        return UploadState(
            store=self._setup.store,
            trouble=self._child.trouble if self._child is not None else "",
            waiting_files=int(figures.get("upload_waiting_files", 0)),
            waiting_bytes=int(figures.get("upload_waiting_bytes", 0)),
            uploaded_files=int(figures.get("uploaded_files", 0)),
            uploaded_bytes=int(figures.get("uploaded_bytes", 0)),
        )

    async def keep(self) -> None:
        """Keep the process running, until cancelled."""
        while self._setup is not None:
            try:
                await self._start(self._setup)
            except OSError as error:
                log.warning("Uploads cannot be started (%s).", error.strerror)
            else:
                assert self._child is not None
                status = await self._child.wait()
                log.warning("The upload process (pid %d) ended with %d; another replaces it.", self._child.pid, status)
                add_up(self._ended, without_gauges(self._child.samples))
                self._child = None
            await asyncio.sleep(AGAIN_S)

    async def finish(self, *, is_finished: bool) -> None:
        """Let the process upload what is left and end it.

        A finished crawl waits as long as files go up. A stop waits for a moment: the next start uploads the rest.
        """
        child, began_s = self._child, time.monotonic()
        if child is None:
            return
        child.stop()
        ending = asyncio.ensure_future(child.wait())
        while not ending.done():
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(ending), 0.2)
            took_s = time.monotonic() - began_s
            failing_s = child.figures.get("upload_failing_s", 0)
            if (failing_s > AWAY_S and took_s > AWAY_S) if is_finished else took_s > STOP_S:
                break
        state = self.state
        self.kill()
        await ending
        if state is not None and state.waiting_files:
            log.warning("%s left to upload: the next start of the crawl does that.", count(state.waiting_files, "file"))

    def kill(self) -> None:
        """Kill the process; what it has not uploaded stays in the folder."""
        if self._child is not None:
            self._child.kill()

    def follow_log(self) -> None:
        """Tell the process to reopen the log file, which was moved away."""
        if self._child is not None:
            self._child.follow_log()

    async def _start(self, setup: UploadSetup) -> None:
        self._child = await WorkerProcess.start(setup.command, lock=setup.lock, output=setup.output)
        log.info("Uploads (pid %d) to %s were started.", self._child.pid, setup.store)
