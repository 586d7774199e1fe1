"""Fixtures for the tests of what only the PostgreSQL engine promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from tests.frontier import postgres_server
from tests.frontier.labs import PostgresLab

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module", params=postgres_server.versions())
def version(request: pytest.FixtureRequest) -> str:
    """The major version of the server; empty for whichever there is."""
    return str(request.param)


@pytest.fixture
def lab(tmp_path: Path, version: str) -> Iterator[PostgresLab]:
    lab = PostgresLab(tmp_path, version=version)
    lab.open().resume(delay_s=70)
    yield lab
    lab.close()


@pytest.fixture
def outsider(lab: PostgresLab) -> Iterator[psycopg.Connection[Any]]:
    """Somebody else who is connected to the same database."""
    with psycopg.connect(lab.address, autocommit=True, options="-c search_path=gossamer") as connection:
        yield connection
