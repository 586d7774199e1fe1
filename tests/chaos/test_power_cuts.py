"""The model of a disk that loses its power: what was synced stays, of the rest anything may."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from chaos.power import Disk
from chaos.recording import Operation, read, tracer

if TYPE_CHECKING:
    from pathlib import Path


def states(disk: Disk, count: int = 200) -> list[dict[str, bytes]]:
    return [disk.after_a_cut(random.Random(seed)) for seed in range(count)]


def written(*, sync_file: bool, sync_folder: bool) -> Disk:
    disk = Disk()
    disk.do(Operation(kind="create", path="pages/a"))
    disk.do(Operation(kind="write", path="pages/a", data=b"x" * 1024))
    if sync_file:
        disk.do(Operation(kind="sync", path="pages/a"))
    if sync_folder:
        disk.do(Operation(kind="sync", path="pages"))
    return disk


def test_what_was_synced_with_its_folder_is_there_in_every_state() -> None:
    assert all(state == {"pages/a": b"x" * 1024} for state in states(written(sync_file=True, sync_folder=True)))


def test_without_a_sync_of_its_folder_a_file_may_be_gone() -> None:
    assert {frozenset(state) for state in states(written(sync_file=True, sync_folder=False))} == {
        frozenset(),
        frozenset({"pages/a"}),
    }


def test_what_was_not_synced_may_be_there_whole_in_part_or_not_at_all() -> None:
    lengths = {len(state["pages/a"]) for state in states(written(sync_file=False, sync_folder=True))}
    assert lengths == {0, 512, 1024}


def test_a_new_name_is_the_old_file_or_the_new_one() -> None:
    disk = Disk()
    for name in ("a", "a.tmp"):
        disk.do(Operation(kind="create", path=name))
        disk.do(Operation(kind="write", path=name, data=name.encode()))
        disk.do(Operation(kind="sync", path=name))
    disk.do(Operation(kind="sync", path="."))
    disk.do(Operation(kind="rename", path="a.tmp", to="a"))
    assert {tuple(sorted(state.items())) for state in states(disk)} == {
        (("a", b"a"), ("a.tmp", b"a.tmp")),
        (("a", b"a.tmp"),),
    }


@pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace here")
def test_a_recording_tells_what_was_done(tmp_path: Path) -> None:
    folder, output = tmp_path / "data", tmp_path / "strace"
    folder.mkdir()
    script = """
import os, sys
folder = sys.argv[1]
with open(f"{folder}/a.tmp", "wb", buffering=0) as file:
    file.write(b"one"); file.write(b"two")
    os.fsync(file.fileno())
os.rename(f"{folder}/a.tmp", f"{folder}/a")
descriptor = os.open(f"{folder}/a", os.O_RDWR)
os.pwrite(descriptor, b"X", 2); os.ftruncate(descriptor, 5); os.fdatasync(descriptor)
opened = os.open(folder, os.O_RDONLY); os.fsync(opened)
with open(f"{folder}/log", "ab", buffering=0) as file: file.write(b"line")
os.unlink(f"{folder}/log")
"""
    command = [*tracer(output), sys.executable, "-c", script, str(folder)]
    if subprocess.run(command, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("strace may not trace here")
    told = [(each.kind, each.path, each.at, each.data or each.to) for each in read(output, folder)]
    assert told == [
        ("create", "a.tmp", 0, ""),
        ("write", "a.tmp", 0, b"one"),
        ("write", "a.tmp", 3, b"two"),
        ("sync", "a.tmp", 0, ""),
        ("rename", "a.tmp", 0, "a"),
        ("write", "a", 2, b"X"),
        ("truncate", "a", 5, ""),
        ("sync", "a", 0, ""),
        ("sync", ".", 0, ""),
        ("create", "log", 0, ""),
        ("write", "log", 0, b"line"),
        ("remove", "log", 0, ""),
    ]
    assert [path.name for path in folder.iterdir()] == ["a"]
