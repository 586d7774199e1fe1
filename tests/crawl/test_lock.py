"""The folder's lock: one crawl per folder, and no process of an earlier one left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gossamer.errors import GossamerError
from gossamer.supervisor.lock import Holder, crawling_pid, hold_folder, holders, is_held

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Waits for its standard input to end, whatever descriptors it was given.
WAITING = [sys.executable, "-c", "import sys; sys.stdin.read()"]


@pytest.fixture
def orphan(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that inherited the lock, and outlived the process that took it."""
    with hold_folder(tmp_path) as lock:
        process = subprocess.Popen(WAITING, stdin=subprocess.PIPE, pass_fds=(lock,))
    yield process
    process.kill()
    process.communicate()


def test_a_lock_says_who_holds_it_and_is_free_afterwards(tmp_path: Path) -> None:
    assert not is_held(tmp_path)
    with hold_folder(tmp_path):
        noted = json.loads((tmp_path / "lock").read_text())
        assert noted["pid"] == os.getpid()
        assert noted["started_at"] > 1.7e9
        assert is_held(tmp_path)
    assert not is_held(tmp_path)
    assert crawling_pid(tmp_path) is None


def test_a_lock_is_held_until_the_last_process_that_inherited_it_is_dead(
    tmp_path: Path, orphan: subprocess.Popen[bytes]
) -> None:
    assert is_held(tmp_path)
    assert holders(tmp_path) == [Holder(pid=orphan.pid, stopped=False)]
    assert crawling_pid(tmp_path) == orphan.pid, "the process that took it is here, but no longer holds it"
    orphan.kill()
    orphan.wait()
    with hold_folder(tmp_path, wait_s=5):
        pass


def test_a_start_waits_for_those_who_are_about_to_die(tmp_path: Path, orphan: subprocess.Popen[bytes]) -> None:
    killer = subprocess.Popen(["sh", "-c", f"sleep 0.3; kill {orphan.pid}"])
    with hold_folder(tmp_path, wait_s=10):
        pass
    killer.wait()


def test_an_orphan_is_named_with_what_ends_it(tmp_path: Path, orphan: subprocess.Popen[bytes]) -> None:
    orphan.send_signal(signal.SIGSTOP)
    os.waitpid(orphan.pid, os.WUNTRACED)  # until it has stopped
    with pytest.raises(GossamerError) as refused, hold_folder(tmp_path, wait_s=0):
        pass
    assert str(refused.value) == (
        f"A process (pid {orphan.pid}, stopped) of an earlier crawl still holds {tmp_path}: "
        f"end it with `kill -9 {orphan.pid}`, then start again."
    )


def test_a_running_crawl_is_named_with_what_stops_it(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib; from gossamer.supervisor.lock import hold_folder\n"
        "with hold_folder(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as crawling:
        assert crawling.stdout is not None
        assert crawling.stdout.readline() == b"held\n"
        assert crawling_pid(tmp_path) == crawling.pid
        with pytest.raises(GossamerError) as refused, hold_folder(tmp_path, wait_s=0):
            pass
        crawling.communicate()
    assert str(refused.value) == (
        f"A crawl (pid {crawling.pid}) is running in {tmp_path}: stop it with `gossamer stop --data-dir {tmp_path}`, "
        "or choose another folder with --data-dir."
    )


def test_a_folder_that_is_not_there_is_not_held(tmp_path: Path) -> None:
    assert not is_held(tmp_path / "nowhere")
    with pytest.raises(GossamerError, match="cannot be written to"), hold_folder(tmp_path / "nowhere"):
        pass
