"""A small web drawn from a seed, and the expected outcome of each of its URLs, whatever faults occur. Pure.

Pages are planted in a `simweb.Web`, whose `expected` says what a perfect crawler requests. A failure occurs a given
number of times and never again, or always, so that no outcome depends on the time of a request.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from gossamer.records import Reason, Scope
from gossamer.urls import host_of, identify
from gossamer_simweb import ExpectedCrawl, PlantedPage, PlantedRobots, WebPlan, expected, plain_web

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from gossamer.urls import Url

AGENT: Final = "Gossamer"
MAX_FAILURES: Final = 2  # of a page that answers in the end; its robots.txt may fail once more, counted as the page's
HTML: Final = (("Content-Type", "text/html; charset=utf-8"),)
IMAGE: Final = (("Content-Type", "image/png"),)
# Temporary failures of a request: a status, or no answer at all.
TEMPORARY: Final = (503, 429, 500, Reason.TIMEOUT, Reason.CONNECTION_LOST, Reason.CONNECT_TIMEOUT, Reason.DNS_FAILED)
# Permanent failures of a host.
SILENT: Final = (
    Reason.NO_SUCH_NAME, Reason.TLS_FAILED, Reason.CONNECT_REFUSED, Reason.CONNECT_TIMEOUT, Reason.DNS_FAILED,
)  # fmt: skip

Failure = int | Reason
Outcome = Reason | bool  # why it was given up; else whether it is a page that is stored


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallWeb:
    """A web, its failures, and the expected outcome of a crawl of it."""

    web: WebPlan
    seeds: tuple[Url, ...]
    scope: Scope
    sites: tuple[str, ...]
    failures: Mapping[str, tuple[Failure, ...]]  # by URL: how the first requests for it fail
    dead: Mapping[str, Reason]  # hosts that never answer
    slow_s: Mapping[str, float]  # sites, and how long they take
    expected: ExpectedCrawl
    outcomes: Mapping[bytes, tuple[str, Outcome]]  # by hash: every URL that is accepted, and its outcome


class _Draft:
    def __init__(self, dice: Random, delay_s: float) -> None:
        self.dice = dice
        self.delay_s = delay_s
        self.pages: list[PlantedPage] = []
        self.robots: list[PlantedRobots] = []
        self.failures: dict[str, tuple[Failure, ...]] = {}
        self.dead: dict[str, Reason] = {}
        self.slow_s: dict[str, float] = {}


def draw_web(
    dice: Random, *, delay_s: float, sites: int, max_pages: int, fails: bool = True, elsewhere: bool = True
) -> SmallWeb:
    """Draw a web; unless it `fails`, every living host answers at the first try.

    With `elsewhere` some robots.txt files redirect to other sites. The outcomes of their hosts would differ if one of
    those sites were excluded for long enough.
    """
    draft = _Draft(dice, delay_s)
    names = [f"s{number}.test" for number in range(sites)]
    hosts = {
        name: [name, *(f"{prefix}.{name}" for prefix in ("www", "docs") if dice.random() < 0.35)] for name in names
    }
    urls: dict[str, list[str]] = {}  # of pages to link to, by site; its front page first
    for name in names:
        paths = ["/", *(f"/{_folder(dice)}p{number}" for number in range(1, dice.randint(1, max_pages)))]
        urls[name] = [f"http://{hosts[name][0]}/"]
        urls[name] += [f"http://{dice.choice(hosts[name])}{path}" for path in paths[1:]]
    for name in names:
        _draw_site(draft, name, hosts[name], urls)
    if elsewhere:
        _move_robots(draft)
    spec = plain_web(sites=1, pages=1, planted=tuple(draft.pages), planted_robots=tuple(draft.robots))
    web = WebPlan(spec, port=80)
    scope = dice.choice([Scope.WEB, Scope.SITE])
    # If links beyond the scope are dropped, no seed may widen the scope later: then all front pages are seeds.
    seeded = names if scope is Scope.SITE else names[: dice.randint(1 + sites // 2, sites)]
    seeds = tuple(identify(urls[name][0]) for name in seeded)
    found = expected(web, [seed.url for seed in seeds], scope=scope.value, token=AGENT)
    return SmallWeb(
        web=web,
        seeds=seeds,
        scope=scope,
        sites=tuple(names),
        failures=draft.failures if fails else {},
        dead=draft.dead,
        slow_s=draft.slow_s,
        expected=found,
        outcomes={
            identify(url).url_hash: (url, _outcome(web, url, draft.dead, found))
            for url in (*found.depths, *found.disallowed)
        },
    )


def _folder(dice: Random) -> str:
    return "private/" if dice.random() < 0.15 else ""


def _draw_site(draft: _Draft, name: str, hosts: list[str], urls: dict[str, list[str]]) -> None:
    dice = draft.dice
    for host in hosts:
        _draw_host(draft, host, is_main=host == name)
    if dice.random() < 0.15:
        draft.slow_s[name] = dice.uniform(0.2, 1.5)
    own = urls[name]
    abroad = [url for site, theirs in urls.items() if site != name for url in theirs[:2]]
    for number, url in enumerate(own):
        # The front page links to every page, so that all can be reached; the other links are random.
        links = own[1:] if number == 0 else dice.sample(own, min(len(own), dice.randint(0, 2)))
        links = [*links, *dice.sample(abroad, min(len(abroad), dice.randint(0, 3)))]
        page = _draw_page(draft, url, links, hosts, own, abroad, is_front=number == 0)
        if host_of(url) in draft.dead:
            continue  # no links can be read from it
        draft.pages.append(page)
        if dice.random() < 0.15:
            draft.failures[url] = tuple(dice.choice(TEMPORARY) for _ in range(dice.randint(1, MAX_FAILURES)))


def _draw_host(draft: _Draft, host: str, *, is_main: bool) -> None:
    dice = draft.dice
    fate = dice.random()
    crawl_delay_s = round(draft.delay_s * dice.uniform(1.2, 2.5), 1) if dice.random() < 0.2 else None
    rules = ((False, "/private/"),)
    if fate < 0.35:
        draft.robots.append(PlantedRobots(host=host, status=404))
    elif fate < 0.84 or is_main:
        draft.robots.append(PlantedRobots(host=host, rules=rules, crawl_delay_s=crawl_delay_s))
        if dice.random() < 0.12:
            draft.failures[f"http://{host}/robots.txt"] = (dice.choice(TEMPORARY),)
    elif fate < 0.89:
        draft.robots.append(PlantedRobots(host=host, status=503))
    else:
        draft.robots.append(PlantedRobots(host=host, status=404))
        draft.dead[f"http://{host}"] = dice.choice(SILENT)


def _move_robots(draft: _Draft) -> None:
    """Let some robots.txt files redirect to those of other sites, at once or through a third site."""
    dice = draft.dice
    there = [robots for robots in draft.robots if robots.status < 500 and f"http://{robots.host}" not in draft.dead]
    moved: set[str] = set()
    used: set[str] = set()  # targets of redirects: they do not redirect themselves
    for robots in there:
        others = [other for other in there if other.host not in moved and _site(other.host) != _site(robots.host)]
        if dice.random() >= 0.15 or not others or robots.host in used:
            continue
        theirs = dice.choice(others)
        moved.add(robots.host)
        used.add(theirs.host)
        way = [f"http://{robots.host}/robots.txt", f"http://{theirs.host}/robots.txt"]
        if dice.random() < 0.4:
            way.insert(1, f"http://{dice.choice(others).host}/policy/{robots.host}/robots.txt")
        for url, to in pairwise(way):
            host, _, path = url.removeprefix("http://").partition("/")
            draft.pages.append(
                PlantedPage(
                    host=host, path=f"/{path}", status=301, headers=(("Location", to),), leads_to=to, is_robots=True
                )
            )
        draft.robots[draft.robots.index(robots)] = replace(theirs, host=robots.host)


def _site(host: str) -> str:
    return ".".join(host.split(".")[-2:])


def _draw_page(
    draft: _Draft, url: str, links: list[str], hosts: list[str], own: list[str], abroad: list[str], *, is_front: bool
) -> PlantedPage:
    dice = draft.dice
    scheme_host, _, path = url.partition(".test")
    host = f"{scheme_host.removeprefix('http://')}.test"
    place = {"host": host, "path": path}
    kind = 1.0 if is_front else dice.random()
    if kind < 0.14:
        to = _hide_page(draft, hosts) if dice.random() < 0.7 else dice.choice(own)
        return PlantedPage(**place, status=dice.choice([301, 302]), headers=(("Location", to),), leads_to=to)  # type: ignore[arg-type]
    if kind < 0.17 and abroad:
        to = dice.choice(abroad)
        return PlantedPage(**place, status=301, headers=(("Location", to),), leads_to=to)  # type: ignore[arg-type]
    if kind < 0.2:
        to = _hide_page(draft, hosts)
        body = f'<meta http-equiv="refresh" content="0; url={escape(to)}">'.encode()
        return PlantedPage(**place, body=body, leads_to=to)  # type: ignore[arg-type]
    if kind < 0.26:
        return PlantedPage(**place, status=dice.choice([404, 410, 500, 503]), body=b"no")  # type: ignore[arg-type]
    if kind < 0.3:
        return PlantedPage(**place, headers=IMAGE, body=b"\x89PNG")  # type: ignore[arg-type]
    head = '<meta name="robots" content="noindex">' if 0.3 <= kind < 0.34 else ""
    anchors = "".join(f'<a href="{escape(link)}">{number}</a> ' for number, link in enumerate(links))
    body = f"<!DOCTYPE html><title>{path}</title>{head}<p>The page {escape(url)} says so.</p>{anchors}".encode()
    return PlantedPage(**place, headers=HTML, body=body, links=tuple(links))  # type: ignore[arg-type]


def _hide_page(draft: _Draft, hosts: list[str]) -> str:
    """Add a page that only a redirect reaches, so that it is fetched in the same turn; return its URL."""
    host, path = draft.dice.choice(hosts), f"/{_folder(draft.dice)}hidden{len(draft.pages)}"
    if f"http://{host}" not in draft.dead:
        body = f"<!DOCTYPE html><title>{path}</title><p>No page links to this page.</p>".encode()
        draft.pages.append(PlantedPage(host=host, path=path, headers=HTML, body=body))
    return f"http://{host}{path}"


def _outcome(web: WebPlan, url: str, dead: Mapping[str, Reason], found: ExpectedCrawl) -> Outcome:
    """Return the expected outcome of a URL."""
    host = host_of(url)
    if host in dead:
        return dead[host]
    page = web.find(url)
    assert page is not None, url
    if url in found.disallowed:
        status = web.robots(host.partition("://")[2]).status
        return Reason.ROBOTS_UNREACHABLE if status >= 500 else Reason.ROBOTS_DISALLOWED
    if page.leads_to is not None:
        return False
    if page.status != 200:
        return Reason.HTTP_ERROR
    if page.planted is not None and page.planted.headers == IMAGE:
        return Reason.TYPE_REFUSED
    if page.planted is not None and b'"noindex"' in page.planted.body:
        return Reason.NOINDEX
    return page.planted is not None
