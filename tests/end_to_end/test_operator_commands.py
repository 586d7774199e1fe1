"""What an operator types while a crawl runs on two machines with one database, and after it."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

import gossamer_simweb as simweb
from gossamer.crawl.engines import open_existing
from gossamer.store.reading import pages, requests
from gossamer.urls import site_of
from gossamer_simweb import plain_web
from tests.end_to_end.crawls import Crawl, said, wait_until
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A crawl that was watched while it ran, and was stopped."""

    folders: tuple[Path, Path]
    address: str
    asked: int  # requests that the server has seen
    live: dict[str, str]  # what commands said meanwhile
    excluded: str


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    """Two machines on one crawl, stopped one after the other."""
    folder, address = tmp_path_factory.mktemp("machines"), new_database()
    with simweb.serve(plain_web(sites=6, pages=400, links_across=0.0)) as server:
        one, other = (
            Crawl(server, folder / name, delay_s=0.3, workers=1, frontier=address) for name in ("one", "other")
        )
        elsewhere = named(other.folder)
        with one.start() as here, other.start() as there:
            for crawl in (one, other):
                wait_until(lambda: any(crawl.folder.glob("warc/*")), "both to have pages")  # noqa: B023
            with open_existing(one.folder) as frontier:
                wait_until(lambda: all(each.figures.get("pages") for each in frontier.workers()), "both to say so")
            live = {
                "status": said("status", "--json", *elsewhere),
                "top": said("top", "--once", *elsewhere),
                "log": said("log", "-n", "6", *named(one.folder, other.folder)),
                "db": said("db", "stats", "--frontier", address),
                "stop": said("stop", *elsewhere),
                "status later": said("status", *elsewhere),
            }
            there.end()
            excluded = site_of(one.seeds[0])
            live["exclude"] = said("exclude", excluded, *elsewhere)
            live["site"] = said("explain", excluded, *elsewhere)
            said("stop", *named(one.folder))
            here.end()
        yield Finished(
            folders=(one.folder, other.folder),
            address=address,
            asked=len(server.log()),
            live=live,
            excluded=excluded,
        )


def named(*folders: Path) -> list[str]:
    return [part for folder in folders for part in ("--data-dir", str(folder))]


def test_a_running_crawl_is_shown_whole_on_every_machine(finished: Finished) -> None:
    live = finished.live
    status = json.loads(live["status"])
    assert status["running"]
    assert len(status["workers"]) == 2
    assert status["pages"] >= sum(worker["sites"] for worker in status["workers"]) > 0
    for worker in status["workers"]:
        assert worker["label"].rpartition(":")[2] in live["top"]
    assert live["log"].count("http://") == 6
    assert [line.split()[:3] for line in live["db"].splitlines()[2:3]] == [["crawl", "running", "6"]]


def test_stop_stops_one_machine_and_the_others_are_still_heard_of_there(finished: Finished) -> None:
    _, other = finished.folders
    assert f"The crawl in {other} is stopped" in finished.live["stop"]
    assert "not running here, but elsewhere" in finished.live["status later"]
    assert "the running crawl obeys within five seconds" in finished.live["exclude"]
    assert f"excluded: It is excluded by {finished.excluded}" in finished.live["site"]
    assert "not running" not in finished.live["site"]
    assert "not running\n" in said("status", *named(other))


def test_verify_looks_into_the_folders_of_all_machines(finished: Finished, tmp_path: Path) -> None:
    one, other = finished.folders
    alone = said("verify", *named(one))
    assert "done pages, with other machines" in alone
    assert "No problems." in alone
    together = said("verify", *named(one, other))
    assert "not checked" not in together
    assert f"{finished.asked:,} of requests" in together
    assert "A folder is named twice" in said("verify", *named(one, other, one), status=2)
    report = said("verify", "--report", *named(one, other))
    assert f"{finished.asked:,} requests in" in report
    assert "Violations: 0." in report
    torn = shutil.copytree(other, tmp_path / "torn")
    for part in (torn / "pages").iterdir():
        part.unlink()
    assert "no row in pages: " in said("verify", *named(one, torn), status=1)


def test_a_page_is_found_wherever_it_was_stored(finished: Finished) -> None:
    one, other = finished.folders
    theirs = next(pages(other)).url
    assert "not stored in this folder; that of another machine takes one more --data-dir" in said(
        "show", theirs, *named(one)
    )
    assert "stored, fetched" in said("show", theirs, *named(one, other))
    assert said("show", theirs, "--html", *named(one, other)).startswith("<!")
    assert "request" not in said("explain", theirs, *named(one))
    explained = said("explain", theirs, *named(one, other))
    assert "done: It is done, last requested" in explained
    assert "The crawl is not running" in explained


def test_tables_of_all_machines_are_one(finished: Finished, tmp_path: Path) -> None:
    one, other = finished.folders
    stored = len({row.url for row in pages([one, other])})
    assert stored > max(len(list(pages(folder))) for folder in (one, other))
    assert said("query", "select count(*) from pages", *named(one, other)).split() == ["count_star()", str(stored)]
    assert f"{stored} pages exported" in said("export", *named(one, other), "-o", str(tmp_path / "pages.jsonl"))
    said("report", *named(one, other), "--output", str(tmp_path / "report.html"))
    assert f"{len(list(requests([one, other]))):,}" in (tmp_path / "report.html").read_text()


def test_what_is_excluded_can_be_purged_and_readmitted_from_any_machine(finished: Finished) -> None:
    one, other = finished.folders
    assert finished.excluded in said("exclude", "--list", *named(one))
    purged = said("exclude", finished.excluded, "--purge", *named(other))
    assert "no crawl is running" in purged
    assert re.search(r"stored pages? listed in", purged)
    with open_existing(one) as frontier:
        assert list(frontier.queued(finished.excluded)) == []
        assert frontier.audit() == []
    assert "Readmitted" in said("exclude", finished.excluded, "--remove", *named(other))
    assert finished.excluded not in said("exclude", "--list", *named(one))


def test_folders_of_different_crawls_are_refused(finished: Finished, tmp_path: Path) -> None:
    one, _ = finished.folders
    settings = (one / "crawl.toml").read_text()
    for name, text in (("named", settings.replace('crawl_name = "crawl"', 'crawl_name = "mine"')), ("on_disk", "")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "crawl.toml").write_text(text)
        (folder / "frontier.sqlite").touch()
        refused = said("verify", *named(one, folder), status=2)
        assert f"{one} and {folder} are not of one crawl on several machines" in refused


def test_a_database_without_the_crawl_is_left_as_it_is_and_the_folders_own_is_read(
    finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    another = new_database()
    monkeypatch.setenv("GOSSAMER_FRONTIER", another)
    assert "No problems." in said("verify", *named(*finished.folders))
    with psycopg.connect(another) as connection:
        assert connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'gossamer'").fetchone() is None
    said("db", "init", "--frontier", another)
    assert "No problems." in said("verify", *named(*finished.folders))


def test_who_gives_no_password_or_a_wrong_one_is_told_where_it_belongs(
    finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_FRONTIER", make_conninfo(finished.address, host="127.0.0.1"))
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    for given, wanted in (("", "it wants a password"), ("open sesame", "it wants another password")):
        monkeypatch.setenv("PGPASSWORD", given)
        told = said("db", "stats", status=2)
        assert f"{wanted}: give it in GOSSAMER_FRONTIER, PGPASSWORD or PGPASSFILE" in told
        assert "sesame" not in told
