"""A crawl is moved to another database completely, in spite of any fault on the way, and resumes only there."""

from __future__ import annotations

import random
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest

from gossamer.crawl.engines import open_existing, open_for_start, open_frontier
from gossamer.crawl.folder import read_settings
from gossamer.crawl.moving import move
from gossamer.crawl.own_frontier import Own, find_own, note_own
from gossamer.errors import GossamerError
from gossamer.frontier.moving import MovedError
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.frontier.postgres import moving as postgres_moving
from gossamer.frontier.settings import FrontierSettings
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.frontier.sqlite import moving as sqlite_moving
from tests.crawl.moves import (
    Silence,
    facts,
    fatal_step,
    kill_while_copying,
    killed_move,
    make,
    open_own,
    order,
    run_move,
    waits,
)
from tests.frontier.postgres_server import new_database
from tests.frontier.samples import beating, claim, complete, links

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few URLs do for many."""
    for engine in (sqlite_moving, postgres_moving):
        monkeypatch.setattr(engine, "CHUNK_ROWS", 7)
    monkeypatch.setattr(postgres_moving, "STEP_URLS", 10)


@pytest.fixture(params=["sqlite", "postgres"])
def places(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Where a crawl begins, and where it is moved."""
    database = new_database()
    return ("", database) if request.param == "sqlite" else (database, "sqlite")


def test_everything_is_carried_over_and_back(tmp_path: Path, places: tuple[str, str]) -> None:
    begun_in, to = places
    folder = make(tmp_path / "data", begun_in)
    with open_own(folder) as frontier:
        before = facts(frontier)
    assert before["problems"] == []
    moved = run_move(folder, to)
    assert moved.urls == before["stats"].known
    with open_own(folder) as frontier:
        assert facts(frontier) == before
    run_move(folder, begun_in or "sqlite")
    with open_own(folder) as frontier:
        assert facts(frontier) == before
    assert (read_settings(folder).frontier.frontier, read_settings(folder).crawl.email) == (begun_in, "you@example.org")


def test_no_wait_gets_shorter_and_an_owned_site_waits_a_full_delay(tmp_path: Path, places: tuple[str, str]) -> None:
    folder = make(tmp_path / "data", places[0])
    with open_own(folder) as frontier:
        begun_s = time.monotonic()
        before = waits(frontier)
    before["owned.test"] = 30.0
    run_move(folder, places[1])
    with open_own(folder) as frontier:
        after = waits(frontier)
        frontier.resume(delay_s=30)
        again = waits(frontier)
    passed_s = time.monotonic() - begun_s
    for name, wait_s in before.items():
        assert after[name] >= wait_s - passed_s, name
        assert again[name] >= wait_s - passed_s, name


def test_a_site_gives_its_urls_in_the_order_in_which_it_would_have(tmp_path: Path, places: tuple[str, str]) -> None:
    moved, unmoved = make(tmp_path / "moved", places[0]), make(tmp_path / "unmoved")
    run_move(moved, places[1])
    with open_own(unmoved) as expected, open_own(moved) as frontier:
        found = order(frontier)
        assert len(found) == 8
        assert found == order(expected)


def test_urls_that_come_after_a_move_come_last(tmp_path: Path, places: tuple[str, str]) -> None:
    folder = make(tmp_path / "data", places[0])
    run_move(folder, places[1])
    with open_own(folder) as frontier:
        frontier.add(links("new.test", 6))
        frontier.resume(delay_s=0)
        worker = frontier.join("test")
        assert worker > 1, "ids of workers are used once"
        (urls,) = ([url.url for url in one.urls] for one in claim(frontier) if one.site == "new.test")
        assert urls == [link.url for link in links("new.test", 6)]
        assert frontier.audit() == []


def test_a_move_that_is_killed_again_and_again_loses_nothing(tmp_path: Path, places: tuple[str, str]) -> None:
    dice = random.Random(7)
    folder = make(tmp_path / "data", places[0])
    with open_own(folder) as frontier:
        before = facts(frontier)
    for to in (places[1], places[0] or "sqlite"):
        for _ in range(7):
            assert living(folder, *places) <= 1
            if not killed_move(folder, to, fatal_step(dice)):
                break
        run_move(folder, to)
        assert living(folder, *places) == 1
        with open_own(folder) as frontier:
            assert facts(frontier) == before


def living(folder: Path, *places: str) -> int:
    """Return how many frontiers let a start in."""
    count = 0
    for place in places:
        settings = FrontierSettings(frontier="" if place == "sqlite" else place)
        try:
            with open_frontier(folder, settings, begin=False) as frontier:
                frontier.exclude([])
                count += 1
        except GossamerError:
            pass
    return count


def test_the_frontier_that_was_left_refuses_workers_and_starts_and_names_the_new_one(
    tmp_path: Path, places: tuple[str, str]
) -> None:
    folder = make(tmp_path / "data", places[0])
    left = FrontierSettings(frontier=places[0])
    with open_frontier(folder, left) as living_on:
        living_on.join("a worker that is paused")
        run_move(folder, places[1])
        new = places[1] if places[0] == "" else "frontier.sqlite on "
        with pytest.raises(MovedError, match="was moved to") as refused:
            living_on.join("again")
        assert new in str(refused.value)
        with pytest.raises(MovedError, match="was moved to"):
            living_on.add(links("late.test", 1))
    with pytest.raises(MovedError, match="was moved to"):
        open_frontier(folder, left)


def test_a_move_that_was_cut_off_before_the_switch_can_be_called_off(tmp_path: Path, places: tuple[str, str]) -> None:
    folder = make(tmp_path / "data", places[0])
    with open_own(folder) as frontier:
        before = facts(frontier)
    kill_while_copying(folder, places[1])
    with (
        open_own(folder) as frontier,
        pytest.raises(MovedError, match=r"is being moved to .* finish it with `gossamer move --to"),
    ):
        frontier.resume(delay_s=30)
    with open_existing(folder) as frontier:
        assert frontier.stats() is not None, "a reader is let in"
    moved = run_move(folder, places[0] or "sqlite")
    assert moved.urls is None
    assert not list(folder.glob("*arriving*"))
    with open_own(folder) as frontier:
        assert facts(frontier) == before
        frontier.resume(delay_s=30)
    run_move(folder, places[1])


def test_a_copy_that_differs_is_found_before_the_switch(tmp_path: Path, places: tuple[str, str]) -> None:
    folder = make(tmp_path / "data", places[0])

    class Saboteur(Silence):
        def show(self, done: str, urls: int, of_urls: int) -> None:
            if done == "Checked" and not self.has_struck:
                self.has_struck = True
                spoil(folder, places[1])

        has_struck = False

    with pytest.raises(GossamerError, match="The copy differs from the frontier in queue"):
        move(folder, places[1], None, Saboteur(), delete_old=False)
    with open_own(folder) as frontier:
        frontier.resume(delay_s=30)
    run_move(folder, places[1])


def spoil(folder: Path, place: str) -> None:
    """Change a single URL's try in a copy that is complete."""
    if place == "sqlite":
        with closing(sqlite3.connect(folder / "frontier.arriving.sqlite", isolation_level=None)) as file:
            file.execute("UPDATE queue SET tries = 7 WHERE seq = (SELECT max(seq) FROM queue)")
    else:
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute("UPDATE gossamer.queue SET tries = 7 WHERE url = (SELECT max(url) FROM gossamer.queue)")


def test_a_crawl_that_runs_on_another_machine_is_not_moved(tmp_path: Path) -> None:
    database = new_database()
    folder = make(tmp_path / "data", database)
    with PostgresFrontier(database, "crawl", home="another machine") as frontier:
        frontier.join("vm2:4711")
        with (
            beating(lambda: frontier.heartbeat({}), every_s=0.2),
            pytest.raises(GossamerError, match=r"The crawl runs on other machines \(vm2:4711\): stop it there first"),
        ):
            run_move(folder, "sqlite")
    with open_own(folder) as own:
        own.resume(delay_s=30, terms={})


def test_another_machines_folder_is_refused_after_a_move_and_accepted_with_the_new_address(tmp_path: Path) -> None:
    database, new = new_database(), new_database()
    here = make(tmp_path / "here", database)
    identity = find_own(here)
    assert identity is not None
    there = tmp_path / "there"
    there.mkdir()
    note_own(there, Own(frontier=database, crawl_name="crawl", identity=identity.identity))
    run_move(here, new)
    with pytest.raises(MovedError, match=r"go on with `gossamer crawl --frontier"):
        open_for_start(there, FrontierSettings(frontier=database))
    with open_for_start(there, FrontierSettings(frontier=new)) as frontier:
        assert frontier.identity == identity.identity
    run_move(here, "sqlite")
    for address in (database, new):
        with pytest.raises(MovedError, match="was moved to"):
            open_for_start(there, FrontierSettings(frontier=address))
    with open_existing(here, there) as frontier:
        assert isinstance(frontier, SqliteFrontier), "they are still folders of one crawl"


def test_another_crawl_is_never_overwritten(tmp_path: Path) -> None:
    database = new_database()
    make(tmp_path / "other", database)
    folder = make(tmp_path / "data")
    with pytest.raises(
        GossamerError, match=r"There is another crawl called crawl in .* another name with --crawl-name"
    ):
        run_move(folder, database)
    with open_own(folder) as frontier:
        frontier.resume(delay_s=30)
    move(folder, database, "second", Silence(), delete_old=False)
    with open_own(folder) as frontier, open_own(tmp_path / "other") as other:
        assert frontier.stats().known == other.stats().known
        assert frontier.identity != other.identity
    (tmp_path / "data" / "frontier.sqlite").unlink()
    with SqliteFrontier(folder / "frontier.sqlite"):
        pass
    with pytest.raises(GossamerError, match="holds a frontier that was not moved away"):
        run_move(folder, "sqlite")


def test_old_frontiers_are_kept_until_they_are_deleted(tmp_path: Path, places: tuple[str, str]) -> None:
    folder = make(tmp_path / "data", places[0])
    with open_own(folder) as frontier:
        before = facts(frontier)
    assert len(run_move(folder, places[1]).kept) == 1
    moved = move(folder, None, None, Silence(), delete_old=True)
    assert moved.kept == ()
    if places[0]:
        with psycopg.connect(places[0]) as connection:
            for table in (
                "crawl",
                "site",
                "seen",
                "queue",
                "host",
                "barred",
                "tally",
                "given_up",
                "open_shard",
                "worker",
            ):
                assert connection.execute(f"SELECT count(*) FROM gossamer.{table}".encode()).fetchone() == (0,), table
    else:
        assert not list(folder.glob("frontier.sqlite*"))
    with open_own(folder) as frontier:
        assert facts(frontier) == before
        frontier.resume(delay_s=0)
        frontier.join("test")
        for one in claim(frontier):
            complete(frontier, one)


def test_a_frontier_that_is_where_it_should_be_is_left_alone(tmp_path: Path, places: tuple[str, str]) -> None:
    folder = make(tmp_path / "data", places[0])
    assert run_move(folder, places[0] or "sqlite").urls is None
    with open_own(folder) as frontier:
        frontier.resume(delay_s=30)
    if places[0]:
        alias = f"{places[0]} application_name=alias"
        with pytest.raises(GossamerError, match=r"The crawl is in .* already, under the name crawl"):
            run_move(folder, alias)


def test_a_database_that_cannot_be_reached_changes_nothing(tmp_path: Path) -> None:
    folder = make(tmp_path / "data")
    before = (folder / "crawl.toml").read_bytes()
    with pytest.raises(GossamerError, match="nothing answers there"):
        run_move(folder, "postgresql://nobody@127.0.0.1:1/x")
    assert (folder / "crawl.toml").read_bytes() == before
    with open_own(folder) as frontier:
        frontier.resume(delay_s=30)
