"""URL patterns with which the operator includes or excludes URLs: `*` and `$` as in robots.txt. Pure.

A pattern that begins with `/` is compared with path and query, on every host; one that begins with a scheme or with `*`
is compared with the whole URL. A pattern matches what begins with it; `*` stands for any characters, `$` at the end for
the end of the URL. As in robots.txt, no pattern is costly.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gossamer.rules.patterns import Matcher, Rule, spell_path, spell_pattern
from gossamer.urls import Refusal, host_of, normalise

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gossamer.urls import Url


@dataclass(frozen=True, slots=True)
class UrlPatterns:
    """A set of patterns, prepared for comparison."""

    texts: tuple[str, ...] = ()  # as the operator wrote them
    _by_path: _Finder = field(init=False, repr=False, compare=False)
    _by_url: _Finder = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Read all patterns; raise ValueError that says what is wrong with the first bad one."""
        spelled = {_spell(text): text for text in self.texts}
        paths = {pattern: text for pattern, text in spelled.items() if pattern.startswith("/")}
        urls = {pattern: text for pattern, text in spelled.items() if pattern not in paths}
        object.__setattr__(self, "_by_path", _Finder(paths))
        object.__setattr__(self, "_by_url", _Finder(urls))

    def __bool__(self) -> bool:
        return bool(self.texts)

    def __or__(self, other: UrlPatterns) -> UrlPatterns:
        """Return the patterns of both."""
        return UrlPatterns(tuple(dict.fromkeys((*self.texts, *other.texts))))

    def find(self, url: str, host: str) -> str | None:
        """Return the longest pattern that matches a normalised URL, or None."""
        return self._by_path.find(url[len(host) :]) or self._by_url.find(url)

    def admits(self, url: Url) -> bool:
        """Return whether a URL matches one of the patterns; without patterns, every URL does."""
        return not self.texts or self.find(url.url, url.host) is not None


class _Finder:
    """Patterns that are all compared with the same part of a URL."""

    __slots__ = ("_matcher", "_texts")

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts  # by spelled pattern
        self._matcher = Matcher.of(Rule(True, pattern) for pattern in texts)

    def find(self, text: str) -> str | None:
        if not self._texts:
            return None
        _, rule = self._matcher.find(spell_path(text), sys.maxsize)  # the operator's patterns are always exact
        return None if rule is None else self._texts[rule.pattern]


def check_patterns(named: Iterable[tuple[str, Iterable[str]]]) -> None:
    """Raise ValueError for a pattern that would match nothing; it names the setting."""
    for name, patterns in named:
        for text in patterns:
            try:
                _spell(text)
            except ValueError as error:
                raise ValueError(f"{name} {text!r} {error}") from None


def _spell(text: str) -> str:
    """Return a pattern in the spelling in which it is compared."""
    if text.startswith(("/", "*")):
        return _spell_characters(text)
    scheme, mark, rest = text.partition("://")
    authority, slash, path = rest.partition("/")
    if not mark or scheme.lower() not in ("http", "https"):
        raise ValueError("matches nothing: write it like /blog/, *.pdf$ or https://example.org/blog/")
    if "*" in authority:
        return _spell_characters(f"{scheme}://{authority}".lower() + slash + path)
    root = normalise(f"{scheme}://{authority}/")
    if isinstance(root, Refusal):
        raise ValueError(f"matches nothing ({root.value}): write it like https://example.org/blog/")
    return _spell_characters(f"{host_of(root)}/{path}")


def _spell_characters(text: str) -> str:
    return spell_pattern(text.encode().decode("latin-1"))
