"""`gossamer simweb`: prints how to use the web that it serves, and shuts down cleanly."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from gossamer.cli.simweb import command
from gossamer.errors import GossamerError

SIMWEB = [sys.executable, "-c", "from gossamer.cli.simweb import command; command()", "--sites", "3", "--pages", "4"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_commands_that_work_until_it_is_told_to_end(end: signal.Signals) -> None:
    running = subprocess.Popen([*SIMWEB, "--tls"], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    shown = ""
    while "Press Ctrl-C to stop it." not in shown:
        shown += running.stdout.readline()
    seeds_file = Path(re.search(r"crawl (\S+) --email", shown)[1])  # type: ignore[index]
    assert len(seeds_file.read_text().splitlines()) == 3
    assert re.search(r"--nameserver 127\.0\.0\.1:\d+ --allow-network 127\.0\.0\.0/8 --ca-file (\S+)", shown)
    curl = re.search(r"^  (curl .*)$", shown, re.MULTILINE)
    assert curl is not None
    page = subprocess.run([*curl[1].split(), "-sS"], capture_output=True, check=True).stdout
    assert page.rstrip().endswith(b"</html>")
    running.send_signal(end)
    rest, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    assert "1 request answered." in rest
    assert not seeds_file.parent.exists()


def test_a_port_in_use_is_one_sentence() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        before = signal.getsignal(signal.SIGTERM)
        ran = CliRunner().invoke(command, ["--sites", "1", "--dns-port", str(taken.getsockname()[1])])
        signal.signal(signal.SIGTERM, before)
    assert isinstance(ran.exception, GossamerError)
    assert re.search(
        r"port \d+ cannot be used \(Address already in use\)\. Try another --port, --dns-port or --folder.$",
        str(ran.exception),
    )


def test_files_go_where_they_are_wanted(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    running = subprocess.Popen([*SIMWEB, "--folder", str(folder)], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    while "Press Ctrl-C to stop it." not in running.stdout.readline():
        pass
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert {path.name for path in folder.iterdir()} == {"seeds.txt", "access.log", "dns.log"}


@pytest.mark.parametrize(("follows", "status"), [(True, 0), (False, 1)])
def test_it_judges_a_crawler_when_it_ends(follows: bool, status: int) -> None:
    running = subprocess.Popen([*SIMWEB, "--judge", "0"], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    shown = ""
    while "Press Ctrl-C to stop it." not in shown:
        shown += running.stdout.readline()
    crawl = re.search(r"^  (\S.* crawl .*)$", shown, re.MULTILINE)
    assert crawl is not None
    words = [*crawl[1].split()[crawl[1].split().index("crawl") :], "--delay", "0", "--set", "step_gap=0"]
    with tempfile.TemporaryDirectory() as folder:
        more = ["--data-dir", folder, "--set", "retry_wait=0.1", *([] if follows else ["--max-depth", "0"])]
        subprocess.run([sys.executable, "-m", "gossamer", *words, *more], check=True, capture_output=True)
    running.send_signal(signal.SIGINT)
    rest, _ = running.communicate(timeout=60)
    assert ("No faults found." if follows else "Missed: ") in rest
    assert running.returncode == status
