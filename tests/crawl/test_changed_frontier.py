"""A start that names another frontier than the folder's own is refused: it would begin an empty crawl."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from gossamer.cli import run
from gossamer.cli.crawl import FRUITLESS
from gossamer.crawl.engines import open_existing
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.frontier.sqlite import SqliteFrontier
from tests.crawl.moves import make, open_own
from tests.frontier.postgres_server import new_database

CRAWL = ["crawl", "--max-duration", "0.1", "--data-dir", "data"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith("GOSSAMER_"):
            monkeypatch.delenv(name)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is said about a mistake; the settings stay as they were."""
    before = Path("data/crawl.toml").read_bytes()
    capsys.readouterr()
    assert run([*CRAWL, *arguments]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1, "one sentence"
    assert Path("data/crawl.toml").read_bytes() == before
    return said


def crawls(address: str) -> int:
    """How many crawls there are in a database."""
    with psycopg.connect(address) as connection:
        if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'gossamer'").fetchone() is None:
            return 0
        (count,) = connection.execute("SELECT count(*) FROM gossamer.crawl").fetchone() or (0,)
        return int(count)


def test_a_database_on_a_folder_with_a_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make(Path("data"))
    address = new_database()
    monkeypatch.setenv("GOSSAMER_FRONTIER", address)  # the flag alone is tried next
    for flags in ([], ["--frontier", address]):
        said = refusal(capsys, *flags)
        assert "The frontier of the crawl in data is the file data/frontier.sqlite" in said
        assert f"this start names the crawl crawl in the database {address}" in said
        assert re.search(r"`gossamer move --to .+ --data-dir data`", said)
        assert "start without --frontier and GOSSAMER_FRONTIER" in said
        monkeypatch.delenv("GOSSAMER_FRONTIER", raising=False)
    assert crawls(address) == 0
    monkeypatch.setenv("GOSSAMER_FRONTIER", address)
    assert run(["status", "--data-dir", "data"]) == 0
    with open_existing(Path("data")) as frontier:
        assert isinstance(frontier, SqliteFrontier)
        assert frontier.stats().known


def test_a_file_or_another_crawl_on_a_folder_with_a_database(capsys: pytest.CaptureFixture[str]) -> None:
    address, other = new_database(), new_database()
    make(Path("data"), address)
    for flags, named in (
        (["--frontier", ""], "`gossamer move --to sqlite --data-dir data`"),
        (["--frontier", other], "There is no crawl called crawl in"),
        (["--crawl-name", "second"], "There is no crawl called second in"),
    ):
        assert named in refusal(capsys, *flags)
    with PostgresFrontier(other, "crawl"):
        pass
    assert "and this start names the crawl crawl in the database" in refusal(capsys, "--frontier", other)
    assert not Path("data/frontier.sqlite").exists()
    assert crawls(address) == crawls(other) == 1


def test_a_new_address_of_the_same_database_is_accepted() -> None:
    address = new_database()
    make(Path("data"), address)
    alias = f"{address} application_name=alias"
    assert run([*CRAWL, "--frontier", alias]) == 0
    with open_own(Path("data")) as frontier:
        assert frontier.stats().known > 50


def test_a_crawl_of_an_older_version_keeps_its_database_by_the_folder_it_knows() -> None:
    address, other = new_database(), new_database()
    make(Path("data"), address)
    Path("data/frontier.json").unlink()  # which older versions did not write
    with PostgresFrontier(other, "crawl"):
        pass
    assert run([*CRAWL, "--frontier", other]) == 2
    assert run([*CRAWL, "--frontier", f"{address} application_name=alias"]) == 0
    assert Path("data/frontier.json").exists()


def test_settings_that_were_edited_by_hand_do_not_hide_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    make(Path("data"))
    address = new_database()
    settings = Path("data/crawl.toml")
    settings.write_text(settings.read_text().replace('frontier = ""', f'frontier = "{address}"'))
    assert "`gossamer move --to" in refusal(capsys)
    Path("data/frontier.json").unlink()  # as after an older version, which would have begun an empty crawl
    assert "delete that file if the crawl in the database is the one to resume" in refusal(capsys)


def test_a_database_that_was_lost_is_not_created_again(capsys: pytest.CaptureFixture[str]) -> None:
    address = new_database()
    make(Path("data"), address)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP SCHEMA gossamer CASCADE")
    assert "There is no crawl called crawl in" in refusal(capsys)
    assert crawls(address) == 0


def test_commands_that_read_are_not_led_to_another_database(monkeypatch: pytest.MonkeyPatch) -> None:
    address, other = new_database(), new_database()
    make(Path("data"), address)
    with PostgresFrontier(other, "crawl") as foreign:
        monkeypatch.setenv("GOSSAMER_FRONTIER", other)
        with open_existing(Path("data")) as frontier:
            assert frontier.identity != foreign.identity
            assert frontier.stats().known
    monkeypatch.setenv("GOSSAMER_FRONTIER", "postgresql://nobody@127.0.0.1:1/x")
    with open_existing(Path("data")) as frontier:
        assert frontier.stats().known


def test_a_start_that_fails_leaves_the_settings_as_they_were(capsys: pytest.CaptureFixture[str]) -> None:
    make(Path("data"))
    with closing(sqlite3.connect("data/frontier.sqlite")) as file:
        file.execute("DROP TABLE given_up")  # of all that a start does, only its look at the figures needs it
    assert "no such table: given_up" in refusal(capsys, "--delay", "5")


def test_a_folder_with_nothing_but_settings_begins_where_they_say() -> None:
    address = new_database()
    Path("data").mkdir()
    Path("data/crawl.toml").write_text(f'email = "you@example.org"\nfrontier = "{address}"\n')
    assert run([*CRAWL, "127.0.0.1"]) in (0, FRUITLESS)  # the address is refused, if there is time for that
    assert crawls(address) == 1
