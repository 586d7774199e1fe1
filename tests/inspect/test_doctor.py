"""`gossamer doctor`: every verdict, and the command on this machine, with a real name server and a real database."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gossamer_simweb as simweb
from gossamer.inspect import machine
from gossamer.inspect.doctor import (
    Finding,
    Grade,
    judge_clock,
    judge_disk,
    judge_memory,
    judge_names,
    judge_open_files,
    judge_server,
    judge_switches,
)
from gossamer.inspect.machine import Disk, Memory, Names, WallClock
from tests.end_to_end.crawls import environment
from tests.frontier.postgres_server import new_database

GB = 1_000_000_000
DISK = Disk(
    wanted=Path("/data"), holds_crawl=False, folder=Path("/data"), is_folder=True, file_system="ext4",
    free_bytes=500 * GB, sync_s=0.001,
)  # fmt: skip
SERVER: dict[str, Any] = {
    "place": "crawls on db", "version": 150_004, "standby": False, "connections": 5, "max_connections": 100,
    "round_trip_s": 0.001, "ahead_s": 0.1, "workers": 8,
}  # fmt: skip
SETTINGS = {
    "fsync": "on", "full_page_writes": "on", "autovacuum": "on",
    "shared_buffers": str(4 << 30), "max_wal_size": str(8 << 30)
}  # fmt: skip


def grades(findings: list[Finding]) -> dict[str, str]:
    """The grades that are not good, by topic; each such finding has advice and a command."""
    poor = [finding for finding in findings if finding.grade is not Grade.GOOD]
    assert all(finding.advice and finding.command for finding in poor)
    assert not any(finding.advice or finding.command for finding in findings if finding.grade is Grade.GOOD)
    return {finding.topic: finding.grade.value for finding in poor}


@pytest.mark.parametrize(
    ("soft", "hard", "expected"),
    [(1024, 65_536, {}), (1024, -1, {}), (256, 256, {"open files": "poor"}), (100, 100, {"open files": "bad"})],
)
def test_open_files(soft: int, hard: int, expected: dict[str, str]) -> None:
    for has_user_manager in (True, False):
        found = judge_open_files(soft, hard, in_flight=1000, has_user_manager=has_user_manager)
        assert grades([found]) == expected
        assert not expected or found.command.startswith("systemd-run --user") is has_user_manager


@pytest.mark.parametrize(
    ("changes", "sqlite", "expected"),
    [
        ({}, True, {}),
        ({"file_system": "nfs4"}, True, {"file system": "bad"}),
        ({"file_system": "nfs4"}, False, {"file system": "poor"}),
        ({"file_system": ""}, True, {}),
        ({"free_bytes": 5 * GB}, True, {"disk space": "poor"}),
        ({"free_bytes": GB}, True, {"disk space": "bad"}),
        ({"sync_s": 0.2}, True, {"sync speed": "poor"}),
        ({"sync_s": None}, True, {"disk": "bad"}),
    ],
)
def test_disks(changes: dict[str, Any], sqlite: bool, expected: dict[str, str]) -> None:
    assert grades(list(judge_disk(replace(DISK, **changes), min_free_bytes=GB, sqlite=sqlite))) == expected


@pytest.mark.parametrize(
    ("changes", "command"),
    [
        ({"wanted": Path("/var/lib/crawl"), "folder": Path("/var/lib")}, 'sudo install -d -o "$USER" /var/lib/crawl'),
        ({"wanted": Path("/var/lib"), "folder": Path("/var/lib")}, 'sudo install -d -o "$USER" /var/lib/crawl-data'),
        ({"wanted": Path("/a b"), "folder": Path("/a b"), "holds_crawl": True}, "sudo chown -R \"$USER\" '/a b'"),
        ({"is_folder": False}, "gossamer crawl seeds.txt --email you@example.org --data-dir /a/local/folder"),
    ],
)  # fmt: skip
def test_only_the_crawls_own_folder_gets_another_owner(changes: dict[str, Any], command: str) -> None:
    (finding,) = judge_disk(replace(DISK, **changes, sync_s=None), min_free_bytes=GB, sqlite=True)
    assert (finding.grade, finding.command) == (Grade.BAD, command)


@pytest.mark.parametrize(
    ("memory", "workers", "expected"),
    [
        (None, 64, {}),
        (Memory(total_bytes=8 * GB, available_bytes=6 * GB, limit_bytes=None), 8, {}),
        (Memory(total_bytes=8 * GB, available_bytes=GB, limit_bytes=None), 8, {"memory": "poor"}),
        (Memory(total_bytes=8 * GB, available_bytes=6 * GB, limit_bytes=GB), 8, {"memory": "poor"}),
    ],
)
def test_memory(memory: Memory | None, workers: int, expected: dict[str, str]) -> None:
    assert grades([judge_memory(memory, workers=workers)]) == expected


@pytest.mark.parametrize(
    ("now_at", "synchronised", "expected"),
    [
        (1_800_000_000.0, True, {}),
        (1_800_000_000.0, None, {}),
        (1_800_000_000.0, False, {"clock": "poor"}),
        (0.0, True, {"clock": "bad"}),
    ],
)
def test_clocks(now_at: float, synchronised: bool | None, expected: dict[str, str]) -> None:
    assert grades([judge_clock(WallClock(now_at=now_at, synchronised=synchronised))]) == expected


@pytest.mark.parametrize(
    ("took_s", "failure", "expected"), [(0.02, "", {}), (2.5, "", {"DNS": "poor"}), (0.1, "refused", {"DNS": "bad"})]
)
def test_names(took_s: float, failure: str, expected: dict[str, str]) -> None:
    assert grades([judge_names(Names(name="example.org", took_s=took_s, failure=failure), None)]) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {}),
        ({"version": 140_011}, {"PostgreSQL": "bad"}),
        ({"standby": True}, {"PostgreSQL": "bad"}),
        ({"connections": 90}, {"connections": "bad"}),
        ({"round_trip_s": 0.08}, {"round trip": "poor"}),
        ({"ahead_s": -3600.0}, {"clocks": "poor"}),
    ],
)
def test_database_servers(changes: dict[str, Any], expected: dict[str, str]) -> None:
    assert grades(list(judge_server(**(SERVER | changes)))) == expected


@pytest.mark.parametrize(
    ("name", "value", "grade"),
    [
        ("fsync", "off", "bad"),
        ("full_page_writes", "off", "bad"),
        ("autovacuum", "off", "bad"),
        ("shared_buffers", str(128 << 20), "poor"),
        ("max_wal_size", str(1 << 30), "poor"),
    ],
)
def test_settings_of_database_servers(name: str, value: str, grade: str) -> None:
    assert grades(list(judge_switches(SETTINGS))) == {}
    assert grades(list(judge_switches(SETTINGS | {name: value}))) == {name: grade}


def test_looking_at_a_folder_that_is_not_there_yet_leaves_nothing_behind(tmp_path: Path) -> None:
    found = machine.disk(tmp_path / "not" / "yet")
    assert (found.folder, list(tmp_path.iterdir())) == (tmp_path, [])
    assert found.sync_s is not None
    assert found.free_bytes > 0


def test_the_command_looks_at_everything_and_hides_the_password(tmp_path: Path) -> None:
    database = new_database()
    with simweb.serve(simweb.plain_web(sites=1, pages=1)) as server:
        name = server.seeds()[0].split("/")[2].partition(":")[0]
        done = doctor(
            *("--data-dir", str(tmp_path / "new"), "--frontier", database, "--nameserver", server.dns),
            *("--lookup", name, "--workers", "2", "--json"),
        )
    findings = {found["topic"]: found for found in json.loads(done.stdout)}
    assert {"open files", "file system", "disk space", "sync speed", "memory", "clock", "DNS", "connections"} <= set(
        findings
    )
    assert findings["DNS"]["grade"] == findings["PostgreSQL"]["grade"] == "good"
    assert "ms" in findings["round trip"]["found"]
    bad = [found for found in findings.values() if found["grade"] == "bad"]
    assert done.returncode == (1 if bad else 0), bad


def test_a_plain_user_is_told_to_make_the_crawls_own_folder() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    place = Path(tempfile.mkdtemp(prefix="gossamer-"))  # pytest's own folders can be entered by their owner alone
    place.chmod(0o755)
    script = (
        "from pathlib import Path; from gossamer.inspect import doctor, machine\n"
        f"for found in doctor.judge_disk(machine.disk(Path('{place}/crawl')), min_free_bytes=1, sqlite=True):\n"
        "    print(found.command)"
    )
    # The modules are loaded while we are root: they may lie where a plain user cannot enter.
    become = "import os, gossamer.inspect.doctor, gossamer.inspect.machine; os.setgid(65534); os.setuid(65534)\n"
    try:
        told = subprocess.run(
            [sys.executable, "-c", become + script], capture_output=True, text=True, env=environment()
        )
    finally:
        place.rmdir()
    assert told.stdout == f'sudo install -d -o "$USER" {place}/crawl\n', told.stderr


def test_a_database_that_does_not_answer_is_a_finding_like_others(tmp_path: Path) -> None:
    done = doctor("--data-dir", str(tmp_path), "--frontier", "postgresql://nobody@127.0.0.1:1/nothing")
    assert done.returncode == 1
    assert "BAD   PostgreSQL" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def doctor(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, with the environment of an operator who has named a crawl's folder."""
    command = [sys.executable, "-m", "gossamer", "doctor", *arguments]
    places = {"GOSSAMER_DATA_DIR": "elsewhere", "GOSSAMER_CONFIG": "elsewhere.toml"}
    return subprocess.run(command, capture_output=True, text=True, env=environment() | places, timeout=60)
