"""A small simulated web, and what a program must say to crawl it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import pytest

import gossamer_simweb as simweb
from gossamer_simweb import plain_web
from tests.fetch.conftest import pytest_pyfunc_call

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer_simweb import WebServer

SITES, PAGES = 5, 5

__all__ = ["pytest_pyfunc_call"]  # coroutines run on uvloop here; blocking programs have a loop of asyncio's own


class Terms(TypedDict):
    """How the simulated web is crawled."""

    data_dir: Path
    email: str
    delay: float
    nameserver: str
    allow_network: str
    batch: float


@pytest.fixture(scope="session")
def server() -> Iterator[WebServer]:
    with simweb.serve(plain_web(sites=SITES, pages=PAGES, links_across=0.0)) as running:
        yield running


@pytest.fixture
def terms(server: WebServer, tmp_path: Path) -> Terms:
    return terms_for(server, tmp_path / "data")


def terms_for(server: WebServer, folder: Path) -> Terms:
    """What a program must say to crawl a simulated web into a folder."""
    return Terms(
        data_dir=folder,
        email="tests@example.org",
        delay=0,
        nameserver=server.dns,
        allow_network="127.0.0.0/8",
        batch=0.06,  # seconds; the tests wait for many reports
    )
