"""One process's part of a crawl: takes what is due, fetches it, and reports. Read `worker.py` first."""

from gossamer.worker.desk import Desk
from gossamer.worker.figures import Figures
from gossamer.worker.hooks import Hooks
from gossamer.worker.manners import Manners
from gossamer.worker.settings import WorkerSettings
from gossamer.worker.worker import Worker

__all__ = ["Desk", "Figures", "Hooks", "Manners", "Worker", "WorkerSettings"]
