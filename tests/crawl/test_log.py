"""The log file of a crawl: one for all processes, short, and easy to move away."""

from __future__ import annotations

import logging
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import gossamer_simweb as simweb
from gossamer.cli import PIPE_CLOSED
from gossamer.crawl.log import LogSettings, open_log, reopen_log, rotate_log
from tests.end_to_end.crawls import Crawl, environment, wait_until


def test_all_processes_log_to_one_file_also_when_it_is_rotated(tmp_path: Path) -> None:
    short = LogSettings(log_size_bytes=100)  # less than two lines, however short the process ids are
    (tmp_path / "logs").mkdir()
    script = (
        "import sys, pathlib, logging; from gossamer.crawl.log import open_log\n"
        "with open_log(pathlib.Path(sys.argv[1]), 'info'):\n"
        "    for line in sys.stdin: logging.warning('theirs %s', line.strip()); print('logged', flush=True)"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert other.stdin is not None
    assert other.stdout is not None
    with open_log(tmp_path, "info"):
        for number in range(20):
            logging.getLogger("test").info("ours %d", number)
            print(number, file=other.stdin, flush=True)
            assert other.stdout.readline() == "logged\n"
            rotate_log(tmp_path, short, now_at=time.time())
    other.communicate()
    logs = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert logs[:5] == [f"gossamer.log.{number}" for number in range(1, 6)], "and none older"
    text = "".join(path.read_text() for path in (tmp_path / "logs").iterdir())
    assert "ours 19" in text
    assert "theirs 19" in text
    assert "ours 0\n" not in text, "what is too old goes"


def test_a_log_level_holds_while_the_log_is_open(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    root = logging.getLogger()
    before = root.level, list(root.handlers)
    with open_log(tmp_path, "warning"):
        logging.getLogger("test").info("too little")
        logging.getLogger("test").warning("enough")
    assert (root.level, root.handlers) == before
    assert (tmp_path / "logs" / "gossamer.log").read_text().endswith("WARNING test: enough\n")


def test_a_log_file_is_rotated_when_it_is_old(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    settings = LogSettings(log_age_s=3600)
    assert not rotate_log(tmp_path, settings, now_at=time.time()), "there is none yet"
    with open_log(tmp_path, "info"):
        logging.getLogger("test").warning("first")
        assert not rotate_log(tmp_path, settings, now_at=time.time() + 3000)
        assert rotate_log(tmp_path, settings, now_at=time.time() + 4000)
        logging.getLogger("test").warning("second")
    assert (tmp_path / "logs" / "gossamer.log.1").read_text().endswith("first\n")
    assert (tmp_path / "logs" / "gossamer.log").read_text().endswith("second\n")


def test_a_log_file_that_begins_with_something_printed_is_not_rotated_for_its_age(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "gossamer.log").write_text("Fatal Python error: Aborted\n")
    assert not rotate_log(tmp_path, LogSettings(), now_at=time.time() + 1e9)


def test_a_log_that_cannot_be_written_ends_no_crawl_and_goes_on_when_it_can(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with open_log(tmp_path, "info"):
        logging.getLogger("test").warning("kept")
        (tmp_path / "logs").rename(tmp_path / "gone")
        logging.getLogger("test").warning("dropped")
        reopen_log()
        (tmp_path / "logs").mkdir()
        logging.getLogger("test").warning("kept too")
    assert (tmp_path / "gone" / "gossamer.log").read_text().endswith("WARNING test: kept\n")
    assert (tmp_path / "logs" / "gossamer.log").read_text().endswith("WARNING test: kept too\n")


def test_after_sighup_no_process_holds_a_log_file_that_was_moved_away(tmp_path: Path) -> None:
    """What logrotate does in its plain mode."""
    with simweb.serve(simweb.plain_web(sites=4, pages=60)) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=0.3)
        log, moved = crawl.folder / "logs" / "gossamer.log", crawl.folder / "logs" / "away.log"
        with crawl.start() as start:
            crawl.wait_for_requests(8)
            processes = [start.pid, *start.workers()]
            assert len(processes) == 3
            wait_until(lambda: all(log in open_files(pid) for pid in processes), "both workers to log")
            log.rename(moved)
            start.signal(signal.SIGHUP)
            wait_until(lambda: not any(moved in open_files(pid) for pid in processes), "the old log to be let go")
            wait_until(lambda: all(log in open_files(pid) for pid in processes), "the new one to be opened")
            assert [start.pid, *start.workers()] == processes, "no process died of it"
            answered = server.answered()
            crawl.wait_for_requests(answered + 4)
            start.signal(signal.SIGTERM)
            start.end()
        assert "The crawl ends: stopped." in log.read_text()
        assert "The crawl ends" not in moved.read_text()


def test_a_crawl_shuts_down_gracefully_when_its_terminal_is_closed(tmp_path: Path) -> None:
    with simweb.serve(simweb.plain_web(sites=4, pages=30)) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=0.3)
        ours, theirs = pty.openpty()
        # The first command of a session that opens a terminal gets it as its own.
        command = ["sh", "-c", f'exec <{os.ttyname(theirs)}; exec "$@"', "sh", *crawl.command()]
        process = subprocess.Popen(
            command,
            env=environment(),
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # the tests may run under nohup
        )
        os.close(theirs)
        try:
            while server.answered() < 8:
                os.read(ours, 65_536)  # or it would wait for us
            os.close(ours)
            assert process.wait(timeout=60) == PIPE_CLOSED, "there was no terminal to tell"
        finally:
            process.kill()
            process.wait()
        assert "The crawl ends: stopped." in crawl.log
        assert list((crawl.folder / "journal").iterdir()) == []


def open_files(pid: int) -> set[Path]:
    """What a process has open."""
    found = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.add(link.readlink())
        except OSError:
            continue  # closed meanwhile
    return found
