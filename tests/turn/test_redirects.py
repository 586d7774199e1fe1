"""Redirects in a turn, path by path: which target is fetched in the same turn, and what becomes of each URL."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from gossamer.records import Barred, Done, GivenUp, HostState, Kind, Reason, Retry, Scope, UrlState, UrlStatus
from gossamer.rules.keeping import KeepingSettings
from gossamer.rules.pace import PaceSettings, WaitCause
from gossamer.rules.scope import FOREIGN_RANK, ScopeSettings
from gossamer.rules.traps import Trap, TrapSettings
from gossamer.turn import Hooks
from gossamer.turn.steps import NOT_SENT, UNAVAILABLE
from gossamer.urls import hash_url
from tests.turn.rows import HOME, NEXT, WWW, WWW_OPEN, Row, check, moved, ruled
from tests.turn.scripted import HOST, OPEN, answered, failed, parsed, queued

MOVED = Done(page=False)
FOLLOWED = [f"page {HOME}", f"page {NEXT}"]
NOT_FOLLOWED = [f"page {HOME}"]
ELSEWHERE = "https://b.test/"
SEED = queued(depth=0)
ON_WWW = f"{WWW}/"
BY_HTTP = "http://a.test/"
BY_HTTP_OPEN = replace(OPEN, host="http://a.test")
CHAIN = [f"{HOST}/{step}" for step in range(12)]
CHAINED = {url: moved(url, target) for url, target in pairwise(CHAIN)}
SILENT_WWW = HostState(host=WWW, silent=1, blocked_s=60.0)


def to(target: str, status: int = 301, **fields: object) -> dict[str, object]:
    """A world in which the page redirects."""
    return {"answers": {HOME: moved(HOME, target, status)}, **fields}


def refreshing(target: str, **fields: object) -> dict[str, object]:
    """A world in which the page is only a redirect in disguise."""
    return {"parses": {HOME: parsed(NEXT, refresh=target)}, **fields}


def refuse(url: str) -> bool:
    """Want no URL at all."""
    return not url


CLOSED = [
    *(
        Row(
            says=f"a redirect to {target} is given up as {reason}, of a {'seed' if depth == 0 else 'link'}",
            world=to(target, urls=(queued(depth=depth),), scope=ScopeSettings(scope=Scope.WEB)),
            asks=NOT_FOLLOWED,
            outcomes={HOME: GivenUp(reason=reason)},
            links=[],
            counts={("traps", reason): 1},
        )
        for depth in (0, 1)
        for target, reason in [
            ("http://b.test:8080/", Reason.PORT_REFUSED),
            ("https://a.test:22/", Reason.PORT_REFUSED),
            ("http://93.184.215.14/", Reason.IP_HOST),
            ("https://[2606:2800:21f::1]/", Reason.IP_HOST),
        ]
    ),
    Row(
        says="a seed may redirect to another port of its own site",
        world=to("https://www.a.test:8443/", urls=(SEED,)),
        asks=[f"page {HOME}", "robots https://www.a.test:8443/robots.txt", "page https://www.a.test:8443/"],
    ),
    Row(
        says="what is no seed may redirect to ports and addresses that the operator allows",
        world=to(
            "http://93.184.215.14:8080/",
            urls=(queued(depth=1),),
            scope=ScopeSettings(scope=Scope.WEB, allow_ip_hosts=True, allow_ports=(8080,)),
        ),
        outcomes={HOME: MOVED},
        links=["http://93.184.215.14:8080/"],
    ),
    Row(
        says="a URL on a port that browsers block is given up without a request, even a seed",
        world={"urls": (queued("https://a.test:22/", depth=0),)},
        trace=[],
        outcomes={"https://a.test:22/": GivenUp(reason=Reason.PORT_REFUSED)},
    ),
]

WITHIN = [
    *(
        Row(
            says=f"a redirect with status {status} within the host is followed in the same turn",
            world=to("/next", status),
            trace=[
                f"ask page {HOME}", f"archive {status} {HOME}", f"look up {NEXT}", "wait 1.00", f"ask page {NEXT}",
                f"parse page {NEXT}", f"keep {NEXT}",
            ],
            outcomes={HOME: MOVED, NEXT: Done()},
            links=[NEXT],
        )
        for status in (301, 302, 303, 307, 308)
    ),
    *(
        Row(
            says=f"an answer with status {status} is no redirect, whatever its Location",
            world=to("/next", status),
            asks=NOT_FOLLOWED,
            outcomes={HOME: GivenUp(reason=Reason.HTTP_ERROR)},
            links=[],
        )
        for status in (300, 304)
    ),
    Row(
        says="where the delay is shorter than the gap, a redirect's target waits for the delay",
        world=to("/next", delay_s=0.25, pace=PaceSettings(delay_s=0.25)),
        trace=[
            f"ask page {HOME}", f"archive 301 {HOME}", f"look up {NEXT}", "wait 0.25", f"ask page {NEXT}",
            f"parse page {NEXT}", f"keep {NEXT}",
        ],
    ),
    Row(
        says="a target is as deep and as important as what redirects to it",
        world=to("/next", urls=(queued(depth=3, rank=5, hops=2),)),
        link={"depth": 3, "rank": 5, "hops": 3, "seeded": False, "via": hash_url(HOME), "kind": Kind.PAGE},
    ),
    Row(
        says="the target of a seed is a seed",
        world=to("/next", urls=(SEED,)),
        link={"depth": 0, "seeded": True, "hops": 1},
        outcomes={HOME: MOVED, NEXT: Done()},
    ),
    Row(
        says="the target of a bare seed is a page",
        world=to("/next", urls=(queued(depth=0, kind=Kind.BARE),)),
        link={"kind": Kind.PAGE, "seeded": True},
        outcomes={HOME: MOVED, NEXT: Done()},
    ),
    Row(
        says="robots.txt of another host of the site comes before a target on it",
        world=to(ON_WWW),
        trace=[
            f"ask page {HOME}", f"archive 301 {HOME}", f"look up {ON_WWW}", "look up hosts of a.test", "wait 1.00",
            f"ask robots {WWW}/robots.txt", "commit", "wait 1.00", f"ask page {ON_WWW}", f"parse page {ON_WWW}",
            f"keep {ON_WWW}",
        ],
        outcomes={HOME: MOVED, ON_WWW: Done()},
    ),
    Row(
        says="a target on another host with fresh rules is asked for after the gap",
        world=to(ON_WWW, hosts=(OPEN, WWW_OPEN)),
        asks=[f"page {HOME}", f"page {ON_WWW}"],
    ),
    Row(
        says="rules that only the frontier knows of are used",
        world=to(ON_WWW, hosts_of={"a.test": [ruled("Disallow: /", WWW)]}),
        asks=NOT_FOLLOWED,
        outcomes={HOME: MOVED, ON_WWW: GivenUp(reason=Reason.ROBOTS_DISALLOWED)},
    ),
    Row(
        says="http that redirects to https is followed like any other host of the site",
        world=to(
            HOME, urls=(queued("http://a.test/"),), answers={"http://a.test/": moved("http://a.test/", HOME)},
            hosts=(OPEN, replace(OPEN, host="http://a.test")),
        ),
        asks=["page http://a.test/", f"page {HOME}"],
        outcomes={"http://a.test/": MOVED, HOME: Done()},
    ),
    Row(
        says="what robots.txt forbids behind a redirect is given up, and the redirect is done",
        world=to("/next", hosts=(ruled("Disallow: /next"),)),
        asks=NOT_FOLLOWED,
        outcomes={HOME: MOVED, NEXT: GivenUp(reason=Reason.ROBOTS_DISALLOWED)},
    ),
    Row(
        says="a target that the operator excludes is barred without a request",
        world=to("/next", excluded=[NEXT]),
        asks=NOT_FOLLOWED,
        outcomes={HOME: MOVED, NEXT: Barred(reason=Reason.EXCLUDED)},
    ),
    Row(
        says="a target that the operator excludes while its turn pauses is barred",
        world=to("/next", excluded_after={"wait 1.00": [NEXT]}),
        asks=FOLLOWED,
        outcomes={HOME: MOVED, NEXT: Barred(reason=Reason.EXCLUDED)},
    ),
    Row(
        says="a site that the operator excludes behind a redirect keeps the target queued",
        world=to("/next", excluded_after={f"ask page {HOME}": ["a.test"]}, urls=(queued(), queued("https://a.test/3"))),
        asks=NOT_FOLLOWED,
        outcomes={HOME: MOVED},
        links=[NEXT],
        in_hand=[],
    ),
    Row(
        says="a target that is not sent stays queued, and the redirect is done",
        world=to("/next", answers={HOME: moved(HOME, NEXT), NEXT: NOT_SENT}),
        outcomes={HOME: MOVED},
        links=[NEXT],
    ),
    Row(
        says="a target that fails is tried again, and the redirect is done",
        world=to("/next", answers={HOME: moved(HOME, NEXT), NEXT: answered(NEXT, 503)}),
        outcomes={HOME: MOVED, NEXT: Retry(wait_s=60.0)},
        failures=1,
    ),
    Row(
        says="a target has its tries for itself: those of the redirect do not count",
        world=to("/next", urls=(queued(tries=3),), answers={HOME: moved(HOME, NEXT), NEXT: answered(NEXT, 503)}),
        outcomes={HOME: MOVED, NEXT: Retry(wait_s=60.0)},
    ),
    Row(
        says="a target that does not exist is given up, and the redirect is done",
        world=to("/next", answers={HOME: moved(HOME, NEXT), NEXT: answered(NEXT, 404)}),
        outcomes={HOME: MOVED, NEXT: GivenUp(reason=Reason.HTTP_ERROR)},
    ),
]  # fmt: skip

ACROSS = [
    Row(
        says="a redirect across sites is queued and not followed",
        world=to(ELSEWHERE),
        trace=[f"ask page {HOME}", f"archive 301 {HOME}"],
        outcomes={HOME: MOVED},
        links=[ELSEWHERE],
        link={"seeded": False, "site": "b.test", "hops": 1},
    ),
    Row(
        says="a seed that redirects across sites brings the other site into the crawl",
        world=to(ELSEWHERE, urls=(SEED,)),
        asks=NOT_FOLLOWED,
        link={"seeded": True, "depth": 0},
    ),
    Row(
        says="where the crawl stays on hosts, a redirect to another host is only queued",
        world=to(ON_WWW, scope=ScopeSettings(scope=Scope.HOST), hosts=(OPEN, WWW_OPEN)),
        asks=NOT_FOLLOWED,
        links=[ON_WWW],
    ),
    Row(
        says="where the crawl stays on hosts, a redirect from https to http of the same host is followed",
        world=to(BY_HTTP, scope=ScopeSettings(scope=Scope.HOST), hosts=(OPEN, BY_HTTP_OPEN)),
        asks=[f"page {HOME}", f"page {BY_HTTP}"],
    ),
    Row(
        says="where the crawl stays on hosts, a seed's redirect to another host of its site is followed",
        world=to(ON_WWW, scope=ScopeSettings(scope=Scope.HOST), hosts=(OPEN, WWW_OPEN), urls=(SEED,)),
        asks=[f"page {HOME}", f"page {ON_WWW}"],
    ),
]

LOOPS_AND_CHAINS = [
    Row(
        says="a redirect to itself ends the turn",
        world=to("/"),
        asks=NOT_FOLLOWED,
        outcomes={HOME: MOVED},
    ),
    Row(
        says="two pages that redirect to each other are asked for once each",
        world=to("/next", answers={HOME: moved(HOME, NEXT), NEXT: moved(NEXT, HOME)}),
        asks=FOLLOWED,
        outcomes={HOME: MOVED, NEXT: MOVED},
        links=[NEXT, HOME],
    ),
    Row(
        says="five redirects are followed in one turn, and the sixth target is queued",
        world={"urls": (queued(CHAIN[0]),), "answers": CHAINED},
        asks=[f"page {url}" for url in CHAIN[:6]],
        outcomes=dict.fromkeys(CHAIN[:6], MOVED),
        links=CHAIN[1:7],
        link={"hops": 6},
    ),
    Row(
        says="the tenth redirect behind others is followed",
        world=to("/next", urls=(queued(hops=9),)),
        asks=FOLLOWED,
        link={"hops": 10},
    ),
    Row(
        says="the eleventh redirect behind others is given up",
        world=to("/next", urls=(queued(hops=10),)),
        asks=NOT_FOLLOWED,
        outcomes={HOME: GivenUp(reason=Reason.TOO_MANY_REDIRECTS)},
        links=[],
    ),
    Row(
        says="a chain across turns ends in the turn in which it becomes too long",
        world={"urls": (queued(CHAIN[0], hops=9),), "answers": CHAINED},
        asks=[f"page {CHAIN[0]}", f"page {CHAIN[1]}"],
        outcomes={CHAIN[0]: MOVED, CHAIN[1]: GivenUp(reason=Reason.TOO_MANY_REDIRECTS)},
    ),
]

KNOWN = [
    *(
        Row(
            says=f"a target that is known as {status} is queued and not followed",
            world=to("/next", states={NEXT: UrlState(status=status, depth=1)}),
            asks=NOT_FOLLOWED,
            outcomes={HOME: MOVED},
            links=[NEXT],
        )
        for status in UrlStatus
    ),
    Row(
        says="a target is not followed while the frontier does not answer",
        world=to("/next", states={NEXT: UNAVAILABLE}),
        asks=NOT_FOLLOWED,
        outcomes={HOME: MOVED},
        links=[NEXT],
    ),
    Row(
        says="a target is not followed while the frontier does not answer, where canonical pages are kept",
        world=to("/next", states={NEXT: UNAVAILABLE}, keeping=KeepingSettings(canonical=True)),
        asks=NOT_FOLLOWED,
    ),
    Row(
        says="a target that was left out for its canonical page is followed if that page redirects to it",
        world=to(
            "/next",
            states={NEXT: UrlState(status=UrlStatus.GIVEN_UP, depth=1, reason=Reason.NOT_CANONICAL)},
            keeping=KeepingSettings(canonical=True),
            parses={NEXT: parsed(row={"canonical": HOME})},
        ),
        asks=FOLLOWED,
        outcomes={HOME: MOVED, NEXT: Done()},
    ),
    Row(
        says="a target that was left out for its canonical page is not followed if canonical pages are not asked for",
        world=to("/next", states={NEXT: UrlState(status=UrlStatus.GIVEN_UP, depth=1, reason=Reason.NOT_CANONICAL)}),
        asks=NOT_FOLLOWED,
    ),
    Row(
        says="a target that was given up for another reason is not followed",
        world=to(
            "/next",
            states={NEXT: UrlState(status=UrlStatus.GIVEN_UP, depth=1, reason=Reason.HTTP_ERROR)},
            keeping=KeepingSettings(canonical=True),
        ),
        asks=NOT_FOLLOWED,
    ),
    Row(
        says="a target on a host that is blocked is not asked for",
        world=to(ON_WWW, hosts=(OPEN, replace(WWW_OPEN, blocked_s=60.0))),
        trace=[f"ask page {HOME}", f"archive 301 {HOME}", f"look up {ON_WWW}"],
        outcomes={HOME: MOVED},
        links=[ON_WWW],
    ),
    Row(
        says="a target on a silent host that only the frontier knows is not asked for",
        world=to(ON_WWW, hosts_of={"a.test": [SILENT_WWW]}),
        trace=[f"ask page {HOME}", f"archive 301 {HOME}", f"look up {ON_WWW}", "look up hosts of a.test"],
        outcomes={HOME: MOVED},
        links=[ON_WWW],
    ),
    Row(
        says="a target on a host with a failing robots.txt that only the frontier knows is not asked for",
        world=to(ON_WWW, hosts_of={"a.test": [HostState(host=WWW, failures=1, blocked_s=600.0)]}),
        asks=NOT_FOLLOWED,
    ),
    Row(
        says="that another host of the site is silent does not keep a target from being asked for",
        world=to(ON_WWW, hosts_of={"a.test": [HostState(host="https://x.a.test", silent=1, blocked_s=60.0)]}),
        asks=[f"page {HOME}", f"robots {WWW}/robots.txt", f"page {ON_WWW}"],
    ),
    Row(
        says="a target on a host that falls silent stays queued, and the host backs off",
        world=to(ON_WWW, answers={
            HOME: moved(HOME, ON_WWW), f"{WWW}/robots.txt": failed(f"{WWW}/robots.txt", Reason.CONNECT_REFUSED),
        }),
        outcomes={HOME: MOVED},
        hosts={WWW: {"silent": 1, "blocked_s": 60.0}},
        failures=0,
        cause=WaitCause.DELAY,
    ),
    Row(
        says="a target on a host whose name does not exist is given up, and the redirect is done",
        world=to(ON_WWW, answers={
            HOME: moved(HOME, ON_WWW), f"{WWW}/robots.txt": failed(f"{WWW}/robots.txt", Reason.NO_SUCH_NAME),
        }),
        outcomes={HOME: MOVED, ON_WWW: GivenUp(reason=Reason.NO_SUCH_NAME)},
        hosts={WWW: {"given_up": Reason.NO_SUCH_NAME}},
    ),
]  # fmt: skip

REFUSED = [
    Row(
        says="a redirect without a target is given up",
        world={"answers": {HOME: answered(HOME, 302)}},
        trace=[f"ask page {HOME}", f"archive 302 {HOME}"],
        outcomes={HOME: GivenUp(reason=Reason.BAD_REDIRECT)},
    ),
    Row(
        says="a redirect to what is no URL to crawl is given up",
        world=to("mailto:a@b.test"),
        outcomes={HOME: GivenUp(reason=Reason.BAD_REDIRECT)},
        links=[],
    ),
    Row(
        says="a target that no pattern includes is left, and the redirect is done",
        world=to("/next", scope=ScopeSettings(include=("/blog/",))),
        asks=NOT_FOLLOWED,
        outcomes={HOME: MOVED},
        links=[],
    ),
    Row(
        says="patterns do not hold for the target of a seed",
        world=to("/next", scope=ScopeSettings(include=("/blog/",)), urls=(SEED,)),
        asks=FOLLOWED,
    ),
    Row(
        says="a redirect to what the program does not want is given up",
        world=to("/next", hooks=Hooks(should_visit=refuse)),
        asks=NOT_FOLLOWED,
        outcomes={HOME: GivenUp(reason=Reason.OUT_OF_SCOPE)},
        links=[],
    ),
    Row(
        says="the program is not asked about the target of a seed",
        world=to("/next", hooks=Hooks(should_visit=refuse), urls=(SEED,)),
        asks=FOLLOWED,
    ),
    Row(
        says="a hook that fails at a target lets it in, and the failure is reported",
        world=to("/next", hooks=Hooks(should_visit=lambda url: bool(1 // (len(url) - len(NEXT))))),
        asks=FOLLOWED,
        hook_failures=[("should_visit", NEXT, 1)],
    ),
    Row(
        says="a redirect into a trap is given up, and counted",
        world=to("/a/a/a/a/a/a/a"),
        asks=NOT_FOLLOWED,
        outcomes={HOME: GivenUp(reason=Reason.TRAP)},
        counts={("traps", Trap.REPEATED_SEGMENTS): 1},
        links=[],
    ),
    Row(
        says="a seed may redirect to what looks like a trap",
        world=to("/a/a/a/a/a/a/a", urls=(SEED,)),
        asks=[f"page {HOME}", f"page {HOST}/a/a/a/a/a/a/a"],
        counts={},
    ),
    Row(
        says="without limits there are no traps",
        world=to("/a/a/a/a/a/a/a", traps=TrapSettings(trap_limits=False)),
        outcomes={HOME: MOVED, f"{HOST}/a/a/a/a/a/a/a": Done()},
    ),
]

REFRESHES = [
    Row(
        says="a page that refreshes to another is a redirect: it is not stored, and its links are not followed",
        world=refreshing(NEXT),
        trace=[
            f"ask page {HOME}", f"parse page {HOME}", f"look up {NEXT}", "wait 1.00", f"ask page {NEXT}",
            f"parse page {NEXT}", f"keep {NEXT}",
        ],
        outcomes={HOME: MOVED, NEXT: Done()},
        links=[NEXT],
        link={"hops": 1},
    ),
    Row(
        says="a page that refreshes itself is a page",
        world=refreshing(HOME),
        trace=[f"ask page {HOME}", f"parse page {HOME}", f"keep {HOME}"],
        outcomes={HOME: Done()},
        links=[NEXT],
    ),
    Row(
        says="a page that refreshes to another site is a redirect across sites",
        world=refreshing(ELSEWHERE),
        asks=NOT_FOLLOWED,
        outcomes={HOME: MOVED},
        links=[ELSEWHERE],
    ),
    Row(
        says="a refresh to what is known is not followed",
        world=refreshing(NEXT, states={NEXT: UrlState(status=UrlStatus.DONE, depth=1)}),
        asks=NOT_FOLLOWED,
        outcomes={HOME: MOVED},
    ),
    Row(
        says="refreshes count as redirects of a chain",
        world=refreshing(NEXT, urls=(queued(hops=10),)),
        outcomes={HOME: GivenUp(reason=Reason.TOO_MANY_REDIRECTS)},
    ),
    Row(
        says="a page behind a refresh and a redirect is found in one turn",
        world=refreshing(NEXT, answers={NEXT: moved(NEXT, "/3")}),
        asks=[*FOLLOWED, f"page {HOST}/3"],
        outcomes={HOME: MOVED, NEXT: MOVED, f"{HOST}/3": Done()},
    ),
]  # fmt: skip


RANKS = [
    Row(
        says="a redirect within the site keeps its rank", world=to("/next", urls=(queued(rank=3),)), link={"rank": 3},
    ),
    Row(
        says="a redirect to another site comes after that site's own links",
        world=to(ELSEWHERE, urls=(queued(rank=3),)), link={"url": ELSEWHERE, "rank": FOREIGN_RANK, "seeded": False},
    ),
    Row(
        says="a seed that redirects to another site is a seed there", world=to(ELSEWHERE, urls=(SEED,)),
        link={"url": ELSEWHERE, "rank": 0, "seeded": True},
    ),
    Row(
        says="links to another site come after that site's own links",
        world={"parses": {HOME: parsed(NEXT, ELSEWHERE)}}, links=[NEXT, ELSEWHERE],
        link={"url": ELSEWHERE, "rank": FOREIGN_RANK},
    ),
    Row(
        says="links within a site come first", world={"parses": {HOME: parsed(ELSEWHERE, NEXT)}},
        links=[ELSEWHERE, NEXT], link={"url": NEXT, "rank": 0},
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    "row", [*RANKS, *CLOSED, *WITHIN, *ACROSS, *LOOPS_AND_CHAINS, *KNOWN, *REFUSED, *REFRESHES], ids=str
)
def test_redirects(row: Row) -> None:
    check(row)
