"""One process's part of a crawl: performs the steps of turns, and exchanges batches with the frontier.

Read `driver.py` first. What a turn decides is in `gossamer.turn`.
"""

from gossamer.worker.driver import Worker, report_hook_failure
from gossamer.worker.figures import Figures
from gossamer.worker.parts import WorkerParts, WorkerTerms
from gossamer.worker.settings import WorkerSettings

__all__ = ["Figures", "Worker", "WorkerParts", "WorkerSettings", "WorkerTerms", "report_hook_failure"]
