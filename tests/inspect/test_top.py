"""`gossamer top` and the end of the log that it reads: bounded reads, and a screen from the folder alone."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.cli import run
from gossamer.cli.watching import CrawlView
from gossamer.commands import to_type
from gossamer.crawl.folder import gather_settings, write_settings
from gossamer.inspect import recent
from gossamer.inspect.recent import Lately, SiteLately, Tail, together
from gossamer.records import RequestRow
from gossamer.store import Store, StoreSettings
from gossamer.store.figure_files import TICK_S
from gossamer.store.journals import HEADER_BYTES
from tests.crawl.test_screen import PROGRESS
from tests.end_to_end.crawls import environment, wait_until
from tests.inspect.crawls import Crawl
from tests.inspect.histories import write as write_history

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW_AT = 1_767_225_600.0


def request(site: str, ago_s: float, *, status: int = 200, took_s: float = 0.5, kind: str = "page") -> RequestRow:
    ended_at = NOW_AT - ago_s
    reason = "" if status else "timeout"
    return RequestRow(b"0" * 16, f"https://{site}/", site, kind, ended_at - took_s, ended_at, status, reason, 1_000,
                      "192.0.2.1", "allowed", 1, "w1")  # fmt: skip


def open_store(folder: Path, worker: str = "w1") -> Store:
    return Store(folder, worker, StoreSettings(warc=False), operator="a@b.test", user_agent="T/1")


def write(store: Store, *rows: RequestRow) -> None:
    for row in rows:
        store.keep_request(row)
    store.sync()


def test_the_end_of_the_log_tells_rates_and_which_sites_are_busy_or_slow(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write(store, request("a.test", 3.5), request("a.test", 3.2), request("b.test", 3.1, took_s=4, status=0))
    write(store, request("a.test", 2.9, kind="robots"), request("c.test", 301))
    lately = Tail(tmp_path).look(NOW_AT)
    assert lately.pages[-4:] == (0, 2, 0, 0)
    assert lately.bytes[-4:] == (0, 3_000, 1_000, 0)
    assert lately.rates(4) == (0.5, 1_000)
    assert [(site.site, site.requests, site.bytes, site.failed) for site in lately.busiest] == [
        ("a.test", 3, 3_000, 0), ("b.test", 1, 1_000, 1),
    ]  # fmt: skip
    assert [(site.site, round(site.mean_s, 3)) for site in lately.slowest] == [("b.test", 4.0), ("a.test", 0.5)]
    assert lately.sites_s == pytest.approx(3.5)
    store.close()


def test_only_what_is_new_is_read_and_nothing_is_lost_when_a_journal_becomes_a_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, tail = open_store(tmp_path), Tail(tmp_path)
    read: list[int] = []
    original = Tail._read

    def count(tail: Tail, batch: Any, since_at: float) -> Any:
        read.append(batch.num_rows)
        return original(tail, batch, since_at)

    monkeypatch.setattr(Tail, "_read", count)
    write(store, request("a.test", 9), request("a.test", 9))
    tail.look(NOW_AT)
    write(store, request("a.test", 8))
    tail.look(NOW_AT)
    write(store, request("a.test", 7))
    store.close()  # the journal has become a part before the next look
    assert tail.look(NOW_AT).busiest[0].requests == 4
    assert tail.look(NOW_AT).busiest[0].requests == 4
    assert sum(read) == 4
    assert not tail._journals  # nothing is held open that has gone


def test_a_later_reader_finds_what_became_a_part_just_before(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write(store, request("a.test", 9))
    store.close()
    (part,) = (tmp_path / "requests").iterdir()
    os.utime(part, (NOW_AT, NOW_AT))
    assert Tail(tmp_path).look(NOW_AT).busiest[0].requests == 1
    os.utime(part, (NOW_AT - 400, NOW_AT - 400))
    assert Tail(tmp_path).look(NOW_AT).busiest == ()
    part.write_bytes(b"damaged")
    assert Tail(tmp_path).look(NOW_AT).busiest == ()


def test_what_is_old_is_forgotten_and_what_is_remembered_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "MAX_REQUESTS", 10)
    first, second, tail = open_store(tmp_path), open_store(tmp_path, "w2"), Tail(tmp_path)
    write(first, *(request("a.test", 100 - number) for number in range(20)))
    write(second, *(request("b.test", 100.5 - number) for number in range(20)))
    lately = tail.look(NOW_AT)
    assert {site.site: site.requests for site in lately.busiest} == {"a.test": 5, "b.test": 5}  # the last of both
    assert sum(lately.pages) == 40
    assert tail.look(NOW_AT + 299).busiest == ()
    assert sum(tail.look(NOW_AT + 299).pages) == 0
    first.close()
    second.close()


def test_a_journal_that_is_torn_is_read_as_far_as_it_is_whole(tmp_path: Path) -> None:
    store, tail = open_store(tmp_path), Tail(tmp_path)
    write(store, request("a.test", 9))
    (journal,) = (tmp_path / "journal").iterdir()
    whole = journal.read_bytes()
    write(store, request("a.test", 8))
    both = journal.read_bytes()
    journal.write_bytes(both[: -HEADER_BYTES - 7])  # inside its last frame that has rows
    assert len(whole) < len(both)
    assert tail.look(NOW_AT).busiest[0].requests == 1
    journal.write_bytes(both)
    assert tail.look(NOW_AT).busiest[0].requests == 2


def test_what_several_machines_did_is_added_up() -> None:
    one = Lately(
        pages=(1, 2), bytes=(10, 20), sites_s=60.0, busiest=(SiteLately("a.test", 3, 5, 6.0, 1),),
        slowest=(SiteLately("a.test", 3, 5, 6.0, 1),),
    )  # fmt: skip
    moved = (SiteLately("b.test", 4, 1, 1.0, 0), SiteLately("a.test", 2, 1, 9.0, 0))
    other = Lately(pages=(0, 5), bytes=(1, 1), sites_s=30.0, busiest=moved, slowest=moved)
    both = together([one, other])
    assert (both.pages, both.bytes, both.sites_s) == ((1, 7), (11, 21), 60.0)
    assert both.busiest == both.slowest == (SiteLately("a.test", 5, 6, 15.0, 1), SiteLately("b.test", 4, 1, 1.0, 0))
    assert together([one]) is one


# ---------------------------------------------------------------------- the command


@pytest.fixture
def running(folder: Path) -> Iterator[Path]:
    """A folder that looks like that of a running crawl."""
    with (folder / "lock").open("w") as lock, Crawl(folder, worker="w4711") as crawl:
        fcntl.flock(lock, fcntl.LOCK_EX)
        counted = {"bytes": 3e6, "retries": 4}  # also by workers that are dead by now
        said = {"pid": 4321, "started_at": time.time() - 3_661, "troubles": ["disk nearly full"], "counted": counted}
        lock.write(json.dumps(said))
        lock.flush()
        crawl.add("https://d.test/1", "https://d.test/2")
        crawl.frontier.heartbeat({
            "pages": 1234, "bytes": 2.5e6, "turns": 3, "in_flight": 2, "memory_bytes": 98e6, "loop_lag_s": 0.045,
        })  # fmt: skip
        yield folder


def test_one_screen_is_printed_where_there_is_no_terminal(running: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["top"], ["top", "--once"]):
        assert run([*arguments, "--data-dir", str(running)]) == 0
        shown = capsys.readouterr().out
        text = " ".join(shown.split())
        for part in (
            "running, 1:01:0",
            "0.0 pages/s, 2 in flight",
            "all starts 9 pages, 2 queued of 17 URLs",
            "this start 3.0 MB received, 4 retried",
            "trouble disk nearly full",
            "w4711 1,234 2 45 ms 98 MB",
            "http_error 3",
        ):
            assert part in text
        assert max(map(len, shown.splitlines())) <= 80


def claims(folder: Path, worker: str) -> None:
    """Write a history in which a worker has claimed one URL a second until now."""
    now_at = time.time() // TICK_S * TICK_S
    name = "gossamer_frontier_claimed_urls_total"
    write_history(folder, {now_at + second: {(worker, name, ""): 300.0 + second} for second in range(-50, 1, TICK_S)})


def test_a_tall_terminal_shows_the_history(
    running: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    claims(running, "w1")
    monkeypatch.setenv("LINES", "50")
    monkeypatch.setenv("COLUMNS", "120")
    assert run(["top", "--data-dir", str(running)]) == 0
    assert "claimed 1.0 URLs/s" in " ".join(capsys.readouterr().out.split())


def test_the_folders_of_several_machines_are_one_screen(tmp_path: Path) -> None:
    folders = tmp_path / "one", tmp_path / "other"
    for number, folder in enumerate(folders):
        folder.mkdir()
        claims(folder, f"w{number}")
    both = CrawlView(*folders, hint="", with_history=True)
    view = both.view(PROGRESS, both.look())
    assert (view.folder, view.others) == (folders[0], 1)
    assert [(spark.label, spark.value) for spark in view.sparks] == [("claimed", "2.0 URLs/s")]


def test_the_time_limit_is_known_from_the_settings(running: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = {"email": "you@example.org", "max_duration": "2h"}
    write_settings(running, gather_settings(None, environment={}, flags=flags))
    assert run(["top", "--data-dir", str(running)]) == 0
    assert "about 59 min until the time limit" in capsys.readouterr().out


def test_without_a_crawl_there_is_one_sentence(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["top", "--data-dir", str(folder)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        f"gossamer: The crawl in {folder} is finished, nothing is left to fetch: "
        f"`{to_type('status', folders=folder)}` shows how it ended.\n"
    )
    with Crawl(folder) as crawl:
        crawl.add("https://d.test/1")
    assert run(["top", "--data-dir", str(folder)]) == 2
    assert capsys.readouterr().err == (
        f"gossamer: No crawl is running in {folder}: start it with `{to_type('crawl', folders=folder)}`, or see how it "
        f"stands with `{to_type('status', folders=folder)}`.\n"
    )
    assert run(["top", "--data-dir", str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err.startswith("gossamer: No crawl in ")


class Terminal:
    """A terminal in which `gossamer top` runs."""

    def __init__(self, folder: Path) -> None:
        self._ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "gossamer", "top", "--data-dir", str(folder)]
        own = {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment() | own)
        os.close(theirs)
        os.set_blocking(self._ours, False)
        self.shown = ""

    def has_shown(self, text: str) -> bool:
        """Read the output, and return whether it contains this text."""
        with suppress(OSError):  # nothing more for now, or it has ended
            self.shown += os.read(self._ours, 1 << 16).decode(errors="replace")
        return text in self.shown

    def press(self, key: bytes) -> None:
        """Type a key."""
        os.write(self._ours, key)

    def end(self) -> int:
        """Wait for its end; return its exit status."""
        wait_until(lambda: self.has_shown("\0") or self.process.poll() is not None, "the end of top")
        self.has_shown("")
        os.close(self._ours)
        return self.process.returncode


@pytest.mark.parametrize("how", ["q", "Ctrl-C", "the crawl ends"])
def test_top_stays_until_someone_leaves_or_the_crawl_ends(running: Path, how: str) -> None:
    terminal = Terminal(running)
    wait_until(lambda: terminal.has_shown("in flight"), "a screen")
    assert "\x1b[?1049h" in terminal.shown  # on a screen of its own
    if how == "q":
        terminal.press(b"x")
        terminal.press(b"q")
    elif how == "Ctrl-C":
        terminal.process.send_signal(signal.SIGINT)
    else:
        (running / "lock").unlink()
    assert terminal.end() == 0
    assert "\x1b[?1049l" in terminal.shown
    assert "Traceback" not in terminal.shown
    assert ("shows how it stands" in terminal.shown) == (how == "the crawl ends")
