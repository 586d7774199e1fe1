"""Keeps the worker processes of one folder running: one supervisor per folder, only parent of its workers.

What belongs here: the folder's lock, starting, watching, burying and stopping workers, and when a crawl is over.
What does not: how a worker is put together (`crawl`), and how progress is shown (`cli`).
"""

from gossamer.supervisor.ending import End, Ended
from gossamer.supervisor.progress import Progress
from gossamer.supervisor.settings import SupervisorSettings
from gossamer.supervisor.supervisor import Supervisor

__all__ = ["End", "Ended", "Progress", "Supervisor", "SupervisorSettings"]
