"""Limits that keep a crawl out of traps: sites that invent URLs without end. Pure, except for `TrapGuard`'s memory.

Each limit has a name (`Trap`), is generous enough for any site made for people, and refuses links, not pages. Refused
links are not stored, so that a higher limit can admit them later. The frontier counts the pages of a site, for all
workers and starts. The other counts are bounded and belong to this process: a restart resets them, and a trap gets a
few more pages until its limit is reached again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from xxhash import xxh3_128_digest

from gossamer.rules.memories import DistinctLimiter, NumberTable, PairTable, RecentHashes
from gossamer.urls import identify, owner_of_site

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from gossamer.urls import Url

PASSED_PLACES: Final = 1 << 17  # for links that passed all limits: 1 MB
SHOWN_PLACES: Final = 1 << 18  # for known contents: 2 MB
PATH_PLACES: Final = 1 << 16  # for paths and the parameters under them: 2.5 MB
SITE_PLACES: Final = 1 << 16  # for sites: a megabyte for each number, 2.5 MB for their hosts
REFERRER_PLACES: Final = 1 << 17  # for pairs of sites of which one links to the other: 1 MB
MAX_REFERRERS: Final = 100  # sites whose links raise the budget of another site
MAX_KNOWN_CONTENT: Final = 10_000
NEW_CONTENT: Final = 2  # each page with new content allows this many more with known content
JUMP_YEARS: Final = 200  # a calendar is left in small steps: a number further away is no year

_site_of: Final = attrgetter("site")


class Trap(StrEnum):
    """A limit by the name under which it is counted and shown."""

    LONG_PATH = "long_path"
    MANY_SEGMENTS = "many_segments"
    REPEATED_SEGMENTS = "repeated_segments"  # /a/b/a/b/a/b
    MANY_PARAMETERS = "many_parameters"
    CALENDAR = "calendar"  # a date too far in the future or the past
    PARAMETER_SETS = "parameter_sets"  # too many combinations of parameters under one path
    MANY_HOSTS = "many_hosts"  # of one site
    FOREIGN_LINKS = "foreign_links"  # of one site to another one
    FOREIGN_NAMES = "foreign_names"  # below one registered domain to which one site links
    PAGE_LINKS = "page_links"  # the page has more links than are read of one
    SAME_CONTENT = "same_content"  # the site shows the same content under more and more URLs
    SITE_BUDGET = "site_budget"  # the site gave more pages than its budget, which links of other sites raise


@dataclass(frozen=True, slots=True, kw_only=True)
class TrapSettings:
    """Which links are refused because they seem to lead into a trap."""

    trap_limits: bool = field(
        default=True,
        metadata={
            "help": "Refuse links that seem to lead into a trap, by the limits of this section. "
            "Turn it off if they refuse pages that you need."
        },
    )
    strip_session_ids: bool = field(
        default=True,
        metadata={
            "help": "Remove session ids and tracking parameters from links. "
            "Turn it off if a site needs such a parameter to show its pages."
        },
    )
    max_path_chars: int = field(
        default=1_000,
        metadata={
            "help": "The longest path, in characters, that a link may have; longer ones are treated as traps. "
            "Raise it if a site has longer paths.",
            "minimum": 1,
        },
    )
    max_path_segments: int = field(
        default=30,
        metadata={
            "help": "The most parts between slashes that a link's path may have; more are treated as a trap. "
            "Raise it if a site nests its pages deeper.",
            "minimum": 1,
        },
    )
    max_segment_repeats: int = field(
        default=2,
        metadata={
            "help": "How often the same path segments may follow each other, a single segment once more; more often is "
            "treated as a trap. Raise it if a site has such paths.",
            "minimum": 1,
        },
    )
    max_parameters: int = field(
        default=20,
        metadata={
            "help": "The most parameters that a link's query may have; more are treated as a trap. "
            "Raise it if a site has longer queries.",
            "minimum": 1,
        },
    )
    max_parameter_sets: int = field(
        default=100,
        metadata={
            "help": "The most combinations of parameters that are followed under one path. "
            "Raise it to crawl filtered lists, such as those of a shop.",
            "minimum": 1,
        },
    )
    max_years_ahead: int = field(
        default=10,
        metadata={
            "help": "How many years in the future a date in a link to a calendar may lie. "
            "Lower it if calendars fill the crawl.",
            "minimum": 0,
        },
    )
    max_years_back: int = field(
        default=200,
        metadata={
            "help": "How many years in the past a date in a link to a calendar may lie. "
            "Raise it for an archive of older documents.",
            "minimum": 0,
        },
    )
    max_hosts_per_site: int = field(
        default=1_000,
        metadata={
            "help": "The most hosts of one site to which links are followed. "
            "Raise it for a site that gives every user a host.",
            "minimum": 1,
        },
    )
    max_foreign_links: int = field(
        default=10_000,
        metadata={
            "help": "The most links from one site to another one that are followed. "
            "Raise it for a crawl of directories that list the pages of other sites.",
            "minimum": 1,
        },
    )
    same_content_pages: int = field(
        default=200,
        metadata={
            "help": "The most pages with already known content that a site may show before its links are refused; each "
            "new content allows two more. Raise it for a site that repeats itself.",
            "minimum": 1,
        },
    )
    site_budget: int = field(
        default=100_000,
        metadata={
            "help": "The most pages that a site may give before its own links are refused. "
            "Raise it for a site that has more pages.",
            "minimum": 1,
        },
    )
    site_budget_per_referrer: int = field(
        default=10_000,
        metadata={
            "help": "The number of pages that each other site adds to a site's budget by linking to it. "
            "Lower it if sites that link to each other fill the crawl.",
            "minimum": 0,
        },
    )


def find_trap(link: Url, *, settings: TrapSettings, year: int) -> Trap | None:
    """Return the limit that a link exceeds by itself, if it does and limits are on; `year` is the current one."""
    if not settings.trap_limits:
        return None
    path, mark, query = link.url[len(link.host) :].partition("?")
    if len(path) > settings.max_path_chars:
        return Trap.LONG_PATH
    segments = path.count("/")
    if segments > settings.max_path_segments:
        return Trap.MANY_SEGMENTS
    if segments > settings.max_segment_repeats and _repeats(path, settings.max_segment_repeats):
        return Trap.REPEATED_SEGMENTS
    if mark and query.count("&") >= settings.max_parameters:
        return Trap.MANY_PARAMETERS
    if _DATE_HINT.search(link.url, len(link.host)):
        ahead = range(year + settings.max_years_ahead + 1, year + settings.max_years_ahead + JUMP_YEARS)
        back = range(year - settings.max_years_back - JUMP_YEARS, year - settings.max_years_back)
        if any(date in ahead or date in back for date in _dates(path, query)):
            return Trap.CALENDAR
    return None


def strip_session(url: str) -> str:
    """Return a normalised URL without parameters that name a session or a campaign and not a page."""
    if not ("?" in url or ";" in url or "(" in url) or _SESSION_HINT.search(url) is None:
        return url
    head, mark, query = _SESSION_PATH.sub("", url).partition("?")
    kept = "&".join(part for part in query.split("&") if not _SESSION_PARAMETER.fullmatch(part)) if mark else ""
    if kept == query:
        return head + mark + query
    return f"{head}?{kept}" if kept else head


def content_key(text: str, content_hash: bytes) -> bytes:
    """Return by what a page is known again: its text, or its body if it has no text."""
    # Python's own hash of a long text takes several times as long.
    return xxh3_128_digest(text.encode("utf-8", "surrogatepass")) if text else content_hash


class TrapGuard:
    """Selects links by all limits: those of a single link, and those that need a memory of the site."""

    def __init__(self, settings: TrapSettings, *, halvings: int = 0) -> None:
        """Allocate all tables; each is halved `halvings` times, for a crawl of few sites."""
        self._settings = settings
        self._passed = RecentHashes(PASSED_PLACES >> halvings)
        self._parameter_sets = DistinctLimiter(settings.max_parameter_sets, PATH_PLACES >> halvings)
        self._hosts = DistinctLimiter(settings.max_hosts_per_site, SITE_PLACES >> halvings)
        self._foreign_links = NumberTable(SITE_PLACES >> halvings)  # by pair of sites
        self._foreign_names = DistinctLimiter(settings.max_hosts_per_site, SITE_PLACES >> halvings)
        self._links_seen = RecentHashes(REFERRER_PLACES >> halvings)
        self._referrers = NumberTable(SITE_PLACES >> halvings)  # other sites that link to it
        self._shown = RecentHashes(SHOWN_PLACES >> halvings)
        # By site: the pages with known content that it may still show, and its pages so far.
        self._pages = PairTable(SITE_PLACES >> halvings)

    def select(
        self, links: Sequence[Url], *, host: str, site: str, pages: int = 0, year: int, content: Hashable = None
    ) -> tuple[Sequence[Url], dict[Trap, int]]:
        """Return the links of a page at `host` that may be followed, and how many each limit refuses.

        `pages` is the number of stored pages of the site, over all starts and workers. With its `content`, the page is
        also counted, as by `note_page`.
        """
        known = self._pages.get(site) if content is None else self._count(site, content)
        spent = self._spent(site, pages, known)
        passed, mask = self._passed.hashes, self._passed.mask
        # Most links of a page are also on other pages of its site.
        new = [at for at, link in enumerate(links) if passed[(hashed := hash(link.url_hash)) & mask] != hashed]
        refused: dict[Trap, int] = {}
        if new:
            kept: list[Url | None] = [*links]
            for at in new:
                link = links[at]
                hashed = hash(link.url_hash)
                if passed[hashed & mask] == hashed:  # another one on this page was the same without its session
                    continue
                if self._settings.strip_session_ids and (url := strip_session(link.url)) != link.url:
                    kept[at] = link = identify(url)
                    hashed = hash(link.url_hash)
                trap = find_trap(link, settings=self._settings, year=year)
                if trap is None and self._settings.trap_limits:
                    trap = (spent if link.site == site else None) or self._take_remembered(link, host, site)
                if trap is None:
                    passed[hashed & mask] = hashed
                else:
                    kept[at] = None
                    refused[trap] = refused.get(trap, 0) + 1
        self._note_referrer(site, links)
        return [link for link in kept if link is not None] if new else links, refused

    def note_page(self, site: str, content: Hashable) -> None:
        """Count a page of a site, and remember its content."""
        self._count(site, content)

    def _count(self, site: str, content: Hashable) -> tuple[int, int] | None:
        """Count a page; return what was known of its site before: the pages with known content left, and its pages."""
        hashed, first = hash((site, content)), self._settings.same_content_pages
        shown, place = self._shown.hashes, hashed & self._shown.mask
        is_known, shown[place] = shown[place] == hashed, hashed
        before = self._pages.get(site)
        left, pages = before or (first, 0)
        left = left - 1 if is_known else min(left + NEW_CONTENT, MAX_KNOWN_CONTENT + first)
        self._pages.put(site, left, pages + 1)
        return before

    def _note_referrer(self, site: str, links: Sequence[Url]) -> None:
        """Remember to which other sites a site links."""
        seen, mask = self._links_seen.hashes, self._links_seen.mask
        others = dict.fromkeys(map(_site_of, links))
        others.pop(site, None)
        for other in others:
            hashed = hash((other, site))
            if seen[hashed & mask] != hashed:
                seen[hashed & mask] = hashed
                self._referrers.put(other, min(self._referrers.get(other, 0) + 1, MAX_REFERRERS))

    def _spent(self, site: str, pages: int, known: tuple[int, int] | None) -> Trap | None:
        """Return the limit because of which a site's own links are refused, if there is one."""
        settings = self._settings
        if not settings.trap_limits:
            return None
        left, seen = known or (1, 0)
        if left <= 0:
            return Trap.SAME_CONTENT
        pages = max(pages, seen)  # only this worker knows of pages that it read but did not store
        if pages < settings.site_budget:
            return None
        budget = settings.site_budget + settings.site_budget_per_referrer * self._referrers.get(site, 0)
        return Trap.SITE_BUDGET if pages >= budget else None

    def _take_remembered(self, link: Url, host: str, site: str) -> Trap | None:
        """Count a link's host and parameters; return the limit that it exceeds, if it does.

        Links from other sites are counted apart: otherwise a hostile site could use up the limits of a good one.
        """
        is_foreign = link.site != site
        if is_foreign and (trap := self._take_foreign(link, site)):
            return trap
        if link.host != host and not self._hosts.take((link.site, is_foreign), link.host):
            return Trap.MANY_HOSTS
        path, mark, query = link.url.partition("?")
        if mark:
            names = tuple(sorted({part.partition("=")[0] for part in query.split("&")}))
            if not self._parameter_sets.take((path, is_foreign), names):
                return Trap.PARAMETER_SETS
        return None

    def _take_foreign(self, link: Url, site: str) -> Trap | None:
        """Count a link from another site; return the limit that it exceeds, if it does.

        Without these limits one site could invent a million URLs of a good site, or names without end below a domain
        whose owner gives every user a name, each a site of its own.
        """
        pair = (link.site, site)
        links = self._foreign_links.get(pair, 0) + 1
        if links > self._settings.max_foreign_links:
            return Trap.FOREIGN_LINKS
        self._foreign_links.put(pair, links)
        owner = owner_of_site(link.site)
        if owner != link.site and not self._foreign_names.take((owner, site), link.site):
            return Trap.FOREIGN_NAMES
        return None


def _repeats(path: str, times: int) -> bool:
    """Return whether a sequence of segments repeats more than `times` times (`times + 1` for a single segment)."""
    segments = path.split("/")[1:]
    if len(set(segments)) == len(segments):
        return False
    for period in range(1, len(segments) // (times + 1) + 1):
        needed = period * (times + (period == 1))  # equal pairs of segments at this distance, in a row
        run = 0
        for first, second in zip(segments, segments[period:], strict=False):
            run = run + 1 if first == second else 0
            if run >= needed:
                return True
    return False


def _dates(path: str, query: str) -> list[int]:
    """Return the years of certain dates only: a number in a path can mean anything."""
    found = _ISO_DATE.findall(f"{path}?{query}")
    if query:
        found += _YEAR_PARAMETER.findall(query)
    if _CALENDAR.search(path):
        found += _MONTH_PATH.findall(path)
    return [int(year) for year in found]


_DATE_HINT: Final = re.compile(r"[0-9]{4}")
_ISO_DATE: Final = re.compile(r"(?<![0-9A-Za-z-])([0-9]{4})-(?:0[1-9]|1[0-2])(?:-[0-3][0-9])?(?![0-9-])")
_MONTH_PATH: Final = re.compile(r"/([0-9]{4})/(?:0?[1-9]|1[0-2])(?![0-9])")
_YEAR_PARAMETER: Final = re.compile(r"(?:^|&)(?:y|yr|year|jahr|annee|ano|anno)=([0-9]{4})(?![0-9])", re.IGNORECASE)
_CALENDAR: Final = re.compile(r"calend|kalend|agenda|month|monat|year|jahr", re.IGNORECASE)

_SESSION_HINT: Final = re.compile(
    r"(?i)[?&;](?:[a-z_]*sess|sid|s|oscsid|zenid|cfid|cftoken|utm_|gclid|fbclid|msclkid)|/\(s\("
)
_SESSION_PATH: Final = re.compile(r"(?i);jsessionid=[^/?;]*|/\(S\([a-z0-9]{20,}\)\)(?=/)")
_SESSION_PARAMETER: Final = re.compile(
    r"(?i)(?:phpsessid|jsessionid|aspsessionid[a-z]*|session_?id|oscsid|zenid|cfid|cftoken|gclid|fbclid|msclkid|utm_[a-z]+)"
    r"(?:=.*)?"
    r"|(?:sid|s|sess)=[0-9a-f]{16,}"  # shorter values name pages
)
