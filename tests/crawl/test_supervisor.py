"""The supervisor with worker processes that misbehave: they die, fall silent, refuse to end."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import signal
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.records import Link
from gossamer.store.figure_files import FigureFiles
from gossamer.supervisor import Callbacks, End, Ended, MachineWatch, Progress, Supervisor, WorkerSetup, supervisor
from gossamer.supervisor.history import History
from gossamer.supervisor.lock import hold_folder
from gossamer.supervisor.process import label_of
from gossamer.supervisor.uploads import UploadKeeper
from gossamer.urls import identify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

REPORT = "import json, os, signal, socket, sys, time; supervisor = socket.socket(fileno=int(sys.argv[-3])); "
OBEDIENT = "signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM]); signal.pause()"


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the supervisor check its workers ten times as often, with shorter timeouts."""
    monkeypatch.setattr(supervisor, "TICK_S", 0.1)
    monkeypatch.setattr(supervisor, "LAST_REPORT_S", 0.5)


@pytest.fixture
def frontier(tmp_path: Path) -> Iterator[SqliteFrontier]:
    """A frontier with something to do."""
    with SqliteFrontier(tmp_path / "frontier.sqlite") as opened:
        opened.resume(delay_s=1)
        opened.add([Link(*identify("https://example.org/"), 0, seeded=True)])
        yield opened


class Run:
    """One run of a supervisor whose workers do what a line of Python says."""

    def __init__(
        self,
        folder: Path,
        frontier: SqliteFrontier,
        script: str,
        *,
        max_duration_s: float = 60.0,
        rotate_log: Callable[[], bool] = lambda: False,
        **terms: Any,
    ) -> None:
        self.seen: list[Progress] = []
        self.repaired: list[str] = []
        self._folder = folder
        self._setup = {
            "command": [sys.executable, "-c", REPORT + script],
            "count": 1,
            "output": folder / "output.log",
            "silence_s": 60.0,
            "stop_s": 0.0,
            **terms,
        }
        self._max_duration_s = max_duration_s
        self._frontier = frontier
        self._stats = frontier.stats()
        self._callbacks = Callbacks(
            repair=self.repaired.extend,
            show=self.show,
            rotate_log=rotate_log,
            reopen_log=lambda: None,
            is_terminal_gone=lambda: False,
        )

    def show(self, progress: Progress) -> None:
        """Be told every second."""
        self.seen.append(progress)

    def to_its_end(self) -> Ended:
        """Supervise until it is over."""

        async def run() -> Ended:
            return await Supervisor(
                frontier=self._frontier,
                stats=self._stats,
                setup=WorkerSetup(lock=lock, **self._setup),
                callbacks=self._callbacks,
                watch=MachineWatch(folder=self._folder, workers=1, reserve_bytes=0),
                history=History(FigureFiles(self._folder, days=7)),
                uploads=UploadKeeper(None),
                max_duration_s=self._max_duration_s,
            ).run()

        with hold_folder(self._folder) as lock:
            return asyncio.run(run())


def test_workers_that_keep_dying_are_given_up_with_the_reason_at_hand(
    tmp_path: Path, frontier: SqliteFrontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "MAX_PAUSE_S", 0.01)
    ended = Run(tmp_path, frontier, "sys.exit('no such thing')").to_its_end()
    assert ended.end is End.DYING
    assert re.fullmatch(
        rf"Workers keep dying; the last one \(pid \d+\) ended with 1: {tmp_path}/output.log says why\.",
        ended.detail,
    )
    assert (tmp_path / "output.log").read_text() == "no such thing\n" * supervisor.MAX_QUICK_DEATHS


def test_workers_that_cannot_be_started_are_given_up_and_leave_nothing_open(
    tmp_path: Path, frontier: SqliteFrontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "MAX_PAUSE_S", 0.01)
    with warnings.catch_warnings(record=True) as left_open:
        warnings.simplefilter("always", ResourceWarning)
        ended = Run(tmp_path, frontier, "", command=[str(tmp_path / "no such program")]).to_its_end()
        gc.collect()
    assert ended.end is End.DYING
    assert "cannot be started (No such file or directory)" in ended.detail
    assert not left_open


def test_a_worker_that_meets_a_mistake_is_not_started_again(tmp_path: Path, frontier: SqliteFrontier) -> None:
    script = "supervisor.sendall(json.dumps({'mistake': 'Do that instead.'}).encode() + b'\\n'); sys.exit(2)"
    ended = Run(tmp_path, frontier, script).to_its_end()
    assert (ended.end, ended.detail) == (End.MISTAKE, "Do that instead.")


def test_a_worker_that_ends_by_itself_has_heard_the_operator(tmp_path: Path, frontier: SqliteFrontier) -> None:
    assert Run(tmp_path, frontier, "", count=2).to_its_end().end is End.STOPPED


def test_a_silent_worker_is_killed_and_replaced(tmp_path: Path, frontier: SqliteFrontier) -> None:
    first = tmp_path / "first"
    script = f"os.path.exists({str(first)!r}) or (print(os.getpid(), file=open({str(first)!r}, 'w')), signal.pause())"
    run = Run(tmp_path, frontier, script, silence_s=1.5)
    assert run.to_its_end().end is End.STOPPED, "the second one ended well"
    with pytest.raises(ProcessLookupError):
        os.kill(int(first.read_text()), 0)


def test_a_worker_that_reports_is_left_alone(tmp_path: Path, frontier: SqliteFrontier) -> None:
    trouble = "f'disk nearly full: {os.getpid()} bytes free'"
    report = f"supervisor.sendall(json.dumps({{'figures': {{'pages': 7}}, 'trouble': {trouble}}}).encode() + b'\\n')"
    script = f"exec({f'while True: {report}; time.sleep(0.2)'!r})"
    run = Run(tmp_path, frontier, script, silence_s=3.0, max_duration_s=4.5)
    ended = run.to_its_end()
    assert ended.end is End.DURATION
    assert [progress.pages for progress in run.seen][-1] == 7
    assert any(trouble.startswith("disk nearly full: ") for progress in run.seen for trouble in progress.troubles)
    assert ended.progress.pages == 7, "of one worker, not of several"


def test_a_worker_that_does_not_end_is_killed_in_time(tmp_path: Path, frontier: SqliteFrontier) -> None:
    begun_s = time.monotonic()
    run = Run(tmp_path, frontier, "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()", max_duration_s=0.5)
    assert run.to_its_end().end is End.DURATION
    assert time.monotonic() - begun_s < 10


def test_what_fails_with_every_look_is_said_once_and_time_is_up_all_the_same(
    tmp_path: Path, frontier: SqliteFrontier, caplog: pytest.LogCaptureFixture
) -> None:
    def no_room() -> bool:
        raise OSError("no room")

    run = Run(tmp_path, frontier, OBEDIENT, rotate_log=no_room, max_duration_s=1.5)
    frontier._database.connection.execute("DROP TABLE given_up")
    assert run.to_its_end().end is End.DURATION
    assert caplog.text.count("The crawl cannot tell yet whether it is over (no such table: given_up).") == 1
    assert caplog.text.count("No new log file can be begun (no room).") == 1


def test_what_a_dead_worker_had_in_hand_is_freed_and_its_files_are_put_in_order(
    tmp_path: Path, frontier: SqliteFrontier
) -> None:
    script = f"""
from pathlib import Path
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.supervisor.process import label_of
frontier = SqliteFrontier(Path({str(tmp_path / "frontier.sqlite")!r}))
frontier.join(label_of(os.getpid()))
died_before = Path({str(tmp_path / "died-before")!r})
if not died_before.exists():
    assert frontier.claim(1).claims
    died_before.touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    run = Run(tmp_path, frontier, f"exec({script!r})")
    assert run.to_its_end().end is End.STOPPED, "the second one ended well"
    assert [(worker.gone, worker.sites) for worker in frontier.workers()] == [(True, 0), (True, 0)]
    assert run.repaired == ["w1", "w2"]


def test_a_worker_that_is_stuck_inside_a_transaction_does_not_hold_up_its_supervisor(
    tmp_path: Path, frontier: SqliteFrontier
) -> None:
    script = f"""
import fcntl
from pathlib import Path
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.supervisor.process import label_of
folder = Path({str(tmp_path)!r})
def wait_for(name):
    while not (folder / name).exists():
        supervisor.sendall(b"{{}}\\n")  # only who is stuck is silent
        time.sleep(0.01)
if (folder / "door-taken").exists():
    sys.exit(0)
try:
    (folder / "first").touch(exist_ok=False)
except FileExistsError:  # the second one dies while the first is stuck: to recover from it takes a transaction
    SqliteFrontier(folder / "frontier.sqlite").join(label_of(os.getpid()))
    (folder / "joined").touch()
    wait_for("door-taken")
    sys.exit(1)
wait_for("joined")
fcntl.flock(door := open(folder / "frontier.sqlite-door"), fcntl.LOCK_EX)
(folder / "door-taken").touch()
signal.pause()
"""
    run = Run(tmp_path, frontier, f"exec({script!r})", count=2, silence_s=4.0)
    assert run.to_its_end().end is End.STOPPED


def test_a_label_leads_to_the_process() -> None:
    assert label_of(4711).endswith(":4711")


def test_progress_is_shown_with_every_look(tmp_path: Path, frontier: SqliteFrontier) -> None:
    run = Run(tmp_path, frontier, OBEDIENT, max_duration_s=2.5)
    run.to_its_end()
    assert 2 <= len(run.seen) <= 27, "ten times a second, or less on a busy machine"
    assert [progress.alive for progress in run.seen[:2]] == [1, 1]
    assert run.seen[0].stats.queued == 1


def test_signals_that_were_not_meant_for_a_stop_are_as_before(tmp_path: Path, frontier: SqliteFrontier) -> None:
    before = signal.getsignal(signal.SIGTERM)
    Run(tmp_path, frontier, OBEDIENT, max_duration_s=0.1).to_its_end()
    assert signal.getsignal(signal.SIGTERM) == before
