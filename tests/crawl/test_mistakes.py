"""The operator's mistakes: each is answered in one sentence that says what to do, with exit status 2."""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.cli import run
from gossamer.frontier.sqlite import SqliteFrontier, database

CRAWL = ["crawl", "example.org", "--email", "you@example.org"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, without settings in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith("GOSSAMER_"):
            monkeypatch.delenv(name)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is said about a mistake."""
    assert run(list(arguments)) == 2
    out, said = capsys.readouterr()
    assert out == ""
    assert said.startswith("gossamer: ")
    assert said.count("\n") == 1, "one sentence"
    return said.removeprefix("gossamer: ").rstrip("\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["crawl", "example.org"], "An e-mail address is needed, so that site owners can reach you: --email"),
        (["crawl", "example.org", "--email", "me"], "'me' is not an e-mail address: write it like you@example.org"),
        (["crawl", "--email", "you@example.org"], "Nothing to crawl: name domains, URLs or a file of them"),
        (["crawl", "seeds.txt", "--email", "you@example.org"], "No such seed file: seeds.txt"),
        (["crawl", "ftp://example.org/", "--email", "you@example.org"], "'ftp://example.org/' is no seed (neither"),
        ([*CRAWL, "--dealy", "1"], "no such option --dealy; did you mean gossamer crawl --delay?"),
        ([*CRAWL, "--delay", "soon"], "--delay must be a duration such as 70, 1.5 or 2m, not 'soon'"),
        ([*CRAWL, "--delay", "-1"], "--delay must be at least 0, not '-1'"),
        ([*CRAWL, "--workers", "0"], "--workers must be at least 1, not '0'"),
        ([*CRAWL, "--scope", "galaxy"], "--scope must be one of host, site, web, not 'galaxy'"),
        ([*CRAWL, "--max-workers", "many"], "--in-flight must be a whole number, not 'many'"),
        ([*CRAWL, "--set", "dealy=1"], "--set dealy is not a setting; did you mean --delay?"),
        ([*CRAWL, "--set", "max-head=1"], "--set max_head is no longer a setting: it was removed, leave it out"),
        ([*CRAWL, "--set", "delay"], "--set delay is incomplete: write --set delay=VALUE."),
        ([*CRAWL, "--agent-name", "My Bot"], "'My Bot' is not an agent name: use letters, digits, - and _"),
        ([*CRAWL, "--info-url", "about"], "'about' is not the URL of a page: write it like https://"),
        ([*CRAWL, "--nameserver", "dns.example"], "'dns.example' is not a name server: write it like 9.9.9.9"),
        ([*CRAWL, "--allow-network", "home"], "'home' is not a network"),
        ([*CRAWL, "--config", "mine.toml"], "mine.toml cannot be read (No such file or directory)"),
        ([*CRAWL, "--exclude-file", "out.txt"], "(No such file or directory): name another with --exclude-file."),
        ([*CRAWL, "--ca-file", "ca.pem"], "ca.pem holds no readable certificates"),
        ([*CRAWL, "--data-dir", "."], ". holds files but no crawl: name a new or an empty folder with --data-dir."),
        ([*CRAWL, "--data-dir", "notes.md"], "notes.md is a file: name a folder with --data-dir."),
        (["stop"], "No crawl is running in crawl-data."),
        (["stop", "--data-dir", "notes.md"], "No crawl is running in notes.md."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_answered_in_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("notes.md").touch()
    assert sentence in refusal(capsys, *arguments)
    assert [path.name for path in Path().iterdir()] == ["notes.md"], "nothing was made"


def test_a_frontier_that_cannot_be_read_is_told_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    Path("crawl-data").mkdir()
    with SqliteFrontier(Path("crawl-data/frontier.sqlite")):
        pass
    with closing(sqlite3.connect("crawl-data/frontier.sqlite")) as connection:
        connection.execute("DROP TABLE given_up")  # of all that a start does, only its look at the figures needs it
    assert refusal(capsys, *CRAWL).startswith("crawl-data cannot be written to (no such table: given_up)")


def test_an_unknown_key_is_named_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("crawl-data").mkdir()
    Path("crawl-data/crawl.toml").write_text("delay = 1\nmax_page = 3\n")
    assert refusal(capsys, *CRAWL) == "max_page (crawl.toml, line 2) is not a setting; did you mean max_pages?"


def test_a_removed_setting_of_an_older_crawl_is_ignored_with_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    Path("crawl-data").mkdir()
    Path("crawl-data/crawl.toml").write_text("delay = 1\nmax_head = 65536\n")
    assert run(["crawl", "example.org"]) == 2
    note, refused = capsys.readouterr().err.splitlines()
    assert note == "Ignored settings that no longer exist: max_head (crawl.toml, line 2)."
    assert "An e-mail address is needed" in refused


def test_an_unknown_variable_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_DEALY", "1")
    assert refusal(capsys, *CRAWL) == "GOSSAMER_DEALY is not a setting; did you mean GOSSAMER_DELAY?"


def test_a_line_of_the_exclusion_file_that_excludes_nothing_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out.txt").write_text("example.com\nno such thing\n")
    said = refusal(capsys, *CRAWL, "--exclude-file", "out.txt")
    assert said.endswith("out.txt, line 2: 'no such thing' excludes nothing (not a valid URL): correct it.")


def test_a_network_file_system_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 1 0:1 / / rw - ext4 disk rw\n2 1 0:2 / {tmp_path} rw - nfs4 server:/home rw\n")
    monkeypatch.setattr(database, "MOUNTS", mounts)
    assert "crawl-data lies on a network file system (nfs4), where SQLite is not safe" in refusal(capsys, *CRAWL)


def test_a_disk_without_room_is_a_mistake_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("".join(f"https://example.org/{number}\n" for number in range(20_000)))
    # No file may grow beyond 200 KB: what a full disk does, without one.
    command = f"ulimit -f 200; exec {shlex.quote(sys.executable)} -m gossamer crawl seeds.txt --email you@example.org"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True)
    assert ended.returncode == 2, ended.stderr
    assert re.fullmatch(r"gossamer: crawl-data cannot be written to \(.+\): make room, or .+\.\n", ended.stderr)


def test_seeds_that_are_none_are_shown_with_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    Path("seeds.txt").write_text("# mine\n" + "not a domain\n" * 25)
    assert run(["crawl", "seeds.txt", "--email", "you@example.org"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == ("gossamer: seeds.txt, line 2: 'not a domain' is no seed (not a valid URL); it is left out")
    assert len(lines) == 22
    assert lines[20] == "gossamer: ... and 5 more lines: no seeds"
    assert lines[21].startswith("gossamer: None of the seeds can be crawled")
