"""The files in `deploy/` fit the command line and the settings as they are."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from gossamer.cli import gossamer
from gossamer.cli.crawl import command as crawl
from gossamer.crawl.folder import gather_settings

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
UNIT = (DEPLOY / "gossamer@.service").read_text()
LOGROTATE = (DEPLOY / "gossamer.logrotate").read_text()


def test_the_service_runs_a_command_that_there_is() -> None:
    (line,) = re.findall(r"(?m)^ExecStart=\S+/gossamer (.+)$", UNIT)
    name, *arguments = shlex.split(line)
    assert name == "crawl"
    with gossamer.make_context("gossamer", [name, *arguments]), crawl.make_context("crawl", arguments) as context:
        assert context.params["data_dir"] == Path("/var/lib/gossamer/%i")


def test_the_settings_that_the_files_name_are_settings() -> None:
    named = dict(re.findall(r"\b(GOSSAMER_[A-Z_]+)=([^\s,]+)", UNIT + LOGROTATE))
    assert {"GOSSAMER_EMAIL", "GOSSAMER_LOG_SIZE", "GOSSAMER_LOG_AGE"} <= named.keys()
    settings = gather_settings(None, environment={k: v for k, v in named.items() if v != "…"}, flags={})
    assert settings.log.log_size_bytes == 1_000_000_000


def test_the_service_gives_a_stop_more_time_than_it_takes() -> None:
    (stop_s,) = map(int, re.findall(r"(?m)^TimeoutStopSec=(\d+)$", UNIT))
    assert stop_s > 10, "a stop takes less than ten seconds"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_understands_the_service(tmp_path: Path) -> None:
    unit = tmp_path / "gossamer@.service"
    unit.write_text(UNIT.replace("/opt/gossamer/bin/gossamer", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "gossamer" in line]) == (0, [])
