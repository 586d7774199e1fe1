"""Patterns of robots.txt: the spelling in which they are compared with paths, and which one applies. Pure.

A robots.txt is data, not a program: no file makes a decision take longer than a few milliseconds. Prefixes are looked
up. The pieces of a pattern with wildcards are searched from left to right, and no part of a path is searched twice.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from gossamer.urls import tidy_escapes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GRAM_CHARS: Final = 3  # globs are looked up by this many characters at the end of their last piece
NO_GRAM: Final = "***"  # of globs whose last piece is shorter: they are tried for every path
PLAIN_SEARCH: Final = 2_048  # up to this product of lengths a plain search is fast, whatever the texts are
CHEAP_SEARCH: Final = 512  # such a search is a single step
MAX_STEPS: Final = 5_000  # for the globs of a path: about 2 ms

# The caps of a file. RFC 9309 has none; it asks to read at least 500 KiB, and Google reads no more.
MAX_PATTERN_CHARS: Final = 2_000  # no URL of a crawl is longer
MAX_WILDCARDS: Final = 32  # inside one pattern
MAX_GLOBS: Final = 2_500  # rules with a wildcard inside


class Rule(NamedTuple):
    """One Allow or Disallow line, its pattern in the spelling in which patterns and paths are compared."""

    allow: bool
    pattern: str

    def __str__(self) -> str:
        """Write the rule as a line of robots.txt."""
        return f"{'Allow' if self.allow else 'Disallow'}: {self.pattern}"


class Finder(Protocol):
    """Finds the rule without `*` inside that applies to a path."""

    def find(self, path: str) -> tuple[int, Rule | None]:
        """Return the rule of the highest rank that matches a spelled path, with its rank; -1 without a rule."""


class Matcher:
    """Finds the rule that applies to a path: the longest pattern that matches, an Allow before a Disallow."""

    __slots__ = ("_globs", "_literals")

    def __init__(self, literals: Finder, globs: Globs) -> None:
        self._literals = literals
        self._globs = globs

    @staticmethod
    def of(rules: Iterable[Rule]) -> Matcher:
        """Return the matcher of a few rules."""
        literals: list[Rule] = []
        globs: list[Rule] = []
        for rule in rules:
            (globs if is_glob(rule.pattern) else literals).append(rule)
        globs.sort(key=rank_of, reverse=True)
        return Matcher(_Literals(literals), Globs(map(gram_of, globs), map(str, globs)))

    def find(self, path: str, max_steps: int = MAX_STEPS) -> tuple[int, Rule | None]:
        """Return the rule that applies to a spelled path, with its rank; without a rule the rank is -1."""
        return self._globs.find(path, *self._literals.find(path), max_steps)


class _Literals:
    """Patterns without `*` inside, in dictionaries: one look for each length."""

    __slots__ = ("_exact", "_lengths", "_prefixes")

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._prefixes: dict[str, Rule] = {}
        self._exact: dict[str, Rule] = {}
        for rule in rules:
            literal, anchored = literal_of(rule.pattern)
            known = self._exact if anchored else self._prefixes
            if known.setdefault(literal, rule) is not rule:
                known[literal] = max(rule, known[literal], key=rank_of)
        self._lengths = sorted(set(map(len, self._prefixes)), reverse=True)

    def find(self, path: str) -> tuple[int, Rule | None]:
        """Return the rule that matches a path, with its rank."""
        best = self._exact.get(path)
        best_rank = rank_of(best) if best else -1
        for length in self._lengths:
            if best_rank > 2 * (length + 1) + 1:  # a prefix's rank counts a `*` behind it
                break
            found = self._prefixes.get(path[:length])
            if found and rank_of(found) > best_rank:
                best, best_rank = found, rank_of(found)
        return best_rank, best


class Globs:
    """Patterns with `*` inside. One is split and tried only if its last piece can be in the path.

    The work for a path is bounded by steps, each a fraction of a microsecond. A file and a path that were not made for
    each other never need that many. When the steps are used up, all globs count as those over the caps: see
    `reduce_rule`.
    """

    __slots__ = ("_globs", "_prefixes", "_unread")

    def __init__(self, grams: Iterable[str], lines: Iterable[str]) -> None:
        """Take rules as lines, the highest rank first, and the gram of each."""
        self._unread: defaultdict[str, list[str]] = defaultdict(list)  # lines by gram
        self._globs: dict[str, list[_Glob]] = {}  # by gram
        self._prefixes: _Literals | None = None  # what all globs count as when the steps are used up
        for gram, line in zip(grams, lines, strict=True):
            self._unread[gram].append(line)

    def find(self, path: str, best_rank: int, best: Rule | None, max_steps: int) -> tuple[int, Rule | None]:
        """Return the rule with the highest rank: the given one, or a glob that matches the path."""
        grams = self._grams_in(path)
        if not grams:
            return best_rank, best
        search = _PathSearch(path, max_steps)
        for gram in grams:
            for glob in self._read(gram):
                if glob.rank <= best_rank:
                    break
                if search.matches(glob):
                    best, best_rank = glob.rule, glob.rank
                    break
                if search.steps_left < 0:
                    return max((best_rank, best), self._find_prefix(path), key=itemgetter(0))
        return best_rank, best

    def _grams_in(self, path: str) -> list[str]:
        """Return the grams of globs that the path could match."""
        known = self._unread.keys() | self._globs.keys()
        if not known:
            return []
        grams = {path[start : start + GRAM_CHARS] for start in range(len(path) - GRAM_CHARS + 1)}
        # Sorted, because the place where the steps end must not depend on the order of a set.
        return sorted(known & (grams | {NO_GRAM}))

    def _read(self, gram: str) -> Iterator[_Glob]:
        """Yield the globs of a gram, the highest rank first; each is split when it is first needed."""
        globs = self._globs.setdefault(gram, [])
        yield from globs
        lines = self._unread.get(gram, [])
        for line in lines[len(globs) :]:
            glob = _Glob.of(rule_of(line))
            globs.append(glob)
            yield glob

    def _find_prefix(self, path: str) -> tuple[int, Rule | None]:
        if self._prefixes is None:
            lines = chain.from_iterable(self._unread.values())
            heads = {line[: line.index("*")] for line in lines if line[0] == "D"}
            self._prefixes = _Literals(filter(None, map(reduce_rule, map(rule_of, heads))))
        return self._prefixes.find(path)


class _Glob(NamedTuple):
    """A pattern with `*` inside: what a path starts with, contains in this order, and ends with."""

    rank: int
    rule: Rule
    start: str
    middles: list[str]
    end: str | None  # None: anything

    @staticmethod
    def of(rule: Rule) -> _Glob:
        literal, anchored = literal_of(rule.pattern)
        pieces = literal.split("*")
        end = pieces.pop() if anchored else None
        return _Glob(2 * len(rule.pattern) + rule.allow, rule, pieces.pop(0), pieces, end)


class _PathSearch:
    """Searches a path for the pieces of globs, from left to right, in time that no piece can make quadratic."""

    __slots__ = ("_found", "_masks", "_reversed", "path", "steps_left")

    def __init__(self, path: str, steps: int) -> None:
        self.steps_left = steps
        self.path = path
        self._reversed = b""
        self._masks: dict[str, int] = {}  # by character: a bit for each place where it is in the path
        self._found: dict[str, int] = {}  # by piece: a bit for each place where it begins

    def matches(self, glob: _Glob) -> bool:
        path = self.path
        self.steps_left -= 1 + (len(glob.rule.pattern) >> 6)  # a long one also takes time to split
        if not path.startswith(glob.start):
            return False
        position = len(glob.start)
        for piece in glob.middles:
            cost = len(piece) * len(path)
            self.steps_left -= 1 if cost <= CHEAP_SEARCH else 2
            found = path.find(piece, position) if cost <= PLAIN_SEARCH else self._find_by_bits(piece, position)
            if found < 0:
                return False
            position = found + len(piece)
        return glob.end is None or (path.endswith(glob.end) and position + len(glob.end) <= len(path))

    def _find_by_bits(self, piece: str, position: int) -> int:
        """Search as `str.find` does, whose time can grow with the product of both lengths."""
        places = self._found.get(piece)
        if places is None:
            places = self._found[piece] = self._places_of(piece)
        places >>= position
        return position + (places & -places).bit_length() - 1 if places else -1

    def _places_of(self, piece: str) -> int:
        places = -1
        for offset, char in enumerate(piece):
            self.steps_left -= 1
            mask = self._masks.get(char)
            if mask is None:
                mask = self._masks[char] = self._mask_of(char)
            places &= mask >> offset
            if not places:
                break
        return places

    def _mask_of(self, char: str) -> int:
        self.steps_left -= 1 + (len(self.path) >> 6)
        if not self._reversed:
            self._reversed = self.path[::-1].encode("latin-1", "replace")
        ones = bytearray(b"0" * 256)
        ones[ord(char) & 0xFF] = ord("1")
        return int(self._reversed.translate(ones), 2)


def find_all(rules: Iterable[Rule], path: str, max_steps: int = MAX_STEPS) -> list[Rule] | None:
    """Return the rules that match a spelled path, in their order; None if that takes too many steps."""
    search = _PathSearch(path, max_steps)
    found = [rule for rule in rules if search.steps_left >= 0 and _matches(rule, search)]
    return None if search.steps_left < 0 else found


def _matches(rule: Rule, search: _PathSearch) -> bool:
    literal, anchored = literal_of(rule.pattern)
    if "*" in literal:
        return search.matches(_Glob.of(rule))
    return search.path == literal if anchored else search.path.startswith(literal)


def literal_of(pattern: str) -> tuple[str, bool]:
    """Return a pattern without `*` or `$` at its end, and whether the path has to end there too."""
    pattern = pattern.removesuffix("*")
    return (pattern[:-1], True) if pattern.endswith("$") else (pattern, False)


def rank_of(rule: Rule) -> int:
    """Return the rank of a rule: a longer pattern ranks higher; of two equally long ones, the Allow."""
    return 2 * len(rule.pattern) + rule.allow


def rule_of(line: str) -> Rule:
    """Return the rule that a line of robots.txt was written from."""
    return Rule(True, line[7:]) if line[0] == "A" else Rule(False, line[10:])


def gram_of(rule: Rule) -> str:
    """Return the characters without which no path matches a glob."""
    last = literal_of(rule.pattern)[0].rpartition("*")[2]
    return last[-GRAM_CHARS:] if len(last) >= GRAM_CHARS else NO_GRAM


def is_glob(pattern: str) -> bool:
    """Return whether a pattern has `*` inside, and not only at its end."""
    return "*" in pattern.removesuffix("*")


def reduce_rule(rule: Rule) -> Rule | None:
    """Return what a rule over a cap counts as: a Disallow as its literal prefix; an Allow is dropped."""
    if rule.allow:
        return None
    prefix = rule.pattern.partition("*")[0].removesuffix("$")[:MAX_PATTERN_CHARS]
    return Rule(False, prefix or "/")


def cap_rules(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules of a file within the caps, each once, in their order; those over a cap are reduced."""
    kept: dict[Rule, None] = {}
    globs = 0
    for rule in rules:
        if rule in kept:
            continue
        wildcards = rule.pattern.count("*", 0, -1)
        globs += wildcards > 0
        is_over = wildcards > MAX_WILDCARDS or (wildcards and globs > MAX_GLOBS)
        within = reduce_rule(rule) if is_over or len(rule.pattern) > MAX_PATTERN_CHARS else rule
        if within is not None:
            kept[within] = None
    return tuple(kept)


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
