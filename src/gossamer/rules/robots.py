"""robots.txt after RFC 9309: parsed once, reduced to the rules for our crawler, evaluated in microseconds. Pure.

We have our own parser, because only the rules of one group are kept, and because the libraries differ from the RFC
where it matters: where groups end, to which crawlers they apply, which escapes are equal.
"""

from __future__ import annotations

import codecs
import re
from collections import OrderedDict
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from gossamer.rules.packed_rules import BLOCKS, PackedRules
from gossamer.rules.patterns import (
    MAX_STEPS,
    Matcher,
    Rule,
    cap_rules,
    spell_path,
    spell_pattern,
    spell_query,
)
from gossamer.rules.reservations import UNKNOWN, Reservations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.records import HostState

MAX_ROBOTS_BYTES = 500 * 1024  # the least that the RFC asks of every crawler, and all that we read
MAX_DELAY_S = 3600.0  # a longer Crawl-delay is a mistake
MAX_USAGES = 50  # lines about the use of content that are kept
MAX_USAGE_CHARS = 500
MAX_LICENSES = 5
MAX_LICENSE_CHARS = 500  # of each
MAX_SITEMAPS = 500  # lines that are kept
MAX_SITEMAP_CHARS = 24_000  # of all of them
CACHE_BYTES = 24 << 20  # for rules that were read
SHORT_CHARS = 1 << 12  # rules that are longer are stored packed


class Decision(NamedTuple):
    """Whether a URL may be requested, and the rule that says so (None: no rule matches it)."""

    allowed: bool
    rule: Rule | None = None


class Usage(NamedTuple):
    """One line that says how the content under a pattern may be used: Content-Signal, Content-Usage or License."""

    name: str
    pattern: str
    value: str  # as written

    def __str__(self) -> str:
        """Write it as a line of robots.txt."""
        return f"{self.name}: {self.pattern} {self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsRules:
    """What one host's robots.txt asks of us: the merged groups of our token, or else those of `*`."""

    group: str = ""  # the token of these groups: ours or `*`; empty if no group applies to us
    rules: Sequence[Rule] = ()  # in the order of the file, or packed if there are many
    asked_delay_s: float | None = None  # by Crawl-delay or Request-rate, as written
    usages: tuple[Usage, ...] = ()
    sitemaps: tuple[str, ...] = ()  # as written: neither resolved nor normalised
    moved_to: tuple[str, ...] = ()  # targets of the redirects of robots.txt, in order; the rules are from the last
    outcome: str = ""  # what was found there instead of rules; empty if rules were found, or it did not redirect
    reservations: Reservations = UNKNOWN  # of the host's tdmrep.json, which is stored with its robots.txt
    _matcher: list[Matcher] = field(default_factory=list, init=False, repr=False, compare=False)  # when first needed

    @property
    def matcher(self) -> Matcher:
        """The matcher of these rules; cached."""
        if not self._matcher:
            rules = self.rules
            self._matcher.append(rules.matcher() if isinstance(rules, PackedRules) else Matcher.of(rules))
        return self._matcher[0]

    @property
    def delay_s(self) -> float | None:
        """The wait between two turns that the site asks for, MAX_DELAY_S at most."""
        return None if self.asked_delay_s is None else min(self.asked_delay_s, MAX_DELAY_S)

    @property
    def delay_clamped(self) -> bool:
        """Whether the site asked for more than MAX_DELAY_S."""
        return self.asked_delay_s is not None and self.asked_delay_s > MAX_DELAY_S

    def to_text(self) -> str:
        """Write a short robots.txt that `from_text` reads back."""
        packed = self.rules if isinstance(self.rules, PackedRules) else None
        lines = [f"User-agent: {self.group}"] if self.group else []
        lines += map(str, self.rules if packed is None else ())
        if self.asked_delay_s is not None:
            lines.append(f"Crawl-delay: {self.asked_delay_s:.15g}")
        lines += map(str, self.usages)
        lines += (f"Sitemap: {sitemap}" for sitemap in self.sitemaps)
        lines += (f"Moved-to: {url}" for url in self.moved_to)
        lines += [f"Outcome: {self.outcome}"] if self.outcome else []
        lines += (f"Tdmrep: {line}" for line in self.reservations.to_lines())
        lines += [] if packed is None else [packed.text]
        return "\n".join(lines)

    @staticmethod
    def from_text(text: str) -> RobotsRules:
        """Read what `to_text` wrote; cached."""
        return _CACHE.read(text)


def parse_robots(body: bytes, agent: str) -> RobotsRules:
    """Return the rules of a robots.txt for `agent` (a product token, or a whole User-Agent header)."""
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
    """Return whether a normalised URL may be requested."""
    return decide(rules, url).allowed


def decide(rules: RobotsRules, url: str) -> Decision:
    """Return whether a normalised URL may be requested, and which rule decides."""
    path = url[url.index("/", 8) :]
    if path == "/robots.txt":
        return Decision(allowed=True)
    rule = _find(rules.matcher, path)
    return Decision(allowed=rule is None or rule.allow, rule=rule)


def usages_for(rules: RobotsRules, url: str) -> list[Usage]:
    """Return the lines about the use of a page: for each name those with the longest pattern that matches."""
    path = url[url.index("/", 8) :]
    found = []
    for name in dict.fromkeys(usage.name for usage in rules.usages):
        usages = [usage for usage in rules.usages if usage.name == name]
        rule = _find(Matcher.of(Rule(True, usage.pattern) for usage in usages), path)
        found += [usage for usage in usages if rule and usage.pattern == rule.pattern]
    return found


def robots_signals(state: HostState | None, url: str) -> list[tuple[str, str]]:
    """Return what a host's robots.txt says about the use of a page, as names and values."""
    rules = RobotsRules.from_text(state.rules) if state else None
    if rules is None or not rules.usages:
        return []
    return [(usage.name.lower(), usage.value) for usage in usages_for(rules, url)]


def _find(matcher: Matcher, path: str) -> Rule | None:
    path = spell_path(path)
    spellings = {path, spell_query(path)}  # a pattern without `?` may mean either
    if len(spellings) == 1:
        return matcher.find(path)[1]
    return max((matcher.find(each, MAX_STEPS // 2) for each in spellings), key=itemgetter(0))[1]


@dataclass(slots=True, eq=False)
class _Group:
    """The merged groups of one token."""

    is_named: bool = False
    rules: list[tuple[str, str]] = field(default_factory=list)  # name and value of each Allow and Disallow, as written
    delay_s: float | None = None
    usages: dict[Usage, None] = field(default_factory=dict)

    def take(self, name: str, value: str) -> None:
        """Add a line that is neither Allow nor Disallow."""
        if usage := _USAGES.get(name.lower()):
            self._take_usage(usage, value)
        elif (delay_s := _delay_of(value)) is not None:
            self.delay_s = max(delay_s, self.delay_s or 0.0)

    def _take_usage(self, name: str, value: str) -> None:
        """Add a line about the use of the content under a path, or under `/` if it names none."""
        pattern, said = "/", value
        if value.startswith(("/", "*")):
            pattern, _, said = value.replace("\t", " ").partition(" ")
        said = " ".join(_text_of(said).split())[:MAX_USAGE_CHARS].rstrip()
        if said and len(self.usages) < MAX_USAGES:
            (rule,) = cap_rules([Rule(False, spell_pattern(pattern))])
            self.usages[Usage(name, rule.pattern, said)] = None

    def spelled_rules(self) -> Sequence[Rule]:
        """Return the rules in their one spelling, each once, within the caps."""
        spelled = (
            Rule(name[0] in "aA", spell_pattern(value.rstrip(" \t")))
            for name, value in self.rules
            if value.startswith(("/", "*"))
        )
        return _pack_many(cap_rules(spelled))


def _read(text: str, token: str) -> RobotsRules:
    """Return the rules that apply to `token`. A group is its agents, then its rules; no other line ends either."""
    groups = {"*": _Group(), token: _Group()}
    bound: list[_Group] = []  # those of the two to which the current lines belong
    in_rules = False
    lines = _LINE.findall(text)
    for line in lines:
        name, value = line
        kind = name[0]
        if kind in "aAdD":
            in_rules = True
            for group in bound:
                group.rules.append(line)
        elif kind in "uU":
            if in_rules:
                bound, in_rules = [], False
            if (named := groups.get(_token_of(value))) and named not in bound:
                named.is_named = True
                bound.append(named)
        elif kind not in "sSlL":
            for group in bound:
                group.take(name, value)
    owner = next((name for name in (token, "*") if groups[name].is_named), "")
    binding = groups[owner] if owner else _Group()
    return RobotsRules(
        group=owner,
        rules=binding.spelled_rules(),
        asked_delay_s=binding.delay_s,
        usages=(*binding.usages, *_licenses_in(lines)),
        sitemaps=tuple(_sitemaps_in(lines)),
    )


def _licenses_in(lines: list[tuple[str, str]]) -> list[Usage]:
    """Return the licences that a robots.txt names (RSL), in any place: they are for all crawlers and all pages."""
    urls = dict.fromkeys(_text_of(value).strip() for name, value in lines if name[0] in "lL")
    named = [url for url in urls if url.startswith(("https://", "http://")) and len(url) <= MAX_LICENSE_CHARS]
    return [Usage(_LICENSE, "/", url) for url in named[:MAX_LICENSES]]


def _sitemaps_in(lines: list[tuple[str, str]]) -> dict[str, None]:
    """Return the sitemaps that a robots.txt names, in any place: they belong to no group."""
    found: dict[str, None] = {}
    chars = 0
    for name, value in lines:
        if name[0] in "sS" and (sitemap := _text_of(value).strip()) and sitemap not in found:
            chars += len(sitemap)
            if chars > MAX_SITEMAP_CHARS or len(found) == MAX_SITEMAPS:
                break
            found[sitemap] = None
    return found


def _pack_many(rules: tuple[Rule, ...]) -> Sequence[Rule]:
    """Return rules as they are stored: a few in the order of the file, many packed."""
    chars = sum(len(rule.pattern) for rule in rules) + 11 * len(rules)
    return PackedRules.of(rules) if chars > SHORT_CHARS else rules


def read_stored(text: str) -> RobotsRules:
    """Read what `RobotsRules.to_text` wrote: it needs no checks, and its patterns are spelled already."""
    group, delay_s, outcome = "", None, ""
    rules, usages, sitemaps, moved_to, tdmrep = [], [], [], [], []
    head, packed = _divide(text)
    for line in head.split("\n") if head else ():
        name, _, value = line.partition(": ")
        match name:
            case "Disallow" | "Allow":
                rules.append(Rule(name == "Allow", value))
            case "User-agent":
                group = value
            case "Crawl-delay":
                delay_s = float(value)
            case "Sitemap":
                sitemaps.append(value)
            case "Moved-to":
                moved_to.append(value)
            case "Outcome":
                outcome = value
            case "Tdmrep":
                tdmrep.append(value)
            case _:
                pattern, _, said = value.partition(" ")
                usages.append(Usage(name, pattern, said))
    return RobotsRules(
        group=group,
        rules=PackedRules(packed) if packed else _pack_many(tuple(rules)),  # an older version packed none
        asked_delay_s=delay_s,
        usages=tuple(usages),
        sitemaps=tuple(sitemaps),
        moved_to=tuple(moved_to),
        outcome=outcome,
        reservations=Reservations.from_lines(tdmrep),
    )


def _divide(text: str) -> tuple[str, str]:
    """Return the stored text of a robots.txt in two parts: its lines, and its packed rules."""
    if text.startswith(BLOCKS):
        return "", text
    place = text.find("\n" + BLOCKS)
    return (text[:place], text[place + 1 :]) if place >= 0 else (text, "")


class RulesCache:
    """Rules that were read recently, as many as fit into a budget: hosts ask for theirs several times in a turn."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, tuple[RobotsRules, int]] = OrderedDict()  # the least recently used first
        self.kept_bytes = 0

    def read(self, text: str) -> RobotsRules:
        """Return the rules in a stored text."""
        if kept := self._kept.get(text):
            self._kept.move_to_end(text)
            return kept[0]
        rules = read_stored(text)
        size_bytes = _size_bytes(text, rules)
        self._kept[text] = rules, size_bytes
        self.kept_bytes += size_bytes
        while self.kept_bytes > self._max_bytes and len(self._kept) > 1:
            self.kept_bytes -= self._kept.popitem(last=False)[1][1]
        return rules


def _size_bytes(text: str, rules: RobotsRules) -> int:
    """Return about how much memory the rules take when they have been used."""
    read = rules.rules.globs if isinstance(rules.rules, PackedRules) else len(rules.rules)
    return 1_000 + 3 * len(text) + 600 * read


_CACHE = RulesCache(CACHE_BYTES)


def _token_of(agent: str) -> str:
    """Return the product token that an agent's name begins with: `gossamer` for `Gossamer/1.0 (+https://…)`."""
    token = _TOKEN.match(agent)
    return token[0].lower() if token else ""


def _text_of(value: str) -> str:
    """Return as text a value that has a character for each byte."""
    return value if value.isascii() else value.encode("latin-1").decode("utf-8", "replace")


def _delay_of(value: str) -> float | None:
    """Return the seconds between two requests that `2.5` or `1/10m` ask for, to the millisecond."""
    if rate := _RATE.match(value):
        requests, period, unit = int(rate[1]), int(rate[2]), rate[3].lower()
        seconds = period * _UNIT_S[unit] / requests if requests else None
    else:
        seconds = float(number[0]) if (number := _NUMBER.match(value)) else None
    return None if seconds is None else round(seconds, 3)


# The lines that have a meaning, with the misspellings that search engines accept. All quantifiers are possessive, so
# that a line is scanned once. A byte-order mark may be where files were joined.
_LINE = re.compile(
    r"^[ \t\xEF\xBB\xBF]*+"
    r"(user[ -]?agent|allow|dis+al+ow|disallaw|diasllow|crawl[ -]?delay|request[ -]?rate|site-?maps?"
    r"|content-signal|content-usage|license)"
    r"(?:[ \t]*+:|[ \t]++)[ \t]*+([^#\n]*+)",
    re.ASCII | re.IGNORECASE | re.MULTILINE,
)
_LICENSE = "License"
_USAGES = {"content-signal": "Content-Signal", "content-usage": "Content-Usage"}
# The RFC allows letters, `_` and `-`; we also accept digits and dots, because real crawlers have them in their names.
_TOKEN = re.compile(r"\*(?![^ \t])|[A-Za-z0-9_.-]+")
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?|\.[0-9]{1,9}")
_RATE = re.compile(r"([0-9]{1,9})[ \t]*/[ \t]*([0-9]{1,9})[ \t]*([smhd]?)", re.IGNORECASE)
_UNIT_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
