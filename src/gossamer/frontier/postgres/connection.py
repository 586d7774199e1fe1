"""A connection on which every wait ends: with an answer, or with an error if the server hangs or a thread closes it."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping
from psycopg.rows import namedtuple_row

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from gossamer.frontier.postgres.address import Address

T = TypeVar("T")

EXTRA_TIMEOUT_S = 1.0  # so that the server's own time limit, whose message is better, comes first
PING_S = 10
_SILENCE = "it has not answered for {:.0f} s: see whether it is paused, overloaded, or waits for a lock"


class BoundedConnection(psycopg.Connection[Any]):
    """A connection with the client's own time limit: the server's limits do not help if it does not answer at all."""

    timeout_s = math.inf  # for one answer
    abandoned = False  # set by another thread: the thread that waits here gives up
    _is_without_timeout = False

    @contextmanager
    def without_timeout(self) -> Iterator[None]:
        """Inside, an answer may take as long as the server answers others: building an index can take hours."""
        self._is_without_timeout = True
        try:
            yield
        finally:
            self._is_without_timeout = False

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **options: Any) -> T:
        """Do what the driver has to do; it looks up every tenth of a second while nothing comes."""
        return super().wait(self._bounded(gen), *args, **options)

    def _bounded(self, steps: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        give_up_s = time.monotonic() + self.timeout_s
        try:
            wanted = next(steps)
            while True:
                ready = yield wanted
                if not ready and (self.abandoned or time.monotonic() > give_up_s):
                    if self.abandoned or not (self._is_without_timeout and self._answers_others()):
                        self.pgconn.finish()  # so that nothing more is sent on it, such as a rollback
                        raise psycopg.OperationalError(_SILENCE.format(self.timeout_s))
                    give_up_s = time.monotonic() + self.timeout_s
                wanted = steps.send(ready)
        except StopIteration as ended:
            result: T = ended.value
            return result

    def _answers_others(self) -> bool:
        """Return whether the server answers a connection without a password, even with a refusal."""
        without_password = make_conninfo(self.info.dsn, connect_timeout=PING_S)
        return PGconn.ping(without_password.encode()) in (Ping.OK, Ping.REJECT)


def connect(address: Address, timeout_s: float) -> BoundedConnection:
    """Open a connection with a time limit for one answer, and for a network that loses packets."""
    connection = BoundedConnection.connect(
        address.text,
        autocommit=True,
        row_factory=namedtuple_row,
        connect_timeout=address.connect_timeout,
        application_name="gossamer",
        keepalives_idle=10,
        tcp_user_timeout=round(timeout_s * 1000),
    )
    connection.timeout_s = timeout_s + EXTRA_TIMEOUT_S
    return connection
