"""robots.txt as RFC 9309 has it: read once, reduced to the rules that bind us, judged in microseconds. Pure.

Our own reader instead of a library's, because the rules of one group are all that is kept, and because the
libraries differ from the RFC where it matters: where groups end, whose they are, which escapes are equal.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from gossamer.urls import tidy_escapes

MAX_ROBOTS_BYTES = 500 * 1024  # what the RFC asks of every crawler, and all that we read
MAX_DELAY_S = 3600.0  # nobody means more
MAX_CACHED_CHARS = 1 << 12  # longer texts are too rare to be worth the memory


class Rule(NamedTuple):
    """One Allow or Disallow line, its pattern in the spelling in which patterns and paths are compared."""

    allow: bool
    pattern: str

    def __str__(self) -> str:
        """Write the rule as a line of robots.txt."""
        return f"{'Allow' if self.allow else 'Disallow'}: {self.pattern}"


class Decision(NamedTuple):
    """Whether a URL may be asked for, and the rule that says so (None: no rule matches it)."""

    allowed: bool
    rule: Rule | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsRules:
    """What one host's robots.txt asks of us: the merged groups of our token, or else those of `*`."""

    group: str = ""  # whose groups these are: our token, `*`, or nobody's
    rules: tuple[Rule, ...] = ()
    asked_delay_s: float | None = None  # by Crawl-delay or Request-rate, however absurd
    sitemaps: tuple[str, ...] = ()  # as written: neither resolved nor normalised
    matcher: _Matcher = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "matcher", _Matcher(self.rules))

    @property
    def delay_s(self) -> float | None:
        """The wait between two turns that the site asks for, within reason."""
        return None if self.asked_delay_s is None else min(self.asked_delay_s, MAX_DELAY_S)

    @property
    def delay_clamped(self) -> bool:
        """Whether the site asked for more than is reasonable."""
        return self.asked_delay_s is not None and self.asked_delay_s > MAX_DELAY_S

    def to_text(self) -> str:
        """Write a short robots.txt that `from_text` reads back."""
        lines = [f"User-agent: {self.group}"] if self.group else []
        lines += map(str, self.rules)
        if self.asked_delay_s is not None:
            lines.append(f"Crawl-delay: {self.asked_delay_s:.15g}")
        lines += (f"Sitemap: {sitemap}" for sitemap in self.sitemaps)
        return "\n".join(lines)

    @staticmethod
    def from_text(text: str) -> RobotsRules:
        """Read what `to_text` wrote. Sites share their robots.txt with many others: short ones are cached."""
        return _read_cached(text) if len(text) <= MAX_CACHED_CHARS else _read_reduced(text)


def parse_robots(body: bytes, agent: str) -> RobotsRules:
    """Read a robots.txt as `agent` (a product token, or a whole User-Agent header) has to."""
    is_cut = len(body) > MAX_ROBOTS_BYTES
    body = body[:MAX_ROBOTS_BYTES]
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        body = body.decode("utf-16", "replace").encode()
    text = body.decode("latin-1")  # one character per byte: paths are compared as bytes
    text = text.replace("\0", "").replace("\r", "\n")
    if is_cut:  # half a line could say the opposite of the whole
        text = text[: text.rfind("\n") + 1]
    return _read(text, _token_of(agent) or "*")


def allows(rules: RobotsRules, url: str) -> bool:
    """Tell whether a normalised URL may be asked for."""
    return decide(rules, url).allowed


def decide(rules: RobotsRules, url: str) -> Decision:
    """Tell whether a normalised URL may be asked for, and which rule decides."""
    path = url[url.index("/", 8) :]
    if path == "/robots.txt":
        return Decision(allowed=True)
    path = _spell(path, _ODD_IN_PATH)
    found = rules.matcher.find(path)
    if "%" in path:  # a pattern without `?` may mean either spelling
        found = max(found, rules.matcher.find(_spell_query(path)), key=itemgetter(0))
    rule = found[1]
    return Decision(allowed=rule is None or rule.allow, rule=rule)


class _Glob(NamedTuple):
    """A pattern with `*` inside: what a path starts with, holds in this order, and ends with."""

    rank: int
    rule: Rule
    start: str
    middles: list[str]
    end: str | None  # None: anything

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


class _Matcher:
    """Finds the rule that decides a path: the longest pattern that matches, an Allow before a Disallow.

    Nearly all patterns are mere prefixes: these are looked up, one look per length. The others are tried one
    after the other, each piece once and from left to right, so that none costs more than linear time.
    """

    __slots__ = ("_exact", "_globs", "_prefix_lengths", "_prefixes")

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._prefixes: dict[str, Rule] = {}
        self._exact: dict[str, Rule] = {}
        self._globs: list[_Glob] = []
        for rule in rules:
            pattern = rule.pattern.removesuffix("*")
            anchored = pattern.endswith("$")
            literal = pattern[:-1] if anchored else pattern
            if "*" in literal:
                start, *pieces = literal.split("*")
                end = pieces.pop() if anchored else None
                self._globs.append(_Glob(_rank(rule), rule, start, pieces, end))
            else:
                known = self._exact if anchored else self._prefixes
                if known.setdefault(literal, rule) is not rule:
                    known[literal] = max(rule, known[literal], key=_rank)
        self._prefix_lengths = sorted(set(map(len, self._prefixes)), reverse=True)
        self._globs.sort(reverse=True, key=lambda glob: glob.rank)

    def find(self, path: str) -> tuple[int, Rule | None]:
        """Return the deciding rule with its rank; without a rule the rank is -1."""
        best = self._exact.get(path)
        best_rank = _rank(best) if best else -1
        for length in self._prefix_lengths:
            if best_rank > 2 * (length + 1) + 1:  # a prefix's rank counts a `*` behind it
                break
            found = self._prefixes.get(path[:length])
            if found and _rank(found) > best_rank:
                best, best_rank = found, _rank(found)
        for glob in self._globs:
            if glob.rank <= best_rank:
                break
            if glob.matches(path):
                return glob.rank, glob.rule
        return best_rank, best


def _rank(rule: Rule) -> int:
    """The longer the pattern, the higher; of two as long, an Allow is."""
    return 2 * len(rule.pattern) + rule.allow


@dataclass(slots=True)
class _Group:
    """What the groups of one token, merged, ask for."""

    is_named: bool = False
    rules: dict[Rule, None] = field(default_factory=dict)
    delay_s: float | None = None

    def take(self, kind: str, value: str) -> None:
        """Add what a line says: Allow, Disallow, or else Crawl-delay or Request-rate."""
        if kind in "ad":
            if value.startswith(("/", "*")):
                self.rules[Rule(kind == "a", _spell_pattern(value))] = None
        elif (delay_s := _delay_of(value)) is not None:
            self.delay_s = max(delay_s, self.delay_s or 0.0)


def _read(text: str, token: str) -> RobotsRules:
    """Collect what binds `token`. A group is its agents, then its rules; no other line ends either."""
    groups = {"*": _Group(), token: _Group()}
    bound: list[_Group] = []  # those of the two that the current lines speak to
    in_rules = False
    sitemaps: dict[str, None] = {}
    for name, value in _LINE.findall(text):
        kind = name[0].lower()
        if kind == "u":
            if in_rules:
                bound, in_rules = [], False
            if group := groups.get(_token_of(value)):
                group.is_named = True
                bound.append(group)
        elif kind == "s":
            if sitemap := value.encode("latin-1").decode("utf-8", "replace").strip():
                sitemaps[sitemap] = None
        else:
            in_rules = in_rules or kind in "ad"
            for group in bound:
                group.take(kind, value.rstrip(" \t"))
    owner = next((name for name in (token, "*") if groups[name].is_named), "")
    binding = groups[owner] if owner else _Group()
    return RobotsRules(group=owner, rules=tuple(binding.rules), asked_delay_s=binding.delay_s, sitemaps=tuple(sitemaps))


def _read_reduced(text: str) -> RobotsRules:
    group = text.partition("\n")[0].removeprefix("User-agent: ")
    return _read(text.encode().decode("latin-1"), group)


_read_cached = lru_cache(maxsize=1 << 9)(_read_reduced)


def _token_of(agent: str) -> str:
    """Return the product token that an agent's name begins with: `gossamer` for `Gossamer/1.0 (+https://…)`."""
    token = _TOKEN.match(agent)
    return token[0].lower() if token else ""


def _delay_of(value: str) -> float | None:
    """Return the seconds between two requests that `2.5` or `1/10m` ask for, to the millisecond."""
    if rate := _RATE.match(value):
        requests, period, unit = int(rate[1]), int(rate[2]), rate[3].lower()
        seconds = period * _UNIT_S[unit] / requests if requests else None
    else:
        seconds = float(number[0]) if (number := _NUMBER.match(value)) else None
    return None if seconds is None else round(seconds, 3)


def _spell_pattern(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    pattern = _STARS.sub("*", _spell_query(_spell(value.removesuffix("$"), _ODD_IN_PATTERN)))
    return pattern + "$" if value.endswith("$") else pattern


def _spell(path: str, odd: re.Pattern[str]) -> str:
    """Return the one spelling of a path under which RFC 9309 compares it."""
    path = odd.sub(_escape, path)
    return tidy_escapes(path) if "%" in path else path


def _spell_query(path: str) -> str:
    """Decode what is reserved elsewhere but not in a query: the RFC's own example has both spellings."""
    head, mark, query = path.partition("?")
    return head + mark + query.replace("%3A", ":").replace("%2F", "/").replace("%27", "'")


def _escape(odd: re.Match[str]) -> str:
    return f"%{ord(odd[0]):02X}"


# The lines that mean something, with the misspellings that search engines understand. Possessive throughout:
# a line is scanned once. A byte-order mark may stand where files were joined.
_LINE = re.compile(
    r"^[ \t\xEF\xBB\xBF]*+"
    r"(user[ -]?agent|allow|dis+al+ow|disallaw|diasllow|crawl[ -]?delay|request[ -]?rate|site-?maps?)"
    r"(?:[ \t]*+:|[ \t]++)[ \t]*+([^#\n]*+)",
    re.ASCII | re.IGNORECASE | re.MULTILINE,
)
# The RFC's letters, `_` and `-`; digits and dots as well, because real crawlers have them in their names.
_TOKEN = re.compile(r"\*(?![^ \t])|[A-Za-z0-9_.-]+")
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?|\.[0-9]{1,9}")
_RATE = re.compile(r"([0-9]{1,9})[ \t]*/[ \t]*([0-9]{1,9})[ \t]*([smhd]?)", re.IGNORECASE)
_UNIT_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_PLAIN = re.compile(r"(?:[A-Za-z0-9._~/?=&-]++|\*(?!\*))*+\$?")  # in its one spelling already
_STARS = re.compile(r"\*{2,}")
# What is neither unreserved nor reserved is compared escaped; so are `*` and `$` that mean themselves.
_ODD_IN_PATH = re.compile(r"[^A-Za-z0-9._~:/?#\[\]@!&'()+,;=%-]")
_ODD_IN_PATTERN = re.compile(r"[^A-Za-z0-9._~:/?#\[\]@!&'()+,;=%*-]")
