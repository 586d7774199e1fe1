"""The settings of the frontier."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from gossamer.errors import GossamerError

SLOW_S: Final = 2.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierSettings:
    """Where the frontier is, and how long a worker may be silent. The settings never hold a password."""

    frontier: str = field(
        default="",
        metadata={
            "help": "The PostgreSQL database that holds the frontier (postgresql://user@host/database), for a crawl on"
            " several machines; if not given, the frontier is a file in the crawl's folder."
        },
    )
    crawl_name: str = field(
        default="crawl",
        metadata={"help": "The name of the crawl in the PostgreSQL database; it is the same on all machines."},
    )
    lease_s: float = field(
        default=60.0,
        metadata={
            "help": "With a PostgreSQL database, a worker that is silent for this long counts as dead, and other "
            "workers take over its sites.",
            "minimum": 1,
        },
    )

    slow_operation_s: float = field(
        default=SLOW_S,
        metadata={
            "help": "An operation that holds its connection to the frontier for longer is logged with its statements, "
            "their times and the stack; 0 turns this off. Lower it to see why a frontier is slow.",
            "minimum": 0,
        },
    )

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.crawl_name):
            raise ValueError(f"{self.crawl_name!r} is not a name for a crawl: use letters, digits, -, _ and .")
        if not self.frontier:
            return
        from gossamer.frontier.postgres.address import split_password  # load the driver only for a database

        if split_password(self.frontier)[1]:
            raise GossamerError(
                "The frontier's address must not hold a password, because other users could read it in the list of "
                "processes or in crawl.toml: give it in GOSSAMER_FRONTIER, PGPASSWORD or PGPASSFILE."
            )
