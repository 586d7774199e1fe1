"""The examples of the documentation run as they stand, on a simulated web."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gossamer
import gossamer_simweb as simweb
from gossamer import Crawl
from gossamer_simweb import plain_web
from tests.api.conftest import terms_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer_simweb import WebServer

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = {
    f"{page}, example {number}": code
    for page in ("README.md", "docs/python.md", "docs/howto/from-python.md")
    for number, code in enumerate(re.findall(r"(?ms)^```python\n(.*?)^```$", (ROOT / page).read_text()), start=1)
}
CRAWLS = [name for name, code in EXAMPLES.items() if "Crawl(" in code]
READS = [name for name, code in EXAMPLES.items() if "Crawl(" not in code]


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    """A web of two pages: the examples wait a second between two."""
    with simweb.serve(plain_web(sites=1, pages=2)) as running:
        yield running


def on_the_simulated_web(code: str, server: WebServer) -> str:
    """The example with another seed, and with what it takes to reach it."""
    seeds, email = '["example.org"]', 'email="you@example.org"'
    assert code.count(seeds) == code.count(email) == code.count("Crawl(")
    reach = f'{email}, nameserver="{server.dns}", allow_network="127.0.0.0/8"'
    return code.replace(seeds, repr(server.seeds(1))).replace(email, reach)


def start(code: str, folder: Path) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    (folder / "example.py").write_text(code)
    return subprocess.Popen(
        [sys.executable, "-W", "error", "example.py"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_examples_that_crawl_get_every_page_of_the_site(server: WebServer, tmp_path: Path) -> None:
    assert len(CRAWLS) == 5
    folders = {name: tmp_path / str(number) for number, name in enumerate(CRAWLS)}
    started = {name: start(on_the_simulated_web(EXAMPLES[name], server), folders[name]) for name in CRAWLS}
    for name, process in started.items():
        said, complaint = process.communicate(timeout=60)
        assert (process.returncode, complaint) == (0, ""), f"{name}: {complaint}"
        pages = list(gossamer.open(folders[name] / "crawl-data").pages())
        assert len(pages) > 1
        assert all(page.url in said for page in pages), name


@pytest.mark.parametrize("name", READS)
def test_examples_that_read_show_what_is_there(name: str, server: WebServer, tmp_path: Path) -> None:
    with Crawl(server.seeds(1), **terms_for(server, tmp_path / "crawl-data")) as crawl:
        wanted = [page.url for page in crawl if page.lang == "en" and page.depth <= 2]
    assert wanted
    said, complaint = (process := start(EXAMPLES[name], tmp_path)).communicate(timeout=60)
    assert (process.returncode, complaint) == (0, "")
    assert all(url in said for url in wanted)
