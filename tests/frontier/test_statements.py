"""Every named SQL statement says what it is for and why it is correct."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gossamer.frontier

FOLDER = Path(gossamer.frontier.__file__).parent
FILES = sorted(file.relative_to(FOLDER).as_posix() for file in FOLDER.rglob("*.sql") if "migrations" not in file.parts)
LEAST_CHARACTERS = 30  # of a sentence that says something


def uncommented(text: str) -> list[str]:
    """Return the names of the statements in a file whose comment is missing or is no sentence."""
    _, *named = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)
    comments = {name: _comment(rest) for name, rest in zip(named[::2], named[1::2], strict=True)}
    return [name for name, comment in comments.items() if len(comment) < LEAST_CHARACTERS or not comment.endswith(".")]


def _comment(text: str) -> str:
    """Return the comment at the head of a statement; the marks of planted bugs are none."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("-- ") or line.startswith("-- plant:"):
            break
        lines.append(line.removeprefix("-- "))
    return " ".join(lines)


@pytest.mark.parametrize("file", FILES)
def test_every_statement_has_a_comment(file: str) -> None:
    text = (FOLDER / file).read_text(encoding="utf-8")
    assert text.count("-- name: ") > 3
    assert uncommented(text) == []


def test_a_mark_or_a_word_is_no_comment() -> None:
    assert uncommented("-- name: a\n-- plant: x\nSELECT 1\n\n-- name: b\n-- Yes.\nSELECT 1\n") == ["a", "b"]
