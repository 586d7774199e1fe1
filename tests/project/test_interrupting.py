"""Ctrl-C ends every command silently with status 130: while modules are loaded, while DuckDB works, and between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.crawl.folder import gather_settings, write_settings
from tests.end_to_end.crawls import environment, wait_until
from tests.inspect.crawls import Crawl

# Python loads this before anything of ours: it presses Ctrl-C when a certain module is looked for.
HOOK = """
import os, signal, sys

class PressCtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["CTRL_C_AT"]:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, PressCtrlC())
"""
ENDLESS = "select sum(a.range * b.range) from range(10_000_000) a, range(10_000_000) b"
RUNNING_CPU_S = 3.0  # more than it takes to load and open everything


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with Crawl(tmp_path_factory.mktemp("crawled") / "crawl-data") as crawl:
        crawl.add("https://a.test/1", "https://a.test/2")
        crawl.run()
    settings = gather_settings(None, environment={}, flags={"email": "you@example.org"})
    write_settings(crawl.folder, settings)
    return crawl.folder


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("gossamer.cli", ["version"]),
        ("click", ["version"]),
        ("gossamer.commands", ["crawl", "--help"]),
        ("gossamer.cli.crawl", ["crawl", "--help"]),
        ("gossamer.supervisor", ["crawl", "--help"]),
        ("duckdb", ["query", "select 1"]),
        ("pyarrow", ["query", "select 1"]),
        ("numpy", ["query", "select 1"]),
        ("gossamer.inspect.report", ["report"]),
        ("gossamer.inspect.report.plots", ["report"]),
        ("gossamer.inspect.verify", ["verify"]),
        ("rich.cells", ["query", "select 1", "--format", "table"]),
    ],
    ids=lambda value: " ".join(value[:1]) if isinstance(value, list) else value,
)
def test_ctrl_c_while_a_module_is_loaded(module: str, arguments: list[str], folder: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    variables = environment() | {"CTRL_C_AT": module}
    variables["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{variables['PYTHONPATH']}"
    ended = subprocess.run(
        [sys.executable, "-m", "gossamer", *arguments], cwd=folder.parent, env=variables, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


@pytest.mark.skipif(sys.platform != "linux", reason="the processor time of another process is read from /proc")
@pytest.mark.parametrize("form", ["csv", "table"])
def test_ctrl_c_in_a_query_that_would_take_forever(form: str, folder: Path) -> None:
    command = [sys.executable, "-m", "gossamer", "query", ENDLESS, "--format", form]
    with subprocess.Popen(
        command, cwd=folder.parent, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as query:
        try:
            wait_until(lambda: cpu_s(query.pid) > RUNNING_CPU_S, "the query to run")
            query.send_signal(signal.SIGINT)
            said = query.communicate(timeout=120)
        finally:
            query.kill()
    assert (query.returncode, said) == (130, ("", ""))


def cpu_s(pid: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
