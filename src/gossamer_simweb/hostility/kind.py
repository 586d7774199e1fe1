"""What a kind of hostile site is: its name, a sentence about it, and its answer to any request. Pure.

The seed, the name of the host and the path determine every answer. A site's first page and its robots.txt are those of
an ordinary small site unless the kind says otherwise, so that a crawler comes back for the hostile pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

ROBOTS_PATH = "/robots.txt"
HTML = b"Content-Type: text/html; charset=utf-8\r\n"
TEXT = b"Content-Type: text/plain; charset=utf-8\r\n"
FRONT_LINKS = 40
VARIANTS = 8  # sizes of an attack; a site has one of them


class Ending(Enum):
    """What the server does with the connection after it has sent everything."""

    CLOSE = "closes it"
    RESET = "resets it"
    HOLD = "keeps it open and sends nothing more"
    HALF_CLOSE = "closes its own side, and keeps reading"


class Lookup(Enum):
    """What the name server answers for a host."""

    ADDRESS = "the address of the site"
    MANY = "200 addresses of the site's network, which all lead to the site"
    INTERNAL = "addresses of internal networks"
    NOTHING = "no address"
    FAILURE = "a server failure"
    SILENCE = "nothing at all"
    TRUNCATED = "a truncated message, although no name server listens on TCP"
    GARBAGE = "random bytes after the number of the question"
    STRANGER = "the answer to another question"


Script = Callable[[], Iterator[bytes | float]]  # bytes to send; seconds to wait


class HostileUrl(NamedTuple):
    """One request to a hostile site, with what its answer may depend on."""

    seed: int
    site: str  # `tarpit-hostile-3.test`
    number: int  # of the site
    name: str  # of the host: the site, or a name below it
    target: str  # path and query, as the client sent them
    scheme: str
    port: int  # of the URL
    victims: Callable[[int], str]  # the origins of good sites, by any number

    @property
    def origin(self) -> str:
        """Scheme, name and port."""
        return f"{self.scheme}://{self.name}:{self.port}"

    @property
    def variant(self) -> int:
        """The size of the attack: 0 is the smallest, `VARIANTS - 1` the largest."""
        return xxh3_64_intdigest(f"{self.seed} variant {self.site}".encode()) % VARIANTS

    def fresh(self, number: int = 0) -> str:
        """Return 16 hex digits that depend on this URL and `number`: for links that are always new."""
        return xxh3_64_hexdigest(f"{self.seed} {self.name} {self.target} {number}".encode())

    def victim(self, number: int = 0) -> str:
        """Return the origin of a good site that depends on this URL and `number`."""
        return self.victims(int(self.fresh(number), 16))


class HostileAnswer(NamedTuple):
    """The answer of a hostile site: a response, or a script in place of all its bytes."""

    status: int = 200
    head: bytes = HTML  # header lines, each with its line ending
    body: bytes = b""
    leads_to: str = ""  # the target of a redirect within the site, or of a robots.txt
    wait_s: float = 0.0  # what Retry-After or Crawl-delay ask for
    delay_s: float = 0.0  # before the response
    script: Script | None = None
    ending: Ending = Ending.CLOSE  # after a script


Answering = Callable[[HostileUrl], HostileAnswer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """How the certificate of a hostile site differs from a good one."""

    expired: bool = False
    other_name: bool = False
    unknown_authority: bool = False
    names: int = 1  # how many it lists


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileKind:
    """One kind of hostile site."""

    sentence: str  # says what the site does, to a client that requests it
    page: Answering  # answers for every path but those below
    front: Answering = field(default=lambda url: ordinary_front(url))  # answers for "/"
    robots: Answering = field(default=lambda _: HostileAnswer(404, TEXT, b"No robots.txt here.\n"))
    sitemap: Answering = field(default=lambda _: HostileAnswer(404, TEXT, b"No sitemap here.\n"))  # /sitemap.xml
    on_connect: Script | None = None  # runs before the client has sent anything
    connect_ending: Ending = Ending.HOLD
    https: bool = False  # the URLs of its pages begin with https
    certificate: Certificate | None = None  # for TLS; with https and without one, it speaks no TLS
    lookup: Lookup = Lookup.ADDRESS
    lookup_below: Lookup = Lookup.ADDRESS  # for names below the site's own

    def answer(self, url: HostileUrl) -> HostileAnswer:
        """Return the answer to a request."""
        path = url.target.partition("?")[0]
        if path == ROBOTS_PATH:
            return self.robots(url)
        if path == "/sitemap.xml":
            return self.sitemap(url)
        return self.front(url) if url.target == "/" and url.name == url.site else self.page(url)


def anchors(hrefs: list[str]) -> bytes:
    """Return links as HTML."""
    return b"".join(b'<a href="%s">on</a>\n' % href.replace("&", "&amp;").encode() for href in hrefs)


def own_links(url: HostileUrl, count: int = 3) -> bytes:
    """Return links to further pages of the same host, which are always new."""
    return anchors([f"/p/{url.fresh(number)}.html" for number in range(count)])


def page(*parts: bytes, title: bytes = b"Welcome") -> HostileAnswer:
    """Return a page of HTML with these parts in its body."""
    return HostileAnswer(body=b"<!DOCTYPE html>\n<title>%s</title>\n" % title + b"\n".join(parts))


def ordinary_page(url: HostileUrl) -> HostileAnswer:
    """Return a small page with a few words and a few links."""
    return page(b"<p>Words of %s.</p>" % url.fresh().encode(), own_links(url))


def ordinary_front(url: HostileUrl) -> HostileAnswer:
    """Return a front page that links to many pages of the site."""
    return page(own_links(url, FRONT_LINKS))


def scripted(*pieces: bytes | float, ending: Ending = Ending.CLOSE, status: int = 200) -> HostileAnswer:
    """Return an answer that sends these pieces in place of a response, with pauses of this many seconds."""
    return HostileAnswer(status, script=lambda: iter(pieces), ending=ending)


def drip(data: bytes, gap_s: float, size: int = 1) -> Iterator[bytes | float]:
    """Yield data in small pieces with a pause after each."""
    for at in range(0, len(data), size):
        yield data[at : at + size]
        yield gap_s
