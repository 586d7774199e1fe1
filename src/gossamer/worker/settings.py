"""What the operator may set about a worker's own rhythm."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """How often a worker reports, and how long it takes to stop."""

    batch_s: float = field(default=0.5, metadata={"help": "time between two reports to the frontier", "minimum": 0.01})
    heartbeat_s: float = field(default=2.0, metadata={"help": "time between two heartbeats", "minimum": 0.1})
    stop_s: float = field(default=5.0, metadata={"help": "at a stop, wait so long for pages under way", "minimum": 0})
