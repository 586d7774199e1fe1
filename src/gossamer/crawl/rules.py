"""The rules by which URLs belong to a crawl, and whether those of this start admit more, or less, than the last one's.

Kept in the crawl's folder: they say under which rules the links of the pages that are stored there were judged.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from gossamer.crawl.compose import own_exclusions
from gossamer.crawl.folder import SETTINGS_FILE, read_settings
from gossamer.records import Scope
from gossamer.rules.scope import Exclusions, barred_by
from gossamer.rules.url_patterns import UrlPatterns
from gossamer.store.files import replacing
from gossamer.urls import site_of_name

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.frontier import Frontier
    from gossamer.records import Link, Reason
    from gossamer.rules.scope import ScopeSettings

RULES_FILE: Final = "rules.json"

_SCOPES: Final = (Scope.HOST, Scope.SITE, Scope.WEB)  # each admits what those before it do


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What decides about links, apart from robots.txt and traps."""

    scope: Scope
    max_depth: int | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    exclusions: tuple[str, ...] = ()  # entries of the file and of the frontier's list, sorted
    readmissions: int = 0  # how often the latter was shortened so far

    def admit_more_than(self, before: Rules) -> bool:
        """Tell whether links that were refused before may be welcome now."""
        return (
            self.readmissions != before.readmissions
            or _SCOPES.index(self.scope) > _SCOPES.index(before.scope)
            or (before.max_depth is not None and (self.max_depth is None or self.max_depth > before.max_depth))
            or bool(before.include and (not self.include or set(self.include) - set(before.include)))
            or bool(set(before.exclude) - set(self.exclude))
            or bool(set(before.exclusions) - set(self.exclusions))
        )

    def admit_less_than(self, before: Rules) -> bool:
        """Tell whether URLs that were accepted before may not be welcome any more."""
        return before.admit_more_than(replace(self, readmissions=before.readmissions))

    def least_depth(self, before: Rules) -> int:
        """Return the depth from which on pages may have links that were refused before."""
        if before.max_depth is not None and self == replace(before, max_depth=self.max_depth):
            return before.max_depth
        return 0


class Judge:
    """Tells what the rules bar of what is known. Whether it lies in scope is the frontier's to say."""

    def __init__(self, settings: ScopeSettings, exclusions: Exclusions) -> None:
        self._max_depth = settings.max_depth
        self._include = UrlPatterns(settings.include)
        self._exclusions = exclusions

    def bars(self, link: Link) -> Reason | None:
        """Return why a URL is not to be asked for, or None if it may be."""
        return barred_by(link, max_depth=self._max_depth, include=self._include, exclusions=self._exclusions)


def rules_of(frontier: Frontier, settings: ScopeSettings) -> Rules:
    """Return the rules that hold now."""
    entries = set(frontier.exclusions()) | own_exclusions(settings).entries
    return Rules(
        scope=settings.scope,
        max_depth=settings.max_depth,
        include=tuple(sorted(set(settings.include))),
        exclude=tuple(sorted(set(settings.exclude))),
        exclusions=tuple(sorted(entries)),
        readmissions=frontier.readmissions(),
    )


def judge_of(frontier: Frontier, settings: ScopeSettings, *, sites_too: bool = True) -> Judge:
    """Return who judges by the rules that hold now, with or without exclusions of whole sites: these only rest."""
    exclusions = own_exclusions(settings) | Exclusions.parse(frontier.exclusions())[0]
    if not sites_too:
        names = frozenset(name for name in exclusions.names if site_of_name(name) != name)
        exclusions = replace(exclusions, names=names)
    return Judge(settings, exclusions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """By which rules a folder's links were judged, and how far a judgement by others has come."""

    rules: Rules | None  # None: nobody knows
    tried: tuple[Rules, ...] = ()  # of starts since that were cut off while they judged
    reread: frozenset[str] = frozenset()  # files whose links were read again by the last of these


def read_judged(folder: Path, frontier: Frontier) -> Judged | None:
    """Return what is known about the last start; None before the first one. To be asked before anything is changed."""
    file = folder / RULES_FILE
    if file.exists():
        said = json.loads(file.read_text(encoding="utf-8"))
        return Judged(
            rules=_rules(said["rules"]) if said["rules"] else None,
            tried=tuple(map(_rules, said["tried"])),
            reread=frozenset(said["reread"]),
        )
    if (folder / SETTINGS_FILE).exists():  # a crawl that an older version began
        settings = read_settings(folder).scope
        if settings.exclude_file and not settings.exclude_file.exists():
            settings = replace(settings, exclude_file=None)
        return Judged(rules=rules_of(frontier, settings))
    return Judged(rules=None) if frontier.stats().known else None  # begun on another machine


def write_judged(folder: Path, judged: Judged) -> None:
    """Keep this for the next start."""
    text = json.dumps({**asdict(judged), "reread": sorted(judged.reread)})
    with replacing(folder / RULES_FILE) as file:
        file.write(text.encode())


def _rules(said: dict[str, Any]) -> Rules:
    lists = {name: tuple(value) for name, value in said.items() if isinstance(value, list)}
    return Rules(**{**said, **lists, "scope": Scope(said["scope"])})
