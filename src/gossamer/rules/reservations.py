"""/.well-known/tdmrep.json, the file of the W3C's TDM Reservation Protocol: which pages of a host are reserved. Pure.

The file is an array of rules, each with a `location` (a pattern as in robots.txt) and a `tdm-reservation` of 0 or 1. It
is data of a stranger: its size, the number of its rules and the work for one page are bounded. In doubt a page counts
as reserved, because only operators who want to respect reservations have the file read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from gossamer.rules.patterns import Rule, cap_rules, find_all, spell_path, spell_pattern, spell_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TDMREP_PATH: Final = "/.well-known/tdmrep.json"
MAX_TDMREP_BYTES: Final = 64 * 1024  # a longer file counts as one that cannot be read
MAX_RULES: Final = 500
MAX_RULE_CHARS: Final = 24_000  # of all of them: they are stored with the host

# A rule of robots.txt with the same meaning: a Disallow is a reservation of 1, an Allow one of 0.
RESERVES_ALL: Final = Rule(False, "/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservations:
    """What a host's tdmrep.json says, and for how long that holds."""

    rules: tuple[Rule, ...] = ()  # in the order of the file
    expires_at: float = 0.0  # Unix seconds; 0: the file was never read
    failures: int = 0  # requests in a row that failed

    @property
    def was_read(self) -> bool:
        """Whether the file was read, or found not to exist, ever."""
        return self.expires_at > 0

    def to_lines(self) -> list[str]:
        """Write what `from_lines` reads back; nothing if nothing is known."""
        if self == UNKNOWN:
            return []
        return [f"{self.expires_at!r} {self.failures}", *(f"{int(rule.allow)} {rule.pattern}" for rule in self.rules)]

    @staticmethod
    def from_lines(lines: Sequence[str]) -> Reservations:
        """Read what `to_lines` wrote."""
        if not lines:
            return UNKNOWN
        expires_at, failures = lines[0].split(" ")
        rules = tuple(Rule(line[0] == "1", line[2:]) for line in lines[1:])
        return Reservations(rules=rules, expires_at=float(expires_at), failures=int(failures))


UNKNOWN: Final = Reservations()


def parse_tdmrep(body: bytes) -> tuple[Rule, ...]:
    """Return the rules of a tdmrep.json.

    Servers that have no such file often send a page for people instead: what does not begin like JSON has no rules.
    What does, but cannot be read, reserves everything: its owner wanted to reserve something.
    """
    text = body[: MAX_TDMREP_BYTES + 1].decode("utf-8-sig", "replace").lstrip()
    if not text.startswith(("[", "{")):
        return ()
    if len(body) > MAX_TDMREP_BYTES:
        return (RESERVES_ALL,)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return (RESERVES_ALL,)
    return _within_caps(found if isinstance(found, list) else [found])  # the brackets are easily forgotten


def find_reservation(reservations: Reservations, url: str) -> bool | None:
    """Return whether the file reserves a page; None if it says nothing about it.

    The protocol calls the rule that applies "the most specific", and also "the first in sequence". Where these differ,
    either of them reserves the page.
    """
    if not reservations.rules:
        return None
    path = spell_path(url[url.index("/", 8) :])
    found = [_judge(find_all(reservations.rules, spelling)) for spelling in {path, spell_query(path)}]
    said = [reserved for reserved in found if reserved is not None]
    return any(said) if said else None


def _judge(matching: Sequence[Rule] | None) -> bool | None:
    if matching is None:
        return True  # it would take too long to find out
    if not matching:
        return None
    longest = max(len(rule.pattern) for rule in matching)
    return not matching[0].allow or any(not rule.allow for rule in matching if len(rule.pattern) == longest)


def _within_caps(entries: Iterable[Any]) -> tuple[Rule, ...]:
    """Return the rules among the entries of a file; what is behind a cap counts as reserved."""
    kept: dict[Rule, None] = {}
    chars = 0
    for rule in filter(None, map(_rule_of, entries)):
        chars += len(rule.pattern)
        if len(kept) == MAX_RULES or chars > MAX_RULE_CHARS:
            kept[RESERVES_ALL] = None
            break
        kept[rule] = None
    return tuple(kept)


def _rule_of(entry: Any) -> Rule | None:
    """Return one entry of the file as a rule; None if it says nothing: other values than 0 and 1 count as unset."""
    if not isinstance(entry, dict):
        return None
    location, value = entry.get("location"), entry.get("tdm-reservation")
    if not isinstance(location, str) or value not in (0, 1, "0", "1"):
        return None
    is_free = value in (0, "0")
    if not location.startswith(("/", "*")):
        return None if is_free else RESERVES_ALL
    pattern = spell_pattern(location.encode("utf-8", "replace").decode("latin-1"))
    return next(iter(cap_rules([Rule(is_free, pattern)])), None)
