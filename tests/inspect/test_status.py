"""`gossamer status`: figures on one screen, during a crawl and after it."""

from __future__ import annotations

import fcntl
import json
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.cli import run
from gossamer.crawl.folder import gather_settings, write_settings
from gossamer.inspect.running import Running, find_running
from gossamer.store.disk import mount_point
from tests.inspect.crawls import Crawl
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def status(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run(["status", "--json", "--data-dir", str(folder)]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def screen(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["status", "--data-dir", str(folder)]) == 0
    return capsys.readouterr().out


@pytest.fixture
def locked(folder: Path) -> Iterator[Path]:
    """A folder that a crawl holds."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(json.dumps({"pid": 4321, "started_at": 1_767_225_600.5}))
        lock.flush()
        yield folder


def test_a_finished_crawl_shows_what_came_of_every_url(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = status(folder, capsys)
    assert (answer["running"], answer["pid"], answer["workers"]) == (False, None, [])
    assert (answer["sites"], answer["sites_with_work"], answer["sites_in_hand"]) == (3, 0, 0)
    assert (answer["known"], answer["queued"], answer["done"], answer["pages"]) == (15, 0, 12, 9)
    assert answer["given_up"] == {"http_error": 3}
    assert answer["done_without_page"] == 3
    assert (answer["pages_left"], answer["next_due_s"]) == (None, None)
    assert answer["free_bytes"] > 0
    for name in ("warc", "pages", "requests"):
        assert answer["used_bytes"][name] == sum(path.stat().st_size for path in (folder / name).iterdir()) > 0
    shown = screen(folder, capsys)
    assert f"{folder}, finished: nothing is left to fetch" in shown
    assert answer["finished"]
    assert "15 known: 0 queued, 12 done, 3 given up" in shown
    assert "3 done without a page: redirects, and sitemaps that were read" in shown
    assert "3 http_error" in shown
    assert "workers" not in shown


def test_a_running_crawl_shows_its_workers_as_they_last_said(locked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Crawl(locked, worker="w7") as crawl:
        crawl.add("https://d.test/1", "https://d.test/2")
        crawl.frontier.heartbeat({"pages": 1234, "requests": 1500, "bytes": 2.5e6, "turns": 3, "max_loop_lag_s": 0.045})
        answer = status(locked, capsys)
        shown = screen(locked, capsys)
    assert (answer["running"], answer["pid"], answer["started_at"]) == (True, 4321, 1_767_225_600.5)
    (worker,) = answer["workers"]
    assert (worker["label"], worker["beats"], worker["figures"]["pages"]) == ("w7", 1, 1234)
    assert answer["next_due_s"] == 0
    assert "running since 2026-01-01 00:00:00Z (pid 4321)" in shown
    (line,) = [line for line in shown.splitlines() if "w7" in line]
    assert line.split() == ["w7", "0", "s", "ago", "1,234", "1,500", "2.5", "MB"]
    assert "1 silent" not in shown
    assert "next due   now" in shown
    assert len(shown.splitlines()) <= 24
    assert all(len(line) <= 80 + len(str(locked)) for line in shown.splitlines())


def test_workers_of_a_crashed_crawl_are_not_shown_as_living(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crawl = Crawl(tmp_path)
    crawl.add("https://a.test/1")
    crawl.claim()
    crawl.crash()
    (tmp_path / "lock").write_text('{"pid": 1, "started_at": 0}')
    answer = status(tmp_path, capsys)
    assert (answer["running"], answer["workers"], answer["sites_in_hand"]) == (False, [], 1)


def test_a_page_limit_shows_what_is_left_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Crawl(tmp_path) as crawl:
        crawl.frontier.resume(delay_s=0, page_limit=10)
    answer = status(tmp_path, capsys)
    assert (answer["pages_left"], answer["page_limit"], answer["finished"]) == (10, 10, False)
    assert "0 of 10 stored, over all starts" in screen(tmp_path, capsys)


def test_a_crawl_that_reached_its_page_limit_is_finished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Crawl(tmp_path) as crawl:
        crawl.frontier.resume(delay_s=0, page_limit=1)
        crawl.frontier.join("w2")
        crawl.add("https://a.test/1", "https://b.test/1")
        crawl.run()
    assert status(tmp_path, capsys)["queued"] == 1
    assert "finished: the page limit is reached" in screen(tmp_path, capsys)


def test_a_crawl_with_work_left_is_not_called_finished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Crawl(tmp_path) as crawl:
        crawl.add("https://a.test/1")
    assert not status(tmp_path, capsys)["finished"]
    assert f"{tmp_path}, not running\n" in screen(tmp_path, capsys)


def beat(folder: Path, ago_s: float) -> None:
    """Set the last heartbeat of all workers to this long ago."""
    with closing(sqlite3.connect(folder / "frontier.sqlite")) as connection, connection:
        connection.execute("UPDATE worker SET beat_at = ?", (time.time() - ago_s,))


def test_a_worker_without_heartbeats_is_marked_as_silent(locked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Crawl(locked) as crawl:
        for worker in crawl.frontier.workers():
            crawl.frontier.recover(worker.worker)
        crawl.frontier.join("a-machine-with-a-long-name:4711")
        beat(locked, 185)
        shown = screen(locked, capsys)
        (silent,) = status(locked, capsys)["workers"]
        assert silent["silent"]
        assert silent["silent_s"] == pytest.approx(185, abs=60)
        assert "…a-long-name:4711  SILENT 3 min " in shown
        assert "1 worker silent: stopped, cut off from the frontier, or dead" in shown
        assert max(len(line) for line in shown.splitlines() if "heartbeat" in line or "SILENT" in line) <= 80
        flags = {"email": "you@example.org", "heartbeat": 60}
        write_settings(locked, gather_settings(None, environment={}, flags=flags))
        assert not status(locked, capsys)["workers"][0]["silent"], "heartbeats are a minute apart"


@pytest.mark.parametrize("columns", [80, 60])
def test_no_word_is_broken_on_a_terminal(locked: Path, columns: int) -> None:
    with Crawl(locked, worker="w7") as crawl:
        crawl.add(*(f"https://{name}.test/1" for name in "defghi"))
        crawl.frontier.heartbeat({"trap_depth": 5, "pages": 1_234_567, "requests": 2_345_678, "bytes": 999e9})
        troubles = ["disk nearly full: 812.0 MB free on /, at least 1.0 GB needed, 1.1 GB to go on"]
        (locked / "lock").write_text(json.dumps({"pid": 4321, "started_at": 1e9, "troubles": troubles, "counted": {}}))
        with Terminal(["-m", "gossamer", "status", "--data-dir", str(locked)], columns=columns) as terminal:
            assert terminal.end() == 0
    words = terminal.screen.text.split()
    for word in ("nearly", "meanwhile", "stored,", "heartbeat", "(frontier.sqlite"):
        assert word in words, terminal.screen.text
    assert [line for line in terminal.screen.lines if len(line) > columns] == []


def test_what_sites_took_more_of_than_their_share_is_counted(locked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Crawl(locked, worker="w7") as crawl:
        crawl.frontier.heartbeat({"share_backoffs_parser_share": 3, "over_share:parser_share:a.test": 9.0})
        assert status(locked, capsys)["share_backoffs"] == {"parser_share": 3}
        assert "3 back-offs: parser share" in screen(locked, capsys)


def test_sites_that_wait_for_a_shared_address_are_counted_with_the_setting_that_decides(
    locked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Crawl(locked, worker="w7") as crawl:
        crawl.frontier.heartbeat({"address_waits": 1_250})
        assert status(locked, capsys)["sites_waiting_for_address"] == 1_250
        shown = screen(locked, capsys)
        assert "1,250 sites waiting for an address that others share: see address_delay" in shown


def test_the_disk_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    disk = mount_point(folder)
    assert status(folder, capsys)["disk"] == str(disk)
    assert f" free on {disk}\n" in screen(folder, capsys)


def test_many_workers_still_fit_on_one_screen(locked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Crawl(locked) as crawl:
        for number in range(39):
            crawl.frontier.join(f"w{number}")
        assert len(status(locked, capsys)["workers"]) == 40
        assert "and 24 more" in screen(locked, capsys)


def test_a_lock_that_says_nothing_is_still_a_lock(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        assert find_running(tmp_path) is None
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert find_running(tmp_path) == Running(pid=None, started_at=None)


def test_two_who_look_do_not_take_each_other_for_a_crawl(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        assert find_running(tmp_path) is None


@pytest.mark.parametrize("command", [["status"], ["log"], ["show", "https://a.test/"], ["verify"]], ids=" ".join)
def test_a_folder_without_a_crawl_is_refused_and_left_as_it_was(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_DATA_DIR", str(tmp_path))
    assert run(command) == 2
    assert capsys.readouterr().err.startswith(f"gossamer: No crawl in {tmp_path}: ")
    assert list(tmp_path.iterdir()) == []


def test_a_frontier_that_breaks_under_a_reader_is_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(folder / "frontier.sqlite")) as connection:
        connection.execute("DROP TABLE given_up")
    assert run(["status", "--data-dir", str(folder)]) == 2
    said = capsys.readouterr().err
    assert (
        said
        == "gossamer: The frontier cannot be read (no such table: given_up): see that it is there, and try again.\n"
    )
