"""The hostile sites of a web: their names, addresses and answers. Pure.

Every hostile site has an address of its own in a network of its own (/24), as the sites of an attacker with much money
have: nothing that a crawler knows about one of them tells it about the others.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from gossamer_simweb.hostility.kind import HostileUrl, Lookup
from gossamer_simweb.hostility.kinds import HOSTILE_KINDS
from gossamer_simweb.hostility.links import PRIVATE_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer_simweb.hostility.kind import HostileAnswer, HostileKind

MAX_SITES = 15 * 256  # each has a /24, below 240.0.0 … 254.255.0
INTERNAL_ADDRESSES = ("10.0.0.1", "169.254.169.254", "192.168.1.1", "0.0.0.0", "255.255.255.255")  # noqa: S104
MANY_ADDRESSES = 200


class HostileHost(NamedTuple):
    """A host of a hostile site."""

    kind: HostileKind
    number: int  # of the site
    site: str
    name: str

    @property
    def lookup(self) -> Lookup:
        """What the name server answers for this host."""
        return self.kind.lookup if self.name == self.site else self.kind.lookup_below


class HostileSites:
    """The hostile sites of a web: `count` of them, with `kinds` in turn."""

    def __init__(self, kinds: tuple[str, ...], count: int, seed: int, ports: dict[str, int]) -> None:
        self._kinds = kinds
        self._count = count if kinds else 0
        self._seed = seed
        self._ports = ports  # http, and https with certificates

    def names(self) -> list[str]:
        """Return the name of every site."""
        return [f"{self._kinds[number % len(self._kinds)]}-hostile-{number}.test" for number in range(self._count)]

    def seeds(self) -> list[str]:
        """Return the URL of the front page of every site."""
        return [f"{self._origin(host)}/" for name in self.names() if (host := self.find(name))]

    def prepare(self) -> None:
        """Make what the sites send, as far as it is kept: a server that makes it later would hold up good sites."""
        made: set[tuple[str, int]] = set()
        for name in self.names():
            host = self.find(name)
            assert host is not None
            url = self._url(host, "/p/1", "http", lambda _: "http://example.test")
            if (kind := (name.rpartition("-hostile-")[0], url.variant)) not in made:
                made.add(kind)
                for target in ("/", "/p/1", "/robots.txt", "/sitemap.xml"):
                    host.kind.answer(url._replace(target=target))

    def find(self, name: str) -> HostileHost | None:
        """Return the hostile host with a name; None if there is none."""
        if not self._count:
            return None
        if found := _NAME.fullmatch(name):
            return self._host(int(found[2]), name, found[1])
        if found := _SUFFIXED.fullmatch(name):
            return self._host(int(found[1]), name, "private-suffix")
        if _LITERAL.fullmatch(name) and "ipv4-literals" in self._kinds:
            return self._host(self._kinds.index("ipv4-literals"), name, "ipv4-literals")
        return None

    def find_at(self, address: str) -> HostileHost | None:
        """Return the host whose own address this is; None if there is none."""
        _, second, third, fourth = map(int, address.split("."))
        if second < 240 or fourth > MANY_ADDRESSES or not self._count:
            return None
        number = 256 * (second - 240) + third
        return self.find(self.names()[number]) if number < self._count else None

    def place(self, host: HostileHost) -> str:
        """Return the last three numbers of a host's address."""
        if _LITERAL.fullmatch(host.name):
            return host.name.partition(".")[2]
        return f"{240 + host.number // 256}.{host.number % 256}.1"

    def answer(self, host: HostileHost, target: str, scheme: str, victims: Callable[[int], str]) -> HostileAnswer:
        """Return the answer of a host to a request for a path."""
        return host.kind.answer(self._url(host, target, scheme, victims))

    def _url(self, host: HostileHost, target: str, scheme: str, victims: Callable[[int], str]) -> HostileUrl:
        return HostileUrl(
            seed=self._seed, site=host.site, number=host.number, name=host.name, target=target, scheme=scheme,
            port=self._ports[scheme], victims=victims,
        )  # fmt: skip

    def _host(self, number: int, name: str, kind: str) -> HostileHost | None:
        if number >= self._count or self._kinds[number % len(self._kinds)] != kind:
            return None
        return HostileHost(HOSTILE_KINDS[kind], number, f"{kind}-hostile-{number}.test", name)

    def _origin(self, host: HostileHost) -> str:
        scheme = "https" if host.kind.https else "http"
        port = self._ports["https" if host.kind.certificate else "http"]
        return f"{scheme}://{host.name}:{port}"


_NAME = re.compile(r"(?:[^/]+\.)?([a-z0-9-]+)-hostile-(0|[1-9][0-9]{0,4})\.test")
_SUFFIXED = re.compile(r"[0-9a-f]{10}-hostile-(0|[1-9][0-9]{0,4})\." + re.escape(PRIVATE_SUFFIX))
_LITERAL = re.compile(r"127\.(?:20[0-9]|2[1-3][0-9])(?:\.[0-9]{1,3}){2}")
