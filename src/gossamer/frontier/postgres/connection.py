"""A connection on which every wait ends: with an answer, or with an error when the server hangs or nobody cares."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg

if TYPE_CHECKING:
    from collections.abc import Generator

T = TypeVar("T")


class PatientConnection(psycopg.Connection[Any]):
    """The server's own time limits are of no use when it does not answer at all: here the client has its own."""

    patience_s = math.inf  # with one answer
    abandoned = False  # set by another thread: whoever waits here is to give up

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **options: Any) -> T:
        """Do what the driver has to do; it looks up every tenth of a second while nothing comes."""
        return super().wait(self._bounded(gen), *args, **options)

    def _bounded(self, steps: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        give_up_s = time.monotonic() + self.patience_s
        try:
            wanted = next(steps)
            while True:
                ready = yield wanted
                if not ready and (self.abandoned or time.monotonic() > give_up_s):
                    self.pgconn.finish()  # so that nobody asks it anything more, such as to roll back
                    raise psycopg.OperationalError(f"it has not answered for {self.patience_s:.0f} s")
                wanted = steps.send(ready)
        except StopIteration as ended:
            result: T = ended.value
            return result
