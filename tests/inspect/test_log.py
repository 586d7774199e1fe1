"""`gossamer log`: the end of the log, in order, each request once, also while a crawl writes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from gossamer.cli import run
from gossamer.commands import to_type
from gossamer.inspect.requests import RequestFilter, RequestLog
from tests.inspect.crawls import Crawl

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

    from gossamer.records import RequestRow


def urls(rows: Sequence[RequestRow]) -> list[str]:
    return [row.url for row in rows]


def shown(folder: Path, *options: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert run(["log", "--data-dir", str(folder), *options]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_line_says_when_what_how_much_how_long_and_where(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(folder, capsys=capsys)
    assert lines[0] == "2026-01-01 00:00:01Z  200                  3.5 kB    0.25 s  https://a.test/1"
    assert len(lines) == 15
    assert len({line.index("https://") for line in lines}) == 1


def test_only_the_last_lines_are_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    everything = shown(folder, capsys=capsys)
    assert shown(folder, "-n", "4", capsys=capsys) == everything[-4:]
    assert shown(folder, "-n", "0", capsys=capsys) == []


def test_errors_sites_and_kinds_can_be_picked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Crawl(folder, worker="w2") as crawl:
        crawl.ask("https://d.test/robots.txt", reason="connect_refused", kind="robots")
    errors = shown(folder, "--errors", capsys=capsys)
    assert sorted(line.rpartition(" ")[2] for line in errors) == [
        "https://a.test/gone",
        "https://b.test/gone",
        "https://c.test/gone",
        "https://d.test/robots.txt",
    ]
    assert sum("connect_refused" in line for line in errors) == 1
    assert len(shown(folder, "--site", "b.test", capsys=capsys)) == 5
    assert len(shown(folder, "--site", "b.test", "--errors", capsys=capsys)) == 1
    assert len(shown(folder, "--kind", "robots", capsys=capsys)) == 1


def test_one_reason_can_be_picked_and_an_unknown_one_is_answered_with_the_nearest(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Crawl(folder, worker="w2") as crawl:
        for reason in ("timeout", "connect_refused", "timeout"):
            crawl.ask(f"https://D.test/{reason}", reason=reason)
    lines = shown(folder, "--reason", "timeout", capsys=capsys)
    assert [line.rpartition(" ")[2] for line in lines] == ["https://D.test/timeout"] * 2
    assert len(shown(folder, "--reason", "timeout", "--site", "a.test", capsys=capsys)) == 0
    assert run(["log", "--reason", "time_out", "--data-dir", str(folder)]) == 2
    assert capsys.readouterr().err == "gossamer: there is no reason time_out; did you mean timeout?\n"


def test_the_last_requests_are_found_across_workers_and_files(tmp_path: Path) -> None:
    crawls = [Crawl(tmp_path, worker=f"w{number}", part_rows=2) for number in range(2)]
    asked = []
    for number in range(20):
        crawl = crawls[number % 2]
        crawl._number = number
        crawl.ask(f"https://a.test/{number}", status=200 if number % 5 else 500)
        crawl.store.sync()
        asked.append(f"https://a.test/{number}")
    for lines in (1, 3, 7, 20, 50):
        assert urls(RequestLog(tmp_path, RequestFilter()).last(lines)) == asked[-lines:]
    assert urls(RequestLog(tmp_path, RequestFilter(errors=True)).last(3)) == [asked[5], asked[10], asked[15]]
    for crawl in crawls:
        crawl.close()
    assert urls(RequestLog(tmp_path, RequestFilter()).last(7)) == asked[-7:]


def test_what_comes_later_comes_once_also_when_journals_become_parts(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, part_rows=4)
    log = RequestLog(tmp_path, RequestFilter())
    for number in range(3):
        crawl.ask(f"https://a.test/{number}", status=200)
    crawl.store.sync()
    assert urls(log.last(2)) == ["https://a.test/1", "https://a.test/2"]
    seen: list[str] = []
    for number in range(3, 30):
        crawl.ask(f"https://a.test/{number}", status=200)
        if number % 2:
            crawl.store.sync()
        seen += urls(log.new())
    crawl.close()
    seen += urls(log.new())
    assert seen == [f"https://a.test/{number}" for number in range(3, 30)]
    assert log.new() == []
    with Crawl(tmp_path, worker="w2") as crawl:
        crawl.ask("https://a.test/again", status=200)
    assert urls(log.new()) == ["https://a.test/again"], "a journal that came and became a part in between"


def test_older_parts_that_were_not_read_do_not_come_as_new(tmp_path: Path) -> None:
    for worker in ("w1", "w2"):
        with Crawl(tmp_path, worker=worker) as crawl:
            crawl.ask(f"https://a.test/{worker}", status=200)
    log = RequestLog(tmp_path, RequestFilter())
    assert log.last(0) == []
    assert log.new() == []


def test_following_prints_what_a_running_crawl_asks_for_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    with Crawl(tmp_path) as crawl:
        crawl.ask("https://a.test/before", status=200)
        crawl.store.sync()
        command = [sys.executable, "-m", "gossamer", "log", "-f", "--data-dir", str(tmp_path)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        following = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        assert following.stdout is not None
        assert following.stdout.readline().endswith("https://a.test/before\n")
        crawl.ask("https://a.test/after", reason="timeout")
        crawl.store.sync()
        line = following.stdout.readline()
        assert line.endswith("https://a.test/after\n")
        assert " timeout " in line
        following.send_signal(signal.SIGINT)
        assert following.communicate() == ("", "")
        assert following.returncode == 130


def test_a_damaged_log_is_answered_in_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (part,) = (folder / "requests").iterdir()
    part.write_bytes(part.read_bytes()[:100])
    assert run(["log", "--data-dir", str(folder)]) == 2
    assert f"`{to_type('verify', folders=folder)}` lists all damage" in capsys.readouterr().err


def test_a_url_cannot_command_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Crawl(tmp_path) as crawl:
        crawl.ask("https://a.test/\x1b[2Jx", status=200)
    (line,) = shown(tmp_path, capsys=capsys)
    assert line.endswith("https://a.test/ [2Jx")
