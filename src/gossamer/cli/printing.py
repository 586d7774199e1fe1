"""Prints text to a terminal: long lines are broken between words, never within one."""

from __future__ import annotations

import re
import shutil
import sys
from textwrap import wrap
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from collections.abc import Iterable

LEAST_WIDTH: Final = 20  # a narrower window is unreadable anyway
LABEL: Final = 11  # columns of the names in front of facts
_COMMAND: Final = re.compile(r"`[^`]*`")
_GLUE: Final = "\N{WORD JOINER}"


def terminal_width(*, err: bool = False) -> int | None:
    """Return the number of columns of the terminal that shows the output; None if it is not a terminal."""
    if not (sys.stderr if err else sys.stdout).isatty():
        return None
    return max(LEAST_WIDTH, shutil.get_terminal_size().columns)


def say(text: str, *, err: bool = False) -> None:
    """Print lines; on a terminal, long ones are broken between words."""
    width = terminal_width(err=err)
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        for part in broken(line.lstrip(), width, indent=indent, hanging=indent):
            click.echo(part, err=err)


def print_facts(facts: Iterable[tuple[str, str]], *, label: int = LABEL, indent: str = "") -> None:
    """Print names and values in two columns; on a terminal, long values go on below their beginning."""
    width = terminal_width()
    hanging = indent + " " * label
    for name, value in facts:
        for line in broken(value, width, indent=f"{indent}{name:<{label - 1}} ", hanging=hanging):
            click.echo(line.rstrip())


def broken(text: str, width: int | None, *, indent: str = "", hanging: str = "") -> list[str]:
    """Break a line between words to fit this width.

    A word that is longer, such as a path, stays whole, and so does a command between backticks: a terminal breaks them
    without a line feed, so that they can be pasted.
    """
    if width is None or len(indent) + len(text) <= width:
        return [indent + text]
    commands = _COMMAND.sub(lambda command: command.group().replace(" ", _GLUE), text)
    lines = wrap(
        commands, width, initial_indent=indent, subsequent_indent=hanging, break_long_words=False,
        break_on_hyphens=False, replace_whitespace=False,
    )  # fmt: skip
    return [line.replace(_GLUE, " ") for line in lines]
