"""robots.txt in a turn, path by path: fresh, stale, failing, redirected; and the delays that come with it."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest

from gossamer.records import Done, GivenUp, HostState, ParseFailed, Reason, Retry, Truncation
from gossamer.rules.hosts import NOTHING_ALLOWED, ROBOTS_FAILED
from gossamer.rules.pace import PaceSettings, WaitCause
from gossamer.turn.steps import NOT_SENT
from tests.turn.rows import HOME, PAGE_STORED, ROBOTS, WWW, WWW_OPEN, Row, check, moved, robots, ruled
from tests.turn.scripted import HOST, NOW_AT, OPEN, RESPONSE_S, answered, failed, queued

DAY_S = 86_400.0
FORBIDDEN = "User-agent: *\nDisallow: /"
LONG = "# a comment\n" * 2_000
OTHER = "https://b.test/robots.txt"
WWW_ROBOTS = f"{WWW}/robots.txt"
AFTER_ROBOTS = [f"ask robots {ROBOTS}", "commit", "wait 1.00", *PAGE_STORED]
FAILING = HostState(host=HOST, rules=NOTHING_ALLOWED, failures=4, failing_since=NOW_AT - 4 * DAY_S)


def asked(answer: object, **fields: object) -> dict[str, object]:
    """A world in which robots.txt is asked for, and this is the answer."""
    return {"hosts": (), "answers": {ROBOTS: answer}, **fields}


FRESH_OR_NOT = [
    Row(
        says="a page of a host with fresh robots.txt is asked for at once",
        trace=PAGE_STORED,
        outcomes={HOME: Done()},
        cause=WaitCause.DELAY,
        wait_s=70.0,
        hosts={},
    ),
    Row(
        says="robots.txt of an unknown host comes first, and is durable before the page is asked for",
        world={"hosts": ()},
        trace=AFTER_ROBOTS,
        outcomes={HOME: Done()},
        hosts={HOST: {"rules": "", "blocked_s": 0.0, "failures": 0}},
    ),
    Row(
        says="a stale robots.txt is asked for anew",
        world={"hosts": (replace(OPEN, expires_at=NOW_AT - 1),)},
        trace=AFTER_ROBOTS,
    ),
    Row(
        says="a robots.txt that expires this very moment is stale",
        world={"hosts": (replace(OPEN, expires_at=NOW_AT),)},
        trace=AFTER_ROBOTS,
    ),
    Row(
        says="a robots.txt that claims to be fresh for more than a day is stale: the clock was wrong",
        world={"hosts": (replace(OPEN, expires_at=NOW_AT + DAY_S + 1),)},
        trace=AFTER_ROBOTS,
    ),
    Row(
        says="robots.txt is kept for as long as it allows",
        world=asked(answered(ROBOTS, 200, "Cache-Control: max-age=700")),
        hosts={HOST: {"expires_at": NOW_AT + RESPONSE_S + 700.0}},
    ),
    Row(
        says="what fresh rules forbid is given up without a request",
        world={"hosts": (ruled("Disallow: /"),)},
        trace=[],
        outcomes={HOME: GivenUp(reason=Reason.ROBOTS_DISALLOWED)},
        wait_s=0.0,
        made_request=False,
    ),
    Row(
        says="fresh rules that forbid another page allow this one",
        world={"hosts": (ruled("Disallow: /private"),)},
        trace=PAGE_STORED,
    ),
    Row(
        says="rules of another host of the site do not forbid anything here",
        world={"hosts": (OPEN, ruled("Disallow: /", WWW))},
        trace=PAGE_STORED,
    ),
    Row(
        says="what robots.txt forbids is given up without a request for it",
        world=asked(robots(FORBIDDEN)),
        trace=[f"ask robots {ROBOTS}", "commit"],
        outcomes={HOME: GivenUp(reason=Reason.ROBOTS_DISALLOWED)},
        wait_s=70.0,
        made_request=True,
    ),
    Row(
        says="rules for our own name hold in place of those for all",
        world=asked(robots(f"{FORBIDDEN}\n\nUser-agent: gossamer\nAllow: /")),
        trace=AFTER_ROBOTS,
    ),
    Row(
        says="the page process reads a long robots.txt",
        world=asked(robots(LONG + FORBIDDEN)),
        trace=[f"ask robots {ROBOTS}", f"parse robots {ROBOTS}", "commit"],
        outcomes={HOME: GivenUp(reason=Reason.ROBOTS_DISALLOWED)},
    ),
    Row(
        says="the page process reads a robots.txt that is long when it is inflated",
        world=asked(answered(ROBOTS, 200, "Content-Encoding: gzip", body=gzip.compress((LONG + FORBIDDEN).encode()))),
        trace=[f"ask robots {ROBOTS}", f"parse robots {ROBOTS}", "commit"],
        outcomes={HOME: GivenUp(reason=Reason.ROBOTS_DISALLOWED)},
    ),
    Row(
        says="a robots.txt that the page process cannot read has failed",
        world=asked(robots(LONG), parses={ROBOTS: ParseFailed(reason=Reason.PARSE_CRASHED)}),
        trace=[f"ask robots {ROBOTS}", f"parse robots {ROBOTS}"],
        outcomes={},
        hosts={HOST: {"blocked_s": 600.0, "failures": 1}},
    ),
    Row(
        says="a robots.txt that is not sent settles nothing, and the site need not wait",
        world=asked(NOT_SENT),
        trace=[f"ask robots {ROBOTS}"],
        outcomes={},
        hosts={},
        wait_s=0.0,
        made_request=False,
    ),
    *(
        Row(
            says=f"a robots.txt with status {status} allows everything",
            world=asked(answered(ROBOTS, status)),
            trace=AFTER_ROBOTS,
            hosts={HOST: {"rules": "", "failures": 0}},
        )
        for status in (400, 401, 403, 404, 410)
    ),
]

FAILING_ROWS = [
    *(
        Row(
            says=f"a robots.txt with status {status} blocks its host, and its page stays queued",
            world=asked(answered(ROBOTS, status)),
            trace=[f"ask robots {ROBOTS}"],
            outcomes={},
            hosts={HOST: {"rules": NOTHING_ALLOWED, "blocked_s": 600.0, "failures": 1, "expires_at": 0.0}},
            wait_s=70.0,
        )
        for status in (429, 500, 503)
    ),
    *(
        Row(
            says=f"a robots.txt that fails with {reason} blocks its host",
            world=asked(failed(ROBOTS, reason)),
            trace=[f"ask robots {ROBOTS}"],
            outcomes={},
            hosts={HOST: {"blocked_s": 600.0, "failures": 1}},
        )
        for reason in sorted(ROBOTS_FAILED)
    ),
    Row(
        says="all URLs of a blocked host leave the hand, and those of other hosts stay",
        world=asked(
            answered(ROBOTS, 503),
            urls=(queued(), queued(f"{WWW}/"), queued("https://a.test/other")),
        ),
        outcomes={},
        in_hand=[f"{WWW}/"],
    ),
    Row(
        says="a second failure of robots.txt blocks its host for longer",
        world=asked(answered(ROBOTS, 503), hosts=(replace(FAILING, failures=1, failing_since=NOW_AT - 600),)),
        hosts={HOST: {"blocked_s": 3_600.0, "failures": 2, "failing_since": NOW_AT - 600}},
    ),
    Row(
        says="Retry-After of robots.txt holds for the whole site, at once",
        world=asked(answered(ROBOTS, 503, "Retry-After: 7200")),
        hosts={HOST: {"blocked_s": 7_200.0}},
        cause=WaitCause.RETRY_AFTER,
        wait_s=7_200.0,
        urgent=True,
    ),
    Row(
        says="a robots.txt that failed for days, through all waits, is given up, and its pages with it",
        world=asked(answered(ROBOTS, 503), hosts=(FAILING,)),
        trace=[f"ask robots {ROBOTS}", "commit"],
        outcomes={HOME: GivenUp(reason=Reason.ROBOTS_UNREACHABLE)},
        hosts={HOST: {"blocked_s": 0.0, "failures": 5, "expires_at": NOW_AT + RESPONSE_S + DAY_S}},
    ),
    Row(
        says="a robots.txt that failed days ago but not through all waits is tried again",
        world=asked(answered(ROBOTS, 503), hosts=(replace(FAILING, failures=1),)),
        outcomes={},
        hosts={HOST: {"blocked_s": 3_600.0, "failures": 2}},
    ),
    Row(
        says="a robots.txt that failed through all waits within hours is tried again",
        world=asked(answered(ROBOTS, 503), hosts=(replace(FAILING, failing_since=NOW_AT - 3_600),)),
        outcomes={},
        hosts={HOST: {"blocked_s": 86_400.0, "failures": 5}},
    ),
    Row(
        says="pages of a host whose robots.txt was given up are given up without a request",
        world={"hosts": (replace(FAILING, failures=5, expires_at=NOW_AT + 3_600),)},
        trace=[],
        outcomes={HOME: GivenUp(reason=Reason.ROBOTS_UNREACHABLE)},
    ),
    Row(
        says="a robots.txt that can be read again ends the failures",
        world={"hosts": (FAILING,)},
        trace=AFTER_ROBOTS,
        hosts={HOST: {"failures": 0, "failing_since": None, "blocked_s": 0.0, "rules": ""}},
    ),
    Row(
        says="a robots.txt that broke off says nothing about what is allowed",
        world=asked(robots("User-agent: *\nDis", truncated=Truncation.DISCONNECT)),
        trace=[f"ask robots {ROBOTS}"],
        hosts={HOST: {"blocked_s": 600.0}},
    ),
    Row(
        says="a robots.txt that was cut at our limit is obeyed as far as it goes",
        world=asked(robots(f"{FORBIDDEN}\nAllow: /", truncated=Truncation.LENGTH)),
        outcomes={HOME: GivenUp(reason=Reason.ROBOTS_DISALLOWED)},
    ),
    Row(
        says="a robots.txt that fails in an outage of ours costs its page no try",
        world=asked(failed(ROBOTS, Reason.CONNECT_TIMEOUT), in_outage=True),
        outcomes={HOME: Retry(wait_s=0, counted=False)},
        hosts={},
        failures=0,
    ),
    Row(
        says="a robots.txt that fails through a bug of ours says nothing about its host",
        world=asked(failed(ROBOTS, Reason.INTERNAL_ERROR)),
        outcomes={HOME: Retry(wait_s=60.0)},
        hosts={},
        failures=0,
    ),
]

REDIRECTED = [
    Row(
        says="a robots.txt that redirects within its host is asked for there, after the gap",
        world=asked(
            moved(ROBOTS, "/r.txt"), answers={ROBOTS: moved(ROBOTS, "/r.txt"), f"{HOST}/r.txt": robots(FORBIDDEN)}
        ),
        trace=[f"ask robots {ROBOTS}", "wait 1.00", f"ask robots {HOST}/r.txt", "commit"],
        outcomes={HOME: GivenUp(reason=Reason.ROBOTS_DISALLOWED)},
    ),
    Row(
        says="a robots.txt that redirects to another host of the site is asked for in the same turn",
        world=asked(moved(ROBOTS, WWW_ROBOTS)),
        trace=[f"ask robots {ROBOTS}", "wait 1.00", f"ask robots {WWW_ROBOTS}", "commit", "wait 1.00", *PAGE_STORED],
        hosts={HOST: {"failures": 0}},
    ),
    Row(
        says="a robots.txt that redirects to another site is asked for there, outside that site's turns",
        world=asked(moved(ROBOTS, OTHER)),
        trace=[f"ask robots {ROBOTS}", f"ask elsewhere {OTHER}", "commit", "wait 1.00", *PAGE_STORED],
        hosts={HOST: {"rules": f"Moved-to: {OTHER}\nOutcome: status 404"}},
    ),
    Row(
        says="a robots.txt of another site forbids what it forbids",
        world=asked(moved(ROBOTS, OTHER), elsewhere={OTHER: robots(FORBIDDEN, OTHER)}),
        asks=[f"robots {ROBOTS}", f"elsewhere {OTHER}"],
        outcomes={HOME: GivenUp(reason=Reason.ROBOTS_DISALLOWED)},
    ),
    Row(
        says="a host whose robots.txt is on a site that is not due is blocked until then",
        world=asked(moved(ROBOTS, OTHER), elsewhere={OTHER: 333.0}),
        trace=[f"ask robots {ROBOTS}", f"ask elsewhere {OTHER}"],
        outcomes={},
        hosts={HOST: {"blocked_s": 333.0, "failures": 0}},
        cause=WaitCause.DELAY,
    ),
    Row(
        says="a robots.txt on another site that does not answer blocks the host that sent us there",
        world=asked(moved(ROBOTS, OTHER), elsewhere={OTHER: failed(OTHER, Reason.CONNECT_REFUSED)}),
        outcomes={},
        hosts={HOST: {"blocked_s": 600.0, "failures": 1, "silent": 0}},
    ),
    Row(
        says="Retry-After of another site's robots.txt does not hold for this site",
        world=asked(moved(ROBOTS, OTHER), elsewhere={OTHER: answered(OTHER, 503, "Retry-After: 7200")}),
        hosts={HOST: {"blocked_s": 7_200.0}},
        cause=WaitCause.DELAY,
        urgent=False,
    ),
    Row(
        says="a robots.txt of another site that sends us back is asked for here",
        world=asked(
            None,
            answers={ROBOTS: moved(ROBOTS, OTHER), f"{HOST}/back": robots(FORBIDDEN)},
            elsewhere={OTHER: moved(OTHER, f"{HOST}/back")},
        ),
        trace=[f"ask robots {ROBOTS}", f"ask elsewhere {OTHER}", "wait 1.00", f"ask robots {HOST}/back", "commit"],
        outcomes={HOME: GivenUp(reason=Reason.ROBOTS_DISALLOWED)},
    ),
    Row(
        says="a robots.txt that redirects to itself allows everything",
        world=asked(moved(ROBOTS, ROBOTS)),
        trace=AFTER_ROBOTS,
    ),
    Row(
        says="robots.txt files that redirect in a circle are asked for once each, and allow everything",
        world=asked(None, answers={ROBOTS: moved(ROBOTS, "/r"), f"{HOST}/r": moved(f"{HOST}/r", ROBOTS)}),
        asks=[f"robots {ROBOTS}", f"robots {HOST}/r", f"page {HOME}"],
    ),
    Row(
        says="five redirects of a robots.txt are followed, and no more",
        world=asked(
            None,
            answers={
                ROBOTS: moved(ROBOTS, "/1"),
                **{f"{HOST}/{step}": moved(f"{HOST}/{step}", f"/{step + 1}") for step in range(1, 9)},
            },
        ),
        asks=[f"robots {ROBOTS}", *(f"robots {HOST}/{step}" for step in range(1, 6)), f"page {HOME}"],
    ),
    Row(
        says="a robots.txt that redirects to what is no URL allows everything",
        world=asked(moved(ROBOTS, "mailto:robots")),
        trace=AFTER_ROBOTS,
    ),
    Row(
        says="a worker that stops still asks for the robots.txt behind a redirect, and for nothing else",
        world=asked(moved(ROBOTS, "/r.txt"), stops_after=f"ask robots {ROBOTS}"),
        trace=[
            f"ask robots {ROBOTS}", "wait 1.00", f"ask robots {HOST}/r.txt", "commit", "wait 1.00", f"ask page {HOME}",
        ],
        outcomes={},
        made_request=True,
    ),
]  # fmt: skip

CLOSED = [
    Row(
        says=f"a robots.txt that redirects to {target} has failed: nothing is requested there, and nothing is allowed",
        world=asked(moved(ROBOTS, target)),
        trace=[f"ask robots {ROBOTS}"],
        outcomes={},
        hosts={HOST: {"blocked_s": 600.0, "failures": 1}},
        counts={("traps", reason): 1},
    )
    for target, reason in [
        ("https://b.test:6379/robots.txt", "port_refused"),
        ("https://a.test:25/robots.txt", "port_refused"),
        ("http://93.184.215.14/robots.txt", "ip_host"),
    ]
]

DELAYS = [
    Row(
        says="a Crawl-delay that is longer than ours is durable at once and holds from now on",
        world=asked(robots("User-agent: *\nCrawl-delay: 120")),
        trace=[f"ask robots {ROBOTS}", "commit at once", "wait 1.00", *PAGE_STORED],
        cause=WaitCause.CRAWL_DELAY,
        wait_s=120.0,
    ),
    Row(
        says="a Crawl-delay that is shorter than ours changes nothing",
        world=asked(robots("User-agent: *\nCrawl-delay: 5")),
        trace=AFTER_ROBOTS,
        wait_s=70.0,
        cause=WaitCause.DELAY,
    ),
    Row(
        says="an absurd Crawl-delay is cut to an hour, and counted",
        world=asked(robots("User-agent: *\nCrawl-delay: 100000")),
        cause=WaitCause.CRAWL_DELAY,
        wait_s=3_600.0,
        counts={("clamped_delays", ""): 1},
    ),
    Row(
        says="the longest Crawl-delay of any host of the site holds",
        world=asked(robots("User-agent: *\nCrawl-delay: 120"), hosts=(ruled("Crawl-delay: 200", WWW),)),
        cause=WaitCause.CRAWL_DELAY,
        wait_s=200.0,
    ),
    Row(
        says="a Crawl-delay that a site once asked for still holds",
        world=asked(robots(""), own_delay_s=150.0),
        cause=WaitCause.CRAWL_DELAY,
        wait_s=150.0,
    ),
    Row(
        says="the operator's delay for a site is durable before anything is asked for",
        world={"hosts": (), "site_delays_s": {"a.test": 300.0}},
        trace=["commit at once", f"ask robots {ROBOTS}", "commit at once", "wait 1.00", *PAGE_STORED],
        cause=WaitCause.CRAWL_DELAY,
        wait_s=300.0,
    ),
    Row(
        says="an operator's delay that the site has already is not written again",
        world={"site_delays_s": {"a.test": 300.0}, "own_delay_s": 300.0},
        trace=PAGE_STORED,
        cause=WaitCause.CRAWL_DELAY,
        wait_s=300.0,
    ),
    Row(
        says="an operator's delay for another site does not hold here",
        world={"site_delays_s": {"b.test": 300.0}},
        trace=PAGE_STORED,
        wait_s=70.0,
    ),
    Row(
        says="a Crawl-delay beyond the operator's delay for a site holds",
        world=asked(robots("User-agent: *\nCrawl-delay: 400"), site_delays_s={"a.test": 300.0}),
        cause=WaitCause.CRAWL_DELAY,
        wait_s=400.0,
    ),
    Row(
        says="where the delay is shorter than the gap of a turn, it is the gap",
        world={"hosts": (WWW_OPEN,), "delay_s": 0.5, "pace": PaceSettings(delay_s=0.5)},
        trace=[f"ask robots {ROBOTS}", "commit", "wait 0.50", *PAGE_STORED],
    ),
]


@pytest.mark.parametrize("row", [*FRESH_OR_NOT, *FAILING_ROWS, *REDIRECTED, *DELAYS, *CLOSED], ids=str)
def test_robots(row: Row) -> None:
    check(row)
