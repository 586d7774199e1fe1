"""Which links a crawl follows, to which hosts it sends requests at all, and what is excluded. Pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path  # noqa: TC003 - the settings are read from the types at run time
from typing import TYPE_CHECKING, Final, NamedTuple

from gossamer.records import Kind, Reason, Scope
from gossamer.rules.url_patterns import UrlPatterns, check_patterns
from gossamer.urls import WEB_PORTS, Refusal, host_of, is_address, name_of_host, normalise, port_of_host

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from gossamer.records import Link, QueuedUrl
    from gossamer.urls import Url

__all__ = ["BadLine", "Exclusions", "Scope", "ScopeSettings", "barred_by", "rank_from", "read_entry", "select_links"]

MAX_SHOWN_CHARS = 200
FOREIGN_RANK: Final = 20  # of links from other sites: behind every entry of a sitemap
# Those that browsers never contact: https://fetch.spec.whatwg.org/#port-blocking
BLOCKED_PORTS: Final = frozenset(
    {
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
        110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530,
        531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190,
        5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    }
)  # fmt: skip


class TargetRules(NamedTuple):
    """To which hosts links lead: those with a name, on the ports of the web, and what the operator allows beyond.

    One page can hold thousands of links to addresses and ports of strangers. An address has no name that says who runs
    it, and every address would be a site of its own; on another port is often no web server. So links lead only to
    hosts that the seeds lead to: on ports 80 and 443, on ports that seeds have, and at an address only from a page at
    the same one.
    """

    ip_hosts: bool = False
    ports: Collection[int] = ()
    seed_ports: Collection[int] = ()

    def refuse(self, host: str, *, by: str, same_port: bool = True) -> Reason | None:
        """Return why a host to which the host `by` leads gets no request; None if it may get one.

        Without `same_port`, the port counts as allowed: a seed and a robots.txt may redirect to another port of
        their own site.
        """
        if host == by:
            return None
        port, address = _door(host)
        if port in BLOCKED_PORTS:
            return Reason.PORT_REFUSED
        by_address = _door(by)[1] if by else ""
        if same_port and not (port in WEB_PORTS or port in self.seed_ports or port in self.ports):
            return Reason.PORT_REFUSED
        return Reason.IP_HOST if address and address != by_address and not self.ip_hosts else None

    def select(self, links: Sequence[Url], *, by: str) -> tuple[Sequence[Url], dict[Reason, int]]:
        """Return the links of a page at a host that may be followed, and how many were refused, by reason."""
        reasons = {host: reason for host in {link.host for link in links} if (reason := self.refuse(host, by=by))}
        if not reasons:
            return links, {}
        kept: list[Url] = []
        refused: dict[Reason, int] = {}
        for link in links:
            if reason := reasons.get(link.host):
                refused[reason] = refused.get(reason, 0) + 1
            else:
                kept.append(link)
        return kept, refused


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeSettings:
    """How far a crawl goes from its seeds."""

    scope: Scope = field(
        default=Scope.SITE,
        metadata={
            "help": "Follow links to the hosts of the seeds (by name: http and https of a name are one), to their "
            "sites, or to the whole web."
        },
    )
    max_depth: int | None = field(
        default=None,
        metadata={
            "help": "Follow at most this many links in a row from a seed; 0 fetches the seeds only.",
            "minimum": 0,
        },
    )
    max_pages_per_site: int | None = field(
        default=None,
        metadata={
            "help": "Store at most this many pages of a site, counted over all starts; its other URLs stay queued.",
            "minimum": 1,
        },
    )
    include: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "Follow only links that match one of these patterns, such as /blog/, *.html$ or "
            "https://example.org/."
        },
    )
    exclude: tuple[str, ...] = field(
        default=(),
        metadata={"help": "Never fetch a URL that matches one of these patterns, even if it matches include."},
    )
    allow_ip_hosts: bool = field(
        default=False,
        metadata={"help": "Follow links to IP addresses instead of names; seeds may always be addresses."},
    )
    allow_ports: tuple[int, ...] = field(
        default=(),
        metadata={
            "help": "Ports to which links are followed, besides 80, 443 and those of the seeds; ports that browsers "
            "block are never contacted."
        },
    )
    exclude_file: Path | None = field(
        default=None,
        metadata={"help": "A file of domains and URL prefixes that are never fetched, one per line."},
    )

    def __post_init__(self) -> None:
        check_patterns([("include", self.include), ("exclude", self.exclude)])
        for port in self.allow_ports:
            if not 0 < port < 65_536:
                raise ValueError(f"allow_ports {port} is no port: write it like 8080,8443")
            if port in BLOCKED_PORTS:
                raise ValueError(f"allow_ports {port} is never contacted: browsers block this port, too")

    def targets(self, seed_ports: Collection[int]) -> TargetRules:
        """To which hosts links lead, if the seeds have these ports besides 80 and 443."""
        return TargetRules(self.allow_ip_hosts, self.allow_ports, seed_ports)


class BadLine(NamedTuple):
    """A line of an exclusion list that excludes nothing."""

    line: int  # the first is 1
    text: str  # shortened
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusions:
    """What the operator excludes from the crawl.

    An entry is a name (`example.org`: it and all names below it), a name behind a star (`*.example.org`: only the
    names below it), an address, or a URL that excludes all URLs that begin with it (`https://example.org/private/`).
    Patterns are separate from entries: they come from settings, not from lists.
    """

    names: frozenset[str] = frozenset()
    parents: frozenset[str] = frozenset()  # only the names below these are excluded
    prefixes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by host
    patterns: UrlPatterns = field(default_factory=UrlPatterns)

    def __bool__(self) -> bool:
        return bool(self.names or self.parents or self.prefixes or self.patterns.texts)

    @staticmethod
    def parse(lines: Iterable[str]) -> tuple[Exclusions, list[BadLine]]:
        """Read an exclusion list: an entry per line, and comments behind `#`."""
        names: set[str] = set()
        parents: set[str] = set()
        prefixes: defaultdict[str, list[str]] = defaultdict(list)
        bad = []
        for number, line in enumerate(lines, start=1):
            text = line.partition("#")[0].strip().removeprefix("\ufeff")
            if not text:
                continue
            entry = read_entry(text)
            if isinstance(entry, Refusal):
                bad.append(BadLine(number, text[:MAX_SHOWN_CHARS], entry.value))
            elif "://" in entry:
                prefixes[host_of(entry)].append(entry)
            elif entry.startswith("*."):
                parents.add(entry[2:])
            else:
                names.add(entry)
        by_host = {host: tuple(dict.fromkeys(urls)) for host, urls in prefixes.items()}
        return Exclusions(names=frozenset(names), parents=frozenset(parents), prefixes=by_host), bad

    @property
    def entries(self) -> set[str]:
        """All entries, each in its one spelling."""
        prefixes = (prefix for of_host in self.prefixes.values() for prefix in of_host)
        return {*self.names, *(f"*.{name}" for name in self.parents), *prefixes}

    def __or__(self, other: Exclusions) -> Exclusions:
        """Return the exclusions of both."""
        hosts = self.prefixes.keys() | other.prefixes.keys()
        return Exclusions(
            names=self.names | other.names,
            parents=self.parents | other.parents,
            prefixes={host: (*self.prefixes.get(host, ()), *other.prefixes.get(host, ())) for host in hosts},
            patterns=self.patterns | other.patterns,
        )

    def find(self, url: str, host: str) -> str | None:
        """Return the entry or pattern that excludes a normalised URL, or None."""
        if self.patterns.texts and (pattern := self.patterns.find(url, host)) is not None:
            return pattern
        if self.prefixes and (prefixes := self.prefixes.get(host)) and url.startswith(prefixes):
            return next(prefix for prefix in prefixes if url.startswith(prefix))
        if not (self.names or self.parents):
            return None
        name = name_of_host(host)
        if name in self.names:
            return name
        _, dot, name = name.partition(".")
        while dot:
            if name in self.names:
                return name
            if name in self.parents:
                return "*." + name
            _, dot, name = name.partition(".")
        return None


def is_blocked(host: str) -> bool:
    """Return whether no request ever goes to a host, even if the operator names it: its port is no port of the web."""
    return _door(host)[0] in BLOCKED_PORTS


def target_in_words(host: str, reason: Reason) -> str:
    """Return why links to a host are not followed."""
    port, _ = _door(host)
    if reason is Reason.IP_HOST:
        return "links to addresses instead of names are not followed without --allow-ip-hosts"
    if port in BLOCKED_PORTS:
        return f"port {port} is never contacted, as in browsers"
    return f"links to port {port} are followed only if a seed has that port, or with --allow-ports {port}"


@lru_cache(maxsize=1 << 12)
def _door(host: str) -> tuple[int, str]:
    """Return the port of a host, and its address if it has no name."""
    name = name_of_host(host)
    return port_of_host(host), name if is_address(name) else ""


def read_entry(text: str) -> str | Refusal:
    """Return the one spelling of an entry of an exclusion list, or why it excludes nothing."""
    if "://" in text:
        return normalise(text)
    root = _url_of_name(text.removeprefix("*."))
    if isinstance(root, Refusal):
        return root
    return ("*." if text.startswith("*.") else "") + name_of_host(host_of(root))


def may_follow_links(depth: int, max_depth: int | None) -> bool:
    """Return whether the crawl may follow links of a page at `depth`."""
    return max_depth is None or depth < max_depth


def is_same_crawl(named: Url, url: QueuedUrl, *, site: str, scope: Scope) -> bool:
    """Return whether a page that another page of its site names in its place is within the crawl's scope."""
    seeded = url.depth == 0  # only seeds, and what they redirect to, have depth 0
    return named.site == site and (
        seeded or scope is not Scope.HOST or name_of_host(named.host) == name_of_host(url.host)
    )


def rank_from(site: str, target: str, rank: int) -> int:
    """Return the rank of a link from a site to a target site: a site's own links come before those of other sites.

    Otherwise a hostile site could invent URLs of a good one that are fetched in place of its pages.
    """
    return rank if target == site else max(rank, FOREIGN_RANK)


def select_links(
    links: Sequence[Url],
    *,
    depth: int,
    max_depth: int | None,
    exclusions: Exclusions,
    include: UrlPatterns = UrlPatterns(),  # noqa: B008 - immutable
) -> Sequence[Url]:
    """Return the links of a page at `depth` that the crawl may follow.

    Whether they are in scope is decided by the frontier: only it knows the seeds.
    """
    if not may_follow_links(depth, max_depth):
        return []
    if include.texts:
        links = [link for link in links if include.admits(link)]
    if not exclusions:
        return links
    return [link for link in links if exclusions.find(link.url, link.host) is None]


def barred_by(link: Link, *, max_depth: int | None, include: UrlPatterns, exclusions: Exclusions) -> Reason | None:
    """Return which rule forbids to request a known URL; seeds, at depth 0, can only be excluded."""
    if exclusions.find(link.url, link.host) is not None:
        return Reason.EXCLUDED
    if link.depth == 0:
        return None
    if max_depth is not None and link.depth > max_depth:
        return Reason.TOO_DEEP
    if link.kind == Kind.SITEMAP:  # the pages that it lists have to be included, not the sitemap
        return None
    return Reason.NOT_INCLUDED if include and include.find(link.url, link.host) is None else None


def _url_of_name(text: str) -> str | Refusal:
    """Return the root URL of a host, given only its name."""
    bare = f"[{text}]" if text.count(":") > 1 and not text.startswith("[") else text
    if "/" in bare or "*" in bare or "?" in bare or bare.rpartition("]")[2].count(":"):
        return Refusal.SYNTAX
    return normalise("https://" + bare)
