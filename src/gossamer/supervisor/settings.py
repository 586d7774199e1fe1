"""The settings of the supervision of workers."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorSettings:
    """When a worker is replaced, and how often progress is printed."""

    worker_silence_s: float = field(
        default=60.0,
        metadata={
            "help": "A worker that is silent for this long is killed and replaced. "
            "Raise it if a slow disk holds workers up for longer.",
            "minimum": 2,
        },
    )
    progress_every_s: float = field(
        default=10.0,
        metadata={
            "help": "The time between two lines of progress where there is no terminal. "
            "Raise it to keep the log of a service short.",
            "minimum": 1,
        },
    )
