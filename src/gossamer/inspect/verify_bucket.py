"""Checks that the objects in a bucket are those that the manifests list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.bucket.paths import BucketPath, is_remote_folder
from gossamer.inspect.check import Check
from gossamer.store.checking import Flaw

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gossamer.bucket.machine_files import MachineFiles
    from gossamer.store.checking import Problem


def check_objects(folders: Sequence[Path]) -> Check:
    """Check that every uploaded file is there, whole and unchanged. It reads all objects."""
    checked = Check(name="bucket", counts={"objects": 0, "damaged": 0})
    for folder, machine in _machines(folders):
        checked.counts["objects"] += len(machine.files())
        for file, what in machine.check().items():
            checked.counts["damaged"] += 1
            checked.problems.append(f"{folder}/{file}: {what}")
        if is_remote_folder(folder) and not machine.has_ended:
            checked.notes.append(f"{folder} is not complete yet: its machine has more to upload")
    return checked


def awaited_files(folder: Path, problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems with archives that rows name and that are still on their machine, which has not ended."""
    missing = [problem for problem in problems if problem.flaw is Flaw.MISSING_SEGMENT]
    is_open = missing and any(is_remote_folder(each) and not machine.has_ended for each, machine in _machines([folder]))
    return missing if is_open else []


def _machines(folders: Sequence[Path]) -> Iterator[tuple[Path, MachineFiles]]:
    for folder in folders:
        if isinstance(folder, BucketPath) and (machine := folder.bucket_files()):
            yield folder, machine
