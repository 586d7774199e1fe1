"""Answers questions in JSON lines: one answer for each line on standard input. Used by the commands of `check`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from gossamer.cli.wording import count
from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


_EXAMPLE: Final = "the option --help shows an example"


class MalformedError(Exception):
    """A question that cannot be read, and why."""


def answer_each(
    answer: Callable[[dict[str, Any]], dict[str, Any]], questions: list[dict[str, str]] | None = None
) -> None:
    """Answer the questions of the command line, else those on standard input, each with one line."""
    lines: Iterable[bytes] = [json.dumps(question).encode() for question in questions or ()]
    if not lines and sys.stdin is not None:  # else the parent process has closed it: there are no questions
        lines = sys.stdin.buffer
        if sys.stdin.isatty():
            click.echo(f"Reading JSON lines from this terminal, until Ctrl-D: {_EXAMPLE}.", err=True)
    asked = malformed = 0
    for line in lines:
        asked += 1
        try:
            answered = answer(_read_question(line))
        except MalformedError as why:
            malformed += 1
            answered = {"error": str(why)}
        click.echo(json.dumps(answered))  # flushed line by line: a program may wait for the answer
    if not asked:
        raise GossamerError(f"There is no question: write JSON lines to standard input; {_EXAMPLE}.")
    if malformed:
        raise GossamerError(f"{malformed} of {count(asked, 'line')} could not be understood.")


def _read_question(line: bytes) -> dict[str, Any]:
    try:
        question = json.loads(line.decode())
    except UnicodeDecodeError:
        raise MalformedError("not UTF-8") from None
    except (ValueError, RecursionError):
        raise MalformedError("not JSON") from None
    if not isinstance(question, dict):
        raise MalformedError("not a JSON object")
    return question


def text_of(question: dict[str, Any], name: str) -> str:
    """Return a field of a question; raises MalformedError if it is missing or not text."""
    value = question.get(name)
    if not isinstance(value, str):
        raise MalformedError(f"{name} is missing" if value is None else f"{name} is not a string")
    return value
