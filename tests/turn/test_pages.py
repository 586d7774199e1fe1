"""The life of a page, path by path: excluded or asked for, parsed, its links chosen, stored or left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.records import (
    Barred,
    Done,
    GivenUp,
    Kind,
    ParseFailed,
    Reason,
    Retry,
    Scope,
    Truncation,
    UrlState,
    UrlStatus,
)
from gossamer.rules.keeping import KeepingSettings
from gossamer.rules.pace import WaitCause
from gossamer.rules.scope import FOREIGN_RANK, ScopeSettings
from gossamer.rules.traps import Trap, TrapSettings
from gossamer.turn import Hooks
from gossamer.turn.hooks import MAX_RANK
from gossamer.turn.steps import NOT_SENT, UNAVAILABLE
from gossamer.urls import hash_url
from tests.turn.rows import HOME, NEXT, PAGE_STORED, ROBOTS, WWW, Row, check, moved, ruled
from tests.turn.scripted import HOST, NOW_AT, OPEN, answered, parsed, queued

if TYPE_CHECKING:
    from gossamer.records import Fetched, Link, PageRow

SEED = queued(depth=0)
EXCLUDED = Barred(reason=Reason.EXCLUDED)
PARSED = [f"ask page {HOME}", f"parse page {HOME}"]
CANONICAL = KeepingSettings(canonical=True)
GIVEN_WAY = {HOME: GivenUp(reason=Reason.NOT_CANONICAL)}
GERMAN = KeepingSettings(languages=("de",))
NO_AI = KeepingSettings(respect_ai_optout=True)
NO_TDMREP = f"Tdmrep: {NOW_AT + 3_600} 0"  # it was asked for a while ago, and not found
NOTHING_RESERVED = ruled(NO_TDMREP)
TRAPPED = f"{HOST}/a/a/a/a/a/a"
LINKS = [f"{HOST}/1", f"{HOST}/22", f"{HOST}/333"]


def page(*links: str, **fields: Any) -> dict[str, Any]:
    """What the page process found in the page."""
    return {HOME: parsed(*links, **fields)}


def of_row(*links: str, **columns: Any) -> dict[str, Any]:
    """A page with these columns."""
    return {HOME: parsed(*links, row=columns)}


def fail(_: object) -> bool:
    """Raise, as a hook with a mistake does."""
    raise LookupError("a mistake of the program")


async def take_page(row: PageRow, answer: Fetched) -> None:
    """Take a page, as a program that wants pages does."""


def rank_by_length(link: Link) -> int:
    """Rank short URLs first."""
    return len(link.url)


KEPT = [
    Row(
        says="a page is asked for, parsed and stored, and counts as one of its site",
        trace=PAGE_STORED,
        outcomes={HOME: Done(page=True)},
        kept={"url": HOME, "site": "a.test", "depth": 1, "status": 200, "content_type": "text/html"},
        cause=WaitCause.DELAY,
        made_request=True,
    ),
    Row(
        says="a program that wants pages gets each one after it is stored",
        world={"hooks": Hooks(on_page=take_page)},
        trace=[*PAGE_STORED, f"deliver {HOME}"],
        outcomes={HOME: Done()},
    ),
    Row(
        says="a page that was cut is stored as cut",
        world={"answers": {HOME: answered(HOME, truncated=Truncation.LENGTH)}},
        outcomes={HOME: Done()},
        kept={"truncated": True},
    ),
    Row(
        says="any success is a page",
        world={"answers": {HOME: answered(HOME, 206)}},
        kept={"status": 206},
    ),
    Row(
        says="a page that says noindex is not stored, but its links are followed",
        world={"parses": page(NEXT, noindex=True)},
        trace=PARSED,
        outcomes={HOME: GivenUp(reason=Reason.NOINDEX)},
        links=[NEXT],
    ),
    Row(
        says="a challenge in place of a page is archived but not stored, tried again, and its site backs off at once",
        world={"parses": page(NEXT, blocked="Anubis: anubis_challenge", noindex=True)},
        trace=[*PARSED, f"archive 200 {HOME}"],
        outcomes={HOME: Retry(wait_s=60.0)},
        links=[],
        counts={("blocked", "Anubis"): 1},
        failures=3,
        cause=WaitCause.BACKOFF,
    ),
    Row(
        says="a challenge that comes at the last try is given up as blocked",
        world={"parses": page(blocked="Anubis: anubis_challenge"), "urls": (queued(tries=3),)},
        outcomes={HOME: GivenUp(reason=Reason.BLOCKED)},
    ),
    Row(
        says="an error with the mark of a challenge is tried again, though it would be final without",
        world={"answers": {HOME: answered(HOME, 403, "cf-mitigated: challenge", "Retry-After: 500")}},
        trace=[f"ask page {HOME}", f"archive 403 {HOME}"],
        outcomes={HOME: Retry(wait_s=500.0)},
        counts={("blocked", "Cloudflare"): 1},
        failures=3,
        cause=WaitCause.RETRY_AFTER,
    ),
    Row(
        says="a redirect to a service's challenge is not followed",
        world={"answers": {HOME: answered(HOME, 302, "Location: https://validate.perfdrive.com/x")}},
        outcomes={HOME: Retry(wait_s=60.0)},
        links=[],
    ),
    Row(
        says="a page of a type that is not accepted is cut off and given up",
        world={"answers": {HOME: answered(HOME, type_refused=True)}},
        trace=[f"ask page {HOME}", f"archive 200 {HOME}"],
        outcomes={HOME: GivenUp(reason=Reason.TYPE_REFUSED)},
    ),
    Row(
        says="a page that is read for its links alone is not stored",
        world={"answers": {HOME: answered(HOME, links_only=True)}, "parses": page(NEXT)},
        trace=PARSED,
        outcomes={HOME: GivenUp(reason=Reason.TYPE_REFUSED)},
        links=[NEXT],
    ),
    Row(
        says="a page that is read for its links alone and says noindex is given up for that",
        world={"answers": {HOME: answered(HOME, links_only=True)}, "parses": page(noindex=True)},
        outcomes={HOME: GivenUp(reason=Reason.NOINDEX)},
    ),
    *(
        Row(
            says=f"a page that cannot be read ({reason}) is given up",
            world={"parses": {HOME: ParseFailed(reason=reason)}},
            trace=PARSED,
            outcomes={HOME: GivenUp(reason=reason)},
            links=[],
        )
        for reason in (Reason.BAD_ENCODING, Reason.PARSE_DEADLINE, Reason.PARSE_MEMORY, Reason.PARSE_CRASHED)
    ),
    Row(
        says="a costly page for which the parser has no time comes again without a counted try, and its site backs off",
        world={"parses": {HOME: ParseFailed(reason=Reason.PARSER_BUSY)}, "urls": (queued(), queued(NEXT))},
        trace=PARSED,
        outcomes={HOME: Retry(wait_s=0.0, counted=False)},
        links=[],
        in_hand=[],
        counts={("share_backoffs", "parser_share"): 1},
        wait_s=140.0,
        cause=WaitCause.PARSER_SHARE,
    ),
    Row(
        says="a page with many links for which there is no room comes again without a counted try, its site backs off",
        world={"parses": {HOME: ParseFailed(reason=Reason.LINKS_BUSY)}, "urls": (queued(), queued(NEXT))},
        trace=PARSED,
        outcomes={HOME: Retry(wait_s=0.0, counted=False)},
        links=[],
        in_hand=[],
        counts={("share_backoffs", "link_share"): 1},
        wait_s=140.0,
        cause=WaitCause.LINK_SHARE,
    ),
    Row(
        says="a page whose further links are left out is counted",
        world={"parses": page(NEXT, links_cut=True)},
        outcomes={HOME: Done()},
        counts={("traps", "page_links"): 1},
    ),
    Row(
        says="with a limit of pages per site, URLs that strangers linked to give way to the site's own links",
        world={
            "urls": (queued(rank=20), queued(NEXT), queued(f"{HOST}/invented", rank=20)),
            "parses": page(f"{HOST}/own"),
            "scope": ScopeSettings(max_pages_per_site=3),
        },
        in_hand=[NEXT],
    ),
    Row(
        says="with a limit of pages per site, URLs that strangers linked to stay in hand if the site links to none",
        world={
            "urls": (queued(rank=20), queued(f"{HOST}/invented", rank=20)),
            "parses": page("https://b.test/"),
            "scope": ScopeSettings(max_pages_per_site=3),
        },
        in_hand=[f"{HOST}/invented"],
    ),
    Row(
        says="the other URLs in hand are left for further turns",
        world={"urls": (queued(), queued(NEXT))},
        outcomes={HOME: Done()},
        in_hand=[NEXT],
    ),
]

EXCLUSIONS = [
    Row(
        says="a URL that the operator excludes is barred without a request",
        world={"excluded": [HOME], "hosts": ()},
        trace=[],
        outcomes={HOME: EXCLUDED},
        made_request=False,
    ),
    Row(
        says="all URLs of a site that the operator excludes stay queued",
        world={"excluded": ["a.test"], "urls": (queued(), queued(NEXT))},
        trace=[],
        outcomes={},
        in_hand=[],
        made_request=False,
    ),
    Row(
        says="a URL that the operator excludes while robots.txt is asked for is barred",
        world={"hosts": (), "excluded_after": {f"ask robots {ROBOTS}": [HOME]}},
        trace=[f"ask robots {ROBOTS}", "commit", "wait 1.00", f"ask page {HOME}"],
        outcomes={HOME: EXCLUDED},
    ),
    Row(
        says="a site that the operator excludes during the pause keeps its URLs queued",
        world={"hosts": (), "excluded_after": {"wait 1.00": ["a.test"]}, "urls": (queued(), queued(NEXT))},
        trace=[f"ask robots {ROBOTS}", "commit", "wait 1.00", f"ask page {HOME}"],
        outcomes={},
        in_hand=[],
    ),
    Row(
        says="a URL that the operator excludes while its request waits to be sent is barred",
        world={"answers": {HOME: NOT_SENT}, "excluded_after": {f"ask page {HOME}": [HOME]}},
        trace=[f"ask page {HOME}"],
        outcomes={HOME: EXCLUDED},
        made_request=False,
    ),
    Row(
        says="a site that the operator excludes while a request waits to be sent keeps its URLs queued",
        world={
            "answers": {HOME: NOT_SENT}, "excluded_after": {f"ask page {HOME}": ["a.test"]},
            "urls": (queued(), queued(NEXT)),
        },
        outcomes={},
        in_hand=[],
        made_request=False,
    ),
    Row(
        says="a request that is not sent leaves its URL queued, and the site need not wait",
        world={"answers": {HOME: NOT_SENT}},
        trace=[f"ask page {HOME}"],
        outcomes={},
        wait_s=0.0,
        made_request=False,
    ),
    Row(
        says="a page that came before the operator excluded it is stored",
        world={"excluded_after": {f"ask page {HOME}": [HOME]}},
        trace=PAGE_STORED,
        outcomes={HOME: Done()},
    ),
    Row(
        says="links that the operator excludes are not followed",
        world={"excluded": ["https://a.test/private/"], "parses": page(f"{HOST}/private/1", NEXT)},
        links=[NEXT],
    ),
]  # fmt: skip

LINK_ROWS = [
    Row(
        says="links lie one deeper than their page, and name it",
        world={"urls": (queued(depth=3, rank=7),), "parses": page(NEXT)},
        link={"depth": 4, "rank": 0, "seeded": False, "hops": 0, "via": hash_url(HOME), "kind": Kind.PAGE},
    ),
    Row(
        says="links to addresses, to other ports and to ports that browsers block are not followed, but counted",
        world={"parses": page(NEXT, "http://93.184.215.14/", "http://b.test:8080/", "http://a.test:22/")},
        links=[NEXT],
        counts={("traps", "ip_host"): 1, ("traps", "port_refused"): 2},
    ),
    Row(
        says="links to addresses and ports that the operator allows are followed",
        world={
            "parses": page("http://93.184.215.14:8080/", "http://b.test:6379/"),
            "scope": ScopeSettings(allow_ip_hosts=True, allow_ports=(8080,)),
        },
        links=["http://93.184.215.14:8080/"],
    ),
    Row(
        says="links to the ports of seeds are followed, those to other ports are not",
        world={"parses": page("http://b.test:8080/", "http://b.test:8081/"), "seed_ports": (8080,)},
        links=["http://b.test:8080/"],
        counts={("traps", "port_refused"): 1},
    ),
    Row(
        says="links that the frontier has at no greater depth are left out, and counted",
        world={"parses": page(*LINKS, NEXT), "committed": {LINKS[0]: 2, LINKS[1]: 1, LINKS[2]: 3}},
        links=[LINKS[2], NEXT],
        counts={("known_links", ""): 2},
    ),
    Row(
        says="a limit against traps counts a link even if the frontier has it",
        world={"parses": page(NEXT, TRAPPED), "committed": {NEXT: 2, TRAPPED: 2}},
        links=[],
        counts={("known_links", ""): 1, ("traps", Trap.REPEATED_SEGMENTS): 1},
    ),
    Row(
        says="a program that judges links is asked about those that the frontier has",
        world={
            "parses": page(*LINKS),
            "committed": {LINKS[0]: 2},
            "hooks": Hooks(should_visit=lambda url: not url.endswith("/22")),
        },
        links=[LINKS[0], LINKS[2]],
        counts={},
    ),
    Row(
        says="with a limit of pages, links that the frontier has show that the site has pages of its own",
        world={
            "urls": (queued(), queued(f"{HOST}/foreign", rank=FOREIGN_RANK)),
            "parses": page(NEXT),
            "committed": {NEXT: 2},
            "scope": ScopeSettings(max_pages_per_site=10),
        },
        in_hand=[],
    ),
    Row(
        says="links of a page at the greatest depth are not followed",
        world={"urls": (queued(depth=2),), "parses": page(NEXT), "scope": ScopeSettings(max_depth=2)},
        outcomes={HOME: Done()},
        links=[],
    ),
    Row(
        says="links of a page just above the greatest depth are followed",
        world={"urls": (queued(depth=1),), "parses": page(NEXT), "scope": ScopeSettings(max_depth=2)},
        links=[NEXT],
    ),
    Row(
        says="only links that a pattern includes are followed",
        world={"parses": page(NEXT, f"{HOST}/blog/1"), "scope": ScopeSettings(include=("/blog/",))},
        links=[f"{HOST}/blog/1"],
    ),
    Row(
        says="links to other sites are reported too: the frontier judges the scope",
        world={"parses": page("https://b.test/"), "scope": ScopeSettings(scope=Scope.HOST)},
        links=["https://b.test/"],
    ),
    Row(
        says="links into traps are refused and counted by their kind",
        world={"parses": page(NEXT, TRAPPED, f"{TRAPPED}/b", f"{HOST}/?" + "&".join(f"p{n}=1" for n in range(30)))},
        links=[NEXT],
        counts={("traps", Trap.REPEATED_SEGMENTS): 2, ("traps", Trap.MANY_PARAMETERS): 1},
    ),
    Row(
        says="a date that no calendar for people has is a trap in the present year of the crawl",
        world={"parses": page(f"{HOST}/calendar/2099-01-01")},
        counts={("traps", Trap.CALENDAR): 1},
    ),
    Row(
        says="session ids are taken out of links",
        world={"parses": page(f"{HOST}/x?PHPSESSID=0123456789abcdef")},
        links=[f"{HOST}/x"],
    ),
    Row(
        says="the links of a site that has given all its pages are refused, those to other sites are not",
        world={"pages": 5, "traps": TrapSettings(site_budget=5), "parses": page(NEXT, "https://b.test/")},
        links=["https://b.test/"],
        counts={("traps", Trap.SITE_BUDGET): 1},
    ),
    Row(
        says="only links that the program wants are followed",
        world={"hooks": Hooks(should_visit=lambda url: url == LINKS[1]), "parses": page(*LINKS)},
        links=[LINKS[1]],
        hook_failures=[],
    ),
    Row(
        says="the program ranks links",
        world={"hooks": Hooks(rank=rank_by_length), "parses": page(NEXT)},
        link={"rank": len(NEXT)},
    ),
    Row(
        says="a rank beyond what the frontier holds is cut",
        world={"hooks": Hooks(rank=lambda _: 1 << 40), "parses": page(NEXT)},
        link={"rank": MAX_RANK},
        hook_failures=[],
    ),
    Row(
        says="a rank that is no whole number is a failure of the hook, and the link is followed",
        world={"hooks": Hooks(rank=lambda _: 0.5), "parses": page(NEXT)},  # type: ignore[arg-type, return-value]
        link={"rank": 0},
        hook_failures=[("rank", NEXT, 1)],
    ),
    Row(
        says="hooks that fail let every link in, and each is reported once with how often it failed",
        world={"hooks": Hooks(should_visit=fail, rank=fail), "parses": page(*LINKS)},
        links=LINKS,
        outcomes={HOME: Done()},
        hook_failures=[("should_visit", LINKS[0], 3), ("rank", LINKS[0], 3)],
    ),
]

LEFT_OUT = [
    Row(
        says="a page that reserves itself against artificial intelligence is kept unless the operator minds",
        world={"parses": page(noai=True)},
        outcomes={HOME: Done()},
    ),
    Row(
        says="a page that reserves itself against artificial intelligence is left out if the operator minds",
        world={"parses": page(NEXT, noai=True), "hosts": (NOTHING_RESERVED,), "keeping": NO_AI},
        trace=PARSED,
        outcomes={HOME: GivenUp(reason=Reason.AI_OPTED_OUT)},
        links=[NEXT],
    ),
    Row(
        says="a page that its robots.txt reserves is left out if the operator minds",
        world={"hosts": (ruled(f"Content-Signal: / ai-train=no\n{NO_TDMREP}"),), "keeping": NO_AI},
        trace=PARSED,
        outcomes={HOME: GivenUp(reason=Reason.AI_OPTED_OUT)},
    ),
    Row(
        says="what robots.txt says about the use of a page is stored with it",
        world={"hosts": (ruled("Content-Signal: / search=yes"),), "parses": of_row(signals="tdm-reservation=0")},
        kept={"signals": "tdm-reservation=0\nrobots.txt content-signal=search=yes"},
    ),
    Row(
        says="what robots.txt says about other pages is not stored with this one",
        world={"hosts": (ruled("Content-Signal: /other search=yes"),)},
        kept={"signals": ""},
    ),
    Row(
        says="a page in another language is left out, and its links are not followed",
        world={"parses": of_row(NEXT, lang="fr"), "keeping": GERMAN},
        trace=PARSED,
        outcomes={HOME: GivenUp(reason=Reason.OTHER_LANGUAGE)},
        links=[],
    ),
    Row(
        says="a seed in another language is left out, but its links are followed",
        world={"urls": (SEED,), "parses": of_row(NEXT, lang="fr"), "keeping": GERMAN},
        outcomes={HOME: GivenUp(reason=Reason.OTHER_LANGUAGE)},
        links=[NEXT],
    ),
    Row(
        says="a page in a wanted language is kept",
        world={"parses": of_row(NEXT, lang="de"), "keeping": GERMAN},
        outcomes={HOME: Done()},
        links=[NEXT],
    ),
    Row(
        says="a page that declares no language is kept",
        world={"parses": page(NEXT), "keeping": GERMAN},
        outcomes={HOME: Done()},
        links=[NEXT],
    ),
    Row(
        says="noindex comes before all other reasons to leave a page out",
        world={
            "parses": {HOME: parsed(noindex=True, noai=True, row={"lang": "fr"})},
            "hosts": (NOTHING_RESERVED,),
            "keeping": NO_AI,
        },
        outcomes={HOME: GivenUp(reason=Reason.NOINDEX)},
    ),
]


def canonical(name: str, **fields: Any) -> dict[str, Any]:
    """A world in which a page names another in its place, and the operator wants only those."""
    return {"parses": of_row(canonical=name), "keeping": CANONICAL, **fields}


CANONICALS = [
    Row(
        says="a canonical page is not looked at unless the operator wants that",
        world={"parses": of_row(canonical=NEXT)},
        trace=PAGE_STORED,
    ),
    Row(
        says="a page gives way to its canonical page, and that is durable at once",
        world=canonical(NEXT, urls=(queued(depth=3, rank=4, hops=2),)),
        trace=[*PARSED, f"look up {NEXT}", "commit at once"],
        outcomes=GIVEN_WAY,
        links=[NEXT],
        link={"depth": 3, "rank": 4, "hops": 2, "seeded": False, "via": hash_url(HOME)},
    ),
    Row(
        says="the canonical page of a seed is a seed",
        world=canonical(NEXT, urls=(SEED,)),
        outcomes=GIVEN_WAY,
        link={"seeded": True, "depth": 0},
    ),
    Row(says="a page that is its own canonical page is kept", world=canonical(HOME), trace=PAGE_STORED),
    Row(
        says="a page whose canonical page is on another site is kept",
        world=canonical("https://b.test/"),
        trace=PAGE_STORED,
    ),
    *(
        Row(
            says=f"a page gives way to a canonical page that is {status}",
            world=canonical(NEXT, states={NEXT: UrlState(status=status, depth=1)}),
            outcomes=GIVEN_WAY,
        )
        for status in (UrlStatus.QUEUED, UrlStatus.DONE)
    ),
    Row(
        says="of pages that name each other in a circle, the last one is kept",
        world=canonical(
            NEXT, states={NEXT: UrlState(status=UrlStatus.GIVEN_UP, depth=1, reason=Reason.NOT_CANONICAL)}
        ),
        trace=[*PARSED, f"look up {NEXT}", f"keep {HOME}"],
        outcomes={HOME: Done()},
        links=[],
    ),
    Row(
        says="a page whose canonical page failed is kept",
        world=canonical(NEXT, states={NEXT: UrlState(status=UrlStatus.GIVEN_UP, depth=1, reason=Reason.HTTP_ERROR)}),
        outcomes={HOME: Done()},
    ),
    Row(
        says="a page is kept while the frontier does not answer about its canonical page",
        world=canonical(NEXT, states={NEXT: UNAVAILABLE}),
        trace=[*PARSED, f"look up {NEXT}", f"keep {HOME}"],
        outcomes={HOME: Done()},
    ),
    Row(
        says="a page whose canonical page the operator excludes is kept",
        world=canonical(NEXT, excluded=[NEXT]),
        trace=PAGE_STORED,
    ),
    Row(
        says="a page whose canonical page robots.txt forbids is kept",
        world=canonical(NEXT, hosts=(ruled("Disallow: /next"),)),
        trace=PAGE_STORED,
    ),
    Row(
        says="a page whose canonical page is on a host with a failing robots.txt is kept",
        world=canonical(f"{WWW}/", hosts=(OPEN, replace(ruled("", WWW), failures=1))),
        trace=PAGE_STORED,
    ),
    Row(
        says="a page whose canonical page no pattern includes is kept",
        world=canonical(NEXT, scope=ScopeSettings(include=("/blog/",))),
        trace=PAGE_STORED,
    ),
    Row(
        says="a page whose canonical page the program does not want is kept",
        world=canonical(NEXT, hooks=Hooks(should_visit=lambda url: url != NEXT)),
        trace=PAGE_STORED,
    ),
    Row(
        says="where the crawl stays on hosts, a page whose canonical page is on another host is kept",
        world=canonical(f"{WWW}/", scope=ScopeSettings(scope=Scope.HOST)),
        trace=PAGE_STORED,
    ),
    Row(
        says="where the crawl stays on hosts, a seed gives way to a canonical page on another host of its site",
        world=canonical(f"{WWW}/", scope=ScopeSettings(scope=Scope.HOST), urls=(SEED,)),
        outcomes=GIVEN_WAY,
    ),
    Row(
        says="a canonical page that redirects to the page that gave way to it closes the circle there",
        world={
            "answers": {HOME: moved(HOME, NEXT)},
            "states": {NEXT: UrlState(status=UrlStatus.GIVEN_UP, depth=1, reason=Reason.NOT_CANONICAL)},
            "parses": {NEXT: parsed(row={"canonical": HOME})},
            "keeping": CANONICAL,
        },
        trace=[
            f"ask page {HOME}", f"archive 301 {HOME}", f"look up {NEXT}", "wait 1.00", f"ask page {NEXT}",
            f"parse page {NEXT}", f"keep {NEXT}",
        ],
        outcomes={HOME: Done(page=False), NEXT: Done()},
    ),
    Row(
        says="a page behind a redirect gives way to its canonical page like any other",
        world={
            "answers": {HOME: moved(HOME, NEXT)},
            "parses": {NEXT: parsed(row={"canonical": f"{HOST}/3"})},
            "keeping": CANONICAL,
        },
        outcomes={HOME: Done(page=False), NEXT: GivenUp(reason=Reason.NOT_CANONICAL)},
        links=[NEXT, f"{HOST}/3"],
    ),
]  # fmt: skip


@pytest.mark.parametrize("row", [*KEPT, *EXCLUSIONS, *LINK_ROWS, *LEFT_OUT, *CANONICALS], ids=str)
def test_pages(row: Row) -> None:
    check(row)
