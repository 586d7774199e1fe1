"""The hosts of a simulated web: names, addresses, redirects between hosts, and robots.txt files. Pure.

The seed and the number of a site determine everything.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from gossamer_simweb.hostility.sites import HostileSites
from gossamer_simweb.planted import PlantedWeb
from gossamer_simweb.robots import (
    MOVED_PATH,
    NO_ROBOTS,
    ROBOTS_PATH,
    Robots,
    policy_name,
    policy_path,
    robots_for_all,
    robots_for_token,
)
from gossamer_simweb.seeded_random import EvenSpread, SeededRandom, unit_of
from gossamer_simweb.sitemaps import named_sitemaps
from gossamer_simweb.text import SITE_WORDS, SUBDOMAINS
from gossamer_simweb.traps import TRAPS, trap_kind, trap_site

if TYPE_CHECKING:
    from gossamer_simweb.spec import WebSpec


class Hosts(NamedTuple):
    """The host names of a site."""

    bare: str  # the registrable domain, which names the site
    main: str  # the host that has the pages
    alias: str | None  # redirects to the same path on `main`
    subs: tuple[str, ...]  # further hosts with pages of their own
    moved_to: int | None  # the number of the site to which all of this site redirects


class HostPlan:
    """The hosts of a web. `port` and `tls_port` are part of every URL."""

    def __init__(self, spec: WebSpec, *, port: int, tls_port: int, network: int | None) -> None:
        self.spec = spec
        self.port = port
        self.tls_port = tls_port
        self.scheme = "https" if spec.tls else "http"
        self.planted = PlantedWeb(spec, port=port, tls_port=tls_port)
        ports = {"http": port, "https": tls_port}
        self.hostile = HostileSites(spec.hostile, spec.hostile_sites, spec.seed, ports)
        self.hosts = lru_cache(maxsize=1 << 16)(self._hosts)
        self.network = network  # the first number of every address; None: only 127.0.0.1 is available
        self._ports = {"http": _suffix(port, 80), "https": _suffix(tls_port, 443)}
        self._moved_spread, self._www_spread, self._sub_spread = (EvenSpread(spec.seed, p) for p in (2, 3, 7))
        self._missing_spread, self._named_spread, self._delay_spread = (EvenSpread(spec.seed, p) for p in (11, 13, 17))

    # Names and addresses

    def origin(self, name: str, scheme: str | None = None) -> str:
        """Return the scheme, name and port of a host as in a URL: `http://www.amber-1.test:8080`."""
        scheme = scheme or self.scheme
        return f"{scheme}://{name}{self._ports[scheme]}"

    def site_number(self, name: str) -> int | None:
        """Return the number of the site that a host name belongs to; None if the web has no such host."""
        match = _SITE_NAME.fullmatch(name)
        if match is None or (site := int(match[3])) >= self.spec.sites:
            return None
        hosts = self.hosts(site)
        return site if name in (hosts.main, hosts.alias, *hosts.subs) else None

    def trap(self, name: str) -> str | None:
        """Return the kind of trap that a host name belongs to; None if it belongs to none."""
        return trap_kind(name, self.spec.traps) if self.spec.traps else None

    def trap_sites(self) -> list[str]:
        """Return the names of all trap sites."""
        return [trap_site(kind, number) for number in range(self.spec.traps) for kind in TRAPS]

    def address(self, name: str) -> str | None:
        """Return the address of a host name. Sites that are not `crowded` have their own, if the system allows it."""
        if name in self.planted.names:
            place = self.planted.place(name)
        elif (site := self.site_number(name)) is not None and site < self.spec.crowded * self.spec.sites:
            shared = site % self.spec.crowded_addresses
            place = f"0.{1 + shared // 254}.{1 + shared % 254}"
        elif site is not None:
            place = f"{1 + site // (254 * 256)}.{site // 254 % 256}.{1 + site % 254}"
        elif self.trap(name) is not None:
            place = "0.0.1"
        elif (hostile := self.hostile.find(name)) is not None:
            place = self.hostile.place(hostile)
        else:
            return None
        return "127.0.0.1" if self.network is None else f"{self.network}.{place}"

    def victim(self, number: int) -> str:
        """Return the origin of a good site, for any number."""
        return self.origin(self.hosts(number % self.spec.sites).main)

    def _hosts(self, site: int) -> Hosts:
        spec = self.spec
        word = SITE_WORDS[int(unit_of(spec.seed, "site", site) * len(SITE_WORDS))]
        bare = f"{word}-{site}.test"
        place = self._www_spread.unit(site)
        main, alias = bare, None
        if place < spec.www:
            main, alias = "www." + bare, bare
        elif place < spec.www + (1 - spec.www) * spec.aliased:
            alias = "www." + bare
        moved_to = self._successor(site) if self._moves(site) else None
        place = self._sub_spread.unit(site)
        subs = int(place < spec.subdomains) + int(place < spec.subdomains / 3) if moved_to is None else 0
        first = site % len(SUBDOMAINS)
        labels = (SUBDOMAINS + SUBDOMAINS)[first : first + subs]
        return Hosts(bare, main, alias, tuple(f"{label}.{bare}" for label in labels), moved_to)

    def _moves(self, site: int) -> bool:
        return site > 0 and self._moved_spread.unit(site) < self.spec.moved

    def _successor(self, site: int) -> int:
        other = int(unit_of(self.spec.seed, "moved", site) * self.spec.sites)
        while self._moves(other):  # site 0 never moves
            other -= 1
        return other

    # Robots

    def robots(self, name: str) -> Robots:
        """Return the robots.txt of an existing host; for an alias, that of its main host."""
        robots = self._robots(name)
        if not self.spec.sitemaps or robots.status != 200 or name in self.planted.names or self._is_shared(robots):
            return robots
        named = named_sitemaps(self, name)
        if not robots.elsewhere:
            return replace(robots, sitemaps=named)
        own = tuple(url for url in named if self.site_number(split_url(url)[1]) == self.site_number(name))
        return replace(robots, sitemaps=own, ignored_sitemaps=tuple(url for url in named if url not in own))

    def is_alias(self, scheme: str, name: str) -> bool:
        """Return whether a host only redirects to another host of its site, robots.txt included."""
        site = None if name in self.planted.names else self.site_number(name)
        return site is not None and (scheme != self.scheme or name == self.hosts(site).alias)

    def has_robots(self, name: str) -> bool:
        """Return whether a host has a robots.txt."""
        return self._robots(name).status == 200

    def _robots(self, name: str) -> Robots:
        if name in self.planted.names:
            return self.planted.robots(name)
        site = self.site_number(name)
        assert site is not None, name
        hosts = self.hosts(site)
        if hosts.moved_to is not None:
            return NO_ROBOTS
        number = 3 * site + (hosts.subs.index(name) + 1 if name in hosts.subs else 0)
        spec = self.spec
        crawl_delay_s = spec.crawl_delay_s if self._delay_spread.unit(number) < spec.crawl_delay else None
        place = self._missing_spread.unit(number)
        if place < spec.robots_missing:
            return NO_ROBOTS
        moved = place < spec.robots_missing + spec.robots_moved
        if self._is_elsewhere(number):
            return self._robots_elsewhere(number, site, hosts.main if name == hosts.alias else name, crawl_delay_s)
        return self._file(number, moved=moved, crawl_delay_s=crawl_delay_s)

    def _file(self, number: int, *, moved: bool, crawl_delay_s: float | None) -> Robots:
        spec = self.spec
        place = self._named_spread.unit(number)
        if place >= spec.robots_named:
            return robots_for_all(moved=moved, crawl_delay_s=crawl_delay_s)
        strict = place < spec.robots_named / 2
        return robots_for_token(spec.token, strict=strict, moved=moved, crawl_delay_s=crawl_delay_s)

    def _robots_elsewhere(self, number: int, site: int, name: str, crawl_delay_s: float | None) -> Robots:
        """Return a robots.txt on another site: a file for this host, or that site's own."""
        dice = SeededRandom(self.spec.seed, "elsewhere", number)
        keepers = [other for other in (dice.skewed(self.spec.sites) for _ in range(8)) if self._keeps(other, site)]
        robots = self._file(number, moved=False, crawl_delay_s=crawl_delay_s)
        if not keepers:
            return robots
        main = self.hosts(keepers[0]).main
        if dice.chance(0.3) and not self._is_elsewhere(3 * keepers[0]):
            theirs = self._robots(main)
            paths = (ROBOTS_PATH, MOVED_PATH) if theirs.moved else (ROBOTS_PATH,)
            return replace(theirs, moved=False, elsewhere=tuple(self.origin(main) + path for path in paths))
        keepers = list(dict.fromkeys(keepers))[: 1 + dice.chance(0.4)]
        urls = (self.origin(self.hosts(keeper).main) + policy_path(name) for keeper in keepers)
        return replace(robots, elsewhere=tuple(urls))

    def _is_elsewhere(self, number: int) -> bool:
        """Return whether the robots.txt of the host with this number is on another site."""
        first = self.spec.robots_missing + self.spec.robots_moved
        return first <= self._missing_spread.unit(number) < first + self.spec.robots_elsewhere

    def _keeps(self, keeper: int, site: int) -> bool:
        return keeper != site and self.hosts(keeper).moved_to is None

    @staticmethod
    def _is_shared(robots: Robots) -> bool:
        """Return whether a robots.txt is another site's own; then it names no sitemap of this site."""
        return bool(robots.elsewhere) and not policy_name(split_url(robots.elsewhere[-1])[2])

    def allowed(self, url: str, token: str) -> bool:
        """Return whether the crawler with the robots.txt name `token` may request a URL of this web."""
        _, name, target = split_url(url)
        return self.robots(name).allows(token, target)


def split_url(url: str) -> tuple[str, str, str]:
    """Return scheme, host name and path with query of a normalised URL."""
    scheme, _, rest = url.partition("://")
    authority, slash, target = rest.partition("/")
    return scheme, authority.rpartition(":")[0] or authority, slash + target


def _suffix(port: int, default: int) -> str:
    return "" if port == default else f":{port}"


_SITE_NAME = re.compile(r"(?:([a-z]+)\.)?([a-z]+)-(0|[1-9][0-9]{0,8})\.test")
