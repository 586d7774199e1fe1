"""Fixtures for all frontier tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.frontier.conformance.lab import lab, new_lab
from tests.frontier.labs import ENGINES

if TYPE_CHECKING:
    from tests.frontier.conformance.lab import Engine

__all__ = ["engine", "lab", "new_lab"]


@pytest.fixture(params=ENGINES, ids=lambda engine: engine.name)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn; a module of another engine overrides this."""
    found: Engine = request.param
    return found
