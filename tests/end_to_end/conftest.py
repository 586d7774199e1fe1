"""Fixtures for all end-to-end tests."""

from __future__ import annotations

import pytest

from tests.frontier.postgres_server import new_database


@pytest.fixture(params=["sqlite", "postgres"])
def frontier(request: pytest.FixtureRequest) -> str:
    """Where the frontier is: in the crawl's folder, or in a database at this address."""
    return new_database() if request.param == "postgres" else ""
