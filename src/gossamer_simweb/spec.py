"""What a simulated web shall be like: its size, its seed, how much of everything, what is planted. Pure.

A `WebSpec` is small and can be pickled; everything about the web follows from it (see `plan`). A share is a
fraction of sites, hosts or pages; 0 switches the feature off. The defaults put every feature into a web of a
few hundred pages.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

LOOPBACK = 127  # the first number of its addresses


class Behaviour(Enum):
    """What a planted page does to whoever asks for it."""

    NORMAL = "answers as planned"
    DRIP = "sends its body one byte every `delay_s`"
    HANG = "accepts the request and never answers"
    STALL = "sends half of its body, then nothing more"
    CLOSE = "closes the connection without an answer"
    RESET = "resets the connection without an answer"
    INFINITE = "repeats its body for ever"
    ENDLESS_HEAD = "sends header lines for ever"
    SHORT = "promises twice as many bytes as it sends, then closes"
    LONG = "sends twice as many bytes as it promised"
    RAW = "sends its body in place of the whole response, status line and all, and closes"

    @property
    def retryable(self) -> bool:
        """Whether whoever asked may rightly take the answer for a failure and ask again."""
        return self not in (Behaviour.NORMAL, Behaviour.INFINITE, Behaviour.LONG, Behaviour.RAW)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedPage:
    """One page written by hand. `{port}` and `{tls_port}` in its texts stand for the server's ports."""

    host: str  # a bare name: `trap.test`; it needs no other declaration to exist
    path: str = "/"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html; charset=utf-8"),)
    body: bytes = b""
    behaviour: Behaviour = Behaviour.NORMAL
    delay_s: float = 0.0  # before the answer; between bytes for DRIP
    links: tuple[str, ...] = ()  # absolute URLs that a perfect crawler finds in the body
    sitemaps: tuple[str, ...] = ()  # of an index: those that it finds there
    leads_to: str | None = None  # the URL it redirects to, if it does
    is_robots: bool = False  # a robots.txt in another place, to which that of a host redirects


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedName:
    """What the name server says about a name, whatever else the plan holds."""

    name: str
    addresses: tuple[str, ...] = ()  # IPv4 or IPv6; none: the name exists but has no address
    later_addresses: tuple[str, ...] = ()  # if any, every answer but the first one of each kind gives these
    ttl_s: int = 300
    failure: Literal["", "nxdomain", "servfail", "silence"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedRobots:
    """The robots.txt of a planted host, and what `expected` goes by; without one the host answers 404.

    A `Planted` page at /robots.txt is sent in its place, for files that are odd, hostile, or elsewhere.
    """

    host: str
    status: int = 200
    rules: tuple[tuple[bool, str], ...] = ()  # (allow, path prefix), for everyone
    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()  # URLs that it names; `{port}` and `{tls_port}` as in pages


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSpec:
    """A simulated web in a few numbers."""

    sites: int = 20
    pages: int = 20  # per site
    seed: int = 1
    profile: Literal["small", "large"] = "small"  # median page 10 KB; or median 138 KB and mean 242 KB
    tls: bool = False  # pages live on https, and plain http redirects there
    token: str = "Gossamer"  # noqa: S105  (the crawler that some robots.txt files name)
    links: float = 12.0  # mean number of links of a page to its own site beyond those of the site's tree
    links_across: float = 2.0  # mean number of links of a page to other sites

    # Shares of sites.
    www: float = 0.5  # live on www, and the bare name redirects there; the others live on the bare name
    aliased: float = 0.6  # of those that live on the bare name: www redirects there; else there is no www
    subdomains: float = 0.4  # have further hosts with pages of their own
    moved: float = 0.08  # redirect as a whole to another site
    sitemaps: float = 0.0  # have sitemaps, of all forms, which also list what nothing links to

    # Shares of hosts.
    robots_missing: float = 0.15  # robots.txt is a 404
    robots_moved: float = 0.12  # robots.txt redirects to another path
    robots_elsewhere: float = 0.0  # robots.txt redirects to another site, or through two
    robots_named: float = 0.4  # robots.txt has a group for `token` beside the one for everybody
    crawl_delay: float = 0.15

    # Shares of pages.
    text: float = 0.02  # text/plain
    image: float = 0.02  # image/png
    missing: float = 0.03  # 404
    broken: float = 0.01  # 500, always
    flaky: float = 0.01  # 503 once, then fine
    busy: float = 0.01  # 429 with Retry-After once, then fine
    slow: float = 0.02
    redirect: float = 0.04  # within the site, one to four hops
    away: float = 0.02  # to another site
    refresh: float = 0.02  # by <meta http-equiv=refresh>
    loop: float = 0.01  # to itself or back and forth
    nofollow: float = 0.02  # pages whose <meta name=robots> says nofollow
    unlinked: float = 0.02  # pages that only rel=nofollow links lead to
    private: float = 0.04  # under a path that most robots.txt files disallow
    members: float = 0.02  # under a path that some robots.txt files disallow to some crawlers
    foreign: float = 0.06  # not UTF-8
    chunked: float = 0.1  # sent without a length
    based: float = 0.05  # with a <base href>

    traps: int = 0  # of each kind in `simweb.traps`: sites without end, beside the others
    year: int = 2026  # in which their calendars begin

    slow_s: float = 0.3
    retry_after_s: int = 1
    crawl_delay_s: float = 1.0
    dns_ttl_s: int = 300

    planted: tuple[PlantedPage, ...] = ()
    planted_names: tuple[PlantedName, ...] = ()
    planted_robots: tuple[PlantedRobots, ...] = ()

    def __post_init__(self) -> None:
        if self.sites < 1 or self.pages < 1:
            raise ValueError("a web has at least one site and one page")
        if sum(getattr(self, share) for share in PAGE_SHARES) > 0.9:
            raise ValueError("at least a tenth of the pages must be ordinary ones")


PAGE_SHARES = (
    "text", "image", "missing", "broken", "flaky", "busy", "slow", "redirect", "away", "refresh", "loop",
    "nofollow", "unlinked", "private", "members",
)  # fmt: skip

_NOT_SHARES = frozenset({"links", "links_across", "slow_s", "crawl_delay_s"})


def plain_web(**settings: Any) -> WebSpec:
    """Return a web of ordinary pages only: every share is 0 unless `settings` names it."""
    shares = {f.name: 0.0 for f in fields(WebSpec) if f.type == "float" and f.name not in _NOT_SHARES}
    return WebSpec(**{**shares, **settings})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """What to serve, and where."""

    spec: WebSpec
    folder: Path  # for the logs and the authority's certificate
    remove_folder: bool  # at the end
    warm: bool = False  # make all answers before the first request
    port: int = 0  # 0: any free one
    tls_port: int = 0
    dns_port: int = 0
    network: int = LOOPBACK  # the first number of all addresses
