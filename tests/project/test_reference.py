"""The reference says what the code says, and every command in the documentation can be typed."""

from __future__ import annotations

import re
import shlex
import textwrap
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import click
import pytest

from gossamer.cli import SUMMARIES, gossamer, run
from gossamer.cli.crawl import _as_settings
from gossamer.config import declared, default_as_given, gather
from gossamer.crawl.folder import gather_settings
from gossamer.crawl.settings import SECTIONS
from gossamer.errors import GossamerError
from gossamer.extras import EXTRAS
from tests.inspect.crawls import Crawl
from tools.reference import FOLDER, pages

ROOT = Path(__file__).resolve().parents[2]
DOCS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]

FENCED = re.compile(r"(?ms)^```\w[^\n]*\n(.*?)^```")
INDENTED = re.compile(r"(?m)(?:^    .*\n)+")
IN_A_SENTENCE = re.compile(r"`((?:\./)?gossamer [\w.-][^`]*)`")


def test_the_reference_is_what_the_code_says() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert written == pages(), "the code has changed: run `make reference` and commit what it writes"


@pytest.mark.parametrize(("columns", "cores"), [("40", 1), ("300", 64)])
def test_the_reference_does_not_depend_on_the_machine(
    columns: str, cores: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = pages()
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    monkeypatch.chdir(tmp_path)
    assert pages() == before
    assert not [name for name, text in before.items() if str(ROOT) in text or str(Path.home()) + "/" in text]


def test_defaults_are_shown_as_one_would_give_them() -> None:
    shown = {setting.key: default_as_given(setting) for setting in declared(SECTIONS).values()}
    defaults = {name: section() for name, section in SECTIONS.items()}
    flags = {key: value for key, value in shown.items() if value}
    assert gather(SECTIONS, file=None, environment={}, flags=flags) == defaults
    # Those that show none have none.
    silent = [setting.field.default for setting in declared(SECTIONS).values() if not shown[setting.key]]
    assert not any(silent)


def commands(line: str) -> list[list[str]]:
    """Return the words of each `gossamer` on a line of shell, without the first."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    lexer.commenters = ""  # URLs have fragments
    found: list[list[str]] = [[]]
    for word in lexer:
        if word == "#":
            break
        if set(word) <= set("|&;<>"):
            found.append([])
        else:
            found[-1].append(word)
    of_ours = [words[1:] for words in found if words and words[0].removeprefix("./") == "gossamer"]
    # The launcher of a clone takes an extra before the command, or nothing but the extra.
    return [words[2:] or ["version"] if words[:1] == ["--with"] and words[1] in EXTRAS else words for words in of_ours]


def commands_in_blocks(text: str) -> list[list[str]]:
    """Return all commands in blocks of code. Where a block has lines that begin with `$`, the others are output."""
    found = []
    for block in (*FENCED.findall(text), *map(textwrap.dedent, INDENTED.findall(text))):
        whole = re.sub(r'"[^"]*"', lambda quoted: quoted[0].replace("\n", " "), block)
        lines = re.sub(r"\\\n|(?<=\|)\n", " ", whole).splitlines()
        prompted = [line[2:] for line in lines if line.startswith("$ ")]
        for line in prompted or lines:
            if re.search(r"(^|\| *)(\./)?gossamer ", line):
                found += commands(line)
    return found


def parse(words: list[str]) -> None:
    """Let click read a command line, and the settings be checked; nothing runs."""
    command: click.Command = gossamer
    context = None
    name = "gossamer"
    try:
        while True:
            context = command.make_context(name, list(words), parent=context)
            if not isinstance(command, click.Group):
                break
            found, below, words = command.resolve_command(context, [*context._protected_args, *context.args])
            assert found is not None
            assert below is not None
            name, command = found, below
    except click.exceptions.Exit:  # --help, --version
        return
    if name == "crawl":
        places = ("seeds", "data_dir", "config", "others", "seed_file", "resume")
        flags = {key: value for key, value in context.params.items() if key not in places}
        gather_settings(None, environment={}, flags=_as_settings(flags, context.params["others"]))


@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_in_the_documentation_can_be_typed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for words in commands_in_blocks(text):
        parse(words)
    for line in IN_A_SENTENCE.findall(text.replace("\n", " ")):
        (words,) = commands(line)
        # A sentence may speak of a command without its arguments, or of any command.
        with suppress(click.MissingParameter, click.exceptions.NoArgsIsHelpError):
            parse([word for word in words if word not in ("COMMAND", "...")])


def test_every_query_and_export_in_the_documentation_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Crawl(tmp_path / "crawl-data") as crawl:
        crawl.add("https://example.org/", "https://example.org/gone")
        crawl.run()
    monkeypatch.chdir(tmp_path)
    texts = [page.read_text(encoding="utf-8") for page in DOCS]
    shown = [words for text in texts for words in commands_in_blocks(text)]
    shown += [words for text in texts for line in IN_A_SENTENCE.findall(text) for words in commands(line)]
    asked = {tuple(words) for words in shown if words[0] in ("query", "export") and len(words) > 1}
    runnable = {words for words in asked if not words[-1].startswith("s3://")}  # tests/bucket has a bucket
    assert len(runnable) > 20
    for number, words in enumerate(sorted(runnable)):
        arguments = [f"{number}-{word}" if before == "-o" else word for before, word in pairwise(["", *words])]
        assert run(arguments) == 0, (words, capsys.readouterr().err)


@pytest.mark.parametrize(
    "line",
    [
        "crwal seeds.txt",
        "crawl seeds.txt --emial you@example.org",
        "crawl seeds.txt --set retry_wiat=1",
        "crawl seeds.txt --delay soon",
        "export --format xml",
        "check ulr x",
        "show",
    ],
)
def test_a_mistake_in_the_documentation_would_be_found(line: str) -> None:
    (words,) = commands_in_blocks(f"Do this:\n\n    $ ./gossamer {line} > x   # comment\n")
    with pytest.raises(
        (click.ClickException, GossamerError), match=r"(?i)no such|missing|not a setting|must be|not one of"
    ):
        parse(words)


def test_commands_are_found_wherever_they_stand() -> None:
    text = (
        "```console\n$ ./gossamer a 'b|c' \\\n  --d | e\ngossamer output\n```\n\n"
        "    gossamer f#g   # h\n    echo |\n      gossamer i\n"
    )
    assert commands_in_blocks(text) == [["a", "b|c", "--d"], ["f#g"], ["i"]]


def test_the_reference_has_every_command() -> None:
    shown = pages()["cli.md"]
    assert [name for name in SUMMARIES if f"\n## gossamer {name}\n" not in shown] == []
