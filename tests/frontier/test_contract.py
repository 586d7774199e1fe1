"""The contract is split by caller, and every caller is typed against the part that it needs."""

from __future__ import annotations

import ast
from pathlib import Path

import gossamer
from gossamer.frontier import FrontierLookups, FrontierReader, OperatorFrontier, WorkerFrontier

SOURCE = Path(gossamer.__file__).parent
OPENERS = {"crawl/engines.py", "crawl/worker_process.py"}  # they open and close a frontier for others


def operations(part: type) -> set[str]:
    """Return the public methods that a part of the contract declares, its bases apart."""
    return {name for name, value in vars(part).items() if not name.startswith("_") and callable(value)}


def test_a_worker_needs_eight_operations() -> None:
    assert operations(WorkerFrontier) | operations(FrontierLookups) == {
        "join", "heartbeat", "claim", "complete", "look_ahead", "reconcile", "known", "find_url", "find_hosts",
    }  # fmt: skip


def test_a_reader_cannot_change_anything() -> None:
    changing = operations(OperatorFrontier) | operations(WorkerFrontier)
    assert changing.isdisjoint(operations(FrontierReader) | operations(FrontierLookups))


def test_only_modules_that_open_frontiers_name_the_whole_contract() -> None:
    naming = {str(file.relative_to(SOURCE)) for file in SOURCE.rglob("*.py") if "Frontier" in _imported(file)}
    assert naming == OPENERS


def _imported(file: Path) -> set[str]:
    """Return the names that a module imports from the contract."""
    return {
        alias.name
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "gossamer.frontier"
        for alias in node.names
    }
