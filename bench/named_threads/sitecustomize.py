"""Gives every thread of a measured crawl its Python name, so that /proc tells which thread took what.

Python runs this file when it starts, but only if this folder is on PYTHONPATH: only benchmarks put it there. From
version 3.14 on, Python names threads itself.
"""

from __future__ import annotations

import ctypes
import sys
import threading

_PR_SET_NAME = 15
_NAME_BYTES = 15  # the kernel keeps no more


def _name_threads() -> None:
    prctl = ctypes.CDLL(None).prctl
    begin = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]  # noqa: SLF001

    def begin_named(thread: threading.Thread) -> None:
        prctl(_PR_SET_NAME, thread.name.encode()[:_NAME_BYTES], 0, 0, 0)
        begin(thread)

    threading.Thread._bootstrap_inner = begin_named  # type: ignore[attr-defined]  # noqa: SLF001


if sys.platform == "linux" and sys.version_info < (3, 14):
    _name_threads()
