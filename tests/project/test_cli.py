"""The frame around the commands: help, mistakes, interruptions, and what a start costs."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import platform
import re
import signal
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

import gossamer.cli
from gossamer import __version__
from gossamer.cli import GROUPS, SUMMARIES, run
from gossamer.errors import GossamerError
from gossamer.urls import NORMALISER_VERSION, SUFFIX_LIST_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

GOSSAMER = [sys.executable, "-m", "gossamer"]


def all_commands() -> list[list[str]]:
    """Every command and subcommand, as one would type it."""

    def walk(command: click.Command, path: list[str]) -> Iterator[list[str]]:
        yield path
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                assert found is not None, name
                yield from walk(found, [*path, name])

    return list(walk(gossamer.cli.gossamer, []))


@pytest.mark.parametrize("path", all_commands(), ids=" ".join)
def test_every_command_explains_itself_with_an_example(path: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*path, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(" ".join(["Usage: gossamer", *path]))
    assert " ".join(["gossamer", *path]) in shown.partition("Example")[2]


@pytest.mark.parametrize("path", all_commands(), ids=" ".join)
def test_no_line_of_help_is_broken_at_80_columns(path: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run([*path, "--help"])
    examples = capsys.readouterr().out.partition("Example")[2].partition("\n\n")[0]
    assert [line for line in examples.splitlines() if len(line) > 78] == []  # it may be called as ./gossamer


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_list_of_commands_says_what_each_command_says_of_itself(name: str) -> None:
    command = gossamer.cli.gossamer.get_command(click.Context(gossamer.cli.gossamer), name)
    assert command is not None
    assert command.name == name
    assert command.get_short_help_str(limit=100) == SUMMARIES[name]


def test_every_option_says_what_it_does() -> None:
    for path in all_commands():
        command: click.Command = gossamer.cli.gossamer
        for name in path:
            assert isinstance(command, click.Group)
            command = command.get_command(click.Context(command), name) or pytest.fail(name)
        silent = [o.name for o in command.params if isinstance(o, click.Option) and not o.help]
        assert not silent, f"{' '.join(path)}: {silent}"


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    assert "Maintain:" in capsys.readouterr().out


def test_the_help_groups_commands_by_purpose_and_begins_with_demo_and_crawl(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    groups = re.findall(r"(?m)^(\w+):\n((?:  .*\n)+)", capsys.readouterr().out)
    listed = {group: re.findall(r"(?m)^  ([a-z-]+) ", lines) for group, lines in groups[1:]}
    assert list(listed) == ["Start", "Watch", "Inspect", "Export", "Maintain"]
    assert listed["Start"][:2] == ["demo", "crawl"]
    assert listed == {group: list(commands) for group, commands in GROUPS.items()}


def test_every_command_has_a_group() -> None:
    modules = [module.name for module in pkgutil.iter_modules(gossamer.cli.__path__)]
    written = {
        name.replace("_", "-")
        for name in modules
        if isinstance(getattr(importlib.import_module(f"gossamer.cli.{name}"), "command", None), click.Command)
    }
    in_another = {"check-html", "check-sitemap"}  # below `check`
    assert written - in_another == set(SUMMARIES)
    assert sum(map(len, GROUPS.values())) == len(SUMMARIES), "no command stands in two groups"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["versoin"], "no such command versoin; did you mean gossamer version?"),
        (["qqqqq"], "no such command qqqqq; see gossamer --help"),
        (["version", "--jsn"], "no such option --jsn; did you mean gossamer version --json?"),
        (["check", "ulr"], "no such command ulr; did you mean gossamer check url?"),
        (["crawl", "--delay"], "option '--delay' requires an argument; see gossamer crawl --help"),
        (["log", "-n", "x"], "invalid value for '-n': 'x' is not a whole number; see gossamer log --help"),
        (["version", "now"], "got unexpected extra argument (now); see gossamer version --help"),
    ],
)
def test_a_mistake_on_the_command_line_is_answered_in_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert capsys.readouterr() == ("", f"gossamer: {sentence}\n")


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command `fail` that raises what its argument names."""

    @click.command()
    @click.argument("what")
    def command(what: str) -> None:
        raise {"mistake": GossamerError("do this instead"), "bug": KeyError("bug")}[what]

    monkeypatch.setitem(sys.modules, "gossamer.cli.fail", type(sys)("fail"))
    monkeypatch.setattr(sys.modules["gossamer.cli.fail"], "command", command, raising=False)
    monkeypatch.setitem(SUMMARIES, "fail", "Fail.")


@pytest.mark.usefixtures("failing")
def test_an_operators_mistake_is_its_message_and_a_bug_is_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["fail", "mistake"]) == 2
    assert capsys.readouterr() == ("", "gossamer: do this instead\n")
    with pytest.raises(KeyError, match="bug"):
        run(["fail", "bug"])


def program(body: str) -> list[str]:
    """A run of `gossamer` whose one command does what `body` says."""
    script = (
        "import sys, click, gossamer.cli as cli\n"
        "sys.modules['gossamer.cli.do'] = module = type(sys)('do')\n"
        f"module.command = click.Command('do', callback=lambda: ({body}))\n"
        "cli.SUMMARIES['do'] = 'Do it.'\n"
        "sys.exit(cli.run(['do']))\n"
    )
    return [sys.executable, "-c", script]


def test_ctrl_c_ends_silently_with_130() -> None:
    waiting = subprocess.Popen(
        program("print('waiting', flush=True), sys.stdin.read()"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == b"waiting\n"
    waiting.send_signal(signal.SIGINT)
    assert waiting.communicate() == (b"", b"")
    assert waiting.returncode == 130


@pytest.mark.parametrize(
    "command",
    [[*GOSSAMER, "--help"], [*GOSSAMER, "version"], program("print('few words')"), program("print('many' * 10**6)")],
    ids=["help", "version", "few words", "many words"],
)
def test_a_reader_that_has_gone_is_no_reason_to_complain(command: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    environment = os.environ | {"PYTHONUNBUFFERED": ""}  # what is printed leaves only at the end
    ended = subprocess.run(command, env=environment, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_version_prints_what_must_agree_among_workers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["version", "--json"]) == 0
    versions = json.loads(capsys.readouterr().out)
    assert versions == {
        "gossamer": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "normaliser": NORMALISER_VERSION,
        "suffix_list": SUFFIX_LIST_VERSION,
    }
    assert run(["version"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.rsplit(maxsplit=1)[1] for line in lines] == list(versions.values())


def test_help_and_version_load_no_command_that_was_not_asked_for() -> None:
    script = (
        "import sys; from gossamer.cli import run; run(sys.argv[1:]);"
        "print(*(name for name in sys.modules if name.startswith('gossamer')))"
    )
    always = {"gossamer", "gossamer.cli", "gossamer.cli.terminal"}
    always |= {"gossamer.commands", "gossamer.errors", "gossamer.extras", "gossamer.safe_files"}
    for arguments, loaded in (
        (["--help"], always),
        (
            ["version"],
            always | {"gossamer.cli.version", "gossamer.urls"},
        ),
    ):
        command = [sys.executable, "-c", script, *arguments]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert set(said.splitlines()[-1].split()) == loaded


def test_help_loads_no_library_but_that_of_the_command_line() -> None:
    """Libraries make the difference between 0.05 s and 0.5 s of processor time."""
    script = (
        "import sys; before = set(sys.modules); sys.argv = ['gossamer', '--help'];"
        "from contextlib import suppress; import runpy\n"
        "with suppress(SystemExit): runpy.run_module('gossamer', run_name='__main__')\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert set(said.splitlines()[-1].split()) <= {"click", "gossamer"}


def test_the_command_works_with_clicks_own_runner() -> None:
    assert CliRunner().invoke(gossamer.cli.gossamer, ["--version"]).output == f"gossamer {__version__}\n"


def test_the_package_shows_its_public_names_and_no_others() -> None:
    script = "import gossamer, gossamer.cli, gossamer.api; print(*dir(gossamer))"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert shown == sorted(gossamer.__all__)
    assert all(getattr(gossamer, name) is not None for name in shown)
