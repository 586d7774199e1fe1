"""What only the SQLite engine promises: plans, the file, its neighbours, its schema."""

from __future__ import annotations

import sqlite3
import sys
import threading
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench import claimers
from gossamer.errors import GossamerError
from gossamer.frontier import FrontierError
from gossamer.frontier.batches import RecentLinks
from gossamer.frontier.sql import read_statements
from gossamer.frontier.sqlite import SqliteFrontier, database
from gossamer.urls import Url
from tests.frontier.samples import all_at_once, beating, claim, complete, link, links

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a folder" / "frontier.sqlite"


@pytest.fixture
def frontier(path: Path) -> Iterator[SqliteFrontier]:
    path.parent.mkdir()
    with SqliteFrontier(path) as frontier:
        frontier.resume(delay_s=70)
        frontier.join("test")
        yield frontier


def _plan(frontier: SqliteFrontier, name: str, **parameters: object) -> list[str]:
    connection = frontier._database.connection
    return [row["detail"] for row in connection.execute("EXPLAIN QUERY PLAN " + database.SQL[name], parameters)]


def test_a_claim_walks_the_ready_list_without_a_sort(frontier: SqliteFrontier) -> None:
    frontier.add([link(f"s{n}.test/") for n in range(500)])
    assert _plan(frontier, "due_sites", delay_ms=0, now_ms=0, sites=1) == [
        "SEARCH site USING INDEX site_ready (ready_at<?)"
    ]


def test_a_sites_next_urls_come_from_the_order_index_without_a_sort(frontier: SqliteFrontier) -> None:
    for name, parameters in (("next_urls", {"urls": 1}), ("first_queued", {})):
        plan = _plan(frontier, name, site_id=1, **parameters)
        assert "queue_order (site_id=?" in plan[0]
        assert not any("TEMP B-TREE" in step or "SCAN" in step for step in plan)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("next_ready", {}), ("sites_in_hand", {}), ("any_unsettled", {}), ("count_owned", {"worker": 1}),
        ("owned_sites", {"worker": 1, "delay_ms": 0, "at_most": 1}),
        ("find_seen", {"site": "", "url_hash": b""}),
        ("visited_site", {"site": ""}), ("find_site", {"site": ""}), ("settle_queue", {"site_id": 1, "url_hash": b""}),
        ("settle_all_seen", {"site_id": 1, "hashes": bytes(32), "outcome": ""}),
        ("settle_all_queued", {"site_id": 1, "hashes": bytes(32)}),
        ("queued_seeds", {"site_id": 1, "hashes": bytes(32)}),
    ],
)  # fmt: skip
def test_no_read_scans_what_grows_with_the_crawl(
    frontier: SqliteFrontier, name: str, parameters: dict[str, object]
) -> None:
    for step in _plan(frontier, name, **parameters):
        assert not step.startswith(("SCAN site", "SCAN queue", "SCAN seen", "SCAN q")) or "INDEX site_" in step, step


def test_another_program_that_writes_to_the_file_does_not_fail_us(frontier: SqliteFrontier, path: Path) -> None:
    """A deferred transaction would read first and then find that somebody else had written."""
    locked = threading.Event()

    def hold_the_lock() -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as outsider:
            for _ in range(40):
                outsider.execute("BEGIN IMMEDIATE")
                outsider.execute("UPDATE crawl SET state = state")
                locked.set()
                outsider.execute("COMMIT")

    thread = threading.Thread(target=hold_the_lock)
    thread.start()
    locked.wait()
    for number in range(60):
        frontier.add([link(f"a.test/{number}")])
    thread.join()
    assert frontier.stats().queued == 60


def test_every_write_begins_by_taking_the_write_lock(frontier: SqliteFrontier) -> None:
    statements: list[str] = []
    frontier._database.connection.set_trace_callback(statements.append)
    frontier.add(links("a.test", 2))
    (owned,) = claim(frontier)
    complete(frontier, owned)
    frontier.heartbeat({})
    begins = [statement for statement in statements if statement.startswith("BEGIN")]
    assert begins == ["BEGIN IMMEDIATE"] * 4


def test_many_processes_own_no_site_twice_and_lose_nothing(path: Path) -> None:
    path.parent.mkdir()
    history = claimers.run(partial(SqliteFrontier, path), processes=4, turns_each=1_000)
    assert history.turns >= 4_000
    assert history.owned_twice == []
    assert (history.lost, history.settled_twice) == (0, 0)


def test_a_writer_without_pause_does_not_keep_others_waiting(frontier: SqliteFrontier, path: Path) -> None:
    """Heartbeats get in between two of the loader's transactions, not after many of them."""
    stop, loading = threading.Event(), threading.Event()
    batches = 0

    def load() -> None:
        nonlocal batches
        with SqliteFrontier(path) as loader:
            while not stop.is_set():
                batch = [link(f"s{batches}.test/{n}") for n in range(500)]
                loading.set()
                loader.add(batch)
                batches += 1

    thread = threading.Thread(target=load)
    thread.start()
    overtaken = []
    try:
        for _ in range(20):
            loading.clear()
            assert loading.wait(60)
            before = batches
            frontier.heartbeat({})
            overtaken.append(batches - before)
    finally:
        stop.set()
        thread.join()
    assert max(sorted(overtaken)[:-3]) <= 3, "but for a few that the machine itself may have held up"


def test_the_file_remembers_everything_between_two_starts(frontier: SqliteFrontier, path: Path) -> None:
    frontier.add(links("a.test", 5))
    (owned,) = claim(frontier)
    complete(frontier, owned, links=links("b.test", 2))
    before = frontier.stats()
    with SqliteFrontier(path) as again:
        assert again.stats() == before


def test_opening_a_file_that_is_no_database_says_so(tmp_path: Path) -> None:
    path = tmp_path / "frontier.sqlite"
    path.write_text("something else entirely, long enough to be looked at as a header")
    with pytest.raises(
        GossamerError,
        match=r"frontier.sqlite cannot be opened as a frontier .file is not a database.: bring back a whole copy",
    ):
        SqliteFrontier(path)


def test_opening_in_a_folder_that_does_not_exist_says_so(tmp_path: Path) -> None:
    with pytest.raises(GossamerError, match="cannot be opened as a frontier"):
        SqliteFrontier(tmp_path / "nowhere" / "frontier.sqlite")


@pytest.mark.skipif(sys.platform != "linux", reason="open files are listed in /proc")
def test_a_frontier_that_is_refused_leaves_no_file_open(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "frontier.sqlite")) as connection:
        connection.execute("PRAGMA user_version = 999")
    with pytest.raises(GossamerError) as refused:
        SqliteFrontier(tmp_path / "frontier.sqlite")
    opened = [link.resolve() for link in Path("/proc/self/fd").iterdir()]
    assert not [file for file in opened if file.parent == tmp_path], refused.value


def test_a_frontier_of_a_newer_gossamer_is_left_alone(frontier: SqliteFrontier, path: Path) -> None:
    frontier._database.connection.execute("PRAGMA user_version = 999")
    with pytest.raises(GossamerError, match="written by a newer Gossamer: upgrade"):
        SqliteFrontier(path)


@pytest.mark.parametrize(("column", "what"), [("normaliser", "URL normaliser"), ("suffix_list", "public suffix list")])
def test_a_frontier_that_names_sites_differently_is_refused(
    frontier: SqliteFrontier, path: Path, column: str, what: str
) -> None:
    frontier._database.connection.execute(f"UPDATE crawl SET {column} = 'other'")
    with pytest.raises(GossamerError, match=f"made with {what} other"):
        SqliteFrontier(path)


def test_an_older_frontier_is_upgraded_when_none_of_its_workers_shows_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "frontier.sqlite"
    old = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    with monkeypatch.context() as older:
        older.setattr(database, "_scripts", lambda scripts=database._scripts: scripts()[:1])
        database.migrate(old, path)
    old.execute("INSERT INTO worker (label) VALUES ('an older one')")
    old.execute("INSERT INTO site (name, paced_at, ready_at) VALUES ('a.test', 0, 0)")
    old.execute("UPDATE crawl SET sites = 1")
    for host in ("http://a.test", "https://1.2.3.4", "http://a.test:81", "https://[::1]:8443", "http://b.a.test:81"):
        old.execute("INSERT INTO host (site_id, name, seeded) VALUES (1, ?, 1)", (host,))
    with (
        beating(lambda: old.execute("UPDATE worker SET beats = beats + 1")),
        pytest.raises(GossamerError, match="workers of an older Gossamer are at work in it: stop that crawl"),
    ):
        SqliteFrontier(path)
    assert old.execute("PRAGMA user_version").fetchone() == (1,), "nothing was changed"
    old.close()
    monkeypatch.setattr(database, "OLDER_SILENCE_S", 0.5)
    with SqliteFrontier(path) as frontier:
        assert [state.label for state in frontier.workers()] == ["an older one"]
        assert frontier.seed_ports() == {81, 8443}
        frontier.resume(delay_s=0)
        assert frontier.audit() == []


def test_migrations_run_once_and_in_order(tmp_path: Path) -> None:
    path = tmp_path / "frontier.sqlite"
    for _ in range(2):
        with SqliteFrontier(path) as frontier:
            (version,) = frontier._database.connection.execute("PRAGMA user_version").fetchone()
            assert version == len(list((database._FOLDER / "migrations").iterdir()))


def test_ten_openers_at_once_make_one_frontier(tmp_path: Path) -> None:
    path = tmp_path / "frontier.sqlite"

    def come() -> None:
        with SqliteFrontier(path) as frontier:
            frontier.add(links("a.test", 3))

    all_at_once(10, come)
    with SqliteFrontier(path) as frontier:
        assert frontier.stats().known == 3


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "40 22 0:35 / /mnt/share\\040one rw shared:1 - nfs4 server:/x rw\n"
        "41 22 0:36 / /mnt/share\\040one/local rw - ext4 /dev/sdb1 rw\n"
    )
    monkeypatch.setattr(database, "MOUNTS", mounts)
    with pytest.raises(GossamerError, match=r"network file system \(nfs4\).*choose a local folder"):
        database.refuse_network_file_system(Path("/mnt/share one/crawl/frontier.sqlite"))
    database.refuse_network_file_system(Path("/mnt/share one/local/frontier.sqlite"))
    database.refuse_network_file_system(Path("/mnt/share/frontier.sqlite"))


def test_after_an_error_nothing_is_believed_to_be_committed(frontier: SqliteFrontier) -> None:
    connection = frontier._database.connection
    frontier.add(links("a.test", 2))
    connection.execute("CREATE TRIGGER no BEFORE INSERT ON queue BEGIN SELECT RAISE(ABORT, 'disk on fire'); END")
    with pytest.raises(FrontierError, match="on fire"):
        frontier.add([link("a.test/9")])
    connection.execute("DROP TRIGGER no")
    assert frontier.add([link("a.test/9")]) == 1, "the failed add left nothing behind"
    assert frontier.stats().known == 3


def test_recent_links_never_hide_a_smaller_depth_or_a_seed() -> None:
    recent = RecentLinks()
    first = links("a.test", 3, depth=2)
    assert recent.unknown(first) == first
    recent.remember(first)
    assert recent.unknown(first) == []
    nearer, seed = link("a.test/0", 1), link("a.test/1", 2, seeded=True)
    assert recent.unknown([nearer, seed]) == [nearer, seed]
    recent.remember([nearer])
    recent.remember(first[:1])
    assert recent.unknown([nearer]) == [], "the smallest depth counts"
    recent.clear()
    assert recent.unknown(first) == first


def test_recent_links_forget_old_ones_and_never_take_one_for_another() -> None:
    recent = RecentLinks(places=4)
    for each in links("a.test", 100):
        recent.remember([each])
        assert recent.unknown([each]) == []
    known = [each for each in links("a.test", 100) if not recent.unknown([each])]
    assert 1 <= len(known) <= 4
    assert recent.unknown(links("b.test", 100)) == links("b.test", 100)


def test_a_turn_is_told_the_same_of_recent_links_as_the_frontier() -> None:
    recent = RecentLinks(places=64)
    recent.remember([*links("a.test", 50, depth=3), *links("b.test", 50, depth=254), *links("c.test", 50, depth=255)])
    offered = [*links("a.test", 60), *links("b.test", 60), *links("c.test", 60)]
    for depth in (0, 1, 2, 3, 4, 253, 254, 255, 256, 1_000):
        at_depth = [each._replace(depth=depth) for each in offered]
        urls = [Url(*each[:4]) for each in offered]
        assert [*recent.unknown_at(depth, urls)] == [Url(*each[:4]) for each in recent.unknown(at_depth)]
    assert len(recent.unknown(offered)) == len(offered), "they are nearer"


def test_statements_are_read_by_name_and_names_are_unique(tmp_path: Path) -> None:
    file = tmp_path / "q.sql"
    file.write_text("-- about\n-- name: one\n-- why\nSELECT 1\n\n-- name: two\nSELECT\n  2\n")
    assert read_statements(file) == {"one": "SELECT 1", "two": "SELECT\n  2"}
    file.write_text("-- name: one\nSELECT 1\n-- name: one\nSELECT 2\n")
    with pytest.raises(ValueError, match="one name to two statements"):
        read_statements(file)
    assert len(database.SQL) > 40


def test_every_statement_is_run_by_somebody() -> None:
    folder = Path(database.__file__).parent
    code = "".join(file.read_text() for file in folder.glob("*.py"))
    assert [name for name in database.SQL if f'"{name}"' not in code] == []
