"""Repairs that are killed at each of their steps, one after the other.

    python -m tests.store.crashing <folder> <worker> <folder for the copies>

Copies the folder, repairs the copy in a child process, and kills the child right before its first call to the
system that changes something; copies it again, kills the child before the second; and so on until a child comes
to its end. Prints how many were killed.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from gossamer.store.repair import repair

CALLS = ("fsync", "ftruncate", "open", "rename", "unlink")


def kill_before_step(step: int) -> None:
    """Kill this process, as with kill -9, just before its step number `step`."""
    taken = 0

    def watch(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal taken
            taken += 1
            if taken == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **options)

        setattr(owner, name, call)

    for name in CALLS:
        watch(os, name)
    watch(io, "open")  # pathlib's


def main() -> None:
    """Kill one child after another."""
    folder, worker, copies = sys.argv[1:]
    step = 0
    while True:
        step += 1
        copy = Path(copies) / str(step)
        shutil.copytree(folder, copy)
        child = os.fork()  # this process has no threads
        if not child:
            kill_before_step(step)
            repair(copy, {worker})
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            assert status == 0
            print(step - 1)
            return


main()
