"""Writes commands in messages so that the operator can paste them into the shell that started this program.

`main` notes how the program was called. Workers inherit the note, so that their messages can be pasted too.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_FOLDER: Final = "crawl-data"
FOLDER_VARIABLE: Final = "GOSSAMER_DATA_DIR"
LAUNCHER_VARIABLE: Final = "GOSSAMER_LAUNCHER"  # set by the launcher: how it was called
PROGRAM_VARIABLE: Final = "GOSSAMER_PROGRAM"  # the note


def to_type(*words: object, folders: Sequence[Path] | Path = ()) -> str:
    """Return a command of this program as the operator must type it, with the folders that it needs."""
    named = (folders,) if isinstance(folders, Path) else folders
    if [str(folder) for folder in named] == [DEFAULT_FOLDER] and not os.environ.get(FOLDER_VARIABLE):
        named = ()
    places = [word for folder in named for word in ("--data-dir", folder)]
    return " ".join([program(), *(shlex.quote(str(word)) for word in (*words, *places))])


def program() -> str:
    """Return how the operator calls this program, quoted for a shell."""
    return os.environ.get(PROGRAM_VARIABLE) or "gossamer"


def note_program() -> None:
    """Note how this program was called. A crawl started from Python notes nothing; its messages say `gossamer`."""
    launcher = os.environ.pop(LAUNCHER_VARIABLE, None)
    if launcher is None and sys.argv[0].endswith("__main__.py"):
        words = sys.orig_argv[: len(sys.orig_argv) - len(sys.argv) + 1]  # python -m gossamer
    else:
        words = [_shortest(launcher or sys.argv[0])]
    os.environ[PROGRAM_VARIABLE] = shlex.join(words)


def _shortest(path: str) -> str:
    """Return a program's bare name if the shell finds that program by it, else a path."""
    name = Path(path).name
    found = shutil.which(name)
    if found is not None and os.path.abspath(found) == os.path.abspath(path):  # noqa: PTH100  # a link keeps its name
        return name
    return path if os.sep in path else os.path.join(os.curdir, path)  # noqa: PTH118  # a Path would drop the ./
