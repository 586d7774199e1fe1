"""What lies in a crawl's folder besides the frontier and the store: settings and logs."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from gossamer.crawl import folder as folders
from gossamer.crawl.folder import gather_settings, open_log, read_settings, rotate_log, write_settings
from gossamer.inspect.delays import read_delays

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

FLAGS = {"email": "you@example.org", "delay": "0.5", "allow_network": ("127.0.0.0/8", "::1"), "max_pages": "7"}


def test_settings_read_back_are_the_settings_written(tmp_path: Path) -> None:
    settings = gather_settings(None, environment={"GOSSAMER_SCOPE": "web"}, flags=FLAGS)
    write_settings(tmp_path, settings)
    assert read_settings(tmp_path) == settings
    assert sorted(path.name for path in tmp_path.iterdir()) == ["crawl.toml", "delays.tsv"]


def test_flags_beat_the_environment_which_beats_the_file(tmp_path: Path) -> None:
    write_settings(tmp_path, gather_settings(None, environment={}, flags=FLAGS))
    file = tmp_path / "crawl.toml"
    settings = gather_settings(file, environment={"GOSSAMER_DELAY": "2", "GOSSAMER_SCOPE": "host"}, flags={"delay": 3})
    assert (settings.pace.delay_s, settings.scope.scope, settings.crawl.max_pages) == (3, "host", 7)


def test_paths_do_not_depend_on_where_the_next_start_is_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = gather_settings(None, environment={}, flags={"ca_file": "mine.pem", "exclude_file": "lists/out.txt"})
    assert settings.fetch.ca_file == tmp_path / "mine.pem"
    assert settings.scope.exclude_file == tmp_path / "lists" / "out.txt"


def test_all_processes_log_to_one_file_also_when_it_is_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MAX_LOG_BYTES", 100)  # less than two lines, however short the process ids are
    (tmp_path / "logs").mkdir()
    script = (
        "import sys, pathlib, logging; from gossamer.crawl.folder import open_log\n"
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
            rotate_log(tmp_path)
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


def test_a_start_that_was_cut_off_early_can_be_repeated(tmp_path: Path) -> None:
    folders.make_folder(tmp_path / "data")
    (tmp_path / "data" / "lock").touch()
    folders.make_folder(tmp_path / "data")
    assert not folders.holds_crawl(tmp_path / "data")


def test_a_change_of_the_delay_is_written_down_with_its_time(tmp_path: Path) -> None:
    for delay in (70, 70, 5, 5, 70):
        settings = gather_settings(None, environment={}, flags={"delay": delay})
        write_settings(tmp_path, settings)
    delays = read_delays(tmp_path)
    assert [delay_s for _, delay_s in delays] == [70.0, 5.0, 70.0]
    assert [since for since, _ in delays] == sorted(since for since, _ in delays)
    assert abs(delays[-1][0] - time.time()) < 60
