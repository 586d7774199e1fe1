"""The rules by which URLs belong to a crawl, and whether this start admits more or fewer URLs than the last one.

They are kept in the crawl's folder, and say by which rules the links of the pages stored there were judged.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from gossamer.crawl.compose import own_exclusions
from gossamer.crawl.folder import SETTINGS_FILE, read_settings
from gossamer.records import Scope
from gossamer.rules.scope import Exclusions, barred_by
from gossamer.rules.url_patterns import UrlPatterns
from gossamer.store.files import replacing
from gossamer.store.notes import DamagedNoteError, damaged_note, encode_note, read_note
from gossamer.urls import site_of_name

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.frontier import FrontierReader
    from gossamer.records import Link, Reason
    from gossamer.rules.scope import ScopeSettings

log = logging.getLogger(__name__)

RULES_FILE: Final = "rules.json"

_SCOPES: Final = (Scope.HOST, Scope.SITE, Scope.WEB)  # each admits all that the ones before it admit


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What decides about links, apart from robots.txt and traps."""

    scope: Scope
    max_depth: int | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    exclusions: tuple[str, ...] = ()  # entries of the file and of the frontier's list, sorted
    ip_hosts: bool = False
    ports: tuple[int, ...] = ()
    readmissions: int = 0  # how often entries were taken off the frontier's list

    def admit_more_than(self, before: Rules) -> bool:
        """Return whether links that were refused before may be accepted now."""
        return (
            self.readmissions != before.readmissions
            or _SCOPES.index(self.scope) > _SCOPES.index(before.scope)
            or (before.max_depth is not None and (self.max_depth is None or self.max_depth > before.max_depth))
            or bool(before.include and (not self.include or set(self.include) - set(before.include)))
            or self.ip_hosts > before.ip_hosts
            or bool(set(self.ports) - set(before.ports))
            or bool(set(before.exclude) - set(self.exclude))
            or bool(set(before.exclusions) - set(self.exclusions))
        )

    def admit_less_than(self, before: Rules) -> bool:
        """Return whether URLs that were accepted before may be refused now."""
        return before.admit_more_than(replace(self, readmissions=before.readmissions))

    def least_depth(self, before: Rules) -> int:
        """Return the smallest depth at which pages may have links that were refused before."""
        if before.max_depth is not None and self == replace(before, max_depth=self.max_depth):
            return before.max_depth
        return 0


class Judge:
    """Decides which known URLs the rules bar, apart from the scope, which the frontier decides."""

    def __init__(self, settings: ScopeSettings, exclusions: Exclusions) -> None:
        self._max_depth = settings.max_depth
        self._include = UrlPatterns(settings.include)
        self._exclusions = exclusions

    def bars(self, link: Link) -> Reason | None:
        """Return why a URL must not be requested, or None if it may be."""
        return barred_by(link, max_depth=self._max_depth, include=self._include, exclusions=self._exclusions)


def rules_of(frontier: FrontierReader, settings: ScopeSettings) -> Rules:
    """Return the rules that hold now."""
    entries = set(frontier.exclusions()) | own_exclusions(settings).entries
    return Rules(
        scope=settings.scope,
        max_depth=settings.max_depth,
        include=tuple(sorted(set(settings.include))),
        exclude=tuple(sorted(set(settings.exclude))),
        exclusions=tuple(sorted(entries)),
        ip_hosts=settings.allow_ip_hosts,
        ports=tuple(sorted(set(settings.allow_ports))),
        readmissions=frontier.readmissions(),
    )


def judge_of(frontier: FrontierReader, settings: ScopeSettings, *, sites_too: bool = True) -> Judge:
    """Return a judge by the current rules. Without `sites_too`, excluded sites are not barred: they only pause."""
    exclusions = own_exclusions(settings) | Exclusions.parse(frontier.exclusions())[0]
    if not sites_too:
        names = frozenset(name for name in exclusions.names if site_of_name(name) != name)
        exclusions = replace(exclusions, names=names)
    return Judge(settings, exclusions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """By which rules a folder's links were judged, and how far judging them by new rules has come."""

    rules: Rules | None  # None: unknown
    tried: tuple[Rules, ...] = ()  # of later starts that were interrupted while they judged
    reread: frozenset[str] = frozenset()  # files whose links the last of these starts has read again


def read_judged(folder: Path, frontier: FrontierReader) -> Judged | None:
    """Return what the last start noted; None before the first start. Call it before anything is changed."""
    try:
        if judged := _read_file(folder / RULES_FILE):
            return judged
    except DamagedNoteError as error:
        log.warning("%s: links are judged again by the rules of this start.", error)
        return Judged(rules=None)
    if (folder / SETTINGS_FILE).exists():  # a crawl that an older version began
        settings = read_settings(folder).scope
        if settings.exclude_file and not settings.exclude_file.exists():
            settings = replace(settings, exclude_file=None)
        return Judged(rules=rules_of(frontier, settings))
    return Judged(rules=None) if frontier.stats().known else None  # begun on another machine


def _read_file(file: Path) -> Judged | None:
    said = read_note(file)
    if said is None:
        return None
    try:
        return Judged(
            rules=_rules(said["rules"]) if said["rules"] else None,
            tried=tuple(map(_rules, said["tried"])),
            reread=frozenset(said["reread"]),
        )
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise damaged_note(file, error) from None


def write_judged(folder: Path, judged: Judged) -> None:
    """Note this for the next start."""
    text = encode_note({**asdict(judged), "reread": sorted(judged.reread)})
    with replacing(folder / RULES_FILE) as file:
        file.write(text.encode())


def _rules(said: dict[str, Any]) -> Rules:
    lists = {name: tuple(value) for name, value in said.items() if isinstance(value, list)}
    return Rules(**{**said, **lists, "scope": Scope(said["scope"])})
