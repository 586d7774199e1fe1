"""Makes Ctrl-C end a DuckDB query at once. DuckDB itself checks only between tasks, which may take minutes."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb


@contextmanager
def ended_by_ctrl_c(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Inside, Ctrl-C interrupts the connection's query, also while no Python code runs in the main thread.

    Does nothing in other threads, which get no signals, and where an event loop handles signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard, told = os.pipe()
    os.set_blocking(told, False)
    before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    if before != -1:
        signal.set_wakeup_fd(before)
        os.close(heard)
        os.close(told)
        yield
        return
    listener = threading.Thread(target=_listen, args=(heard, connection), daemon=True)
    listener.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(told)
        listener.join()
        os.close(heard)


def _listen(heard: int, connection: duckdb.DuckDBPyConnection) -> None:
    while signals := os.read(heard, 64):
        if signal.SIGINT in signals:
            connection.interrupt()
