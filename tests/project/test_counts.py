"""Counts in messages: `wording.count` writes the noun, so that no message says "1 sites"."""

from __future__ import annotations

import re
from pathlib import Path

from gossamer.wording import count

SOURCE = Path(__file__).parents[2] / "src"
NOUNS = (
    "answers|bytes|characters|failures|files|hosts|lines|links|pages|problems|requests|rows|rules|seeds|servers|sites|times"
    "|tries|turns|URLs|violations|workers"
)
# A placeholder of an f-string, or of a log message, and then a plural.
COUNTED = re.compile(rf"(\}}|%d) (?:(?:more|of them|queued|stored|done) )?({NOUNS})\b(?! a second|/s)")


def test_one_thing_is_not_written_as_many() -> None:
    assert count(1, "site") == "1 site"
    assert count(0, "site") == "0 sites"
    assert count(1_000, "try", "tries") == "1,000 tries"


EXCEPTIONS = ("MAX_URL_CHARS", "{name} requests")  # a constant in a module that imports nothing of ours; a verb


def test_no_message_puts_a_plural_behind_a_number_by_itself() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for path in sorted(SOURCE.rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if COUNTED.search(line) and not any(exception in line for exception in EXCEPTIONS)
    ]
    assert found == []
