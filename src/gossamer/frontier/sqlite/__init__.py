"""The embedded engine: one SQLite file, shared by the processes of one machine."""

from gossamer.frontier.sqlite.engine import SqliteFrontier

__all__ = ["SqliteFrontier"]
