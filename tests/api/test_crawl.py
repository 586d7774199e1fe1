"""A crawl as a loop over its pages."""

from __future__ import annotations

import asyncio
import logging
import pickle
import signal
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gossamer
import gossamer_simweb as simweb
from gossamer import Crawl, End, GossamerError
from gossamer.api import crawl as crawl_module
from gossamer.api.crawl import IN_FLIGHT
from gossamer.store.checking import check
from gossamer.supervisor.lock import hold_folder, is_held
from gossamer.worker import client
from gossamer_simweb import plain_web
from tests.api.conftest import PAGES, SITES, terms_for

if TYPE_CHECKING:
    from gossamer_simweb import WebServer
    from tests.api.conftest import Terms

ALL = SITES * PAGES


def asked_pages(server: WebServer, since: int) -> list[str]:
    """The pages that the server was asked for, after its first `since` requests."""
    return [request.url for request in server.log()[since:] if not request.url.endswith("/robots.txt")]


async def test_a_loop_gets_every_page_once_and_ends_when_nothing_is_left(server: WebServer, terms: Terms) -> None:
    before = server.answered()
    async with Crawl(server.seeds(), **terms) as crawl:
        urls = [page.url async for page in crawl]
        assert crawl.end is End.DRAINED
    assert len(urls) == ALL
    assert sorted(urls) == sorted(asked_pages(server, before))
    assert check(terms["data_dir"]).problems == []
    assert not is_held(terms["data_dir"])


def test_a_program_without_an_event_loop_breaks_out_and_goes_on_later(server: WebServer, terms: Terms) -> None:
    with Crawl(server.seeds(), **terms) as crawl:
        first = next(iter(crawl))
    assert crawl.end is End.STOPPED
    assert not is_held(terms["data_dir"])
    with Crawl(**terms) as crawl:
        urls = [page.url for page in crawl]
    assert crawl.end is End.DRAINED
    assert len(urls) == len({first.url, *urls}) - 1 == ALL - 1, "the page that was read does not come again"


def test_what_raises_in_the_loop_ends_the_crawl_and_its_page_comes_again(server: WebServer, terms: Terms) -> None:
    read: list[str] = []
    with pytest.raises(ZeroDivisionError), Crawl(server.seeds(), **terms) as crawl:  # noqa: PT012
        for page in crawl:
            if len(read) == 3:
                failed = page.url
                _ = 1 / 0
            read.append(page.url)
    assert crawl.end is End.STOPPED
    with Crawl(**terms) as crawl:
        later = [page.url for page in crawl]
    assert failed in later
    assert len(read + later) == len({*read, *later}) == ALL


async def test_a_cancelled_loop_shuts_down_gracefully_and_can_be_resumed(server: WebServer, terms: Terms) -> None:
    read = []
    begun = asyncio.Event()

    async def crawl_on() -> None:
        async with Crawl(server.seeds(), **terms) as crawl:
            async for page in crawl:
                read.append(page.url)
                begun.set()
                await asyncio.Event().wait()

    task = asyncio.create_task(crawl_on())
    await begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()  # in the middle of the stop
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_held(terms["data_dir"])
    assert check(terms["data_dir"]).problems == []
    async with Crawl(**terms) as crawl:
        later = [page.url async for page in crawl]
    assert read[0] in later, "it was in hand when its reader was cancelled"
    assert len(later) == len(set(later)) == ALL


async def test_a_crawl_that_is_cancelled_while_it_is_being_opened_leaves_nothing_behind(terms: Terms) -> None:
    task = asyncio.create_task(Crawl(["a.test"], **terms).__aenter__())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_held(terms["data_dir"])


def test_a_slow_reader_slows_the_crawl(server: WebServer, terms: Terms) -> None:
    assert read_slowly(Crawl(server.seeds(), **terms, in_flight=3), server, most_unread=3) == ALL


def test_a_hundred_pages_wait_for_a_reader_if_nothing_else_is_said(tmp_path: Path) -> None:
    with simweb.serve(plain_web(sites=IN_FLIGHT + 20, pages=1)) as server:
        crawl = Crawl(server.seeds(), **terms_for(server, tmp_path / "data"))
        assert read_slowly(crawl, server, most_unread=IN_FLIGHT) == IN_FLIGHT + 20


def read_slowly(crawl: Crawl, server: WebServer, *, most_unread: int) -> int:
    """Read all pages, the first not before all others that may come have come; return how many they were."""
    before = server.answered()
    read = 0
    with crawl:
        for page in crawl:
            while read == 0 and len(asked_pages(server, before)) < most_unread:
                pass
            unread = len(asked_pages(server, before)) - read
            assert unread <= most_unread, f"{unread} pages were fetched and not read at {page.url}"
            read += 1
    return read


def test_limits_end_the_loop(server: WebServer, terms: Terms) -> None:
    with Crawl(server.seeds(), **terms, max_pages=4) as crawl:
        assert len(list(crawl)) == 4
    assert crawl.end is End.PAGE_LIMIT
    with Crawl(**(terms | {"delay": 60}), max_pages=1_000, max_duration=0.5) as crawl:
        assert len(list(crawl)) <= SITES
    assert crawl.end is End.DURATION


def test_the_same_page_comes_from_the_crawl_and_from_its_folder(server: WebServer, terms: Terms) -> None:
    with Crawl(server.seeds(), **terms) as crawl:
        fetched = {page.url: page for page in crawl}
    stored = {page.url: page for page in gossamer.open(terms["data_dir"]).pages()}
    assert stored == fetched
    for url, page in fetched.items():
        assert page.title in page.html
        assert page.html == stored[url].html == pickle.loads(pickle.dumps(page)).html
        assert page.text
        assert "text=" not in repr(page)


def test_the_program_keeps_its_signals_and_its_logging(server: WebServer, terms: Terms) -> None:
    def own() -> list[object]:
        root = logging.getLogger()
        signals = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)]
        return [
            *signals,
            signal.set_wakeup_fd(-1),
            root.level,
            list(root.handlers),
            logging.getLogger("gossamer").level,
        ]

    before = own()
    with Crawl(server.seeds(1), **terms, max_pages=1) as crawl:
        assert own() == before
        list(crawl)
    assert own() == before
    assert logging.getLogger("gossamer").handlers == []
    assert "a delay of 0 s" not in (terms["data_dir"] / "logs" / "gossamer.log").read_text(), "it is no public network"


def test_a_crawl_goes_on_with_the_settings_it_had_and_has_all_in_flight_for_the_command(
    server: WebServer, terms: Terms
) -> None:
    with Crawl(server.seeds(1), **terms, max_pages=1):
        pass
    settings = (terms["data_dir"] / "crawl.toml").read_text()
    assert "in_flight = 1000" in settings, "what suits one program is not the crawl's"
    assert "max_pages = 1\n" in settings
    with Crawl(data_dir=terms["data_dir"]) as crawl:
        assert len(list(crawl)) == 1


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"dely": 1}, r"^dely is not a setting; did you mean delay\?$"),
        ({"delay": "soon"}, "^delay must be a duration"),
        ({"email": "nobody"}, "'nobody' is not an e-mail address"),
        ({"email": None}, 'email="you@example.org"'),
        ({"workers": 2}, "one worker"),
    ],
)
def test_a_setting_that_is_wrong_is_named_at_once(terms: Terms, settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(GossamerError, match=sentence):
        Crawl(["example.org"], **{**terms, **settings})  # type: ignore[arg-type]
    assert not terms["data_dir"].exists()


async def test_a_crawl_that_cannot_begin_says_why_and_frees_its_folder(server: WebServer, terms: Terms) -> None:
    with pytest.raises(GossamerError, match="Nothing to crawl"):
        async with Crawl(**terms):
            pass
    with pytest.raises(GossamerError, match="'not a seed' is no seed"), Crawl("not a seed", **terms):
        pass
    async with Crawl(server.seeds(1)[0], **terms) as crawl:
        with (
            pytest.raises(GossamerError, match="This program is crawling in "),
            hold_folder(terms["data_dir"], wait_s=0),
        ):
            pass
        with pytest.raises(GossamerError, match="entered only once"):
            await crawl.__aenter__()
    assert not is_held(terms["data_dir"])


async def test_a_loop_outside_of_the_block_is_told_so(terms: Terms) -> None:
    crawl = Crawl(["example.org"], **terms)
    with pytest.raises(GossamerError, match="with Crawl"):
        next(iter(crawl))
    with pytest.raises(GossamerError, match="with Crawl"):
        await anext(aiter(crawl))


def drop_table(folder: Path, name: str) -> None:
    """Let all operations on a crawl's frontier fail that need this table."""
    with closing(sqlite3.connect(folder / "frontier.sqlite")) as database:
        database.execute(f"DROP TABLE {name}")


def test_a_crawl_that_cannot_shut_down_gracefully_says_so_in_one_sentence_and_leaves_nothing_open(
    server: WebServer, terms: Terms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_BACKOFF_S", 1.0)
    sentence = r"^The crawl could not shut down \(no such table: crawl\): fix that and start it again\.$"
    with pytest.raises(GossamerError, match=sentence), Crawl(server.seeds(1), **terms, stop=0) as crawl:  # noqa: PT012
        next(iter(crawl))
        drop_table(terms["data_dir"], "crawl")
    assert "gossamer" not in [thread.name for thread in threading.enumerate()]
    open_files = [link.resolve() for link in Path("/proc/self/fd").glob("*")]  # none where there is no such list
    assert not [file for file in open_files if file.is_relative_to(terms["data_dir"])]
    with pytest.raises(GossamerError, match="with Crawl"):
        next(iter(crawl))


def test_a_crawl_that_cannot_be_looked_at_says_so_once_and_ends_when_its_time_is_up(
    server: WebServer, terms: Terms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawl_module, "LOOK_EVERY_S", 0.01)
    with Crawl(server.seeds(1), **terms, max_duration=2) as crawl:
        drop_table(terms["data_dir"], "given_up")  # which a worker that gives nothing up does not miss
        list(crawl)
    assert crawl.end is End.DURATION
    said = (terms["data_dir"] / "logs" / "gossamer.log").read_text()
    assert said.count("The crawl cannot tell yet whether it is over (no such table: given_up)") == 1


def test_a_log_that_cannot_be_rotated_ends_no_crawl(
    server: WebServer, terms: Terms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawl_module, "LOOK_EVERY_S", 0.01)
    (terms["data_dir"] / "logs" / "gossamer.log.1" / "in the way").mkdir(parents=True)
    with Crawl(server.seeds(1), **terms, log_size=1, old_logs=1) as crawl:
        logging.getLogger("gossamer").warning("more than one byte")
        assert len(list(crawl)) == PAGES
    assert (terms["data_dir"] / "logs" / "gossamer.log").read_text().count("No new log file can be begun") == 1
