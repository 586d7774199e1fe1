"""What machines tell each other of their history: one compact row per process and minute, kept for some days."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Final

from gossamer.records import SharedFigures

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from gossamer.frontier.postgres.database import PostgresDatabase
    from gossamer.frontier.postgres.transaction import PostgresTransaction

STEP_ROWS: Final = 2_000  # of a walk: a few megabytes
DROP_ROWS: Final = 1_000  # of each machine, with each minute: more than it writes
_DAY_US: Final = 86_400_000_000


def share(database: PostgresDatabase, home: str, told: Sequence[SharedFigures], *, days: float) -> None:
    """Add figures of this machine, and delete those of all machines that are too old."""
    if not told:
        return
    ats, workers = [_us(one.at) for one in told], [one.worker for one in told]
    figures = [pack(one.figures) for one in told]
    before = max(ats) - round(days * _DAY_US)

    def work(tx: PostgresTransaction) -> None:
        tx.has_written = False  # no counters
        tx.run("share_figures", home=home, ats=ats, workers=workers, figures=figures)
        for machine in tx.run("history_homes"):
            if machine.first_at < before:
                tx.run("drop_figures", home=machine.home, before=before, rows=DROP_ROWS)

    database.run("share_figures", work)


def shared_span(database: PostgresDatabase) -> tuple[float, float] | None:
    """Return the first and the last moment that any machine told of."""
    machines = database.rows("history_homes")
    if not machines:
        return None
    return min(one.first_at for one in machines) / 1e6, max(one.last_at for one in machines) / 1e6


def walk_shared(
    database: PostgresDatabase, *, since_at: float, until_at: float, without: Collection[str]
) -> Iterator[SharedFigures]:
    """Yield what machines told of a period, machine by machine, each by time."""
    for machine in database.rows("history_homes"):
        if machine.home.rpartition(":")[2] in without:
            continue
        after, worker = _us(since_at), ""
        while True:
            place = {"home": machine.home, "after": after, "worker": worker, "until": _us(until_at)}
            rows = database.rows("shared_figures", **place, rows=STEP_ROWS)
            for row in rows:
                yield SharedFigures(at=row.at / 1e6, worker=row.worker, figures=unpack(row.figures), home=machine.home)
            if len(rows) < STEP_ROWS:
                break
            after, worker = rows[-1].at, rows[-1].worker


def pack(figures: Mapping[tuple[str, str], float]) -> bytes:
    """Return figures in as few bytes as is easy: names and labels repeat, and most values are whole numbers."""
    by_name: dict[str, dict[str, float]] = {}
    for (name, labels), value in figures.items():
        by_name.setdefault(name, {})[labels] = int(value) if float(value).is_integer() else value
    return zlib.compress(json.dumps(by_name, separators=(",", ":")).encode())


def unpack(packed: bytes) -> dict[tuple[str, str], float]:
    """Return what `pack` made."""
    by_name = json.loads(zlib.decompress(packed))
    return {(name, labels): float(value) for name, some in by_name.items() for labels, value in some.items()}


def _us(at: float) -> int:
    return round(at * 1e6)
