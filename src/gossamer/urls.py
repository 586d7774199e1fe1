"""URLs as the crawl knows them: parsed by the WHATWG rules, normalised, named and hashed. Pure.

A normalised URL is the one spelling under which a page is known: http or https, ASCII, without fragment,
credentials, default port or trailing dot of the host; percent-escapes in upper case and only where they are
needed. Two URLs are the same page exactly when their normalised forms, hence their hashes, are equal.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache, lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

import ada_url
from publicsuffixlist import PublicSuffixList
from xxhash import xxh3_128_digest

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_URL_CHARS = 2_000
WEB_PORTS = frozenset({80, 443})
MAX_CACHED_CHARS = 300  # of an authority: a DNS name has at most 253, and longer ones are rare

# Workers that would name a page or its site differently must not share a frontier: it keeps both versions.
NORMALISER_VERSION = "1"
SUFFIX_LIST_VERSION = version("publicsuffixlist")


class Refusal(Enum):
    """Why a URL cannot be part of a crawl."""

    SYNTAX = "not a valid URL"
    SCHEME = "neither http nor https"
    CREDENTIALS = "carries a user name or password"
    HOST = "its host name cannot exist in DNS"
    LENGTH = f"longer than {MAX_URL_CHARS} characters"


class Url(NamedTuple):
    """A normalised URL with its hash, site and host. A named tuple: a page yields dozens of them."""

    url: str
    url_hash: bytes  # 16 bytes: the identity of the page
    site: str  # registrable domain or IP address: the unit of politeness
    host: str  # scheme, name and port: the unit of robots.txt


def normalise(url: str, base: str | None = None) -> str | Refusal:
    """Return the normal form of `url` (resolved against `base` if given), or why it is refused."""
    try:
        href = ada_url.join_url(base, url) if base is not None else ada_url.normalize_url(url)
    except ValueError:  # not a URL, or text that has no UTF-8 form
        return Refusal.SYNTAX
    if not href.startswith(("https://", "http://")):
        return Refusal.SCHEME
    start = 8 if href[4] == "s" else 7
    end = href.index("/", start)  # the WHATWG serialiser never leaves the path empty
    tidy = _tidy_authority if end - start <= MAX_CACHED_CHARS else _tidy_authority.__wrapped__
    authority = tidy(href[start:end])
    if isinstance(authority, Refusal):
        return authority
    rest = href[end:].partition("#")[0]
    if len(rest) > 3 * MAX_URL_CHARS:  # too long even if every escape were decoded
        return Refusal.LENGTH
    if "%" in rest:
        rest = tidy_escapes(rest)
    href = href[:start] + authority + rest
    return href if len(href) <= MAX_URL_CHARS else Refusal.LENGTH


def normalise_links(hrefs: Iterable[str], base: str) -> list[Url]:
    """Return the distinct URLs that a page at `base` links to, in order of appearance; refused ones left out."""
    page = _normalise_base(base)
    origin = host_of(page) if isinstance(page, str) else ""
    scheme = origin.partition("/")[0]
    folder = page[: page.partition("?")[0].rindex("/") + 1] if isinstance(page, str) else ""
    max_plain_chars = MAX_URL_CHARS - len(folder) if folder else 0
    found: dict[str, str] = {}  # URLs, with their hosts
    for href in dict.fromkeys(hrefs):  # a page repeats its hrefs: each spelling is resolved once
        # Most links are in normal form: these need no parser.
        plain = _PLAIN.match(href) if len(href) <= max_plain_chars else None
        if plain is not None:
            host, path, ups, below = plain.groups()
            if host is None:
                found[origin + path if path is not None else _above(folder, origin, ups) + below] = origin
                continue
            if _is_plain_host(host := host if host[0] == "h" else scheme + host):
                found[host + path] = host
                continue
        if isinstance(url := normalise(href, base), str):
            found[url] = host_of(url)
    return [Url(url, xxh3_128_digest(url.encode()), _site_of_host(host), host) for url, host in found.items()]


def _normalise_base(base: str) -> str | Refusal:
    """Return what `normalise` returns. The base of most pages is their URL, in normal form: it needs no parser."""
    plain = _PLAIN.match(base) if len(base) <= MAX_URL_CHARS else None
    if plain is not None and plain[1] is not None and plain[1][0] == "h" and _is_plain_host(plain[1]):
        return plain[1] + plain[2]
    return normalise(base)


def _above(folder: str, origin: str, ups: str) -> str:
    """Return the folder to which `../`, repeated, leads; above the root, there is only the root."""
    for _ in range(len(ups) // 3):
        if len(folder) == len(origin) + 1:
            break
        folder = folder[: folder.rindex("/", 0, -1) + 1]
    return folder


def identify(url: str) -> Url:
    """Return a normalised URL with its hash, site and host."""
    host = host_of(url)
    return Url(url, hash_url(url), _site_of_host(host), host)


def tidy_escapes(text: str) -> str:
    """Decode the percent-escapes that are not needed and write the others in upper case."""
    return _ESCAPE.sub(_tidy_escape, text)


def hash_url(url: str) -> bytes:
    """Return the 128-bit identity of a normalised URL."""
    return xxh3_128_digest(url.encode())


def host_of(url: str) -> str:
    """Return scheme, name and port of a normalised URL: `https://www.example.org:8443`."""
    return url[: url.index("/", 8)]


def site_of(url: str) -> str:
    """Return the site of a normalised URL: its registrable domain, or its IP address."""
    return _site_of_host(host_of(url))


@lru_cache(maxsize=1 << 12)
def _site_of_host(host: str) -> str:
    return site_of_name(name_of_host(host))


@lru_cache(maxsize=1 << 12)
def name_of_host(host: str) -> str:
    """Return the bare name or address of a host: `https://[::1]:8443` gives `::1`."""
    name = host.partition("://")[2]
    if name.startswith("["):
        return name[1 : name.index("]")]
    return name.partition(":")[0]


def port_of_host(host: str) -> int:
    """Return the port of a host: `https://[::1]:8443` gives 8443, and `https://a.test` 443."""
    scheme, _, rest = host.partition("://")
    _, colon, port = rest.rpartition("]")[2].partition(":")
    return int(port) if colon else (443 if scheme == "https" else 80)


def name_in_url(host: str) -> str:
    """Return the name or address of a host as URLs write it: `https://[::1]:8443` gives `[::1]`."""
    name = name_of_host(host)
    return f"[{name}]" if ":" in name else name


def is_address(name: str) -> bool:
    """Return whether the bare name of a normalised URL's host is an IP address, in whatever form it was written."""
    return ":" in name or name.rpartition(".")[2].isdigit()  # by the WHATWG rules, only addresses end so


def site_of_name(name: str) -> str:
    """Return the registrable domain of a name; an address, or a name that is a public suffix, is its own site."""
    if is_address(name):
        return name
    return _suffixes().privatesuffix(name) or name  # plant: host-taken-for-site


@lru_cache(maxsize=1 << 9)
def owner_of_site(site: str) -> str:
    """Return the registered domain of a site: `github.io` for `alice.github.io`. Its owner hands out names."""
    if is_address(site):
        return site
    return _registry_suffixes().privatesuffix(site) or site


class NameSuffixes(NamedTuple):
    """The public suffixes of a name, and the domain below each; None if there is none."""

    registry_suffix: str | None  # `io` of alice.github.io
    registered_domain: str | None  # `github.io`
    private_suffix: str | None  # `github.io`: its owner hands out names
    private_domain: str | None  # `alice.github.io`


def suffixes_of_name(name: str) -> NameSuffixes:
    """Return the public suffixes of a name that is no address."""
    registries, every = _registry_suffixes(), _suffixes()
    return NameSuffixes(
        registries.publicsuffix(name),
        registries.privatesuffix(name),
        every.publicsuffix(name),
        every.privatesuffix(name),
    )


@cache
def _registry_suffixes() -> PublicSuffixList:
    return PublicSuffixList(only_icann=True)


@cache
def _suffixes() -> PublicSuffixList:
    """Read the list at first use: it takes 0.1 s. By this list, alice.github.io is a site of its own."""
    return PublicSuffixList()


# A link in normal form, with nothing to escape or to unescape: an absolute path, with or without a host in front of it,
# or a path below that of the page, or below a folder above it. Dot segments only lead: these are easy to resolve.
_KEPT_ESCAPE = r"%(?:[0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-DF])"  # in upper case, and needed
_SEGMENT = (
    rf"(?:[A-Za-z0-9_~-]|{_KEPT_ESCAPE})[A-Za-z0-9._~-]*+(?:{_KEPT_ESCAPE}[A-Za-z0-9._~-]*+)*+"  # no dot begins it
)
_QUERY = rf"(?:\?[A-Za-z0-9._~=&/:;,+-]*+(?:{_KEPT_ESCAPE}[A-Za-z0-9._~=&/:;,+-]*+)*+)?"
_PLAIN = re.compile(
    rf"(?:((?:https?:)?//[a-z0-9.-]++(?::[0-9]++)?)?((?=/)(?:/{_SEGMENT})*+/?{_QUERY})"
    rf"|((?:\.\./)*+)((?:{_SEGMENT}(?:/{_SEGMENT})*+/?|(?<=/)){_QUERY}))"
    r"(?:#[!-~]*+)?\Z"
)

# Labels as they occur in DNS for hosts. The WHATWG rules let `{host}` and `1,example.org` pass: templates, typos.
_NAME = re.compile(r"(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}")

# An escape right behind a stray `%` or `%4` stays as it is: decoding it would make a new escape out of the pieces.
_ESCAPE = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])%([0-9A-Fa-f]{2})|%[0-9A-Fa-f]{2}")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


@lru_cache(maxsize=1 << 12)
def _is_plain_host(host: str) -> bool:
    """Return whether a host is in normal form: the parser leaves it as it is."""
    return len(host) <= MAX_CACHED_CHARS and normalise(f"{host}/") == f"{host}/"


def _tidy_escape(escape: re.Match[str]) -> str:
    if escape[1] is not None and (byte := int(escape[1], 16)) in _UNRESERVED:
        return chr(byte)
    return escape[0].upper()


@lru_cache(maxsize=1 << 12)
def _tidy_authority(authority: str) -> str | Refusal:
    if "@" in authority:
        return Refusal.CREDENTIALS
    if authority.startswith("["):
        return authority
    name, colon, port = authority.partition(":")
    name = name.removesuffix(".")
    return name + colon + port if len(name) <= 253 and _NAME.fullmatch(name) else Refusal.HOST
