"""Commands that messages print can be pasted: as the program was called, with the folder that they need, quoted."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.cli import SUMMARIES, run
from gossamer.commands import to_type
from tests.inspect.crawls import Crawl

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "gossamer"
BY_HAND = re.compile(rf"\bgossamer ({'|'.join(SUMMARIES)})\b")


@pytest.fixture(autouse=True)
def _as_typed_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOSSAMER_PROGRAM", "GOSSAMER_LAUNCHER", "GOSSAMER_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)


def test_words_are_quoted_and_the_folder_is_named_unless_it_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert to_type("query", "select 1") == "gossamer query 'select 1'"
    assert to_type("crawl", folders=Path("my crawl")) == "gossamer crawl --data-dir 'my crawl'"
    assert to_type("crawl", folders=Path("crawl-data")) == "gossamer crawl"
    assert to_type("verify", folders=[Path("a"), Path("b")]) == "gossamer verify --data-dir a --data-dir b"
    monkeypatch.setenv("GOSSAMER_DATA_DIR", "elsewhere")
    assert to_type("crawl", folders=Path("crawl-data")) == "gossamer crawl --data-dir crawl-data"


def texts(module: ast.Module) -> list[str]:
    """The strings of a module that are no docstrings; those of commands are help, in which the program is replaced."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(module)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    constants = [node for node in ast.walk(module) if isinstance(node, ast.Constant) and id(node) not in docstrings]
    return [node.value for node in constants if isinstance(node.value, str)]


def test_no_message_spells_a_command_by_hand() -> None:
    found = {
        str(path.relative_to(SOURCE)): [text for text in texts(ast.parse(path.read_text())) if BY_HAND.search(text)]
        for path in SOURCE.rglob("*.py")
    }
    assert {path: spelled for path, spelled in found.items() if spelled} == {}, "use gossamer.commands.to_type"


def told(*command: str, cwd: Path, **variables: str) -> str:
    """What a command says when it refuses."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    environment = own | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | variables
    ended = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert ended.returncode == 2, ended.stderr
    return ended.stderr


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A stopped crawl in a folder whose name needs quotes."""
    with Crawl(tmp_path / "my crawl") as crawl:
        crawl.add("https://a.test/1")
        crawl.run()
        crawl.add("https://a.test/2")
    return crawl.folder


def test_a_command_is_printed_as_the_program_was_called(elsewhere: Path) -> None:
    folder = elsewhere.parent
    launcher, linked = folder / "gossamer", folder / "bin" / "gossamer"
    # As the launcher starts it; making a .venv for this is left to the launcher's own tests.
    start = [line for line in (ROOT / "gossamer").read_text().splitlines() if line.startswith(("export ", "exec "))]
    assert len(start) == 2
    launcher.write_text(f"#!/bin/sh\nvenv={shlex.quote(sys.prefix)}\n" + "\n".join(start) + "\n")
    launcher.chmod(0o755)
    linked.parent.mkdir()
    linked.symlink_to(launcher)
    path = f"{linked.parent}{os.pathsep}{os.environ['PATH']}"
    for typed, called in (
        (["./gossamer"], "./gossamer"),
        ([str(launcher)], str(launcher)),
        (["sh", "gossamer"], "./gossamer"),
        (["gossamer"], "gossamer"),
        ([sys.executable, "-m", "gossamer"], f"{sys.executable} -m gossamer"),
    ):
        told_of = told("sh", "-c", shlex.join([*typed, "top", "--data-dir", "my crawl"]), cwd=folder, PATH=path)
        assert f"`{called} status --data-dir 'my crawl'`" in told_of
        assert f"see {called} crawl --help" in told(
            "sh", "-c", shlex.join([*typed, "crawl", "--delay"]), cwd=folder, PATH=path
        )


def test_printed_commands_can_be_pasted(elsewhere: Path) -> None:
    python = [sys.executable, "-m", "gossamer"]
    said = told(*python, "top", "--data-dir", "my crawl", cwd=elsewhere.parent)
    start, status = re.findall("`(.*?)`", said)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pasted = subprocess.run(status, shell=True, cwd=elsewhere.parent, env=environment, capture_output=True, text=True)
    assert "my crawl, not running" in pasted.stdout, pasted.stderr
    assert "An e-mail address is needed" in told("sh", "-c", start, cwd=elsewhere.parent)

    (example,) = re.findall("`(.*?)`", told(*python, "query", "--data-dir", "my crawl", cwd=elsewhere.parent))
    pasted = subprocess.run(example, shell=True, cwd=elsewhere.parent, env=environment, capture_output=True, text=True)
    assert pasted.stdout.split() == ["count_star()", "1"], pasted.stderr

    shown = subprocess.run(
        [*python, "check", "url", "--help"], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert f"|\n      {sys.executable} -m gossamer check url" in shown


def test_a_note_of_how_it_was_called_is_no_setting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GOSSAMER_PROGRAM", "./gossamer")
    monkeypatch.setenv("GOSSAMER_LAUNCHER", "./gossamer")
    assert run(["crawl", "--email", "you@example.org"]) == 2
    assert "Nothing to crawl" in capsys.readouterr().err
