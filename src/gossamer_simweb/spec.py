"""The specification of a simulated web: size, seed, share of each feature, planted pages; and how to serve it. Pure.

A `WebSpec` is small, can be pickled, and determines the web completely (see `plan`). A share is a fraction of sites,
hosts or pages; 0 turns the feature off. The defaults put every feature into a web of a few hundred pages.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

from gossamer_simweb.hostility.kinds import HOSTILE_KINDS
from gossamer_simweb.hostility.sites import MAX_SITES

if TYPE_CHECKING:
    from pathlib import Path

LOOPBACK = 127  # the first number of loopback addresses


class Behaviour(Enum):
    """What a planted page does to a client that requests it."""

    NORMAL = "answers as planned"
    DRIP = "sends its body one byte every `delay_s`"
    HANG = "accepts the request and never answers"
    STALL = "sends half of its body, then nothing more"
    CLOSE = "closes the connection without an answer"
    RESET = "resets the connection without an answer"
    INFINITE = "repeats its body forever"
    ENDLESS_HEAD = "sends header lines forever"
    SHORT = "promises twice as many bytes as it sends, then closes"
    LONG = "sends twice as many bytes as it promised"
    RAW = "sends its body in place of the whole response, status line and all, and closes"

    @property
    def retryable(self) -> bool:
        """Whether a client may treat the response as a failure and try again."""
        return self not in (Behaviour.NORMAL, Behaviour.INFINITE, Behaviour.LONG, Behaviour.RAW)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedPage:
    """One page written by hand. `{port}` and `{tls_port}` in its texts are replaced by the server's ports."""

    host: str  # a bare name: `trap.test`; this creates the host
    path: str = "/"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html; charset=utf-8"),)
    body: bytes = b""
    behaviour: Behaviour = Behaviour.NORMAL
    delay_s: float = 0.0  # before the response; between bytes for DRIP
    links: tuple[str, ...] = ()  # absolute URLs that a perfect crawler finds in the body
    sitemaps: tuple[
        str, ...
    ] = ()  # absolute URLs of sitemaps that a perfect crawler finds in the body, if it is an index
    leads_to: str | None = None  # the target of its redirect, if it is one
    is_robots: bool = False  # it is a robots.txt to which that of a host redirects


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedName:
    """The name server's answer for a name; it overrides the plan."""

    name: str
    addresses: tuple[str, ...] = ()  # IPv4 or IPv6; empty: the name exists but has no address
    later_addresses: tuple[str, ...] = ()  # if any: all answers after the first of each record type give these
    ttl_s: int = 300
    failure: Literal["", "nxdomain", "servfail", "silence"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedRobots:
    """The robots.txt of a planted host; without one the host answers 404. `expected` uses these rules.

    If there is a `PlantedPage` at /robots.txt, the server sends that page instead: for odd, hostile or redirected
    files.
    """

    host: str
    status: int = 200
    rules: tuple[tuple[bool, str], ...] = ()  # (allow, path prefix), for every crawler
    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()  # URLs that it names; `{port}` and `{tls_port}` as in pages


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSpec:
    """A simulated web in a few numbers."""

    sites: int = 20
    pages: int = 20  # per site
    seed: int = 1
    profile: Literal["small", "large"] = "small"  # median page 10 KB; or median 138 KB and mean 242 KB
    tls: bool = False  # pages are served over https, and plain http redirects there
    token: str = "Gossamer"  # noqa: S105  (the crawler's name in some robots.txt files)
    links: float = 12.0  # mean number of links from a page to its own site, without those of the site's tree
    links_across: float = 2.0  # mean number of links from a page to other sites

    # Shares of sites.
    www: float = 0.5  # main host is www, and the bare name redirects there; the others use the bare name
    aliased: float = 0.6  # of those that use the bare name: www redirects there; the others have no www
    subdomains: float = 0.4  # have further hosts with their own pages
    moved: float = 0.08  # redirect completely to another site
    sitemaps: float = 0.0  # have sitemaps, in all forms, which also list pages without links
    crowded: float = 0.0  # share the `crowded_addresses` with each other; the other sites have one each

    # Shares of hosts.
    robots_missing: float = 0.15  # robots.txt is a 404
    robots_moved: float = 0.12  # robots.txt redirects to another path
    robots_elsewhere: float = 0.0  # robots.txt redirects to another site, directly or over a second one
    robots_named: float = 0.4  # robots.txt has a group for `token` besides the general one
    crawl_delay: float = 0.15

    # Shares of pages.
    text: float = 0.02  # text/plain
    image: float = 0.02  # image/png
    missing: float = 0.03  # 404
    broken: float = 0.01  # 500, always
    flaky: float = 0.01  # 503 once, then 200
    busy: float = 0.01  # 429 with Retry-After once, then 200
    slow: float = 0.02
    redirect: float = 0.04  # within the site, one to four hops
    away: float = 0.02  # to another site
    refresh: float = 0.02  # by <meta http-equiv=refresh>
    loop: float = 0.01  # to itself or back and forth
    nofollow: float = 0.02  # <meta name=robots> says nofollow
    unlinked: float = 0.02  # only rel=nofollow links lead there
    private: float = 0.04  # under a path that most robots.txt files disallow
    members: float = 0.02  # under a path that some robots.txt files disallow for some crawlers
    foreign: float = 0.06  # not UTF-8
    chunked: float = 0.1  # sent without a length
    based: float = 0.05  # with a <base href>

    traps: int = 0  # number of trap sites of each kind in `traps`, besides the other sites
    year: int = 2026  # in which the calendars of traps begin
    hostile: tuple[str, ...] = ()  # names of kinds in `hostility`, which the hostile sites have in turn
    hostile_sites: int = 0  # number of hostile sites, besides the other sites

    crowded_addresses: int = 1
    slow_s: float = 0.3
    retry_after_s: int = 1
    crawl_delay_s: float = 1.0
    dns_ttl_s: int = 300

    planted: tuple[PlantedPage, ...] = ()
    planted_names: tuple[PlantedName, ...] = ()
    planted_robots: tuple[PlantedRobots, ...] = ()

    def __post_init__(self) -> None:
        if self.sites < 1 or self.pages < 1:
            raise ValueError("A web needs at least one site and one page.")
        if sum(getattr(self, share) for share in PAGE_SHARES) > 0.9:
            raise ValueError("At least a tenth of the pages must be ordinary: lower the shares of the other kinds.")
        if unknown := [kind for kind in self.hostile if kind not in HOSTILE_KINDS]:
            raise ValueError(f"There is no hostile kind {unknown[0]!r}: choose from {', '.join(HOSTILE_KINDS)}.")
        if self.hostile_sites > MAX_SITES:
            raise ValueError(f"A web has at most {MAX_SITES} hostile sites.")

    @property
    def has_certificates(self) -> bool:
        """Whether any site answers over TLS."""
        return self.tls or any(HOSTILE_KINDS[kind].certificate for kind in self.hostile)


PAGE_SHARES = (
    "text", "image", "missing", "broken", "flaky", "busy", "slow", "redirect", "away", "refresh", "loop",
    "nofollow", "unlinked", "private", "members",
)  # fmt: skip

_NOT_SHARES = frozenset({"links", "links_across", "slow_s", "crawl_delay_s"})


def plain_web(**settings: Any) -> WebSpec:
    """Return a web that has ordinary pages only: every share is 0 unless `settings` sets it."""
    shares = {f.name: 0.0 for f in fields(WebSpec) if f.type == "float" and f.name not in _NOT_SHARES}
    return WebSpec(**{**shares, **settings})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """What the server process serves, and where. The parent process sends it over stdin."""

    spec: WebSpec
    folder: Path  # for the logs and the certificate of the authority
    remove_folder: bool  # when the server ends
    warm: bool = False  # make all responses before the first request
    port: int = 0  # 0: any free one
    tls_port: int = 0
    dns_port: int = 0
    network: int = LOOPBACK  # the first number of all addresses
