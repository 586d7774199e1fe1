"""A finished crawl for the tests to read and to damage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.inspect.crawls import Crawl

if TYPE_CHECKING:
    from pathlib import Path

URLS = [f"https://{site}.test/{path}" for site in "abc" for path in ("1", "2", "3", "gone", "moved")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A finished crawl of three sites: nine pages, three URLs given up, three redirects."""
    with Crawl(tmp_path / "crawl") as crawl:
        crawl.add(*URLS)
        crawl.run()
    return crawl.folder
