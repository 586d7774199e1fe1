"""A finished crawl, and a dashboard that serves it to a whole module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gossamer.crawl.folder import gather_settings, write_settings
from tests.inspect.conftest import URLS
from tests.inspect.crawls import Crawl
from tests.serve.dashboards import dashboard

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.serve.dashboards import ServedCrawl


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished crawl of three sites."""
    with Crawl(tmp_path_factory.mktemp("finished") / "crawl") as crawl:
        crawl.add(*URLS)
        crawl.run()
    (crawl.folder / "logs").mkdir()
    write_settings(crawl.folder, gather_settings(file=None, environment={}, flags={"email": "a@b.test"}))
    return crawl.folder


@pytest.fixture(scope="module")
def served(crawled: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedCrawl]:
    """A dashboard of that crawl."""
    with dashboard(crawled, tmp_path_factory.mktemp("keys") / "private" / "tokens") as running:
        yield running
