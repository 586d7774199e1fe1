"""The settings of a worker's intervals."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """How often a worker reports, and how long a shutdown may take."""

    batch_s: float = field(
        default=0.5,
        metadata={
            "help": "The time between two reports of a worker to the frontier. "
            "Raise it if many workers keep a database busy.",
            "minimum": 0.01,
        },
    )
    heartbeat_s: float = field(
        default=2.0,
        metadata={
            "help": "The time between two heartbeats of a worker; a short lease makes it shorter. "
            "Raise it if many workers keep a database busy.",
            "minimum": 0.1,
        },
    )
    stop_s: float = field(
        default=5.0,
        metadata={
            "help": "How long a shutdown waits for the pages under way. Lower it to stop sooner and fetch them again.",
            "minimum": 0,
        },
    )
