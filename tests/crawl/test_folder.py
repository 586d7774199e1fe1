"""What lies in a crawl's folder besides the frontier and the store: its settings."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gossamer.crawl import folder as folders
from gossamer.crawl.folder import gather_settings, read_settings, write_settings
from gossamer.inspect.delays import read_delays

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

FLAGS = {"email": "you@example.org", "delay": "0.5", "allow_network": ("127.0.0.0/8", "::1"), "max_pages": "7"}


def test_settings_read_back_are_the_settings_written(tmp_path: Path) -> None:
    settings = gather_settings(None, environment={"GOSSAMER_SCOPE": "web"}, flags=FLAGS)
    write_settings(tmp_path, settings)
    assert read_settings(tmp_path) == settings
    assert sorted(path.name for path in tmp_path.iterdir()) == ["address_delays.tsv", "crawl.toml", "delays.tsv"]


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


def test_a_start_that_was_cut_off_early_can_be_repeated(tmp_path: Path) -> None:
    folders.make_folder(tmp_path / "data")
    for name in ("lock", "home", "crawl.toml.4711.tmp"):
        (tmp_path / "data" / name).touch()
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
