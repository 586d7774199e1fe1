"""Keeps the worker processes of one folder running: each folder has one supervisor, which starts all its workers.

What belongs here: the folder's lock; starting, watching, reaping and stopping workers; whether a crawl is over.
What does not: how a worker is put together (`crawl`), and how progress is shown (`cli`).
"""

from gossamer.supervisor.ending import End
from gossamer.supervisor.progress import Ended, Progress
from gossamer.supervisor.settings import SupervisorSettings
from gossamer.supervisor.supervisor import Callbacks, Supervisor, WorkerSetup
from gossamer.supervisor.watch import MachineWatch

__all__ = ["Callbacks", "End", "Ended", "MachineWatch", "Progress", "Supervisor", "SupervisorSettings", "WorkerSetup"]
