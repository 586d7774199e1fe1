"""Failures in a turn, path by path: retried, given up, excused; hosts that are silent; what backs off."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gossamer.records import Barred, Done, GivenUp, HostState, Kind, Outcome, Reason, Retry, UrlState, UrlStatus
from gossamer.rules.answers import NO_HOST, NOTHING_UNDER_HTTPS
from gossamer.rules.hosts import NO_ADDRESS
from gossamer.rules.pace import DAY_S, PaceSettings, WaitCause
from gossamer.turn.steps import NO_SLOT, NOT_SENT, UNAVAILABLE
from gossamer.urls import hash_url
from tests.turn.rows import HOME, NEXT, PAGE_STORED, ROBOTS, WWW, WWW_OPEN, Row, check, robots
from tests.turn.scripted import HOST, OPEN, answered, failed, queued

HTTP_ERROR = {HOME: GivenUp(reason=Reason.HTTP_ERROR)}
WAITED_LONG = replace(OPEN, silent=3, expires_at=0.0)
PLAIN = "http://a.test/"
PLAIN_HOST = "http://a.test"
PLAIN_ROBOTS = "http://a.test/robots.txt"
BARE = queued(depth=0, kind=Kind.BARE)
NO_HTTPS: dict[str, Outcome] = {HOME: GivenUp(reason=Reason.NO_HTTPS), PLAIN: Done()}
TO_HTTP = [f"robots {ROBOTS}", f"robots {PLAIN_ROBOTS}", f"page {PLAIN}"]


def status(status: int, *headers: str, **fields: Any) -> dict[str, Any]:
    """A world in which the page answers with a status."""
    return {"answers": {HOME: answered(HOME, status, *headers)}, **fields}


def failing(reason: Reason, **fields: Any) -> dict[str, Any]:
    """A world in which the request for the page fails."""
    return {"answers": {HOME: failed(HOME, reason)}, **fields}


def silent(reason: Reason, **fields: Any) -> dict[str, Any]:
    """A world in which a host that is not known does not answer."""
    return {"answers": {ROBOTS: failed(ROBOTS, reason)}, "hosts": (), **fields}


def bare(reason: Reason, **fields: Any) -> dict[str, Any]:
    """A world in which nothing answers under https, which was a guess."""
    return {"urls": (BARE,), **silent(reason), **fields}


STATUSES = [
    *(
        Row(
            says=f"a page with status {code} is tried again after a minute, and its answer archived",
            world=status(code),
            trace=[f"ask page {HOME}", f"archive {code} {HOME}"],
            outcomes={HOME: Retry(wait_s=60.0)},
            failures=1,
            wait_s=70.0,
            cause=WaitCause.DELAY,
        )
        for code in (408, 425, 429, 500, 502, 503, 504)
    ),
    *(
        Row(
            says=f"a page with status {code} is given up, and its site is in good health",
            world=status(code, failures=5),
            outcomes=HTTP_ERROR,
            failures=0,
            wait_s=70.0,
        )
        for code in (400, 401, 403, 404, 410, 451)
    ),
    *(
        Row(
            says=f"after {tries} failures, a page waits {wait_s:.0f} s for its next try",
            world=status(503, urls=(queued(tries=tries),)),
            outcomes={HOME: Retry(wait_s=wait_s)},
        )
        for tries, wait_s in ((1, 240.0), (2, 960.0))
    ),
    Row(
        says="a page that failed at its last try is given up",
        world=status(503, urls=(queued(tries=3),)),
        outcomes=HTTP_ERROR,
        failures=1,
    ),
    Row(
        says="without further tries, the first failure is the last",
        world=status(503, pace=PaceSettings(max_tries=0)),
        outcomes=HTTP_ERROR,
    ),
]

REASONS = [
    *(
        Row(
            says=f"a page whose request fails with {reason} is tried again, and its site is in trouble",
            world=failing(reason),
            trace=[f"ask page {HOME}"],
            outcomes={HOME: Retry(wait_s=60.0)},
            failures=1,
            hosts={},
        )
        for reason in (Reason.TIMEOUT, Reason.TOO_SLOW, Reason.CONNECTION_LOST)
    ),
    *(
        Row(
            says=f"a page whose request fails with {reason} at its last try is given up",
            world=failing(reason, urls=(queued(tries=3),)),
            outcomes={HOME: GivenUp(reason=reason)},
        )
        for reason in (Reason.TIMEOUT, Reason.TOO_SLOW, Reason.CONNECTION_LOST)
    ),
    *(
        Row(
            says=f"a page whose request fails with {reason} is given up at once",
            world=failing(reason, failures=1),
            outcomes={HOME: GivenUp(reason=reason)},
            failures=0,
        )
        for reason in (Reason.BAD_RESPONSE, Reason.HEADERS_TOO_LARGE)
    ),
    Row(
        says="a request that we cancelled after it was sent costs its page no try, and the site its delay",
        world=failing(Reason.CANCELLED, failures=2),
        outcomes={HOME: Retry(wait_s=0.0, counted=False)},
        failures=2,
        made_request=True,
        wait_s=70.0,
    ),
    Row(
        says="a request that met a bug of ours costs its page a try, and says nothing about its site",
        world=failing(Reason.INTERNAL_ERROR, failures=2),
        outcomes={HOME: Retry(wait_s=60.0)},
        failures=2,
    ),
    *(
        Row(
            says=f"a page that fails with {reason} in an outage of ours costs nothing",
            world=failing(reason, in_outage=True, failures=1),
            outcomes={HOME: Retry(wait_s=0, counted=False)},
            failures=1,
            hosts={},
        )
        for reason in (Reason.CONNECT_TIMEOUT, Reason.DNS_FAILED, Reason.TIMEOUT)
    ),
    Row(
        says="a status is an answer, also in an outage of ours",
        world=status(503, in_outage=True),
        outcomes={HOME: Retry(wait_s=60.0)},
        failures=1,
    ),
    Row(
        says="a name that does not exist is no sign of an outage of ours",
        world=silent(Reason.NO_SUCH_NAME, in_outage=True),
        outcomes={HOME: GivenUp(reason=Reason.NO_SUCH_NAME)},
    ),
]

SILENCE = [
    *(
        Row(
            says=f"a host that does not answer ({reason}) backs off, and its URLs stay queued with it",
            world=silent(reason, urls=(queued(), queued(NEXT), queued(f"{WWW}/"))),
            trace=[f"ask robots {ROBOTS}"],
            outcomes={},
            hosts={HOST: {"silent": 1, "blocked_s": 60.0, "given_up": None}},
            in_hand=[f"{WWW}/"],
            failures=1,
        )
        for reason in sorted(NO_HOST - NO_ADDRESS)
    ),
    *(
        Row(
            says=f"a host whose name leads nowhere ({reason}) is given up at once with all its URLs in hand",
            world=silent(reason, urls=(queued(), queued(NEXT), queued(f"{WWW}/"))),
            outcomes={HOME: GivenUp(reason=reason), NEXT: GivenUp(reason=reason)},
            hosts={HOST: {"silent": 1, "blocked_s": DAY_S, "given_up": reason}},
            in_hand=[f"{WWW}/"],
            failures=0,
        )
        for reason in sorted(NO_ADDRESS)
    ),
    *(
        Row(
            says=f"a host that does not answer ({reason}) at its last try is given up with all its URLs in hand",
            world=silent(
                reason, hosts=(HostState(host=HOST, silent=3),), urls=(queued(), queued(NEXT), queued(f"{WWW}/"))
            ),
            outcomes={HOME: GivenUp(reason=reason), NEXT: GivenUp(reason=reason)},
            hosts={HOST: {"silent": 4, "given_up": reason, "blocked_s": DAY_S}},
            in_hand=[f"{WWW}/"],
        )
        for reason in sorted(NO_HOST - NO_ADDRESS)
    ),
    Row(
        says="a host that answered before gets as many tries again",
        world=failing(Reason.CONNECT_REFUSED, hosts=(replace(OPEN, silent=3),)),
        outcomes={},
        hosts={HOST: {"silent": 4, "given_up": None, "blocked_s": 3_840.0}},
    ),
    Row(
        says="a host that answered before is given up in the end",
        world=failing(Reason.CONNECT_REFUSED, hosts=(replace(OPEN, silent=6),)),
        outcomes={HOME: GivenUp(reason=Reason.CONNECT_REFUSED)},
        hosts={HOST: {"silent": 7, "given_up": Reason.CONNECT_REFUSED}},
    ),
    Row(
        says="a name that no longer leads anywhere gets its host the tries of one that answered",
        world=failing(Reason.NO_SUCH_NAME),
        outcomes={},
        hosts={HOST: {"silent": 1, "given_up": None}},
    ),
    Row(
        says="a silent host does not lengthen the wait of a site with another host that answers",
        world=silent(Reason.CONNECT_REFUSED, hosts=(WWW_OPEN,), failures=1),
        hosts={HOST: {"silent": 1}},
        failures=1,
    ),
    Row(
        says="a host that answers again is no longer silent",
        world={"hosts": (replace(OPEN, silent=2),)},
        trace=PAGE_STORED,
        hosts={HOST: {"silent": 0, "given_up": None, "blocked_s": 0.0}},
        failures=0,
    ),
    Row(
        says="a host that answers with an error is no longer silent either",
        world=status(503, hosts=(replace(OPEN, silent=2),)),
        hosts={HOST: {"silent": 0}},
        outcomes={HOME: Retry(wait_s=60.0)},
    ),
    Row(
        says="a host that was given up and answers when it is tried again is crawled again",
        world={"hosts": (replace(WAITED_LONG, silent=4, given_up=Reason.CONNECT_REFUSED),)},
        asks=[f"robots {ROBOTS}", f"page {HOME}"],
        outcomes={HOME: Done()},
        hosts={HOST: {"silent": 0, "given_up": None}},
    ),
]

WAITS = [
    Row(
        says="after a page, a site waits for its delay",
        wait_s=70.0,
        cause=WaitCause.DELAY,
        urgent=False,
    ),
    Row(
        says="a site that asked for a longer delay waits for that",
        world={"own_delay_s": 90.0},
        wait_s=90.0,
        cause=WaitCause.CRAWL_DELAY,
        urgent=False,
    ),
    Row(
        says="a Retry-After that is longer than the delay is reported at once, and everything in hand is given back",
        world=status(503, "Retry-After: 600", urls=(queued(), queued(NEXT))),
        outcomes={HOME: Retry(wait_s=600.0)},
        wait_s=600.0,
        cause=WaitCause.RETRY_AFTER,
        urgent=True,
        in_hand=[],
    ),
    Row(
        says="a Retry-After that is shorter than the delay changes nothing",
        world=status(429, "Retry-After: 30", urls=(queued(), queued(NEXT))),
        outcomes={HOME: Retry(wait_s=60.0)},
        wait_s=70.0,
        cause=WaitCause.DELAY,
        urgent=False,
        in_hand=[NEXT],
    ),
    Row(
        says="a Retry-After beside the last failure of a page holds for its site",
        world=status(503, "Retry-After: 600", urls=(queued(tries=3),)),
        outcomes=HTTP_ERROR,
        wait_s=600.0,
        cause=WaitCause.RETRY_AFTER,
    ),
    Row(
        says="no Retry-After keeps us away for more than a day",
        world=status(503, "Retry-After: 999999"),
        outcomes={HOME: Retry(wait_s=DAY_S)},
        wait_s=DAY_S,
    ),
    Row(
        says="a Retry-After of a page that does not exist is not meant for us",
        world=status(404, "Retry-After: 600"),
        wait_s=70.0,
    ),
    Row(
        says="the second failure of a site in a row is just the web",
        world=status(503, failures=1),
        wait_s=70.0,
        cause=WaitCause.DELAY,
        failures=2,
    ),
    Row(
        says="from its third failure in a row on, a site backs off",
        world=status(503, failures=2, urls=(queued(), queued(NEXT))),
        wait_s=140.0,
        cause=WaitCause.BACKOFF,
        failures=3,
        urgent=False,
        in_hand=[],
    ),
    Row(
        says="a site does not back off for more than an hour",
        world=status(503, failures=8),
        wait_s=3_600.0,
        cause=WaitCause.BACKOFF,
    ),
    Row(
        says="a site that fails over and over is suspended",
        world=status(503, failures=9),
        wait_s=21_600.0,
        cause=WaitCause.SUSPENDED,
        failures=10,
    ),
    Row(
        says="one healthy answer ends the back-off of a site",
        world={"failures": 9},
        wait_s=70.0,
        cause=WaitCause.DELAY,
        failures=0,
    ),
    Row(
        says="a page cut for a lack of slots comes again uncounted, and its site counts as one that failed",
        world={"answers": {HOME: failed(HOME, Reason.CUT_SILENT)}, "urls": (queued(), queued(NEXT))},
        outcomes={HOME: Retry(wait_s=0.0, counted=False)},
        counts={("share_backoffs", "slot_share"): 1},
        wait_s=140.0,
        cause=WaitCause.SLOT_SHARE,
        failures=1,
        in_hand=[],
    ),
    Row(
        says="a robots.txt that was cut for a lack of slots says nothing about its host",
        world={"answers": {ROBOTS: failed(ROBOTS, Reason.CUT_SILENT)}, "hosts": ()},
        outcomes={HOME: Retry(wait_s=0.0, counted=False)},
        hosts={},
        cause=WaitCause.SLOT_SHARE,
        failures=1,
    ),
    Row(
        says="a large page that was cut for a lack of memory comes again uncounted, and its site backs off",
        world={"answers": {HOME: failed(HOME, Reason.CUT_LARGE)}},
        outcomes={HOME: Retry(wait_s=0.0, counted=False)},
        counts={("share_backoffs", "byte_share"): 1},
        wait_s=140.0,
        cause=WaitCause.BYTE_SHARE,
        failures=0,
    ),
    Row(
        says="a site that is turned away keeps its URLs queued and backs off",
        world={"answers": {HOME: NO_SLOT}, "urls": (queued(), queued(NEXT)), "failures": 1},
        outcomes={},
        counts={("share_backoffs", "slot_share"): 1},
        wait_s=140.0,
        cause=WaitCause.SLOT_SHARE,
        in_hand=[],
    ),
    Row(
        says="a slow answer earns its site a longer wait, but what is in hand stays",
        world={"answers": {HOME: answered(HOME, duration_s=9.0)}, "urls": (queued(), queued(NEXT))},
        wait_s=90.0,
        cause=WaitCause.SLOWNESS,
        in_hand=[NEXT],
    ),
    Row(
        says="a slow answer earns its site at most two delays",
        world={"answers": {HOME: answered(HOME, duration_s=60.0)}},
        wait_s=140.0,
        cause=WaitCause.SLOWNESS,
    ),
    Row(
        says="a host that does not answer for long is not slow",
        world={**silent(Reason.CONNECT_TIMEOUT), "answers": {
            ROBOTS: failed(ROBOTS, Reason.CONNECT_TIMEOUT, duration_s=60.0)}},
        wait_s=70.0,
        cause=WaitCause.DELAY,
    ),
    Row(
        says="a slow robots.txt does not count against the page that came quickly",
        world={"hosts": (), "answers": {ROBOTS: robots("", duration_s=20.0)}},
        wait_s=70.0,
        cause=WaitCause.DELAY,
    ),
    Row(
        says="a host that is in trouble backs off in place of its site if another host answers",
        world=status(503, failures=2, hosts=(OPEN, WWW_OPEN), urls=(queued(), queued(NEXT), queued(f"{WWW}/"))),
        wait_s=70.0,
        cause=WaitCause.DELAY,
        hosts={HOST: {"blocked_s": 140.0}},
        in_hand=[f"{WWW}/"],
    ),
    Row(
        says="a host that is in trouble does not back off alone if the other host is silent",
        world=status(503, failures=2, hosts=(OPEN, replace(WWW_OPEN, silent=1))),
        cause=WaitCause.BACKOFF,
        hosts={},
    ),
    Row(
        says="a host that is in trouble does not back off alone if the other host is blocked",
        world=status(503, failures=2, hosts=(OPEN, replace(WWW_OPEN, blocked_s=60.0))),
        cause=WaitCause.BACKOFF,
        hosts={},
    ),
    Row(
        says="a host that failed but twice does not back off",
        world=status(503, failures=1, hosts=(OPEN, WWW_OPEN)),
        cause=WaitCause.DELAY,
        hosts={},
    ),
    Row(
        says="Retry-After holds for the site also when a single host backs off",
        world=status(503, "Retry-After: 600", failures=2, hosts=(OPEN, WWW_OPEN)),
        wait_s=600.0,
        cause=WaitCause.RETRY_AFTER,
        hosts={HOST: {"blocked_s": 140.0}},
        urgent=True,
    ),
]  # fmt: skip

BARE_SEEDS = [
    *(
        Row(
            says=f"a bare seed without anything under https ({reason}) becomes a seed under http",
            world=bare(reason),
            trace=[
                f"ask robots {ROBOTS}", f"look up {PLAIN}", "wait 1.20", f"ask robots {PLAIN_ROBOTS}", "commit",
                "wait 1.00", f"ask page {PLAIN}", f"parse page {PLAIN}", f"keep {PLAIN}",
            ],
            outcomes=NO_HTTPS,
            links=[PLAIN],
            link={"seeded": True, "depth": 0, "via": hash_url(HOME), "kind": Kind.PAGE},
            hosts={HOST: {"silent": 1}, PLAIN_HOST: {"failures": 0}},
        )
        for reason in sorted(NOTHING_UNDER_HTTPS)
    ),
    *(
        Row(
            says=f"a bare seed whose host cannot be found ({reason}) is not tried under http",
            world=bare(reason),
            asks=[f"robots {ROBOTS}"],
            links=[],
        )
        for reason in sorted(NO_HOST - NOTHING_UNDER_HTTPS)
    ),
    Row(
        says="a bare seed whose robots.txt times out under https is not tried under http",
        world=bare(Reason.TIMEOUT),
        asks=[f"robots {ROBOTS}"],
        outcomes={},
        hosts={HOST: {"blocked_s": 600.0}},
    ),
    Row(
        says="a seed that was written with https is never tried under http",
        world=bare(Reason.CONNECT_REFUSED, urls=(queued(depth=0),)),
        asks=[f"robots {ROBOTS}"],
        hosts={HOST: {"silent": 1}},
    ),
    Row(
        says="a bare seed whose page, not robots.txt, finds nobody under https is tried under http",
        world={**failing(Reason.CONNECT_REFUSED), "urls": (BARE,)},
        asks=[f"page {HOME}", f"robots {PLAIN_ROBOTS}", f"page {PLAIN}"],
        outcomes=NO_HTTPS,
    ),
    Row(
        says="a bare seed that neither https nor http answers backs off under both",
        world=bare(Reason.CONNECT_REFUSED, answers={
            ROBOTS: failed(ROBOTS, Reason.CONNECT_REFUSED), PLAIN_ROBOTS: failed(PLAIN_ROBOTS, Reason.CONNECT_REFUSED),
        }),
        asks=[f"robots {ROBOTS}", f"robots {PLAIN_ROBOTS}"],
        outcomes={},
        links=[],
        hosts={HOST: {"silent": 1, "blocked_s": 60.0}, PLAIN_HOST: {"silent": 1, "blocked_s": 60.0}},
    ),
    Row(
        says="a bare seed that neither https nor http answers at the last try is given up",
        world=bare(Reason.CONNECT_REFUSED, hosts=(HostState(host=HOST, silent=3),), answers={
            ROBOTS: failed(ROBOTS, Reason.CONNECT_REFUSED), PLAIN_ROBOTS: failed(PLAIN_ROBOTS, Reason.CONNECT_REFUSED),
        }),
        outcomes={HOME: GivenUp(reason=Reason.CONNECT_REFUSED)},
    ),
    Row(
        says="a bare seed is not tried under http if that is known already",
        world=bare(Reason.CONNECT_REFUSED, states={PLAIN: UrlState(status=UrlStatus.DONE, depth=0)}),
        asks=[f"robots {ROBOTS}"],
        outcomes={},
        hosts={HOST: {"silent": 1}},
    ),
    Row(
        says="a bare seed is not tried under http while the frontier does not answer",
        world=bare(Reason.CONNECT_REFUSED, states={PLAIN: UNAVAILABLE}),
        asks=[f"robots {ROBOTS}"],
        outcomes={},
    ),
    Row(
        says="a bare seed is not tried under http while that host is blocked by its robots.txt",
        world=bare(Reason.CONNECT_REFUSED, hosts=(HostState(host=PLAIN_HOST, failures=1, blocked_s=600.0),)),
        trace=[f"ask robots {ROBOTS}"],
        outcomes={},
    ),
    Row(
        says="a bare seed is not tried under http while that host is given up",
        world=bare(Reason.CONNECT_REFUSED, hosts=(
            HostState(host=PLAIN_HOST, silent=4, given_up=Reason.CONNECT_REFUSED, blocked_s=DAY_S),)),
        trace=[f"ask robots {ROBOTS}"],
    ),
    Row(
        says="a bare seed is tried under http although that host did not answer last time",
        world=bare(Reason.CONNECT_REFUSED, hosts=(HostState(host=PLAIN_HOST, silent=1, blocked_s=60.0),)),
        asks=TO_HTTP,
        outcomes=NO_HTTPS,
    ),
    Row(
        says="fresh rules of http make it take the place of the guess at once",
        world=bare(Reason.CONNECT_REFUSED, hosts=(replace(OPEN, host=PLAIN_HOST),)),
        asks=[f"robots {ROBOTS}", f"page {PLAIN}"],
        outcomes=NO_HTTPS,
    ),
    Row(
        says="a robots.txt of http that forbids the page settles both",
        world=bare(Reason.CONNECT_REFUSED, answers={
            ROBOTS: failed(ROBOTS, Reason.CONNECT_REFUSED),
            PLAIN_ROBOTS: robots("User-agent: *\nDisallow: /", PLAIN_ROBOTS),
        }),
        outcomes={HOME: GivenUp(reason=Reason.NO_HTTPS), PLAIN: GivenUp(reason=Reason.ROBOTS_DISALLOWED)},
    ),
    Row(
        says="a robots.txt of http that fails queues the seed under http, and blocks that host",
        world=bare(Reason.CONNECT_REFUSED, answers={
            ROBOTS: failed(ROBOTS, Reason.CONNECT_REFUSED), PLAIN_ROBOTS: answered(PLAIN_ROBOTS, 503),
        }),
        outcomes={HOME: GivenUp(reason=Reason.NO_HTTPS)},
        links=[PLAIN],
        hosts={HOST: {"silent": 1}, PLAIN_HOST: {"blocked_s": 600.0}},
    ),
    Row(
        says="a request under http that is not sent leaves the guess queued",
        world=bare(Reason.CONNECT_REFUSED, stops_after=f"ask robots {ROBOTS}"),
        outcomes={},
        links=[],
        hosts={HOST: {"silent": 1}},
    ),
    Row(
        says="a seed under http that the operator excludes is not part of the crawl: only its guess is",
        world=bare(Reason.CONNECT_REFUSED, excluded=[PLAIN]),
        asks=[f"robots {ROBOTS}"],
        outcomes={},
        links=[],
        hosts={HOST: {"silent": 1}},
    ),
    Row(
        says="a seed under http that the operator excludes after its host has answered is barred",
        world=bare(Reason.CONNECT_REFUSED, excluded_after={f"ask robots {PLAIN_ROBOTS}": [PLAIN]}),
        asks=TO_HTTP,
        outcomes={HOME: GivenUp(reason=Reason.NO_HTTPS), PLAIN: Barred(reason=Reason.EXCLUDED)},
    ),
    Row(
        says="http that fails through a bug of ours leaves the guess as it would be without http",
        world=bare(Reason.CONNECT_REFUSED, answers={
            ROBOTS: failed(ROBOTS, Reason.CONNECT_REFUSED), PLAIN_ROBOTS: failed(PLAIN_ROBOTS, Reason.INTERNAL_ERROR),
        }),
        outcomes={},
        links=[],
        hosts={HOST: {"silent": 1}},
    ),
    Row(
        says="http that cannot be reached in an outage of ours is no URL of the crawl",
        world=bare(
            Reason.CONNECT_REFUSED,
            answers={
                ROBOTS: failed(ROBOTS, Reason.CONNECT_REFUSED),
                PLAIN_ROBOTS: failed(PLAIN_ROBOTS, Reason.CONNECT_REFUSED),
            },
            outage_after=f"ask robots {PLAIN_ROBOTS}",
        ),
        outcomes={},
        links=[],
    ),
    Row(
        says="a bare seed in an outage of ours is not tried under http",
        world=bare(Reason.CONNECT_REFUSED, in_outage=True),
        asks=[f"robots {ROBOTS}"],
        outcomes={HOME: Retry(wait_s=0, counted=False)},
    ),
    Row(
        says="a bare seed that answers under https is a page like any other",
        world={"urls": (BARE,), "hosts": (), "answers": {HOME: answered(HOME, 503)}},
        asks=[f"robots {ROBOTS}", f"page {HOME}"],
        outcomes={HOME: Retry(wait_s=60.0)},
    ),
    Row(
        says="a page of http that fails behind the guess is tried again under http",
        world=bare(Reason.CONNECT_REFUSED, answers={
            ROBOTS: failed(ROBOTS, Reason.CONNECT_REFUSED), PLAIN: answered(PLAIN, 503),
        }),
        outcomes={HOME: GivenUp(reason=Reason.NO_HTTPS), PLAIN: Retry(wait_s=60.0)},
    ),
    Row(
        says="a page of http that is not sent behind the guess stays queued",
        world=bare(Reason.CONNECT_REFUSED, answers={
            ROBOTS: failed(ROBOTS, Reason.CONNECT_REFUSED), PLAIN: NOT_SENT,
        }),
        outcomes={HOME: GivenUp(reason=Reason.NO_HTTPS)},
        links=[PLAIN],
    ),
]  # fmt: skip


@pytest.mark.parametrize("row", [*STATUSES, *REASONS, *SILENCE, *WAITS, *BARE_SEEDS], ids=str)
def test_failures(row: Row) -> None:
    check(row)
