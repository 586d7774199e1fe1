"""Sitemaps in a turn, path by path: which are found, how they are read, for which hosts they speak."""

from __future__ import annotations

from typing import Any

import pytest

from gossamer.records import Done, GivenUp, HostState, Kind, ParseFailed, Reason, Retry, UrlState, UrlStatus
from gossamer.rules.hosts import NOTHING_ALLOWED
from gossamer.rules.pace import WaitCause
from gossamer.rules.robots import MAX_SITEMAPS
from gossamer.rules.scope import ScopeSettings
from gossamer.rules.sitemaps import SitemapSettings
from gossamer.rules.traps import Trap
from gossamer.turn import Hooks
from gossamer.turn.sitemaps import MAX_FOREIGN_SITES, PORTION_LINKS
from gossamer.turn.steps import NO_ROOM, UNAVAILABLE
from gossamer.urls import hash_url
from tests.turn.rows import HOME, NEXT, PAGE_STORED, ROBOTS, WWW, WWW_OPEN, Row, check, moved, play, robots, ruled
from tests.turn.scripted import HOST, NOW_AT, OPEN, answered, failed, queued, sitemap

ON = SitemapSettings(sitemaps=True)
MAP = "https://a.test/map.xml"
GUESS = "https://a.test/sitemap.xml"
FOREIGN = "https://b.test/map.xml"
WWW_MAP = f"{WWW}/map.xml"
WWW_ROBOTS = f"{WWW}/robots.txt"
PAGES = [f"{HOST}/{number}" for number in range(3)]
READ = [f"ask sitemap {MAP}", f"parse sitemap {MAP}"]
FOUND = ("sitemaps", "found")
ACCEPTED = ("sitemap_entries", "accepted")
DONE = {MAP: Done(page=False)}


def naming(*sitemaps: str, **fields: Any) -> dict[str, Any]:
    """A world in which robots.txt is asked for, and names these sitemaps."""
    text = "User-agent: *\n" + "".join(f"Sitemap: {url}\n" for url in sitemaps)
    return {"hosts": (), "answers": {ROBOTS: robots(text)}, "sitemaps": ON, **fields}


def reading(*urls: str, **fields: Any) -> dict[str, Any]:
    """A world in which a turn is for a sitemap that lists these pages."""
    given = {"parses": {MAP: sitemap(*urls)}, "sitemaps": ON, "urls": (queued(MAP, kind=Kind.SITEMAP),)}
    return {**given, **fields}


def on_behalf(url: str, host: str) -> str:
    """A sitemap as it is queued to be read on behalf of a host."""
    return f"{url}#{host}"


FINDING = [
    Row(
        says="sitemaps are not looked for unless the operator wants that",
        world={**naming(MAP), "sitemaps": SitemapSettings()},
        links=[],
        counts={},
    ),
    Row(
        says="the sitemaps that robots.txt names are queued together with its rules",
        world=naming(MAP, "/two.xml", MAP),
        trace=[f"ask robots {ROBOTS}", "commit", "wait 1.00", *PAGE_STORED],
        links=[MAP, f"{HOST}/two.xml"],
        link={"kind": Kind.SITEMAP, "depth": 2, "via": hash_url(ROBOTS), "seeded": False},
        counts={FOUND: 2},
    ),
    Row(
        says="where robots.txt names none, a sitemap is looked for at the usual place",
        world=naming(),
        links=[GUESS],
        counts={FOUND: 1},
    ),
    Row(
        says="without a robots.txt, a sitemap is looked for at the usual place",
        world={"hosts": (), "sitemaps": ON},
        links=[GUESS],
    ),
    Row(
        says="no sitemap is looked for where robots.txt forbids it",
        world={"hosts": (), "sitemaps": ON, "answers": {ROBOTS: robots("User-agent: *\nDisallow: /sitemap.xml")}},
        links=[],
    ),
    Row(
        says="no sitemap is looked for while robots.txt fails",
        world={"hosts": (), "sitemaps": ON, "answers": {ROBOTS: answered(ROBOTS, 503)}},
        links=[],
    ),
    Row(
        says="sitemaps beyond the greatest depth are not queued",
        world=naming(MAP, scope=ScopeSettings(max_depth=1)),
        links=[],
    ),
    Row(
        says="sitemaps at the greatest depth are queued",
        world=naming(MAP, scope=ScopeSettings(max_depth=2)),
        links=[MAP],
    ),
    Row(
        says="sitemaps that the operator excludes are not queued",
        world=naming(MAP, f"{HOST}/two.xml", excluded=[MAP]),
        links=[f"{HOST}/two.xml"],
    ),
    Row(
        says="sitemaps at addresses and on other ports are not queued",
        world=naming(MAP, "http://93.184.215.14/s.xml", "http://b.test:8080/s.xml"),
        links=[MAP],
        counts={FOUND: 1, ("traps", "ip_host"): 1, ("traps", "port_refused"): 1},
    ),
    Row(
        says="no more sitemaps of a host are queued than allowed, and the rest is counted",
        world=naming(*(f"{HOST}/{n}.xml" for n in range(5)), sitemaps=SitemapSettings(sitemaps=True, max_sitemaps=3)),
        links=[f"{HOST}/{n}.xml" for n in range(3)],
        counts={FOUND: 3, ("sitemaps", "too_many"): 2},
    ),
    Row(
        says="what is named beyond the first hundreds of sitemaps is not looked at",
        world=naming(
            *(f"{HOST}/{n}.xml" for n in range(MAX_SITEMAPS + 5)),
            sitemaps=SitemapSettings(sitemaps=True, max_sitemaps=5_000),
        ),
        counts={FOUND: MAX_SITEMAPS},
    ),
    Row(
        says="a sitemap on another site is read on behalf of the host that names it",
        world=naming(FOREIGN),
        links=[on_behalf(FOREIGN, HOST)],
        link={"site": "b.test", "kind": Kind.SITEMAP},
    ),
    Row(
        says="a sitemap on another host of the site that was not read yet is queued as it is",
        world=naming(WWW_MAP),
        trace=[
            f"ask robots {ROBOTS}", "commit at once", f"look up {WWW_MAP}", "commit", "wait 1.00", *PAGE_STORED,
        ],
        links=[WWW_MAP],
    ),
    Row(
        says="a sitemap on another host of the site that is queued is not queued on a behalf",
        world=naming(WWW_MAP, states={WWW_MAP: UrlState(status=UrlStatus.QUEUED, depth=1)}),
        links=[WWW_MAP],
    ),
    Row(
        says="a sitemap on another host of the site that was read already is read once more on this host's behalf",
        world=naming(WWW_MAP, states={WWW_MAP: UrlState(status=UrlStatus.DONE, depth=1)}),
        links=[on_behalf(WWW_MAP, HOST)],
    ),
    Row(
        says="a sitemap of another host is queued as it is while the frontier does not answer",
        world=naming(WWW_MAP, states={WWW_MAP: UNAVAILABLE}),
        links=[WWW_MAP],
    ),
    Row(
        says="a sitemap that this host has named before is not read once more",
        world={
            **naming(WWW_MAP, states={WWW_MAP: UrlState(status=UrlStatus.DONE, depth=1)}),
            "hosts": (HostState(host=HOST, rules=f"Sitemap: {WWW_MAP}", expires_at=NOW_AT - 1),),
        },
        trace=[f"ask robots {ROBOTS}", "commit", "wait 1.00", *PAGE_STORED],
        links=[WWW_MAP],
    ),
    Row(
        says="http and https of one name are one host: their sitemap is not looked up",
        world=naming("http://a.test/map.xml"),
        trace=[f"ask robots {ROBOTS}", "commit", "wait 1.00", *PAGE_STORED],
        links=["http://a.test/map.xml"],
    ),
    Row(
        says="an alias, whose robots.txt is that of another host, has no sitemap of its own",
        world={"hosts": (), "sitemaps": ON, "answers": {ROBOTS: moved(ROBOTS, WWW_ROBOTS)}},
        links=[],
    ),
    Row(
        says="the sitemaps that an alias names through the other host are queued as they are",
        world={
            "hosts": (), "sitemaps": ON,
            "answers": {
                ROBOTS: moved(ROBOTS, WWW_ROBOTS),
                WWW_ROBOTS: robots(f"Sitemap: {WWW_MAP}\nSitemap: {FOREIGN}", WWW_ROBOTS),
            },
        },
        trace=[
            f"ask robots {ROBOTS}", "wait 1.00", f"ask robots {WWW_ROBOTS}", "commit", "wait 1.00", *PAGE_STORED,
        ],
        links=[WWW_MAP],
    ),
    Row(
        says="of the sitemaps that another site's robots.txt names, only those of this site count",
        world={
            "hosts": (), "sitemaps": ON, "answers": {ROBOTS: moved(ROBOTS, "https://b.test/robots.txt")},
            "elsewhere": {"https://b.test/robots.txt": robots(f"Sitemap: {MAP}\nSitemap: {FOREIGN}")},
        },
        links=[MAP],
    ),
]  # fmt: skip

READING = [
    Row(
        says="a sitemap is asked for as such, and its entries are queued as links of its depth",
        world=reading(*PAGES, urls=(queued(MAP, kind=Kind.SITEMAP, depth=2),)),
        trace=READ,
        outcomes=DONE,
        links=PAGES,
        link={"depth": 2, "kind": Kind.PAGE, "rank": 0, "via": hash_url(MAP)},
        counts={("sitemaps", "read"): 1, ACCEPTED: 3},
        wait_s=70.0,
        cause=WaitCause.DELAY,
    ),
    Row(
        says="entries of a sitemap at depth 0 lie at depth 1",
        world=reading(NEXT, urls=(queued(MAP, kind=Kind.SITEMAP, depth=0),)),
        link={"depth": 1},
    ),
    Row(
        says="entries are queued rank by rank",
        world=reading(parses={MAP: sitemap(*PAGES, ranks=[0, 2, 9])}),
        links=PAGES,
        link={"rank": 9},
    ),
    Row(
        says="a sitemap that is archived has its records written before its entries are queued",
        world=reading(parses={MAP: sitemap(NEXT, archive=b"record")}),
        trace=[*READ, f"archive 200 {MAP}"],
    ),
    Row(
        says="a page that the host's robots.txt calls a sitemap is read as one",
        world={"urls": (queued(MAP),), "sitemaps": ON, "hosts": (ruled(f"Sitemap: {MAP}"),)},
        trace=READ,
        outcomes=DONE,
    ),
    Row(
        says="a page that the host's robots.txt calls a sitemap is a page where sitemaps are not wanted",
        world={"urls": (queued(MAP),), "hosts": (ruled(f"Sitemap: {MAP}"),)},
        asks=[f"page {MAP}"],
        outcomes={MAP: Done()},
    ),
    Row(
        says="a sitemap for which there is no room comes again without a counted try",
        world=reading(parses={MAP: NO_ROOM}),
        trace=READ,
        outcomes={MAP: Retry(wait_s=60.0, counted=False)},
        links=[],
        counts={},
    ),
    Row(
        says="a sitemap that is none is given up",
        world=reading(parses={MAP: ParseFailed(reason=Reason.BAD_SITEMAP)}),
        outcomes={MAP: GivenUp(reason=Reason.BAD_SITEMAP)},
        counts={("sitemaps", "unread"): 1},
    ),
    Row(
        says="that there is no sitemap where none was named is no failure of the site",
        world=reading(
            urls=(queued(GUESS, kind=Kind.SITEMAP),), parses={GUESS: ParseFailed(reason=Reason.BAD_SITEMAP)}
        ),
        outcomes={GUESS: GivenUp(reason=Reason.NO_SITEMAP)},
    ),
    Row(
        says="a missing sitemap at the usual place is given up quietly",
        world=reading(urls=(queued(GUESS, kind=Kind.SITEMAP),), answers={GUESS: answered(GUESS, 404)}),
        outcomes={GUESS: GivenUp(reason=Reason.NO_SITEMAP)},
    ),
    Row(
        says="a missing sitemap that robots.txt names is an error of the site",
        world=reading(answers={MAP: answered(MAP, 404)}, hosts=(ruled(f"Sitemap: {MAP}"),)),
        outcomes={MAP: GivenUp(reason=Reason.HTTP_ERROR)},
    ),
    Row(
        says="a sitemap at the usual place that robots.txt names is promised",
        world=reading(
            urls=(queued(GUESS, kind=Kind.SITEMAP),), answers={GUESS: answered(GUESS, 404)},
            hosts=(ruled(f"Sitemap: {GUESS}"),),
        ),
        outcomes={GUESS: GivenUp(reason=Reason.HTTP_ERROR)},
    ),
    Row(
        says="a sitemap that fails is tried again like a page",
        world=reading(answers={MAP: answered(MAP, 503)}),
        outcomes={MAP: Retry(wait_s=60.0)},
    ),
    Row(
        says="a sitemap that the page process cannot bear is given up for that reason",
        world=reading(parses={MAP: ParseFailed(reason=Reason.PARSE_MEMORY)}),
        outcomes={MAP: GivenUp(reason=Reason.PARSE_MEMORY)},
    ),
    Row(
        says="a sitemap that robots.txt forbids is not asked for",
        world=reading(hosts=(ruled("Disallow: /map"),)),
        trace=[],
        outcomes={MAP: GivenUp(reason=Reason.ROBOTS_DISALLOWED)},
    ),
    Row(
        says="a sitemap that redirects is followed as a sitemap",
        world=reading(NEXT, answers={MAP: moved(MAP, "/m2.xml")}, parses={f"{HOST}/m2.xml": sitemap(NEXT)}),
        asks=[f"sitemap {MAP}", f"sitemap {HOST}/m2.xml"],
        outcomes={MAP: Done(page=False), f"{HOST}/m2.xml": Done(page=False)},
        links=[f"{HOST}/m2.xml", NEXT],
    ),
    Row(
        says="patterns do not keep a sitemap from being followed, but hold for what it lists",
        world=reading(
            answers={MAP: moved(MAP, "/m2.xml")}, parses={f"{HOST}/m2.xml": sitemap(NEXT, f"{HOST}/blog/1")},
            scope=ScopeSettings(include=("/blog/",)),
        ),
        links=[f"{HOST}/m2.xml", f"{HOST}/blog/1"],
        counts={("sitemaps", "read"): 1, ACCEPTED: 1, ("sitemap_entries", "not_wanted"): 1},
    ),
    Row(
        says="entries that the program does not want are counted as such",
        world=reading(*PAGES, hooks=Hooks(should_visit=lambda url: url == PAGES[0])),
        links=PAGES[:1],
        counts={("sitemaps", "read"): 1, ACCEPTED: 1, ("sitemap_entries", "not_wanted"): 2},
    ),
    Row(
        says="entries that are traps are refused as links are",
        world=reading(NEXT, f"{HOST}/a/a/a/a/a/a"),
        links=[NEXT],
        counts={
            ("sitemaps", "read"): 1, ACCEPTED: 1, ("sitemap_entries", "not_wanted"): 1,
            ("traps", Trap.REPEATED_SEGMENTS): 1,
        },
    ),
    Row(
        says="entries that are no URL are counted",
        world=reading(parses={MAP: sitemap(NEXT, refused=7)}),
        counts={("sitemaps", "read"): 1, ACCEPTED: 1, ("sitemap_entries", "bad_url"): 7},
    ),
    Row(
        says="entries beyond the greatest depth are not followed",
        world=reading(NEXT, urls=(queued(MAP, kind=Kind.SITEMAP, depth=3),), scope=ScopeSettings(max_depth=2)),
        links=[],
        outcomes=DONE,
    ),
]  # fmt: skip

INDEXES = [
    Row(
        says="the sitemaps that an index names are queued one step further",
        world=reading(parses={MAP: sitemap(sitemaps=[f"{HOST}/1.xml", f"{HOST}/2.xml"])}),
        outcomes=DONE,
        links=[f"{HOST}/1.xml", f"{HOST}/2.xml"],
        link={"kind": Kind.SITEMAP, "hops": 1, "depth": 1, "via": hash_url(MAP)},
        counts={("sitemaps", "read"): 1, FOUND: 2},
    ),
    Row(
        says="a sitemap of another site in an index is refused",
        world=reading(parses={MAP: sitemap(sitemaps=[FOREIGN, WWW_MAP])}),
        links=[WWW_MAP],
        counts={("sitemaps", "read"): 1, FOUND: 1, ("sitemaps", "refused"): 1},
    ),
    Row(
        says="the fifth index behind others is followed",
        world=reading(urls=(queued(MAP, kind=Kind.SITEMAP, hops=4),), parses={MAP: sitemap(sitemaps=[WWW_MAP])}),
        links=[WWW_MAP],
        link={"hops": 5},
    ),
    Row(
        says="the sixth index behind others is not followed",
        world=reading(urls=(queued(MAP, kind=Kind.SITEMAP, hops=5),), parses={MAP: sitemap(sitemaps=[WWW_MAP])}),
        links=[],
        counts={("sitemaps", "read"): 1, ("sitemaps", "refused"): 1},
    ),
    Row(
        says="the limit of a host holds for the sitemaps of an index",
        world=reading(
            parses={MAP: sitemap(sitemaps=[f"{HOST}/{n}.xml" for n in range(4)])},
            sitemaps=SitemapSettings(sitemaps=True, max_sitemaps=3),
        ),
        links=[f"{HOST}/{n}.xml" for n in range(3)],
        counts={("sitemaps", "read"): 1, FOUND: 3, ("sitemaps", "too_many"): 1},
    ),
    Row(
        says="the sitemaps of an index that is read on behalf of a host are read on its behalf",
        world=reading(
            urls=(queued(MAP, kind=Kind.SITEMAP)._replace(
                url=on_behalf(MAP, WWW), url_hash=hash_url(on_behalf(MAP, WWW))),),
            parses={MAP: sitemap(f"{WWW}/1", sitemaps=[f"{HOST}/1.xml"])},
        ),
        trace=READ,
        outcomes={on_behalf(MAP, WWW): Done(page=False)},
        links=[f"{WWW}/1", on_behalf(f"{HOST}/1.xml", WWW)],
    ),
    Row(
        says="a sitemap behind an index speaks for hosts that name the index",
        world=reading(
            f"{WWW}/1", urls=(queued(MAP, kind=Kind.SITEMAP, hops=1),),
            states={MAP: UrlState(status=UrlStatus.QUEUED, depth=1, via=hash_url(GUESS))},
            hosts_of={"a.test": [ruled(f"Sitemap: {GUESS}", WWW)]},
        ),
        trace=[*READ, f"look up {MAP}", "look up hosts of a.test"],
        links=[f"{WWW}/1"],
    ),
    Row(
        says="a sitemap behind an index speaks for its own host alone while the frontier does not answer",
        world=reading(
            f"{WWW}/1", NEXT, urls=(queued(MAP, kind=Kind.SITEMAP, hops=1),), states={MAP: UNAVAILABLE},
        ),
        trace=[*READ, f"look up {MAP}", "look up hosts of a.test"],
        links=[NEXT],
    ),
]  # fmt: skip

AUTHORITY = [
    Row(
        says="a sitemap does not speak for another host of its site",
        world=reading(NEXT, f"{WWW}/1", hosts=(OPEN, WWW_OPEN)),
        trace=[*READ, "look up hosts of a.test"],
        links=[NEXT],
        counts={("sitemaps", "read"): 1, ACCEPTED: 1, ("sitemap_entries", "foreign_host"): 1},
    ),
    Row(
        says="a sitemap speaks for another host of its site whose robots.txt names it",
        world=reading(NEXT, f"{WWW}/1", hosts=(OPEN, ruled(f"Sitemap: {MAP}", WWW))),
        links=[NEXT, f"{WWW}/1"],
    ),
    Row(
        says="what this worker knows about a host holds before what the frontier knows",
        world=reading(
            f"{WWW}/1", hosts=(OPEN, WWW_OPEN), hosts_of={"a.test": [ruled(f"Sitemap: {MAP}", WWW)]}
        ),
        links=[],
    ),
    Row(
        says="a sitemap speaks for a host of another site whose robots.txt names it",
        world=reading("https://b.test/1", hosts_of={"b.test": [ruled(f"Sitemap: {MAP}", "https://b.test")]}),
        trace=[*READ, "look up hosts of b.test"],
        links=["https://b.test/1"],
    ),
    Row(
        says="a host with a failing robots.txt lets no other host speak for it",
        world=reading(
            "https://b.test/1", hosts_of={"b.test": [HostState(host="https://b.test", rules=NOTHING_ALLOWED)]}
        ),
        links=[],
    ),
    Row(
        says="http and https of one name are one host for a sitemap",
        world=reading("http://a.test/1"),
        trace=READ,
        links=["http://a.test/1"],
    ),
    Row(
        says="a sitemap that is read on behalf of a host speaks for it",
        world=reading(
            NEXT, f"{WWW}/1",
            urls=(queued(MAP, kind=Kind.SITEMAP)._replace(
                url=on_behalf(MAP, WWW), url_hash=hash_url(on_behalf(MAP, WWW))),),
        ),
        trace=READ,
        links=[NEXT, f"{WWW}/1"],
        link={"via": hash_url(MAP)},
    ),
    Row(
        says="a sitemap that was redirected to speaks for hosts that name what redirects",
        world=reading(
            answers={MAP: moved(MAP, "/m2.xml")}, parses={f"{HOST}/m2.xml": sitemap(f"{WWW}/1")},
            hosts=(OPEN, ruled(f"Sitemap: {MAP}", WWW)),
        ),
        links=[f"{HOST}/m2.xml", f"{WWW}/1"],
    ),
    Row(
        says="the robots.txt files of no more than fifty other sites are looked up for one sitemap",
        world=reading(*(f"https://s{n:03}.test/" for n in range(MAX_FOREIGN_SITES + 20))),
        trace=[*READ, *(f"look up hosts of s{n:03}.test" for n in range(MAX_FOREIGN_SITES))],
        links=[],
    ),
    Row(
        says="a host that falls silent at its sitemap backs off with all its URLs",
        world=reading(
            answers={MAP: failed(MAP, Reason.CONNECT_REFUSED)}, urls=(queued(MAP, kind=Kind.SITEMAP), queued(HOME))
        ),
        outcomes={},
        in_hand=[],
    ),
]  # fmt: skip


def many(count: int, **fields: Any) -> dict[str, Any]:
    """A world with a sitemap that lists so many pages."""
    return reading(*(f"{HOST}/{number}" for number in range(count)), **fields)


PORTIONS = [
    Row(says="fewer entries than a portion are reported with the outcome", world=many(PORTION_LINKS - 1), trace=READ),
    Row(
        says="a full portion is durable before the sitemap is done",
        world=many(PORTION_LINKS),
        trace=[*READ, "commit at once"],
        outcomes=DONE,
    ),
    Row(
        says="each portion is durable before the next is queued",
        world=many(2 * PORTION_LINKS + 1),
        trace=[*READ, "commit at once", "commit at once"],
        outcomes=DONE,
        counts={("sitemaps", "read"): 1, ACCEPTED: 2 * PORTION_LINKS + 1},
    ),
    Row(
        says="portions of small ranks are committed together when they are enough",
        world={
            **many(0),
            "parses": {MAP: sitemap(
                *(f"{HOST}/{n}" for n in range(PORTION_LINKS)), ranks=[n // 700 for n in range(PORTION_LINKS)])},
        },
        trace=[*READ, "commit at once"],
    ),
    Row(
        says="entries that are not followed fill no portion",
        world=many(PORTION_LINKS + 500, scope=ScopeSettings(include=("/1",))),
        trace=READ,
        outcomes=DONE,
    ),
]  # fmt: skip


@pytest.mark.parametrize("row", [*FINDING, *READING, *INDEXES, *AUTHORITY, *PORTIONS], ids=str)
def test_sitemaps(row: Row) -> None:
    check(row)


def test_a_sitemap_is_settled_only_after_all_its_portions() -> None:
    world, result = play(PORTIONS[2])
    assert [len(effects.links) for effects in world.commits] == [PORTION_LINKS, PORTION_LINKS]
    assert not any(effects.outcomes for effects in world.commits)
    assert list(result.effects.outcomes.values()) == [Done(page=False)]
    assert [len(result.effects.links)] == [1]
