"""Redirects without end, to other sites, to internal addresses, to ports and to nonsense. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer_simweb.hostility.kind import HTML, HostileAnswer, HostileKind, own_links, page

if TYPE_CHECKING:
    from gossamer_simweb.hostility.kind import HostileUrl

INTERNAL = (
    "http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://192.168.1.1/admin", "http://localhost:8000/",
    "http://[::ffff:10.0.0.1]/", "http://0x0a000001/", "http://2130706433:9/", "http://[fd00::1]/", "http://0.0.0.0/",
)  # fmt: skip
PORTS = (22, 23, 25, 110, 143, 445, 3306, 5432, 6379, 9200, 11211, 27017)
SCHEMES = (
    "file:///etc/passwd",
    "gopher://x.test:25/_HELO",
    "javascript:alert(1)",
    "data:text/html,x",
    "ftp://x.test/",
    "ws://x.test/",
)


def _pick(url: HostileUrl, choices: tuple[str, ...]) -> str:
    return choices[int(url.fresh()[:4], 16) % len(choices)]


def _to(location: str, leads_to: str = "", status: int = 302) -> HostileAnswer:
    return HostileAnswer(status, HTML + f"Location: {location}\r\n".encode(), leads_to=leads_to)


def _within(url: HostileUrl, path: str) -> HostileAnswer:
    return _to(path, url.origin + path)


def _split(url: HostileUrl) -> HostileAnswer:
    return _to(f"/p/x%0d%0aSet-Cookie:%20a=b\rX-Injected: yes {url.fresh()}")


def _port(url: HostileUrl) -> HostileAnswer:
    name = url.victim().rpartition(":")[0]
    return _to(f"{name}:{_pick(url, tuple(map(str, PORTS)))}/")


def _refresh(url: HostileUrl) -> HostileAnswer:
    to = f"/p/{url.fresh(9)}.html"
    return page(b'<meta http-equiv="refresh" content="0; url=%s">' % to.encode() * 200, own_links(url))


def _canonical(url: HostileUrl) -> HostileAnswer:
    step = int(url.target.rpartition("/")[2] or "0") if url.target.startswith("/c/") else 0
    canonical = f"{url.origin}/c/{(step + 1) % 10}"
    links = "".join(f'<a href="/c/{number}">c</a>' for number in range(10))
    tag = f'<link rel="canonical" href="{canonical}"><link rel="canonical" href="{url.victim()}/">'
    return page(tag.encode(), links.encode(), own_links(url))


def _neighbour(url: HostileUrl) -> HostileAnswer:
    return _to(f"{url.origin.replace(url.name, f'{url.fresh()}.{url.site}')}/p/{url.fresh()}")


REDIRECT_KINDS = {
    "redirect-loop": HostileKind(
        sentence="Its pages redirect to themselves.",
        page=lambda url: _within(url, url.target),
    ),
    "redirect-chain": HostileKind(
        sentence="Its pages redirect to ever new pages of the site.",
        page=lambda url: _within(url, f"/p/{url.fresh()}"),
    ),
    "redirect-hosts": HostileKind(
        sentence="Its pages redirect to ever new hosts of the site.",
        page=_neighbour,
    ),
    "redirect-internal": HostileKind(
        sentence="Its pages redirect to addresses of internal networks.",
        page=lambda url: _to(_pick(url, INTERNAL)),
    ),
    "redirect-to-victims": HostileKind(
        sentence="Its pages redirect to invented pages of good sites.",
        page=lambda url: _to(f"{url.victim()}/invented/{url.fresh()}"),
    ),
    "redirect-ports": HostileKind(
        sentence="Its pages redirect to the mail, database and shell ports of good sites.",
        page=_port,
    ),
    "redirect-schemes": HostileKind(
        sentence="Its pages redirect to files, scripts and other schemes.",
        page=lambda url: _to(_pick(url, SCHEMES)),
    ),
    "redirect-crlf": HostileKind(
        sentence="Its redirects have line breaks in the Location.",
        page=_split,
    ),
    "redirect-long": HostileKind(
        sentence="Its redirects have a Location of 100 KB.",
        page=lambda url: _to(f"/p/{url.fresh() * 6_250}"),
    ),
    "redirect-many": HostileKind(
        sentence="Its redirects have a hundred different Location headers.",
        page=lambda url: HostileAnswer(
            301, HTML + b"".join(b"Location: /p/%s\r\n" % url.fresh(n).encode() for n in range(100))
        ),
    ),
    "redirect-nowhere": HostileKind(
        sentence="Its redirects have no Location, or an empty one.",
        page=lambda url: HostileAnswer(301, HTML + (b"Location:\r\n" if url.fresh() < "8" else b"")),
    ),
    "refresh-storm": HostileKind(
        sentence="Its pages have 200 refreshes each, to a new page.",
        page=_refresh,
    ),
    "canonical-circle": HostileKind(
        sentence="Its pages name each other as canonical in a circle, and good sites as well.",
        page=_canonical,
        front=_canonical,
    ),
}
