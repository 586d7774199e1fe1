"""What a program may decide in its crawl, and that its mistakes cost the crawl nothing."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from gossamer import Crawl, Link, Page
from gossamer_simweb import PlantedPage, plain_web
from tests.api.conftest import PAGES, SITES, terms_for

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer_simweb import WebServer
    from tests.api.conftest import Terms

ALL = SITES * PAGES


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "The hook" in record.getMessage()]


def test_links_that_are_not_wanted_are_not_visited(server: WebServer, terms: Terms) -> None:
    before = len(server.log())
    asked = []

    def should_visit(url: str) -> bool:
        asked.append(url)
        return False

    with Crawl(server.seeds(), **terms, should_visit=should_visit) as crawl:
        assert sorted(page.url for page in crawl) == sorted(server.seeds()), "seeds are wanted in any case"
    assert asked
    assert not set(asked) - set(server.seeds()) & {request.url for request in server.log()[before:]}


def test_redirects_are_links_but_for_those_of_seeds(tmp_path: Path) -> None:
    def page(path: str, to: str = "", link: str = "") -> PlantedPage:
        body = f'<title>{path}</title><p>Some words.</p><a href="{link}">on</a>'.encode()
        html = ("Content-Type", "text/html")
        return PlantedPage(
            host="moved.test", path=path, status=301 if to else 200,
            headers=(html, ("Location", to)) if to else (html,), body=body,
        )  # fmt: skip

    pages = (page("/", to="/start"), page("/start", link="/wanted"), page("/wanted", to="/other"), page("/other"))
    with simweb.serve(plain_web(sites=1, pages=1, planted=pages)) as server:
        seed = f"http://moved.test:{server.port}/"
        terms = terms_for(server, tmp_path / "data")
        with Crawl(seed, **terms, should_visit=lambda url: url.endswith("/wanted")) as crawl:
            assert [page.url for page in crawl] == [f"{seed}start"]
        assert f"{seed}other" not in {request.url for request in server.log()}


def test_a_smaller_rank_comes_first(server: WebServer, terms: Terms) -> None:
    def rank(link: Link) -> int:
        assert link.depth > 0
        return -len(link.url)

    with Crawl(server.seeds(1), **terms, rank=rank, in_flight=1, max_depth=1) as crawl:
        _seed, *urls = [page.url for page in crawl]
    assert len(urls) > 2
    assert [len(url) for url in urls] == sorted((len(url) for url in urls), reverse=True)
    assert crawl.hook_errors == 0


@pytest.mark.parametrize("is_async", [False, True])
def test_each_page_is_told_before_the_loop_gets_it(server: WebServer, terms: Terms, is_async: bool) -> None:
    told: list[Page] = []

    async def tell(page: Page) -> None:
        await asyncio.sleep(0)
        told.append(page)

    with Crawl(server.seeds(), **terms, on_page=tell if is_async else told.append) as crawl:
        for page in crawl:
            assert page in told
    assert len(told) == ALL


def fail(_value: object) -> int:
    raise ValueError("a bug of the program's")


async def fail_later(_page: Page) -> None:
    raise ValueError("a bug of the program's")


@pytest.mark.parametrize(
    ("hook", "function"), [("should_visit", fail), ("rank", fail), ("on_page", fail), ("on_page", fail_later)]
)
def test_a_hook_that_raises_is_reported_once_a_page_and_the_crawl_goes_on(
    server: WebServer, terms: Terms, caplog: pytest.LogCaptureFixture, hook: str, function: object
) -> None:
    with Crawl(server.seeds(), **terms, **{hook: function}) as crawl:  # type: ignore[arg-type]
        urls = {page.url for page in crawl}
    assert len(urls) == ALL, "nothing is lost"
    said = complaints(caplog)
    assert 0 < len(said) <= ALL
    assert crawl.hook_errors >= len(said)
    assert all(f"The hook {hook} failed at http://" in line for line in said)
    assert "a bug of the program's" in (terms["data_dir"] / "logs" / "gossamer.log").read_text()


def test_a_rank_that_is_no_whole_number_is_such_a_mistake(
    server: WebServer, terms: Terms, caplog: pytest.LogCaptureFixture
) -> None:
    with Crawl(server.seeds(), **terms, rank=lambda _link: 0.5) as crawl:  # type: ignore[arg-type, return-value]
        assert len(list(crawl)) == ALL
    assert crawl.hook_errors
    assert complaints(caplog)


def test_a_rank_beyond_what_a_frontier_holds_counts_as_the_largest(server: WebServer, terms: Terms) -> None:
    with Crawl(server.seeds(), **terms, rank=lambda link: 10**30 * (-1) ** link.depth) as crawl:
        assert len(list(crawl)) == ALL
    assert crawl.hook_errors == 0


def test_without_logging_of_its_own_a_program_sees_what_went_wrong(
    server: WebServer, terms: Terms, capfd: pytest.CaptureFixture[str]
) -> None:
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []
    try:
        with Crawl(server.seeds(1), **terms, max_pages=1, on_page=fail) as crawl:
            list(crawl)
    finally:
        root.handlers = handlers
    assert "The hook on_page failed at http://" in capfd.readouterr().err
