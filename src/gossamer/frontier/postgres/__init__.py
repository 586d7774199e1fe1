"""The shared engine: a PostgreSQL database, for workers on any number of machines."""

from gossamer.frontier.postgres.database import Opening
from gossamer.frontier.postgres.engine import PostgresFrontier

__all__ = ["Opening", "PostgresFrontier"]
