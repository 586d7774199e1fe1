"""The crawls whose results are recorded: what is served, from which seeds, with which flags.

The rules that make a scenario deterministic, also on a busy machine, with one worker:

- No two sites link to the same third site, and no two sites serve the same content: what comes first would be a race.
- A URL that is tried again later is the last one that its site has, or all others are in hand before its wait begins.
- A redirect, or a canonical link, leads to a URL that is new, or that was known before the page was claimed: whether
  one that was found a moment ago is known yet depends on when the worker reports to the frontier.
- No time-out, no speed and no date decides anything.
"""

from __future__ import annotations

import gzip
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gossamer_simweb import Behaviour, PlantedName, PlantedPage, PlantedRobots, plain_web

if TYPE_CHECKING:
    from gossamer_simweb import WebSpec

HTML: Final = ("Content-Type", "text/html; charset=utf-8")
XML: Final = ("Content-Type", "application/xml")
TEXT: Final = ("Content-Type", "text/plain; charset=utf-8")
CSS: Final = ("Content-Type", "text/css")
PDF: Final = ("Content-Type", "application/pdf")
ARTICLE: Final = f"<article><h1>Same</h1><p>{'Words, and more words. ' * 30}</p></article>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A crawl of a simulated web. `{port}` stands for the server's port, `{plain}` for that of a server without TLS."""

    name: str
    web: WebSpec
    seeds: tuple[str, ...] = ()
    planned: bool = False  # the planned sites of the web are seeds too
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A crawl of sites that all fail for a while and come back."""

    name: str
    sites: int


def page(
    host: str, path: str = "/", links: str = "", *, head: str = "", headers: tuple[tuple[str, str], ...] = ()
) -> PlantedPage:
    """Return a page with a text of its own and links, which are paths or begin with a host."""
    anchors = "".join(f'<a href="{link_to(link)}">{link}</a> ' for link in links.split())
    body = f"<title>{path} of {host}</title>{head}<p>This is the page {path} of {host}.</p>{anchors}"
    return PlantedPage(host=host, path=path, headers=(HTML, *headers), body=body.encode())


def link_to(link: str) -> str:
    """Return a link as it stands in a page: `host.test/path` gets a scheme and the port."""
    if link.startswith(("http:", "https:")):
        return link
    host, slash, path = link.partition("/")
    return f"http://{host}:{{port}}{slash}{path}" if host else link


def moved(host: str, path: str, to: str, *, status: int = 301) -> PlantedPage:
    """Return a redirect."""
    body = f"<title>Moved</title><p>{path} of {host} has moved.</p>".encode()
    return PlantedPage(host=host, path=path, status=status, headers=(HTML, ("Location", link_to(to))), body=body)


def refreshed(host: str, path: str, to: str) -> PlantedPage:
    """Return a page that is but a redirect in disguise."""
    return page(host, path, head=f'<meta http-equiv="refresh" content="0; url={link_to(to)}">')


def chain(host: str, name: str, hops: int) -> list[PlantedPage]:
    """Return redirects behind each other, and the page at their end."""
    steps = [moved(host, f"/{name}{hop}", f"/{name}{hop + 1}", status=302) for hop in range(hops)]
    return [*steps, page(host, f"/{name}{hops}")]


def failing(host: str, path: str, status: int, *headers: tuple[str, str]) -> PlantedPage:
    """Return a page that always fails."""
    return PlantedPage(host=host, path=path, status=status, headers=(TEXT, *headers), body=f"{status} {path}".encode())


def robots(host: str, body: str, *, path: str = "/robots.txt", status: int = 200) -> PlantedPage:
    """Return a robots.txt as written."""
    return PlantedPage(host=host, path=path, status=status, headers=(TEXT,), body=body.encode(), is_robots=True)


def robots_moved(host: str, to: str, *, path: str = "/robots.txt") -> PlantedPage:
    """Return a robots.txt that redirects."""
    return PlantedPage(host=host, path=path, status=301, headers=(("Location", link_to(to)),), is_robots=True)


def _gzip(data: bytes) -> bytes:
    """Compress data to the same bytes with every version of Python: `gzip.compress` names the system in some."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, filename="") as file:
        file.write(data)
    return packed.getvalue()


def sitemap(host: str, path: str, body: str, *headers: tuple[str, str], packed: bool = False) -> PlantedPage:
    """Return a sitemap."""
    data = _gzip(body.encode()) if packed else body.encode()
    return PlantedPage(host=host, path=path, headers=headers or (XML,), body=data)


def urlset(*entries: str) -> str:
    """Return a sitemap of these pages, each with what else is said of it behind a blank."""
    found = (entry.partition(" ") for entry in entries)
    return f"<urlset>{''.join(f'<url><loc>{link_to(loc)}</loc>{more}</url>' for loc, _, more in found)}</urlset>"


def index(*sitemaps: str) -> str:
    """Return an index of these sitemaps."""
    entries = "".join(f"<sitemap><loc>{link_to(loc)}</loc></sitemap>" for loc in sitemaps)
    return f"<sitemapindex>{entries}</sitemapindex>"


def canonical(path: str) -> str:
    """Return the link that names another page in place of this one."""
    return f'<link rel="canonical" href="{path}">'


def front(*hosts: str) -> tuple[str, ...]:
    """Return the front pages of hosts."""
    return tuple(f"http://{host}:{{port}}/" for host in hosts)


PLANNED: Final = Scenario(
    name="planned",
    web=plain_web(
        sites=5, pages=10, seed=12, links=4.0, links_across=0.0, www=0.5, aliased=0.6, subdomains=0.4,
        robots_missing=0.15, robots_moved=0.12, robots_named=0.4, text=0.04, image=0.04, missing=0.05, redirect=0.08,
        refresh=0.04, loop=0.04, nofollow=0.04, unlinked=0.03, private=0.06, members=0.04, foreign=0.06, chunked=0.1,
        based=0.05,
    ),
    planned=True,
)  # fmt: skip

REDIRECTS: Final = Scenario(
    name="redirects",
    web=plain_web(
        sites=1,
        pages=1,
        planted=(
            page(
                "within.test",
                links="/plain /old /turns0 /endless0 /loop /self /known /meta /meta-self /bad /none /sub /out /private",
            ),
            page("within.test", "/plain"),
            moved("within.test", "/old", "/new"), page("within.test", "/new", "/beyond"),
            page("within.test", "/beyond"),
            *chain("within.test", "turns", 8),  # more than the five redirects of one turn
            *chain("within.test", "endless", 13),  # more than the ten that are followed at all
            moved("within.test", "/loop", "/loop-back", status=307),
            moved("within.test", "/loop-back", "/loop", status=308),
            moved("within.test", "/self", "/self"),
            moved("within.test", "/known", "/plain", status=303),
            refreshed("within.test", "/meta", "/refreshed"), page("within.test", "/refreshed"),
            refreshed("within.test", "/meta-self", "/meta-self"),
            PlantedPage(host="within.test", path="/bad", status=301, headers=(("Location", "mailto:a@b.example"),)),
            PlantedPage(host="within.test", path="/none", status=302),
            moved("within.test", "/sub", "sub.within.test/here"), page("sub.within.test", "/here"),
            moved("within.test", "/out", "outside.test/"), page("outside.test"),
            moved("within.test", "/private", "/forbidden/page"), page("within.test", "/forbidden/page"),
            # A seed that moves takes its place with it; what it leads to is a seed.
            moved("seed.test", "/", "landing.test/"), page("landing.test", "/", "/more"), page("landing.test", "/more"),
            moved("twice.test", "/", "www.twice.test/"), moved("www.twice.test", "/", "/home"),
            page("www.twice.test", "/home", "/a"), page("www.twice.test", "/a"),
            refreshed("fresh.test", "/", "arrived.test/"), page("arrived.test"),
        ),
        planted_robots=(PlantedRobots(host="within.test", rules=((False, "/forbidden"),)),),
    ),
    seeds=front("within.test", "seed.test", "twice.test", "fresh.test"),
)  # fmt: skip

ANYWHERE: Final = Scenario(
    name="anywhere",
    web=plain_web(
        sites=1,
        pages=1,
        planted=(
            page("one.test", links="/local two.test/ /away"), page("one.test", "/local"),
            moved("one.test", "/away", "away.test/target"), page("away.test", "/target", "/deeper"),
            page("away.test", "/deeper", "/too-deep"), page("away.test", "/too-deep"),
            page("two.test", links="/inner three.test/x"),
            page("two.test", "/inner", "/last"), page("two.test", "/last"),
            page("three.test", "/x", "/y"), page("three.test", "/y"),
            # A chain across sites, and one that comes back to where it began.
            page("first.test", links="/hop /round"), moved("first.test", "/hop", "second.test/hop"),
            moved("second.test", "/hop", "third.test/hop"), page("third.test", "/hop"),
            moved("first.test", "/round", "round.test/"), moved("round.test", "/", "first.test/back"),
            page("first.test", "/back"),
        ),
    ),
    seeds=front("one.test", "first.test"),
    flags=("--scope", "web", "--max-depth", "2"),
)  # fmt: skip

NOT_PRIVATE: Final = "User-agent: *\nDisallow: /private\n"


def guarded(host: str) -> list[PlantedPage]:
    """Return a front page with a link to a page that most robots.txt files here forbid."""
    return [page(host, "/", "/private /open"), page(host, "/private"), page(host, "/open")]


ROBOTS_HOSTS: Final = (
    "fresh.test", "absent.test", "moved.test", "abroad.test", "chained.test", "circle.test", "nowhere.test",
    "slow.test", "named.test", "closed.test", "gone.test", "elsewhere-gone.test", "excluded-rules.test",
)  # fmt: skip
ROBOTS: Final = Scenario(
    name="robots",
    web=plain_web(
        sites=1,
        pages=1,
        planted=(
            *(each for host in ROBOTS_HOSTS for each in guarded(host)),
            robots("fresh.test", NOT_PRIVATE),
            robots("absent.test", "", status=404),
            robots_moved("moved.test", "/policy.txt"), robots("moved.test", NOT_PRIVATE, path="/policy.txt"),
            robots_moved("abroad.test", "rules.test/abroad.txt"), robots("rules.test", NOT_PRIVATE, path="/abroad.txt"),
            robots_moved("chained.test", "c1.test/robots.txt"), robots_moved("c1.test", "c2.test/robots.txt"),
            robots("c2.test", NOT_PRIVATE),
            robots_moved("circle.test", "k1.test/robots.txt"), robots_moved("k1.test", "k2.test/robots.txt"),
            robots_moved("k2.test", "k1.test/robots.txt"),
            robots_moved("nowhere.test", "/robots.txt"),
            robots("slow.test", f"{NOT_PRIVATE}Crawl-delay: 0.3\n"),
            robots("named.test", "User-agent: *\nDisallow: /\n\nUser-agent: Gossamer\nDisallow: /private\nAllow: /\n"),
            robots("closed.test", "User-agent: *\nDisallow: /\n"),
            robots("gone.test", "", status=503),
            robots_moved("elsewhere-gone.test", "broken.test/robots.txt"), robots("broken.test", "", status=500),
            robots_moved("excluded-rules.test", "leave-me.test/robots.txt"), robots("leave-me.test", NOT_PRIVATE),
            # What single pages say.
            page("says.test", links="/noindex /nofollow /none /header /googlebot /rel-nofollow"),
            page("says.test", "/noindex", "/by-noindex", head="<meta name=robots content=noindex>"),
            page("says.test", "/by-noindex"),
            page("says.test", "/nofollow", "/by-nofollow", head="<meta name=robots content=nofollow>"),
            page("says.test", "/by-nofollow"),
            page("says.test", "/none", "/by-none", head="<meta name=robots content=none>"),
            page("says.test", "/by-none"),
            page("says.test", "/header", "/by-header", headers=(("X-Robots-Tag", "noindex, nofollow"),)),
            page("says.test", "/by-header"),
            page("says.test", "/googlebot", head="<meta name=googlebot content=noindex>"),
            PlantedPage(
                host="says.test", path="/rel-nofollow",
                body=b'<title>rel</title><p>A link not to follow.</p><a href="/by-rel" rel="nofollow">no</a>',
            ),
            page("says.test", "/by-rel"),
        ),
    ),
    seeds=front(*ROBOTS_HOSTS, "says.test"),
    flags=(
        *("--set", "robots_retry_waits=0.1", "--set", "robots_give_up=0"),
        *("--exclude", "http://leave-me.test:{port}/"),
    ),
)  # fmt: skip

AI_ROBOTS: Final = "User-agent: *\nContent-Signal: ai-train=no\nContent-Usage: /free train-ai=y\n"
MANNERS: Final = Scenario(
    name="manners",
    web=plain_web(
        sites=1,
        pages=1,
        planted=(
            page("signal.test", "/", "/header /meta /tdm /image /other /free"),
            page("signal.test", "/header", headers=(("Content-Signal", "ai-train=no"),)),
            page("signal.test", "/meta", head="<meta name=robots content=noai>"),
            page("signal.test", "/tdm", headers=(("TDM-Reservation", "1"),)),
            page("signal.test", "/image", head="<meta name=robots content=noimageai>"),
            page("signal.test", "/other", headers=(("X-Robots-Tag", "otherbot: noai"),)), page("signal.test", "/free"),
            page("reserved.test", "/", "/free"), page("reserved.test", "/free"), robots("reserved.test", AI_ROBOTS),
            page("canon.test", "/", "/a?x=1 /left /self /gone /away /slash /one /excluded", head=canonical("/")),
            page("canon.test", "/a?x=1", head=canonical("/a")), page("canon.test", "/a", head=canonical("/a")),
            page("canon.test", "/left", head=canonical("/right")),
            page("canon.test", "/right", head=canonical("/left")),
            page("canon.test", "/self", head=canonical("/self#top")),
            page("canon.test", "/gone", head=canonical("/forbidden")), page("canon.test", "/forbidden"),
            page("canon.test", "/away", head=canonical("https://elsewhere.test/")),
            page("canon.test", "/slash", head=canonical("/slash/")), moved("canon.test", "/slash/", "/slash"),
            page("canon.test", "/one", head=canonical("/two")), page("canon.test", "/two", head=canonical("/three")),
            page("canon.test", "/three", head=canonical("/one")),
            page("canon.test", "/excluded", head=canonical("/shut/page")), page("canon.test", "/shut/page"),
            # A seed that names another page, and a page that names one on another host of its site.
            page("seed.test", "/", "/next", head=canonical("/home")), page("seed.test", "/home", "/next /later"),
            page("seed.test", "/next", head=canonical("http://www.seed.test:{port}/next")),
            page("www.seed.test", "/next"), page("seed.test", "/later"),
        ),
        planted_robots=(PlantedRobots(host="canon.test", rules=((False, "/forbidden"),)),),
    ),
    seeds=front("signal.test", "reserved.test", "canon.test", "seed.test"),
    flags=("--canonical", "--respect-ai-optout", "--exclude", "/shut/"),
)  # fmt: skip

SELECTION: Final = Scenario(
    name="selection",
    web=plain_web(
        sites=1,
        pages=1,
        planted=(
            page("paths.test", "/", "/in/1 /in/2.html /out/1 /in/no/1 /in/old /in/deep /also.html"),
            page("paths.test", "/in/1"), page("paths.test", "/in/2.html"), page("paths.test", "/out/1"),
            page("paths.test", "/in/no/1"), page("paths.test", "/also.html"),
            moved("paths.test", "/in/old", "/out/new"), page("paths.test", "/out/new"),
            page("paths.test", "/in/deep", "/in/deeper"), page("paths.test", "/in/deeper", "/in/deepest"),
            page("paths.test", "/in/deepest", "/in/too-deep"), page("paths.test", "/in/too-deep"),
            moved("leads.test", "/", "/in/no/home"), page("leads.test", "/in/no/home"),
            page("shut.test"),
            page("hosts.test", "/", "/in/a sub.hosts.test/in/b"), page("hosts.test", "/in/a"),
            page("sub.hosts.test", "/in/b"),
            page("tongues.test", "/", "/in/de /in/en /in/none /in/de-at", head="<html lang=en>"),
            page("tongues.test", "/in/de", "/in/by-de", head="<html lang=de>"), page("tongues.test", "/in/by-de"),
            page("tongues.test", "/in/en", "/in/by-en", head="<html lang=en>"), page("tongues.test", "/in/by-en"),
            page("tongues.test", "/in/none", "/in/by-none"), page("tongues.test", "/in/by-none"),
            page("tongues.test", "/in/de-at", head="<html lang=de-AT>"),
            page("kinds.test", "/", "/in/text /in/css /in/pdf /in/unknown"),
            PlantedPage(host="kinds.test", path="/in/text", headers=(TEXT,), body=b"Just text, and no links."),
            PlantedPage(host="kinds.test", path="/in/css", headers=(CSS,), body=b"p { color: red }"),
            PlantedPage(host="kinds.test", path="/in/pdf", headers=(PDF,), body=b"%PDF-1.7"),
            PlantedPage(host="kinds.test", path="/in/unknown", headers=(), body=b"<title>?</title><p>Of no type.</p>"),
            page("again.test", "/", "/in/first /in/second /in/third"),
            PlantedPage(host="again.test", path="/in/first", body=f"<title>Same</title>{ARTICLE}".encode()),
            PlantedPage(host="again.test", path="/in/second", body=f"<title>Same</title>{ARTICLE}".encode()),
            PlantedPage(host="again.test", path="/in/third", body=f"<title>Nearly</title>{ARTICLE}".encode()),
        ),
    ),
    seeds=front("paths.test", "leads.test", "shut.test", "hosts.test", "tongues.test", "kinds.test", "again.test"),
    flags=(
        *("--include", "/in/", "--include", "*.html$", "--exclude", "/in/no/", "--exclude", "http://shut.test:{port}/"),
        *("--max-depth", "3", "--languages", "de"),
    ),
)  # fmt: skip

SITEMAPS: Final = Scenario(
    name="sitemaps",
    web=plain_web(
        sites=1,
        pages=1,
        planted=(
            # By convention; what a site calls unimportant comes last.
            page("guess.test", "/", "/linked"), page("guess.test", "/linked"),
            sitemap(
                "guess.test", "/sitemap.xml",
                urlset(
                    "/low <priority>0.1</priority>", "/old <lastmod>2001-05-01</lastmod>",
                    "/high <priority>0.9</priority>", "/plain", "/linked", "stolen.test/page",
                ),
            ),
            *(page("guess.test", path) for path in ("/low", "/old", "/high", "/plain")), page("stolen.test", "/page"),
            page("lacks.test"),
            # An index of all forms, one of which it names itself.
            page("index.test", "/", "/feed.rss"),
            sitemap(
                "index.test", "/index.xml",
                index("/1.xml", "/2.xml.gz", "/3.txt", "/4.xml", "/index.xml", "/gone.xml"),
            ),
            sitemap("index.test", "/1.xml", urlset("/from-1")), page("index.test", "/from-1"),
            sitemap("index.test", "/2.xml.gz", urlset("/from-2"), ("Content-Type", "application/gzip"), packed=True),
            page("index.test", "/from-2"),
            sitemap("index.test", "/3.txt", "http://index.test:{port}/from-3\n", TEXT), page("index.test", "/from-3"),
            sitemap("index.test", "/4.xml", index("/5.xml")), sitemap("index.test", "/5.xml", urlset("/from-5")),
            page("index.test", "/from-5"),
            failing("index.test", "/gone.xml", 404),
            sitemap(
                "index.test", "/feed.rss",
                "<rss><channel><item><link>http://index.test:{port}/from-feed</link></item></channel></rss>",
                ("Content-Type", "application/rss+xml"),
            ),
            page("index.test", "/from-feed"),
            # An alias of another host of its site has no sitemap of its own.
            moved("www.alias.test", "/", "alias.test/"), robots_moved("www.alias.test", "alias.test/robots.txt"),
            page("alias.test"), sitemap("alias.test", "/map.xml", urlset("/listed", "www.alias.test/listed")),
            page("alias.test", "/listed"),
            # On behalf of a host that names it after it was read.
            page("behalf.test", "/", "shop.behalf.test/"),
            sitemap("behalf.test", "/map.xml", urlset("/own", "shop.behalf.test/listed", "other.behalf.test/listed")),
            page("behalf.test", "/own"), page("shop.behalf.test"), page("shop.behalf.test", "/listed"),
            page("other.behalf.test", "/listed"),
            # Odd ones.
            page("odd.test"), page("odd.test", "/page.xml"), moved("odd.test", "/moved.xml", "/real.xml"),
            sitemap("odd.test", "/real.xml", urlset("/real")), page("odd.test", "/real"),
            sitemap("odd.test", "/laughs.xml", "<!DOCTYPE x [<!ENTITY l 'ha'>]><urlset>&l;</urlset>"),
            sitemap("odd.test", "/torn.xml", "<urlset><url><loc>/before</loc></url><url><loc>/af"),
            page("odd.test", "/before"),
            sitemap("odd.test", "/quiet.xml", urlset("/unheard"), XML, ("X-Robots-Tag", "noindex, nofollow")),
            page("odd.test", "/unheard"),
        ),
        planted_robots=(
            PlantedRobots(host="index.test", sitemaps=("http://index.test:{port}/index.xml", "http://index.test:{port}/feed.rss")),
            PlantedRobots(host="alias.test", sitemaps=("http://alias.test:{port}/map.xml",)),
            PlantedRobots(host="behalf.test", sitemaps=("http://behalf.test:{port}/map.xml",)),
            PlantedRobots(host="shop.behalf.test", sitemaps=("http://behalf.test:{port}/map.xml",)),
            PlantedRobots(
                host="odd.test",
                rules=((False, "/private"),),
                sitemaps=tuple(
                    f"http://odd.test:{{port}}/{name}.xml"
                    for name in ("page", "private", "moved", "laughs", "torn", "quiet")
                ),
            ),
        ),
    ),
    seeds=front("guess.test", "lacks.test", "index.test", "www.alias.test", "behalf.test", "odd.test"),
    flags=("--sitemaps",),
)  # fmt: skip

FAILURES: Final = Scenario(
    name="failures",
    web=plain_web(
        # Sites of two pages, so that one that is tried again is the only one left.
        sites=6, pages=2, seed=3, links_across=0.0, flaky=0.45, busy=0.45, retry_after_s=1,
        planted=(
            page("error.test", "/", "/500"), failing("error.test", "/500", 500),
            page("later.test", "/", "/503"), failing("later.test", "/503", 503, ("Retry-After", "1")),
            page("missing.test", "/", "/404 /410 /403 /401"),
            *(failing("missing.test", f"/{status}", status) for status in (404, 410, 403, 401)),
            page("lost.test", "/", "/close"), PlantedPage(host="lost.test", path="/close", behaviour=Behaviour.CLOSE),
            page("reset.test", "/", "/reset"), PlantedPage(host="reset.test", path="/reset", behaviour=Behaviour.RESET),
            page("nonsense.test", "/", "/raw"),
            PlantedPage(host="nonsense.test", path="/raw", behaviour=Behaviour.RAW, body=b"This is no HTTP\r\n\r\n"),
            page("short.test", "/", "/short"),
            PlantedPage(
                host="short.test", path="/short", behaviour=Behaviour.SHORT, body=b"<title>Half</title><p>Half.",
            ),
            # A site in trouble: the third failure in a row makes it wait.
            page("trouble.test", "/", "/1 /2"), failing("trouble.test", "/1", 500), failing("trouble.test", "/2", 502),
            # Hosts that do not answer, beside one that does.
            page(
                "mixed.test", "/",
                "/a lame.mixed.test/1 lame.mixed.test/2 nameless.mixed.test/1 nameless.mixed.test/2 /b",
            ),
            page("mixed.test", "/a"), page("mixed.test", "/b"),
        ),
        planted_names=(
            PlantedName(name="lame.mixed.test", failure="servfail"),
            PlantedName(name="nameless.mixed.test", failure="nxdomain"),
            PlantedName(name="lame.test", failure="servfail"),
            PlantedName(name="inside.test", addresses=("10.0.0.1",)),
            PlantedName(name="empty.test"),
        ),
    ),
    planned=True,
    seeds=(
        *front("error.test", "later.test", "missing.test", "lost.test", "reset.test", "nonsense.test", "short.test"),
        *front("trouble.test", "mixed.test", "inside.test", "empty.test", "no-such-name.test", "lame.test"),
        "127.0.2.1:{plain}",  # under https by our guess, where no TLS answers
    ),
)  # fmt: skip

TRAPS: Final = Scenario(
    name="traps",
    web=plain_web(
        sites=1, pages=1, traps=1,
        planted=(
            page(
                "limits.test", "/",
                f"/a/b/a/b/a/b /{'s/' * 31} /{'long' * 251} /q?{'&'.join(f'p{n}=1' for n in range(21))} "
                "/calendar/2400-01 /calendar/1700-01 /fine?PHPSESSID=0123456789abcdef0123456789abcdef&x=1 "
                "/fine?x=1&utm_source=golden /into",
            ),
            page("limits.test", "/fine?x=1"), moved("limits.test", "/into", "/b/c/b/c/b/c"),
        ),
    ),
    planned=True,  # the front pages of the traps are among the seeds
    seeds=front("limits.test"),
    flags=(
        *("--max-pages-per-site", "14", "--set", "max_path_segments=8", "--set", "max_parameters=5"),
        *("--set", "max_parameter_sets=6", "--set", "same_content_pages=4", "--set", "max_hosts_per_site=5"),
        *("--set", "site_budget=10"),
    ),
)  # fmt: skip

OUTAGE: Final = Outage(name="outage", sites=10)

SCENARIOS: Final = (
    PLANNED, REDIRECTS, ANYWHERE, ROBOTS, MANNERS, SELECTION, SITEMAPS, FAILURES, TRAPS, OUTAGE,
)  # fmt: skip
