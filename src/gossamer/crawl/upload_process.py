"""The upload process: `python -m gossamer.crawl.upload_process FOLDER SOCKET LOCK PARENT`, started by the supervisor.

A process of its own: uploads never hold up the crawl, and a disk that cannot read a mapped file kills only this one. It
dies with its parent, like a worker. SIGTERM lets it upload what is left, and end.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gossamer import metrics
from gossamer.bucket.address import parse_address
from gossamer.bucket.claiming import read_bucket_note
from gossamer.bucket.objects import Bucket, BucketError
from gossamer.bucket.uploading import Uploader
from gossamer.crawl.folder import read_settings
from gossamer.crawl.log import name_worker, open_log, reopen_log, reopen_output
from gossamer.errors import GossamerError
from gossamer.extras import do_without_pandas
from gossamer.frontier.clock import backoff_s
from gossamer.metrics.samples import changes, to_json
from gossamer.supervisor.process import die_with
from gossamer.worker.figures import memory_bytes

if TYPE_CHECKING:
    from gossamer.bucket.uploading import ClosedFile
    from gossamer.crawl.settings import Settings
    from gossamer.metrics.samples import Samples

log = logging.getLogger(__name__)

NAME: Final = "uploader"
LOOK_EVERY_S: Final = 2.0
RETRIES: Final = 2  # of a single request, within a second or two; then the whole attempt failed
REPORT_EVERY_S: Final = 0.5
FIRST_WAIT_S: Final = 1.0
MAX_WAIT_S: Final = 30.0  # between two attempts
_NICENESS: Final = 5  # the crawl goes first


def main() -> None:
    """Upload until SIGTERM, and then until nothing is left."""
    folder, descriptor, lock, parent = Path(sys.argv[1]), *map(int, sys.argv[2:])
    die_with(parent)
    do_without_pandas()
    os.set_inheritable(lock, False)
    os.nice(_NICENESS)
    settings = read_settings(folder)
    with open_log(folder, settings.crawl.log_level, settings.log.log_format):
        name_worker(NAME)
        uploads = Uploads(folder, settings)
        signal.signal(signal.SIGTERM, lambda *_: uploads.finish())
        signal.signal(signal.SIGHUP, lambda *_: _follow_log(folder))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGHUP})
        threading.Thread(target=_run, args=(uploads,), daemon=True).start()
        _report(uploads, socket.socket(fileno=descriptor))


class Uploads:
    """Uploads in one thread; another reads how it goes."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        note = read_bucket_note(folder)
        assert note is not None, "the start has claimed the prefix"
        self.trouble = ""
        self.done = threading.Event()
        self._failing_since_s: float | None = None
        self._finishing = threading.Event()
        self._uploader = Uploader(
            Bucket(parse_address(note.store), retries=RETRIES),
            folder,
            note,
            keep_local=settings.upload.keep_local,
            max_bytes_per_s=settings.upload.upload_rate_bytes,
        )

    def finish(self) -> None:
        """Upload what is left, and be done."""
        self._finishing.set()

    def run(self) -> None:
        """Look for closed files and upload them, until done; after a failure wait, longer each time."""
        failures, before = 0, 0.0  # in a row without an upload; files uploaded until then
        while not self.done.is_set():
            is_last = self._finishing.is_set()
            try:
                self._uploader.upload()
                if is_last:
                    self._uploader.end()
                    self.done.set()
            except (GossamerError, OSError) as error:
                uploaded = metrics.UPLOADED_FILES_TOTAL.cells[()].value
                has_progressed = uploaded > before
                failures, before = 1 if has_progressed else failures + 1, uploaded
                self._fail(error, has_progressed=has_progressed)
                wait_s = backoff_s(failures, first_s=FIRST_WAIT_S, most_s=MAX_WAIT_S)
            else:
                self._succeed(failures)
                failures, wait_s = 0, LOOK_EVERY_S
            if is_last and failures:
                time.sleep(FIRST_WAIT_S)
            else:
                self._finishing.wait(wait_s)

    def figures(self) -> dict[str, float]:
        """Return the figures of this moment."""
        waiting: list[ClosedFile] = list(self._uploader.waiting)
        since_s = self._failing_since_s
        return {
            "upload_waiting_files": len(waiting),
            "upload_waiting_bytes": sum(file.size for file in waiting),
            "upload_failing_s": 0.0 if since_s is None else time.monotonic() - since_s,
            "uploaded_files": metrics.UPLOADED_FILES_TOTAL.cells[()].value,
            "uploaded_bytes": metrics.UPLOADED_BYTES_TOTAL.cells[()].value,
            "memory_bytes": memory_bytes(with_children=False),
        }

    def _fail(self, error: GossamerError | OSError, *, has_progressed: bool) -> None:
        cause = (
            error.trouble.value
            if isinstance(error, BucketError)
            else "damage"
            if isinstance(error, GossamerError)
            else "disk"
        )
        metrics.UPLOAD_FAILURES_TOTAL.labels(cause).inc()
        said = str(error).rstrip(".")
        if said != self.trouble:
            log.warning("Files cannot be uploaded and stay here: %s.", said)
        self.trouble = said
        if self._failing_since_s is None or has_progressed:
            self._failing_since_s = time.monotonic()

    def _succeed(self, failures: int) -> None:
        if failures:
            log.info("Files are uploaded again.")
        self.trouble, self._failing_since_s = "", None


def _follow_log(folder: Path) -> None:
    reopen_log()
    reopen_output(folder)


def _run(uploads: Uploads) -> None:
    """Upload; a bug ends the process, and the supervisor starts another."""
    try:
        uploads.run()
    except BaseException:
        log.exception("Uploading failed.")
        os._exit(1)


def _report(uploads: Uploads, supervisor: socket.socket) -> None:
    """Tell the parent how it goes, until everything is done."""
    supervisor.sendall(_line(name=NAME))
    reported: Samples = {}
    while True:
        is_done = uploads.done.wait(REPORT_EVERY_S)
        figures = uploads.figures()
        samples = metrics.collect() | metrics.gauges_of(figures) | metrics.cpu_samples({NAME: time.process_time()})
        new = to_json(changes(reported, samples))
        supervisor.sendall(_line(figures=figures, trouble=uploads.trouble, metrics=new))
        reported = samples
        if is_done:
            return


def _line(**report: object) -> bytes:
    return json.dumps(report).encode() + b"\n"


if __name__ == "__main__":
    main()
