"""Pages whose links lead a crawler astray: ever new URLs, hosts, addresses and ports, also those of others. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer_simweb.hostility.kind import Ending, HostileKind, Lookup, anchors, own_links, page, scripted
from gossamer_simweb.hostility.redirects import INTERNAL, PORTS
from gossamer_simweb.text import SECTIONS

if TYPE_CHECKING:
    from gossamer_simweb.hostility.kind import HostileAnswer, HostileUrl

LITERALS = 3_000
PRIVATE_SUFFIX = "github.io"  # each name below it is a site
_WORDS = b"<p>Words that are on every page of this site, whatever its address may be.</p>" * 5


def _linking(url: HostileUrl, hrefs: list[str]) -> HostileAnswer:
    return page(b"<p>%s</p>" % url.fresh().encode(), anchors(hrefs), own_links(url))


def _subdomains(url: HostileUrl) -> HostileAnswer:
    hosts = [f"{url.scheme}://{url.fresh(number)[:10]}.{url.site}:{url.port}/" for number in range(30)]
    return _linking(url, hosts)


def _suffixes(url: HostileUrl) -> HostileAnswer:
    names = [f"{url.fresh(number)[:10]}-hostile-{url.number}.{PRIVATE_SUFFIX}" for number in range(30)]
    return page(b"<p>%s</p>" % url.fresh().encode(), anchors([f"http://{name}:{url.port}/" for name in names]))


def _literals_4(url: HostileUrl) -> HostileAnswer:
    if url.name[0].isdigit():  # a literal itself
        return scripted(ending=Ending.HOLD, status=0)
    first = int(url.fresh()[:4], 16)
    places = [(first + number) % (40 * 256 * 254) for number in range(LITERALS)]
    return _linking(
        url, [f"http://127.{200 + p // (256 * 254)}.{p // 254 % 256}.{1 + p % 254}:{url.port}/" for p in places]
    )


def _literals_6(url: HostileUrl) -> HostileAnswer:
    return _linking(url, [f"http://[2001:db8::{n:x}:{url.fresh(n)[:4]}]:{url.port}/" for n in range(LITERALS)])


def _ports(url: HostileUrl) -> HostileAnswer:
    names = [url.victim(number).rpartition(":")[0] for number in range(20)]
    own = f"{url.scheme}://{url.name}"
    return _linking(url, [f"{name}:{port}/" for name in (own, *names) for port in PORTS])


def _all_ports(url: HostileUrl) -> HostileAnswer:
    first = int(url.fresh()[:4], 16)
    return _linking(url, [f"{url.scheme}://{url.name}:{1 + (first + n) % 65_535}/" for n in range(2_000)])


def _invented(url: HostileUrl) -> HostileAnswer:
    victim = url.victims(url.number)
    return _linking(url, [f"{victim}/invented/{url.fresh(number)}.html" for number in range(1_000)])


def _scattered(url: HostileUrl) -> HostileAnswer:
    return _linking(url, [f"{url.victim(number)}/{url.fresh(number)}?id={number}" for number in range(500)])


def _invented_hosts(url: HostileUrl) -> HostileAnswer:
    name = url.victims(url.number).rpartition(":")[0].removeprefix("http://").removeprefix("www.")
    return _linking(url, [f"http://{url.fresh(number)[:8]}.{name}:{url.port}/" for number in range(600)])


def _invented_https(url: HostileUrl) -> HostileAnswer:
    return _linking(url, [url.victim(number).replace("http:", "https:") + "/" for number in range(200)])


def _framing(url: HostileUrl) -> HostileAnswer:
    victim = url.victims(url.number)
    filters = [f"{victim}/{part}/?{url.fresh(n)[:6]}=1&b=2" for part in SECTIONS for n in range(110)]
    return _linking(url, [*filters, *(f"{victim}/?{url.fresh(n)[:6]}=1" for n in range(110))])


def _long(url: HostileUrl) -> HostileAnswer:
    return _linking(url, [f"/{url.fresh(number)}/{'long' * 25_000}" for number in range(15)])


def _scripts(url: HostileUrl) -> HostileAnswer:
    odd = [f"javascript:go({n})" for n in range(3_000)] + [f"data:text/html,<a href=/{n}>" for n in range(3_000)]
    return _linking(url, odd + [f"mailto:{n}@x.test" for n in range(1_000)] + ["blob:x", "about:blank", "intent://x"])


def _punycode(url: HostileUrl) -> HostileAnswer:
    first = url.fresh()[:6]
    names = [f"xn--{first}{n}-{'a' * (n % 50)}.test" for n in range(300)] + [
        f"xn--{'9' * n}.test" for n in range(1, 60)
    ]
    names += [f"аррӏе-{first}.test", f"faß{first}.test", "﷽.test", "a。test", f"{'a.' * 120}test", f"{'b' * 64}.test"]
    return _linking(url, [f"http://{name}:{url.port}/" for name in names])


def _escapes(url: HostileUrl) -> HostileAnswer:
    f = url.fresh()
    hrefs = [f"/{f}/{'%25' * n}41" for n in range(60)] + [f"/{f}/{'../' * n}x" for n in range(60)]
    hrefs += [
        f"/{f}/{'./' * 500}x",
        f"/{f}/%",
        f"/{f}/%zz",
        f"/{f}/\\..\\x",
        f"http:\\\\{url.name}:{url.port}\\{f}",
        "////x",
    ]
    return _linking(url, hrefs + [f"http://user:pass{n}@{url.name}:{url.port}/{f}" for n in range(50)])


def _nowhere(url: HostileUrl) -> HostileAnswer:
    return _linking(url, [f"http://{url.fresh(number)[:10]}.{url.site}:{url.port}/" for number in range(100)])


def _internal(url: HostileUrl) -> HostileAnswer:
    return _linking(url, [*INTERNAL, *(f"http://10.{n // 256}.{n % 256}.1/" for n in range(1_000))])


def _calendar(url: HostileUrl) -> HostileAnswer:
    year, month = (
        (int(part) for part in url.target.rpartition("/")[2].split("-")) if "/day/" in url.target else (2026, 1)
    )
    steps = [divmod(12 * year + month - 1 + step, 12) for step in (-12, -1, 1, 12)]
    return page(f"<p>{month} {year}</p>".encode(), anchors([f"/day/{y}-{m + 1}" for y, m in steps]))


def _sessions(url: HostileUrl) -> HostileAnswer:
    rooms = [f"/room/{n}?PHPSESSID={url.fresh(n)}&sort={n % 3}" for n in range(20)]
    return page(_WORDS, anchors(rooms), anchors([f"/room/{n};jsessionid={url.fresh(n)}" for n in range(20)]))


def _missing(url: HostileUrl) -> HostileAnswer:
    return page(f"<p>There is no {url.target[:200]} here.</p>".encode(), _WORDS, own_links(url, 20))


LINK_KINDS = {
    "subdomains": HostileKind(
        sentence="Each of its pages links to thirty new hosts of the site.",
        page=_subdomains,
        front=_subdomains,
    ),
    "private-suffix": HostileKind(
        sentence="Each of its pages links to thirty new names below a private suffix, each of which is a site.",
        page=_suffixes,
        front=_suffixes,
    ),
    "ipv4-literals": HostileKind(
        sentence="Each of its pages links to 3,000 IPv4 addresses, which accept requests and never answer.",
        page=_literals_4,
        front=_literals_4,
    ),
    "ipv6-literals": HostileKind(
        sentence="Each of its pages links to 3,000 IPv6 addresses of one network.",
        page=_literals_6,
        front=_literals_6,
    ),
    "service-ports": HostileKind(
        sentence="Its pages link to the mail, database and shell ports of good sites and of itself.",
        page=_ports,
        front=_ports,
    ),
    "all-ports": HostileKind(
        sentence="Each of its pages links to 2,000 ports of its own host.",
        page=_all_ports,
        front=_all_ports,
    ),
    "invented-urls": HostileKind(
        sentence="Each of its pages links to 1,000 pages of one good site that do not exist.",
        page=_invented,
        front=_invented,
    ),
    "invented-hosts": HostileKind(
        sentence="Each of its pages links to 600 hosts of one good site that do not exist.",
        page=_invented_hosts,
        front=_invented_hosts,
    ),
    "invented-https": HostileKind(
        sentence="Its pages link to good sites by https, on a port where they speak http.",
        page=_invented_https,
        front=_invented_https,
    ),
    "framed-sites": HostileKind(
        sentence="Its pages link to a good site with so many parameters that it looks like a trap.",
        page=_framing,
        front=_framing,
    ),
    "scattered-urls": HostileKind(
        sentence="Each of its pages links to pages of 500 good sites that do not exist.",
        page=_scattered,
        front=_scattered,
    ),
    "long-urls": HostileKind(
        sentence="Its pages have links of 100 KB.",
        page=_long,
        front=_long,
    ),
    "script-links": HostileKind(
        sentence="Its pages have 7,000 links to scripts, data and mailboxes.",
        page=_scripts,
        front=_scripts,
    ),
    "punycode": HostileKind(
        sentence="Its pages link to hundreds of names in broken, long or misleading punycode.",
        page=_punycode,
        front=_punycode,
    ),
    "escape-storm": HostileKind(
        sentence="Its pages spell links with nested escapes, dots, backslashes and passwords.",
        page=_escapes,
        front=_escapes,
    ),
    "silent-names": HostileKind(
        sentence="Each of its pages links to a hundred hosts for whose names the name server never answers.",
        page=_nowhere,
        front=_nowhere,
        lookup_below=Lookup.SILENCE,
    ),
    "internal-links": HostileKind(
        sentence="Each of its pages links to a thousand addresses of internal networks.",
        page=_internal,
        front=_internal,
    ),
    "endless-calendar": HostileKind(
        sentence="It has a page for every month of every year, with links to the months before and after it.",
        page=_calendar,
        front=_calendar,
    ),
    "session-ids": HostileKind(
        sentence="All its links have a new session id, and lead to the same content.",
        page=_sessions,
        front=_sessions,
    ),
    "same-content": HostileKind(
        sentence="It shows the same content under ever new URLs.",
        page=lambda url: page(_WORDS, own_links(url, 20)),
        front=lambda url: page(_WORDS, own_links(url, 20)),
    ),
    "soft-404": HostileKind(
        sentence="It answers 200 for every page, says that there is none, and links to more of them.",
        page=_missing,
        front=_missing,
    ),
}
