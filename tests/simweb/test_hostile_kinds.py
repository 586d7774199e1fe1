"""Every hostile kind of site does to a plain client what its sentence says."""

from __future__ import annotations

import gzip
import ipaddress
import re
import socket
import ssl
import zlib
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import brotli
import pytest
import zstandard

from gossamer.urls import site_of
from gossamer_simweb import WebServer, WebSpec, plain_web, serve
from gossamer_simweb.dns import A
from gossamer_simweb.hostility.heads import SLOW_S
from gossamer_simweb.hostility.kinds import HOSTILE_KINDS
from gossamer_simweb.hostility.redirects import PORTS
from gossamer_simweb.hostility.sites import HostileSites

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMES = tuple(HOSTILE_KINDS)
LIMIT_BYTES = 4_000_000  # more than any answer that ends
SILENT_S = 0.25  # how long a silent server is listened to
ANSWER_S = 30.0  # how long a busy machine may take for an answer
PAGE, FRONT, ROBOTS, SITEMAP = "/p/0123456789abcdef.html", "/", "/robots.txt", "/sitemap.xml"
BOMB_BYTES = 60_000_000


class Seen(NamedTuple):
    """What a plain client sees of one answer."""

    data: bytes  # everything that came
    ended: str  # closed | reset | silent: open, but nothing comes | endless: more than any page has | refused: by us
    url: str

    @property
    def head(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[0]

    @property
    def body(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[2]

    @property
    def status(self) -> int:
        return int(self.data[9:12])

    @property
    def location(self) -> str:
        found = re.search(rb"\r\nLocation: ([^\r\n]*)", self.head)
        return found[1].decode() if found else ""

    @property
    def links(self) -> list[str]:
        return [href.decode().replace("&amp;", "&") for href in re.findall(rb'<a href="([^"]*)"', self.body)]

    def header(self, name: bytes) -> bytes:
        found = re.search(rb"(?i)\r\n" + name + rb": ([^\r\n]*)", self.head)
        return found[1] if found else b""


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with serve(plain_web(sites=5, pages=3, hostile=NAMES, hostile_sites=len(NAMES))) as running:
        yield running


def front_of(server: WebServer, kind: str) -> str:
    return server.web.hostile.seeds()[NAMES.index(kind)]


def look(server: WebServer, url: str, *, address: str = "", patience_s: float = ANSWER_S) -> Seen:
    """Request a URL, and read until the connection ends, is silent, or has sent too much."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    at = address or server.web.address(parts.hostname) or ""
    data = b""
    try:
        with socket.create_connection((at, parts.port or 0), timeout=ANSWER_S) as plain:
            connection: socket.socket = plain
            if parts.scheme == "https":
                plain.settimeout(patience_s)
                context = ssl.create_default_context(cafile=server.ca_file)
                connection = context.wrap_socket(plain, server_hostname=parts.hostname)
            connection.settimeout(patience_s)
            request = f"GET {parts.path}{'?' * bool(parts.query)}{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
            connection.sendall(f"{request}Connection: close\r\n\r\n".encode())
            with connection:
                while len(data) < LIMIT_BYTES:
                    piece = connection.recv(1 << 20)
                    if not piece:
                        return Seen(data, "closed", url)
                    data += piece
        return Seen(data, "endless", url)
    except TimeoutError:
        return Seen(data, "silent", url)
    except ConnectionError:
        return Seen(data, "reset", url)
    except ssl.SSLError as error:
        return Seen(str(error).encode(), "refused", url)


def inflates(seen: Seen, coding: bytes, inflate: Callable[[bytes], bytes]) -> bool:
    return seen.header(b"content-encoding") == coding and len(inflate(seen.body)) > BOMB_BYTES > 100 * len(seen.body)


def has(seen: Seen, piece: bytes, times: int) -> bool:
    return seen.ended == "closed" and seen.body.count(piece) >= times


def leads_to(seen: Seen, wanted: Callable[[str], object], count: int) -> bool:
    return sum(bool(wanted(link)) for link in seen.links) >= count


def is_good(url: str) -> bool:
    return re.match(r"http://(?:www\.)?[a-z]+-[0-4]\.test[:/]", url) is not None


def is_internal(url: str) -> bool:
    return not re.match(r"https?://[a-z0-9-]+\.test", url)


def port_of(url: str) -> int:
    return urlsplit(url).port or 0


def promised(seen: Seen) -> int:
    return int(seen.header(b"content-length") or "-1")


def dripped(seen: Seen, sent: bytes) -> bool:
    return seen.ended == "silent" and len(sent) <= 2


def rules(seen: Seen, piece: bytes, times: int, size_bytes: int = 0) -> bool:
    return seen.status == 200 and seen.body.count(piece) >= times and len(seen.body) >= size_bytes


Sight = tuple[str, "Callable[[Seen], object]"]
SIGHTS: dict[str, Sight] = {
    # robots.txt
    "robots-wildcards": (ROBOTS, lambda s: rules(s, b"*a*a*a*", 10_000, 450_000)),
    "robots-literals": (ROBOTS, lambda s: rules(s, b": /private/", 10_000, 450_000) and b"*" not in s.body[15:]),
    "robots-groups": (ROBOTS, lambda s: rules(s, b"User-agent: bot", 14_000) and s.body.endswith(b"/private\n")),
    "robots-line": (ROBOTS, lambda s: rules(s, b"Disallow", 1, 500_000) and s.body.count(b"\n") == 1),
    "robots-endless": (ROBOTS, lambda s: s.ended == "endless"),
    "robots-drip": (ROBOTS, lambda s: dripped(s, s.body)),
    "robots-redirects": (ROBOTS, lambda s: s.status == 302 and s.location.endswith("/robots.txt?1")),
    "robots-elsewhere": (ROBOTS, lambda s: s.status == 302 and is_good(s.location)),
    "robots-crawl-delay": (ROBOTS, lambda s: rules(s, b"Crawl-delay: 1e300", 1)),
    "robots-gzip-bomb": (ROBOTS, lambda s: inflates(s, b"gzip", gzip.decompress)),
    "robots-page": (ROBOTS, lambda s: has(s, b"<p>", 100_000) and b"text/html" in s.head),
    "robots-tarpit": (ROBOTS, lambda s: s.ended == "silent" and not s.data),
    "robots-busy": (ROBOTS, lambda s: s.status == 503 and int(s.header(b"retry-after")) > 2_700 * 365 * 86_400),
    "robots-sitemaps": (ROBOTS, lambda s: rules(s, b"Sitemap: http", 8_000)),
    "robots-binary": (ROBOTS, lambda s: all(byte in s.body for byte in (b"\0", b"\x1b", b"\xc3\x28", b"\rA"))),
    # pages that cost much
    "nested-tables": (PAGE, lambda s: gzip.decompress(s.body).count(b"<table>") > 20_000 and len(s.body) < 60_000),
    "font-tower": (PAGE, lambda s: has(s, b"<font size=", 1_000)),
    "unclosed-formatting": (PAGE, lambda s: has(s, b"<b class=", 450)),
    "deep-nesting": (PAGE, lambda s: has(s, b"<div>", 400_000)),
    "many-attributes": (PAGE, lambda s: has(s, b" a", 130_000)),
    "giant-attribute": (PAGE, lambda s: has(s, b"x" * 1_999_000, 1)),
    "entity-flood": (PAGE, lambda s: has(s, b"&CounterClockwiseContourIntegral;", 50_000)),
    "inline-script": (PAGE, lambda s: has(s, b"</scrip ", 80_000)),
    "link-flood": (PAGE, lambda s: leads_to(s, str, 40_000)),
    "empty-elements": (PAGE, lambda s: has(s, b"<p>", 600_000)),
    "foreign-content": (PAGE, lambda s: has(s, b"<svg><desc><math>", 90_000)),
    "comment-flood": (PAGE, lambda s: has(s, b"-- - -!->", 100_000)),
    "meta-flood": (PAGE, lambda s: has(s, b"<meta name=robots", 40_000)),
    "giant-title": (PAGE, lambda s: len(s.body.partition(b"</title>")[0]) > 1_900_000),
    "giant-word": (PAGE, lambda s: has(s, b"word" * 499_000, 1)),
    "large-pages": (PAGE, lambda s: 1_900_000 < len(s.body) < 2_100_000),
    "templates": (PAGE, lambda s: has(s, b"<template>", 70_000)),
    "base-tricks": (PAGE, lambda s: has(s, b"<base href=", 2)),
    # bodies
    "gzip-bomb": (PAGE, lambda s: inflates(s, b"gzip", gzip.decompress)),
    "deflate-bomb": (PAGE, lambda s: inflates(s, b"deflate", zlib.decompress)),
    "brotli-bomb": (PAGE, lambda s: inflates(s, b"br", brotli.decompress)),
    "zstd-bomb": (PAGE, lambda s: inflates(s, b"zstd", zstandard.ZstdDecompressor().decompress)),
    "gzip-members": (PAGE, lambda s: s.body.count(b"\x1f\x8b\x08") >= 40_000),
    "coding-layers": (PAGE, lambda s: s.header(b"content-encoding").count(b"gzip") == 20 and gzip.decompress(s.body)),
    "coding-lie": (PAGE, lambda s: s.header(b"content-encoding") and s.body.startswith(b"<!DOCTYPE")),
    "broken-gzip": (PAGE, lambda s: b"\xff" * 40 in s.body and s.header(b"content-encoding") == b"gzip"),
    "short-body": (PAGE, lambda s: promised(s) == 2 * len(s.body) and s.ended == "closed"),
    "long-body": (PAGE, lambda s: promised(s) == len(s.body) // 2 and s.ended == "closed"),
    "negative-length": (PAGE, lambda s: s.header(b"content-length") == b"-1"),
    "huge-length": (PAGE, lambda s: promised(s) == 99_999_999_999_999_999_999),
    "endless-body": (PAGE, lambda s: s.ended == "endless"),
    "drip-body": (PAGE, lambda s: dripped(s, s.body)),
    "tiny-chunks": (PAGE, lambda s: s.body.count(b"\r\n1\r\n") > 50_000 and s.body.endswith(b"0\r\n\r\n")),
    "bad-chunks": (PAGE, lambda s: s.body.startswith(b"ffffffffffffffff0\r\n") and s.body.endswith(b"xyz\r\n")),
    "chunk-extensions": (PAGE, lambda s: s.ended == "endless" and s.body.startswith(b"5;name=value")),
    "endless-trailers": (PAGE, lambda s: s.ended == "endless" and b"\r\n0\r\nX-Trailer" in s.data),
    "binary-page": (PAGE, lambda s: b"text/html" in s.head and len(set(s.body)) == 256),
    "type-lie": (PAGE, lambda s: b"text/html" not in s.head and s.body.startswith(b"<!DOCTYPE html>")),
    "utf-7": (PAGE, lambda s: b"charset=utf-7" in s.head and "<script>" in s.body.decode("utf-7", "replace")),
    "utf-16": (PAGE, lambda s: b"iso-8859-1" in s.head and s.body.startswith(b"\xff\xfe") and len(s.body) % 2),
    "bad-charsets": (PAGE, lambda s: b"charset=" in s.head and b"utf-8" not in s.head),
    "nul-bytes": (PAGE, lambda s: has(s, b"\0", 1_000)),
    "escape-sequences": (PAGE, lambda s: b"<title>\x1b[2J" in s.body and b"\x9b" in s.body),
    "script-titles": (PAGE, lambda s: b"=cmd|" in s.body and b"alert(1)" in s.body),
    # connections and heads
    "tarpit": (PAGE, lambda s: s.ended == "silent" and not s.data),
    "slow-answer": (PAGE, lambda s: s.ended == "silent" and not s.data),
    "drip-head": (PAGE, lambda s: dripped(s, s.data)),
    "endless-head": (PAGE, lambda s: s.ended == "endless" and b"\r\n\r\n" not in s.data),
    "giant-header": (PAGE, lambda s: len(s.header(b"x-giant")) == 1_000_000),
    "cookie-flood": (PAGE, lambda s: s.head.count(b"Set-Cookie") == 1_500),
    "informational-flood": (PAGE, lambda s: s.ended == "endless" and s.data.count(b"HTTP/1.1 103 ") > 10_000),
    "switching": (PAGE, lambda s: s.status == 101 and s.ended == "silent"),
    "reset-on-accept": (PAGE, lambda s: s.ended == "reset" and not s.data),
    "silent-accept": (PAGE, lambda s: s.ended == "silent" and not s.data),
    "ssh-banner": (PAGE, lambda s: s.ended == "silent" and s.data.startswith(b"SSH-2.0")),
    "reset-on-request": (PAGE, lambda s: s.ended == "reset" and not s.data),
    "reset-in-head": (PAGE, lambda s: s.ended == "reset" and len(s.data) == 40),
    "reset-in-body": (PAGE, lambda s: s.ended == "reset" and 0 < len(s.body) < 5_000),
    "half-closed": (PAGE, lambda s: s.ended == "closed" and len(s.data) == 30),
    "stalled-body": (PAGE, lambda s: s.ended == "silent" and 0 < len(s.body) < promised(s)),
    "http-09": (PAGE, lambda s: s.data.startswith(b"<!DOCTYPE html>")),
    "http-2": (PAGE, lambda s: s.data.startswith(b"\0\0\x12\x04")),
    "bare-lf": (PAGE, lambda s: b"\r\n" not in s.data.partition(b"\n\n")[0] and b"\rX-Odder" in s.data),
    "folded-headers": (PAGE, lambda s: s.head.count(b"\r\n\t") == 2_000),
    "duplicate-headers": (PAGE, lambda s: s.head.count(b"Content-Length") == s.head.count(b"Content-Type") == 2),
    "odd-status": (PAGE, lambda s: not re.match(rb"HTTP/1\.[01] [1-5]\d\d ", s.data)),
    "nul-headers": (PAGE, lambda s: b"\0" in s.head and b"\r\nno colon here\r\n" in s.head),
    "busy-for-years": (PAGE, lambda s: s.status == 429 and int(s.header(b"retry-after")) > 2_700 * 365 * 86_400),
    "unavailable": (PAGE, lambda s: s.status == 503),
    "failing": (FRONT, lambda s: s.status == 500),
    # redirects
    "redirect-loop": (PAGE, lambda s: s.location == PAGE),
    "redirect-chain": (PAGE, lambda s: s.location.startswith("/p/") and s.location != PAGE),
    "redirect-hosts": (PAGE, lambda s: site_of(s.location) == site_of(s.url) and s.location != s.url),
    "redirect-internal": (PAGE, lambda s: is_internal(s.location)),
    "redirect-to-victims": (PAGE, lambda s: is_good(s.location) and "/invented/" in s.location),
    "redirect-ports": (PAGE, lambda s: is_good(s.location) and port_of(s.location) in PORTS),
    "redirect-schemes": (PAGE, lambda s: s.location and not s.location.startswith(("http", "/"))),
    "redirect-crlf": (PAGE, lambda s: b"%0d%0a" in s.head and b"\rX-Injected" in s.head),
    "redirect-long": (PAGE, lambda s: len(s.location) > 100_000),
    "redirect-many": (PAGE, lambda s: s.head.count(b"\r\nLocation: ") == 100),
    "redirect-nowhere": (PAGE, lambda s: s.status == 301 and not s.location),
    "refresh-storm": (PAGE, lambda s: has(s, b'http-equiv="refresh"', 200)),
    "canonical-circle": ("/c/9", lambda s: b"/c/0\"" in s.body and has(s, b'rel="canonical"', 2)),
    # links
    "subdomains": (PAGE, lambda s: leads_to(s, lambda link: f".{site_of(s.url)}:" in link, 30)),
    "private-suffix": (FRONT, lambda s: len({site_of(link) for link in s.links if ".github.io" in link}) == 30),
    "ipv4-literals": (PAGE, lambda s: leads_to(s, lambda link: re.match(r"http://127\.2\d\d\.", link), 3_000)),
    "ipv6-literals": (PAGE, lambda s: leads_to(s, lambda link: link.startswith("http://[2001:db8::"), 3_000)),
    "service-ports": (PAGE, lambda s: leads_to(s, lambda link: is_good(link) and port_of(link) in PORTS, 100)),
    "all-ports": (PAGE, lambda s: len({port_of(link) for link in s.links}) >= 2_000),
    "invented-urls": (PAGE, lambda s: leads_to(s, lambda link: "/invented/" in link and is_good(link), 1_000)),
    "invented-hosts": (PAGE, lambda s: leads_to(s, re.compile(r"http://[0-9a-f]{8}\.[a-z]+-[0-4]\.").match, 600)),
    "invented-https": (PAGE, lambda s: leads_to(s, lambda link: is_good(link.replace("https", "http")), 200)),
    "framed-sites": (PAGE, lambda s: leads_to(s, lambda link: is_good(link) and "?" in link, 700)),
    "scattered-urls": (PAGE, lambda s: leads_to(s, is_good, 500)),
    "long-urls": (PAGE, lambda s: leads_to(s, lambda link: len(link) > 100_000, 15)),
    "script-links": (PAGE, lambda s: leads_to(s, lambda link: re.match("javascript:|data:|mailto:", link), 7_000)),
    "punycode": (PAGE, lambda s: leads_to(s, lambda link: "://xn--" in link, 300)),
    "escape-storm": (PAGE, lambda s: leads_to(s, lambda link: "%25%25" in link or "../" in link or "@" in link, 150)),
    "silent-names": (PAGE, lambda s: leads_to(s, lambda link: f".{site_of(s.url)}:" in link, 100)),
    "internal-links": (PAGE, lambda s: leads_to(s, lambda link: link.startswith("http://10."), 1_000)),
    "endless-calendar": ("/day/2026-12", lambda s: {"/day/2026-11", "/day/2027-1"} <= {*s.links}),
    "session-ids": (PAGE, lambda s: leads_to(s, lambda link: "sessid=" in link.lower() or "jsessionid=" in link, 40)),
    "same-content": (PAGE, lambda s: has(s, b"Words that are on every page", 5)),
    "soft-404": (PAGE, lambda s: s.status == 200 and b"There is no /p/" in s.body),
    # sitemaps
    "sitemap-bomb": (SITEMAP, lambda s: len(gzip.decompress(s.body)) > 140_000_000 and len(s.body) < 1_000_000),
    "sitemap-loop": (SITEMAP, lambda s: has(s, b"<sitemap>", 51) and b"/sitemap.xml</loc>" in s.body),
    "sitemap-entities": (SITEMAP, lambda s: has(s, b"<!ENTITY", 11) and b"file:///etc/passwd" in s.body),
    "sitemap-victim": (SITEMAP, lambda s: gzip.decompress(s.body).count(b"-hostile-") == 0 and listed(s) == 50_000),
    "sitemap-flood": (SITEMAP, lambda s: gzip.decompress(s.body).count(b"-hostile-") == listed(s) == 50_000),
    "sitemap-endless": (SITEMAP, lambda s: s.ended == "endless"),
    "sitemap-deep": (SITEMAP, lambda s: has(s, b"<url>", 300_000)),
    # TLS
    "tls-hang": (PAGE, lambda s: s.ended == "silent"),
    "tls-drip": (PAGE, lambda s: s.ended == "silent"),
    "tls-junk": (PAGE, lambda s: s.ended == "refused"),
    "tls-alert": (PAGE, lambda s: s.ended == "refused" and b"internal error" in s.data.lower().replace(b"_", b" ")),
    "tls-reset": (PAGE, lambda s: s.ended == "reset"),
    "certificate-expired": (PAGE, lambda s: s.ended == "refused" and b"expired" in s.data),
    "certificate-of-another": (PAGE, lambda s: s.ended == "refused" and b"ostname mismatch" in s.data),
    "certificate-unknown": (PAGE, lambda s: s.ended == "refused" and b"unable to get local issuer" in s.data),
    "certificate-huge": (PAGE, lambda s: s.status == 200),
}  # fmt: skip


SILENT = frozenset({  # they let a client wait
    "robots-drip", "robots-tarpit", "drip-body", "tarpit", "slow-answer", "drip-head", "switching", "silent-accept",
    "ssh-banner", "stalled-body", "tls-hang", "tls-drip",
})  # fmt: skip


def listed(seen: Seen) -> int:
    return gzip.decompress(seen.body).count(b"<loc>")


@pytest.mark.parametrize("kind", [name for name in NAMES if not name.startswith("dns-")])
def test_a_plain_client_sees_what_the_sentence_says(server: WebServer, kind: str) -> None:
    path, is_as_said = SIGHTS[kind]
    patience_s = SILENT_S if kind in SILENT else ANSWER_S
    seen = look(server, front_of(server, kind)[:-1] + path, patience_s=patience_s)
    assert is_as_said(seen), (
        f"{HOSTILE_KINDS[kind].sentence} But: {seen.ended}, {len(seen.data)} bytes, {seen.data[:300]!r}"
    )


DNS_SIGHTS: dict[str, Callable[[bytes], object]] = {
    "dns-silence": lambda reply: not reply,
    "dns-failure": lambda reply: reply[3] & 15 == 2,
    "dns-many": lambda reply: reply[6:8] == (200).to_bytes(2, "big"),
    "dns-internal": lambda reply: ipaddress.ip_address("169.254.169.254").packed in reply,
    "dns-nothing": lambda reply: reply[3] & 15 == 0 and reply[6:8] == b"\0\0",
    "dns-truncated": lambda reply: reply[2] & 2,
    "dns-garbage": lambda reply: reply[12:13] != b"\x0b" and len(reply) > 100,
    "dns-stranger": lambda reply: b"\x05other\x04test" in reply,
}


@pytest.mark.parametrize("kind", [name for name in NAMES if name.startswith("dns-")])
def test_a_resolver_sees_what_the_sentence_says(server: WebServer, kind: str) -> None:
    patience_s = SILENT_S if kind == "dns-silence" else ANSWER_S
    reply = resolve(server, urlsplit(front_of(server, kind)).hostname or "", patience_s=patience_s)
    assert reply[:2] == b"\x12\x34" or not reply
    assert DNS_SIGHTS[kind](reply), f"{HOSTILE_KINDS[kind].sentence} But: {reply!r}"


def resolve(server: WebServer, name: str, *, patience_s: float = ANSWER_S) -> bytes:
    """Ask the name server for an address; return its message, or nothing if it is silent."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    question = b"\x12\x34\x01\x00\0\1\0\0\0\0\0\0" + labels + b"\0" + A.to_bytes(2, "big") + b"\0\1"
    address, _, port = server.dns.rpartition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(patience_s)
        asking.sendto(question, (address, int(port)))
        try:
            return asking.recv(65_536)
        except TimeoutError:
            return b""


def test_names_below_a_site_can_be_silent_while_the_site_itself_is_not(server: WebServer) -> None:
    name = urlsplit(front_of(server, "silent-names")).hostname or ""
    assert resolve(server, f"below.{name}", patience_s=SILENT_S) == b""
    assert resolve(server, name)[6:8] == b"\0\1"


def test_every_one_of_many_addresses_leads_to_the_site(server: WebServer) -> None:
    url = front_of(server, "dns-many")
    prefix = (server.web.address(urlsplit(url).hostname or "") or "").rpartition(".")[0]
    assert look(server, url, address=f"{prefix}.200").status == 200


def test_an_ipv4_literal_accepts_a_request_and_never_answers(server: WebServer) -> None:
    literal = look(server, front_of(server, "ipv4-literals")).links[0]
    seen = look(server, literal, patience_s=SILENT_S)
    assert (seen.ended, seen.data) == ("silent", b"")


def test_a_name_below_a_private_suffix_links_to_further_ones(server: WebServer) -> None:
    links = look(server, front_of(server, "private-suffix")).links
    assert len(set(look(server, links[0]).links) - set(links)) == 30


def test_a_slow_answer_comes_in_the_end(server: WebServer) -> None:
    sites = server.web.hostile
    host = sites.find(urlsplit(front_of(server, "slow-answer")).hostname or "")
    assert host is not None
    assert sites.answer(host, PAGE, "http", server.web.victim).delay_s == SLOW_S


def test_a_robots_txt_comes_after_a_hundred_redirects(server: WebServer) -> None:
    front = front_of(server, "robots-redirects")
    assert look(server, f"{front}robots.txt?99").location.endswith("?100")
    assert b"Disallow" in look(server, f"{front}robots.txt?100").body


def test_a_layered_page_inflates_twenty_times(server: WebServer) -> None:
    data = look(server, front_of(server, "coding-layers")[:-1] + PAGE).body
    for _ in range(20):
        data = gzip.decompress(data)
    assert data.startswith(b"<p>Boom.</p>")


@pytest.mark.parametrize("kind", ["same-content", "session-ids"])
def test_the_same_content_has_ever_new_links(server: WebServer, kind: str) -> None:
    front = front_of(server, kind)[:-1]
    first, second = look(server, front + PAGE), look(server, front + "/p/other")
    words = [re.sub(rb"<a .*?</a>", b"", seen.body) for seen in (first, second)]
    assert words[0] == words[1]
    assert not set(first.links) & set(second.links)


def test_ordinary_requests_of_hostile_sites_are_logged_as_hostile_and_their_robots_txt_as_robots(
    server: WebServer,
) -> None:
    front = front_of(server, "soft-404")
    for path, kind in (("", "hostile"), ("robots.txt", "robots"), ("x?y=1", "hostile")):
        look(server, front + path)
        assert server.log()[-1].kind == kind


def test_every_kind_has_a_different_sentence() -> None:
    sentences = {kind.sentence for kind in HOSTILE_KINDS.values()}
    assert len(sentences) == len(HOSTILE_KINDS) >= 60
    assert all(sentence.endswith(".") and ". " not in sentence for sentence in sentences)
    assert set(SIGHTS) | set(DNS_SIGHTS) == set(HOSTILE_KINDS)


@pytest.mark.parametrize("kind", NAMES)
def test_the_seed_determines_every_answer(kind: str) -> None:
    def answers(seed: int) -> list[object]:
        sites = HostileSites((kind,), 2, seed, {"http": 80, "https": 443})
        host = sites.find(f"{kind}-hostile-1.test")
        assert host is not None
        found = [sites.answer(host, path, "http", lambda number: f"http://good-{number % 5}.test:80")
                 for path in (FRONT, PAGE, ROBOTS, SITEMAP)]  # fmt: skip
        return [(one.status, one.head, one.body, one.script and next(one.script(), b"")) for one in found]

    assert answers(7) == answers(7)


def test_a_kind_that_does_not_exist_is_refused_with_the_names_of_those_that_do() -> None:
    with pytest.raises(ValueError, match=r"no hostile kind 'tarpits': choose from .*tarpit"):
        WebSpec(hostile=("tarpits",))


def test_a_web_without_hostile_sites_has_none_at_their_names_and_addresses() -> None:
    sites = HostileSites((), 0, 1, {"http": 80, "https": 443})
    assert sites.seeds() == []
    assert sites.find("tarpit-hostile-0.test") is None
    assert sites.find("127.200.0.1") is None
    assert sites.find_at("127.240.0.1") is None


def test_every_hostile_site_has_a_network_of_its_own() -> None:
    web = plain_web(hostile=NAMES, hostile_sites=600)
    sites = HostileSites(web.hostile, web.hostile_sites, 1, {"http": 80, "https": 443})
    places = [sites.place(host) for name in sites.names() if (host := sites.find(name))]
    assert len({place.rpartition(".")[0] for place in places}) == 600
    hosts = [sites.find_at(f"127.{place}") for place in places]
    assert [host.name for host in hosts if host is not None] == sites.names()
