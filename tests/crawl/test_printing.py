"""Lines in a terminal: broken between words, and commands that can still be pasted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gossamer.cli.printing import broken
from tests.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path


def test_a_line_is_broken_between_words_and_goes_on_below_its_beginning() -> None:
    assert broken("one two three", 9) == ["one two", "three"]
    assert broken("one two three", None) == ["one two three"]
    assert broken("one two three", 11, indent="name ", hanging="     ") == ["name one", "     two", "     three"]


def test_what_is_longer_than_the_line_stays_whole() -> None:
    assert broken("see /a/very/long/path-name there", 10) == ["see", "/a/very/long/path-name", "there"]


def test_a_command_between_backticks_stays_whole() -> None:
    assert broken("stop it with `gossamer stop --data-dir d`, or wait", 20) == [
        "stop it with", "`gossamer stop --data-dir d`,", "or wait",
    ]  # fmt: skip


@pytest.mark.parametrize("columns", [80, 60])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["crawl", "--data-dir", "DATA"], "Nothing to crawl: name domains, URLs or a file of them (there is no crawl"),
        (
            ["query", "--tables", "--data-dir", "DATA"],
            "every page that is stored; of a page fetched more than once, the last normalised",
        ),
    ],
)
def test_no_word_is_broken_on_a_terminal(tmp_path: Path, arguments: list[str], words: str, columns: int) -> None:
    named = [str(tmp_path) if argument == "DATA" else argument for argument in arguments]
    with Terminal(["-m", "gossamer", *named], columns=columns, rows=200) as terminal:
        terminal.end()
    shown = terminal.screen.text.split()
    assert [word for word in words.split() if word not in shown] == []
