"""Patterns of robots.txt: the spelling in which they are compared with paths, and which one applies. Pure.

No pattern is costly: its pieces are searched from left to right, and no part of a path is searched twice.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from gossamer.urls import tidy_escapes

if TYPE_CHECKING:
    from collections.abc import Iterable

GRAM_CHARS: Final = 3  # globs are looked up by this many characters at the end of their last piece


class Rule(NamedTuple):
    """One Allow or Disallow line, its pattern in the spelling in which patterns and paths are compared."""

    allow: bool
    pattern: str

    def __str__(self) -> str:
        """Write the rule as a line of robots.txt."""
        return f"{'Allow' if self.allow else 'Disallow'}: {self.pattern}"


class Matcher:
    """Finds the rule that applies to a path: the longest pattern that matches, an Allow before a Disallow.

    Nearly all patterns are prefixes: these are looked up in a dictionary, once per length. A pattern with `*` inside is
    split and tried only if its last piece can be in the path.
    """

    __slots__ = ("_exact", "_globs", "_prefix_lengths", "_prefixes", "_unread_globs")

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._prefixes: dict[str, Rule] = {}
        self._exact: dict[str, Rule] = {}
        self._unread_globs: defaultdict[str, list[Rule]] = defaultdict(list)  # by gram; "": tried for every path
        self._globs: dict[str, list[_Glob]] = {}  # by gram, the highest rank first
        for rule in rules:
            literal, anchored = _literal_of(rule.pattern)
            if "*" in literal:
                gram = literal[literal.rindex("*") + 1 :][-GRAM_CHARS:]
                self._unread_globs[gram if len(gram) == GRAM_CHARS else ""].append(rule)
            else:
                known = self._exact if anchored else self._prefixes
                if known.setdefault(literal, rule) is not rule:
                    known[literal] = max(rule, known[literal], key=_rank)
        self._prefix_lengths = sorted(set(map(len, self._prefixes)), reverse=True)

    def find(self, path: str) -> tuple[int, Rule | None]:
        """Return the rule that applies to a spelled path, with its rank; without a rule the rank is -1."""
        best = self._exact.get(path)
        best_rank = _rank(best) if best else -1
        for length in self._prefix_lengths:
            if best_rank > 2 * (length + 1) + 1:  # a prefix's rank counts a `*` behind it
                break
            found = self._prefixes.get(path[:length])
            if found and _rank(found) > best_rank:
                best, best_rank = found, _rank(found)
        for gram in self._grams_in(path):
            for glob in self._globs[gram]:
                if glob.rank <= best_rank:
                    break
                if glob.matches(path):
                    best, best_rank = glob.rule, glob.rank
                    break
        return best_rank, best

    def _grams_in(self, path: str) -> set[str]:
        """Return the grams of globs that the path could match; such globs are split now, if they were not before."""
        if not self._unread_globs and not self._globs:
            return set()
        grams = {path[start : start + GRAM_CHARS] for start in range(len(path) - GRAM_CHARS + 1)} | {""}
        for gram in self._unread_globs.keys() & grams:
            globs = map(_Glob.of, self._unread_globs.pop(gram))
            self._globs[gram] = sorted(globs, reverse=True, key=_Glob.by_rank)
        return self._globs.keys() & grams


class _Glob(NamedTuple):
    """A pattern with `*` inside: what a path starts with, contains in this order, and ends with."""

    rank: int
    rule: Rule
    start: str
    middles: list[str]
    end: str | None  # None: anything

    @staticmethod
    def of(rule: Rule) -> _Glob:
        literal, anchored = _literal_of(rule.pattern)
        start, *pieces = literal.split("*")
        end = pieces.pop() if anchored else None
        return _Glob(_rank(rule), rule, start, pieces, end)

    def by_rank(self) -> int:
        return self.rank

    def matches(self, path: str) -> bool:
        if not path.startswith(self.start):
            return False
        position = len(self.start)
        for piece in self.middles:
            found = path.find(piece, position)
            if found < 0:
                return False
            position = found + len(piece)
        return self.end is None or (path.endswith(self.end) and position + len(self.end) <= len(path))


def _literal_of(pattern: str) -> tuple[str, bool]:
    """Return a pattern without `*` or `$` at its end, and whether the path has to end there too."""
    pattern = pattern.removesuffix("*")
    return (pattern[:-1], True) if pattern.endswith("$") else (pattern, False)


def _rank(rule: Rule) -> int:
    """Return the rank of a rule: a longer pattern ranks higher; of two equally long ones, the Allow."""
    return 2 * len(rule.pattern) + rule.allow


def spell_pattern(value: str) -> str:
    """Return the one spelling of a pattern; `value` has a character for each byte."""
    if "**" not in value and _PLAIN.fullmatch(value):
        return value
    pattern = value.removesuffix("$").translate(_ODD_IN_PATTERN)
    if "%" in value:  # `translate` wrote only valid escapes
        pattern = spell_query(tidy_escapes(pattern))
    if "**" in pattern:
        pattern = _STARS.sub("*", pattern)
    return pattern + "$" if value.endswith("$") else pattern


def spell_path(path: str) -> str:
    """Return the one spelling of a normalised path with its query under which RFC 9309 compares it."""
    path = path.translate(_ODD_IN_PATH)
    return tidy_escapes(path) if "%" in path else path


def spell_query(path: str) -> str:
    """Decode characters that are reserved in a path but not in a query: the RFC's own example has both spellings."""
    head, mark, query = path.partition("?")
    return head + mark + query.replace("%3A", ":").replace("%2F", "/").replace("%27", "'") if mark else path


def _escapes(plain: str) -> dict[int, str]:
    """Return the escape of every character, one per byte, that is not in `plain`."""
    return {byte: f"%{byte:02X}" for byte in range(256) if chr(byte) not in plain}


# Characters that are neither unreserved nor reserved are compared escaped; so are literal `*` and `$`.
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_COMPARED_PLAIN = _LETTERS + "-._~:/?#[]@!&'()+,;=%"
_ODD_IN_PATH = _escapes(_COMPARED_PLAIN)
_ODD_IN_PATTERN = _escapes(_COMPARED_PLAIN + "*")
_PLAIN = re.compile(r"[A-Za-z0-9._~/?=&*-]*\$?")  # has only one spelling, except for repeated stars
_STARS = re.compile(r"\*{2,}")
