"""The files in `deploy/` fit the command line and the settings as they are, and what their headers say works."""

from __future__ import annotations

import getpass
import grp
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.cli import gossamer
from gossamer.cli.crawl import command as crawl
from gossamer.crawl.folder import gather_settings

ROOT = Path(__file__).resolve().parents[2]
UNIT = (ROOT / "deploy" / "gossamer@.service").read_text()
LOGROTATE = (ROOT / "deploy" / "gossamer.logrotate").read_text()
PLACES = re.compile(r"(?<![\w/])/(?:opt|etc|var/lib)/")

NEEDS_SYSTEMD = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
LOGROTATE_PROGRAM = shutil.which("logrotate", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def commands(text: str) -> list[str]:
    """Return the commands in the header of a file."""
    return re.findall(r"(?m)^#   (.+)$", text)


def below(root: Path, text: str) -> str:
    """Return a text in which every place on the machine is below another root."""
    return PLACES.sub(lambda found: f"{root}{found[0]}", text)


def lend_venv(program: Path) -> None:
    """Give a copy of Gossamer the Python of this one: making another .venv takes a minute and the internet."""
    python = program / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    shutil.copy(program / "requirements.lock", program / ".venv")  # the launcher's sign that it is complete


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root below which the header's commands were run, but for those that need a real machine."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs a clone: the header's commands use git archive")
    root = tmp_path_factory.mktemp("machine")
    for folder in ("etc/systemd/system", "etc/logrotate.d", "opt/gossamer", "var/lib/gossamer/news/logs"):
        (root / folder).mkdir(parents=True)
    for line in [*commands(UNIT), *commands(LOGROTATE)]:
        if line.endswith("gossamer version"):
            lend_venv(root / "opt" / "gossamer")
        if not re.match(r"sudo (useradd|systemctl|-u gossamer) ", line):
            line = below(root, line.replace("sudo ", ""))
            subprocess.run(["sh", "-ec", line], cwd=ROOT, check=True, timeout=60, stdout=subprocess.PIPE)
    return root


def test_the_header_creates_all_that_the_service_uses(machine: Path) -> None:
    service = below(machine, UNIT.partition("[Service]")[2].replace("%i", "news"))
    (line,) = re.findall(r"(?m)^ExecStart=(.+)$", service)
    program, name, seeds, *_ = shlex.split(line)
    assert os.access(program, os.X_OK)
    done = subprocess.run([program, name, "--help"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, f"Usage: {program} crawl" in done.stdout) == (0, True), done.stderr
    assert Path(seeds).read_text() == "example.org\n"
    (environment,) = re.findall(r"(?m)^EnvironmentFile=(.+)$", service)
    assert Path(environment).read_text() == "GOSSAMER_EMAIL=you@example.org\n"
    assert Path(environment).stat().st_mode & 0o777 == 0o600, "it may hold a password"
    assert "useradd --system --home-dir /var/lib/gossamer" in UNIT
    assert re.findall(r"(?m)^(?:User|Group|StateDirectory)=(.+)$", UNIT) == ["gossamer"] * 3


def test_the_service_runs_a_command_that_there_is() -> None:
    (line,) = re.findall(r"(?m)^ExecStart=\S+/gossamer (.+)$", UNIT)
    name, *arguments = shlex.split(line)
    assert name == "crawl"
    with gossamer.make_context("gossamer", [name, *arguments]), crawl.make_context("crawl", arguments) as context:
        assert context.params["data_dir"] == Path("/var/lib/gossamer/%i")


def test_a_reload_needs_no_program_but_a_shell() -> None:
    (line,) = re.findall(r"(?m)^ExecReload=(.+)$", UNIT)
    assert shlex.split(line)[:2] == ["/bin/sh", "-c"], "a small Debian has no /bin/kill"


def test_the_settings_that_the_files_name_are_settings() -> None:
    named = dict(re.findall(r"\b(GOSSAMER_[A-Z_]+)=([^\s,]+)", UNIT + LOGROTATE))
    assert {"GOSSAMER_EMAIL", "GOSSAMER_FRONTIER", "GOSSAMER_LOG_SIZE", "GOSSAMER_LOG_AGE"} <= named.keys()
    named.pop("GOSSAMER_PYTHON")  # the launcher's
    settings = gather_settings(None, environment=named, flags={})
    assert settings.log.log_size_bytes == 1_000_000_000


def test_the_service_gives_a_stop_more_time_than_it_takes() -> None:
    (stop_s,) = map(int, re.findall(r"(?m)^TimeoutStopSec=(\d+)$", UNIT))
    assert stop_s > 10, "a stop takes less than ten seconds"


def test_the_service_is_restarted_only_where_that_may_help() -> None:
    assert re.findall(r"(?m)^Restart\w*=.+$", UNIT) == [
        "Restart=on-failure",
        "RestartSec=5",
        "RestartPreventExitStatus=2 3",
    ]


@NEEDS_SYSTEMD
def test_systemd_understands_the_service_that_the_header_installs(machine: Path) -> None:
    unit = machine / "etc" / "systemd" / "system" / "gossamer@.service"
    unit.write_text(below(machine, unit.read_text()))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "gossamer" in line]) == (0, [])


@NEEDS_SYSTEMD
def test_systemd_would_notice_a_program_that_is_not_there(tmp_path: Path) -> None:
    unit = tmp_path / "gossamer@.service"
    unit.write_text(below(tmp_path, UNIT))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60)
    assert "gossamer is not executable" in done.stderr


@pytest.mark.skipif(LOGROTATE_PROGRAM is None, reason="needs logrotate")
def test_logrotate_understands_the_file_that_the_header_installs(machine: Path) -> None:
    assert LOGROTATE_PROGRAM is not None
    log = machine / "var" / "lib" / "gossamer" / "news" / "logs" / "gossamer.log"
    log.write_text("a line\n")
    user, group = getpass.getuser(), grp.getgrgid(os.getgid()).gr_name
    file = machine / "etc" / "logrotate.d" / "gossamer"
    file.write_text(below(machine, file.read_text()).replace("su gossamer gossamer", f"su {user} {group}"))
    state = str(machine / "state")
    done = subprocess.run(
        [LOGROTATE_PROGRAM, "-d", "-f", "-s", state, str(file)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, [line for line in done.stderr.splitlines() if "error" in line]) == (0, [])
    assert f"rotating pattern: {machine}/var/lib/gossamer/*/logs/gossamer.log" in done.stderr
    assert f"considering log {log}" in done.stderr
    assert "running postrotate script" in done.stderr
