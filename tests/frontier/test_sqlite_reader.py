"""A SQLite frontier that is opened to read: it sees every state, changes nothing, and holds nobody up."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from gossamer.errors import GossamerError
from gossamer.frontier import FrontierError
from gossamer.frontier.sqlite import SqliteFrontier, auditing, database
from tests.frontier.samples import claim, complete, link, links

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A frontier with five URLs that nobody has open."""
    path = tmp_path / "a folder" / "frontier.sqlite"
    path.parent.mkdir()
    with SqliteFrontier(path) as frontier:
        frontier.resume(delay_s=0)
        frontier.add(links("a.test", 5))
    return path


def files(path: Path) -> dict[str, tuple[int, bytes]]:
    return {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in path.parent.iterdir()}


def older(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a frontier of the first version."""
    with monkeypatch.context() as first, closing(sqlite3.connect(path, isolation_level=None)) as old:
        first.setattr(database, "_scripts", lambda scripts=database._scripts: scripts()[:1])
        database.migrate(old, path)


def test_reading_creates_and_changes_no_file(path: Path) -> None:
    before = files(path)
    with SqliteFrontier(path, to_read=True) as reader:
        assert reader.stats().known == 5
        assert reader.audit() == []
        assert len(list(reader.queued("a.test"))) == 5
        assert files(path) == before
    assert files(path) == before


def test_a_reader_sees_what_others_write_whoever_comes_and_goes_meanwhile(path: Path) -> None:
    with SqliteFrontier(path, to_read=True) as reader:
        for round_ in range(3):
            known = reader.stats().known
            with SqliteFrontier(path) as writer:
                assert reader.stats().known == known, "a log that is empty"
                writer.add(links(f"b{round_}.test", 7))
                assert reader.stats().known == known + 7, "what is only in the log"
                with SqliteFrontier(path, to_read=True) as another:
                    assert another.stats().known == known + 7
                writer.add([link(f"c{round_}.test/")])
                assert reader.stats().known == known + 8
            assert reader.stats().known == known + 8, "the writer has gone"
            with SqliteFrontier(path, to_read=True) as another:
                assert another.stats().known == known + 8
                assert another.audit() == []


def test_a_file_that_changes_during_a_read_fails_that_read_and_no_other(path: Path) -> None:
    with SqliteFrontier(path, to_read=True) as reader:
        walk = reader.queued("a.test")
        with (
            pytest.raises(sqlite3.OperationalError, match="changed while it was read"),
            reader._database.snapshot(),
            SqliteFrontier(path) as writer,
        ):
            writer.add(links("b.test", 3))
        assert len(list(walk)) == 5
        assert reader.stats().known == 8


def test_an_audit_by_a_reader_knows_whether_others_wrote_meanwhile(path: Path) -> None:
    with SqliteFrontier(path, to_read=True) as reader:
        before = reader._database.version()
        assert reader._database.version() == before
        with SqliteFrontier(path) as writer:
            writer.add(links("b.test", 3))
        assert reader._database.version() != before
    with closing(sqlite3.connect(path, isolation_level=None)) as outsider:
        outsider.execute("UPDATE crawl SET in_hand = 3")
    with SqliteFrontier(path, to_read=True) as reader:
        assert reader.audit() == ["the crawl's counter in_hand says 3, and 0 were found"]


def test_a_reader_does_not_upgrade_an_older_frontier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "frontier.sqlite"
    older(path, monkeypatch)
    before = files(path)
    with pytest.raises(GossamerError, match=r"older Gossamer: resume its crawl once with this version, which"):
        SqliteFrontier(path, to_read=True)
    assert files(path) == before


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("PRAGMA user_version = 999", "written by a newer Gossamer: upgrade this one to read it"),
        ("PRAGMA user_version = 0", "There is no crawl in .* yet: begin one with `gossamer crawl seeds.txt"),
        ("DELETE FROM crawl", "There is no crawl in .* yet"),
        ("UPDATE crawl SET normaliser = 'other'", "made with URL normaliser other"),
    ],
)
def test_a_frontier_that_cannot_be_read_is_refused_in_one_sentence(path: Path, statement: str, sentence: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as outsider:
        outsider.execute(statement)
    with pytest.raises(GossamerError, match=sentence):
        SqliteFrontier(path, to_read=True)


def test_a_new_frontier_never_shows_half_a_schema(tmp_path: Path) -> None:
    path, seen = tmp_path / "frontier.sqlite", set()
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as maker,
        closing(sqlite3.connect(path, isolation_level=None)) as outsider,
    ):
        maker.execute("PRAGMA journal_mode = WAL")
        maker.set_trace_callback(lambda _: seen.add(outsider.execute("PRAGMA user_version").fetchone()[0]))
        database.migrate(maker, path)
        maker.set_trace_callback(None)
    assert seen == {0, database.newest_schema()}


def test_a_walk_that_pauses_does_not_keep_the_log_from_being_emptied(path: Path) -> None:
    with SqliteFrontier(path) as writer:
        writer.join("test")
        complete(writer, claim(writer)[0])
        writer.add(links("b.test", 5))
        with SqliteFrontier(path, to_read=True) as reader:
            for walk in (reader.settled(), reader.queued("b.test")):
                next(walk)
                emptied = writer._database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                assert tuple(emptied) == (0, 0, 0)
                writer.add([link(f"{id(walk)}.test/")])
            assert reader.drained() is False


def test_no_step_of_an_audit_reads_more_for_a_larger_frontier(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "STEP_ROWS", 100)
    rows = 10_000
    with SqliteFrontier(path) as frontier:
        frontier.add(links("b.test", rows))
        connection = frontier._database.connection
        connection.executemany(
            "INSERT INTO barred (site_id, url_hash, rank, depth, hops, kind, reason, url)"
            " VALUES (1, ?, 0, 0, 0, 0, 'excluded', '')",
            [(number.to_bytes(16),) for number in range(rows)],
        )
        counted = [0]

        def count() -> None:
            counted[-1] += 100

        connection.set_progress_handler(count, 100)
        connection.set_trace_callback(lambda _: counted.append(0))
        list(frontier.settled())
        frontier.audit()
        connection.set_trace_callback(None)
    assert max(counted) < 100 * 100, "steps of the machine in one statement"
    assert len(counted) > 4 * rows / 100


def test_a_reader_may_not_write(path: Path) -> None:
    with SqliteFrontier(path, to_read=True) as reader:
        with pytest.raises(AssertionError, match="opened to read"):
            reader.add(links("b.test", 1))
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader._database.connection.execute("UPDATE crawl SET known = 0")


def test_a_file_that_is_gone_fails_as_a_frontier(path: Path) -> None:
    with SqliteFrontier(path, to_read=True) as reader:
        path.rename(path.with_name("elsewhere"))
        with pytest.raises(FrontierError, match="No such file"):
            reader.stats()
