"""A program that runs commands as a user with only read access, and reports what they printed and changed.

Started by root, it becomes another user. The interpreter itself may lie where that user cannot go, so all commands run
once before on a folder for practice: that loads every module that they need.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import subprocess
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gossamer.cli import run
from tests.end_to_end.crawls import TIMEOUT_S, environment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NOBODY = 65534
SHARED_MEMORY = "frontier.sqlite-shm"  # SQLite's own, in which readers register
FOLDER, ELSEWHERE = "{folder}", "{elsewhere}"  # in a command


def as_reader(
    folder: Path,
    practice: Path,
    elsewhere: Path,  # where a reader may write
    commands: Sequence[Sequence[str]],
    variables: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Run commands on a crawl's folder as a user who may only read it; return status, text and changes of each."""
    is_root = os.geteuid() == 0
    if not is_root:
        _make_read_only(folder)
    (practice / "lock").write_bytes(b"")  # which names no process that `stop` could end
    elsewhere.chmod(0o777)
    asked = {
        "user": NOBODY if is_root else None,
        "folder": str(folder), "practice": str(practice), "elsewhere": str(elsewhere), "commands": commands,
    }  # fmt: skip
    ended = subprocess.run(
        [sys.executable, "-m", "tests.end_to_end.reading_user"],
        input=json.dumps(asked),
        stdout=subprocess.PIPE,
        env={**environment(), **(variables or {})},
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    answers: list[dict[str, Any]] = json.loads(ended.stdout)
    return answers


def listing(folder: Path) -> dict[str, list[Any]]:
    """Return mode, owner, time and content of everything in a folder."""
    found = {}
    for path in sorted([folder, *folder.rglob("*")]):
        about = path.stat()
        is_readable = path.is_file() and os.access(path, os.R_OK)
        content = hashlib.sha256(path.read_bytes()).hexdigest() if is_readable else ""
        found[str(path.relative_to(folder))] = [about.st_mode, about.st_uid, about.st_mtime_ns, content]
    found.pop(SHARED_MEMORY, None)
    return found


def _make_read_only(folder: Path) -> None:
    for path in [*folder.rglob("*"), folder]:
        path.chmod(path.stat().st_mode & ~0o222)


def _say(command: Sequence[str], folder: str, elsewhere: str) -> tuple[int, str]:
    output = io.BytesIO()
    stream = io.TextIOWrapper(output, encoding="utf-8", write_through=True)
    arguments = [part.replace(FOLDER, folder).replace(ELSEWHERE, elsewhere) for part in command]
    with redirect_stdout(stream), redirect_stderr(stream):
        try:
            status = run(arguments)
        except Exception:
            status = -1
            traceback.print_exc()
    return status, output.getvalue().decode()


def _main(*, user: int | None, folder: str, practice: str, elsewhere: str, commands: list[list[str]]) -> None:
    if user is not None:
        with (Path(practice) / "lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # as if a crawl were running there
            for command in commands:
                _say(command, practice, f"{practice}-elsewhere")
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    answers = []
    for command in commands:
        before = listing(Path(folder))
        status, text = _say(command, folder, elsewhere)
        after = listing(Path(folder))
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        answers.append({"status": status, "said": text, "changed": changed})
    print(json.dumps(answers))


if __name__ == "__main__":
    _main(**json.load(sys.stdin))
