"""The conformance suite runs on an engine that it does not know: SQLite under another name and with other files."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.frontier import conformance
from tests.frontier.conformance import suite
from tests.frontier.conformance.lab import Engine, Lab
from tests.frontier.conformance.suite import *  # noqa: F403
from tests.frontier.labs import SqliteLab


class ThirdLab(SqliteLab):
    """A lab whose files have other names."""

    def __init__(self, folder: Path, *, real_time: bool = False) -> None:
        super().__init__(folder, real_time=real_time)
        self.path = folder / "third.db"


@pytest.fixture
def engine() -> Engine:
    return Engine(name="third", new_lab=ThirdLab, histories=20)


def test_the_suite_runs_on_the_engine_that_the_module_names(lab: Lab) -> None:
    assert isinstance(lab, ThirdLab)
    assert lab.path.exists()


def test_the_suite_holds_every_conformance_test() -> None:
    folder = Path(str(conformance.__file__)).parent
    for file in folder.glob("test_*.py"):
        functions = [node for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef)]
        tests = {function.name for function in functions if function.name.startswith("test_")}
        assert tests
        assert tests <= vars(suite).keys(), f"suite.py does not import {file.name}"
