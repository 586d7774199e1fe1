"""`gossamer explain` names the cause in every situation that a test can set up."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from gossamer.cli import run
from gossamer.crawl.folder import gather_settings, write_settings
from gossamer.records import (
    Barred,
    Batch,
    Done,
    GivenUp,
    HostState,
    Link,
    Reason,
    Release,
    Retry,
    Scope,
    Visit,
)
from gossamer.rules.elsewhere import LONG_AGO_AT, NOT_DUE
from gossamer.rules.hosts import NOTHING_ALLOWED
from gossamer.rules.robots import RobotsRules
from gossamer.urls import hash_url, identify
from tests.inspect.crawls import BEGAN_AT, Crawl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gossamer.records import Claim, Outcome

RULES = "User-agent: gossamer\nDisallow: /private\nAllow: /private/not"


class Planted(Crawl):
    """A crawl with settings, in which situations are set up by hand."""

    def __init__(self, folder: Path, **settings: object) -> None:
        super().__init__(folder)
        flags = {"email": "a@b.test", "delay": 70, **settings}
        write_settings(folder, gather_settings(None, environment={}, flags=flags))
        limits = {"page_limit": settings.get("max_pages"), "site_limit": settings.get("max_pages_per_site")}
        self.frontier.resume(delay_s=0, scope=Scope(settings.get("scope", "web")), **limits)  # type: ignore[arg-type]
        self.frontier.join("again")

    def links(self, *urls: str, via: str = "https://a.test/") -> None:
        """Accept URLs that a page links to."""
        self.frontier.add([Link(*identify(url), 2, via=hash_url(via)) for url in urls])

    def turn(
        self, outcome: Outcome | None, *hosts: HostState, wait_s: float = 0, own_delay_s: float = 0, failures: int = 0
    ) -> Claim:
        """Give the only due site its turn."""
        (claim,) = self.claim()
        self.store.sync()
        release = Release(wait_s=wait_s, own_delay_s=own_delay_s, failures=failures)
        outcomes = [(claim.urls[0].url_hash, outcome)] if outcome else []
        visit = Visit(site=claim.site, epoch=claim.epoch, outcomes=outcomes, hosts=hosts, release=release)
        self.frontier.complete(Batch(visits=[visit]))
        return claim

    def robots(self, rules: str = RULES, **state: float) -> HostState:
        """The state of a host after its robots.txt was read."""
        return HostState(host="https://a.test", rules=rules, expires_at=time.time() + 3600, **state)  # type: ignore[arg-type]


def seeded(crawl: Planted, **turn: object) -> None:
    """Visit the front page of a seeded site, and release the site with these arguments."""
    crawl.add("https://a.test/")
    crawl.keep("https://a.test/")
    crawl.turn(Done(), crawl.robots(), **turn)  # type: ignore[arg-type]


def done(crawl: Planted) -> None:
    seeded(crawl)


def missing(crawl: Planted) -> None:
    crawl.add("https://a.test/x")
    crawl.ask("https://a.test/x", status=404)
    crawl.turn(GivenUp(reason=Reason.HTTP_ERROR))


def sitemap(crawl: Planted) -> None:
    crawl.add("https://a.test/map.xml")
    crawl.ask("https://a.test/map.xml", status=200, kind="sitemap")
    crawl.turn(Done(page=False), crawl.robots("Sitemap: https://a.test/map.xml\nSitemap: https://a.test/other.xml"))


def no_sitemap(crawl: Planted) -> None:
    crawl.add("https://a.test/sitemap.xml")
    crawl.ask("https://a.test/sitemap.xml", status=404, kind="sitemap")
    crawl.turn(GivenUp(reason=Reason.NO_SITEMAP), crawl.robots())


def left_out(crawl: Planted) -> None:
    crawl.add("https://a.test/x?sort=1")
    crawl.ask("https://a.test/x?sort=1", status=200)
    crawl.turn(GivenUp(reason=Reason.NOT_CANONICAL))


def noindex(crawl: Planted) -> None:
    crawl.add("https://a.test/x")
    crawl.ask("https://a.test/x", status=200)
    crawl.turn(GivenUp(reason=Reason.NOINDEX))


def disallowed(crawl: Planted) -> None:
    crawl.add("https://a.test/private/1")
    crawl.turn(GivenUp(reason=Reason.ROBOTS_DISALLOWED), crawl.robots())


def disallowed_soon(crawl: Planted) -> None:
    seeded(crawl, wait_s=70)
    crawl.links("https://a.test/private/1")


def queued(crawl: Planted) -> None:
    seeded(crawl, wait_s=70)
    crawl.links("https://a.test/2")


def barred(crawl: Planted) -> None:
    seeded(crawl)
    crawl.links("https://a.test/2")
    crawl.turn(Barred(reason=Reason.TOO_DEEP))


def due(crawl: Planted) -> None:
    seeded(crawl)
    crawl.links("https://a.test/2")


def in_hand(crawl: Planted) -> None:
    due(crawl)
    crawl.claim()


def crawl_delay(crawl: Planted) -> None:
    seeded(crawl, wait_s=300, own_delay_s=300)
    crawl.links("https://a.test/2")


def back_off(crawl: Planted) -> None:
    seeded(crawl, wait_s=280, failures=4)
    crawl.links("https://a.test/2")


def suspended(crawl: Planted) -> None:
    seeded(crawl, wait_s=21_600, failures=10)
    crawl.links("https://a.test/2")


def retry_after(crawl: Planted) -> None:
    seeded(crawl)
    crawl.links("https://a.test/busy", "https://a.test/2")
    crawl.ask("https://a.test/busy", status=429)
    crawl.turn(Retry(wait_s=900), wait_s=900, failures=1)


def slow(crawl: Planted, *, wait_s: float = 140) -> None:
    seeded(crawl)
    crawl.links("https://a.test/big", "https://a.test/2")
    crawl.ask("https://a.test/big", status=200, duration_s=20)
    crawl.turn(Done(), wait_s=wait_s)


def over_its_share(crawl: Planted) -> None:
    slow(crawl)
    crawl.frontier.heartbeat({"over_share:parser_share:a.test": 130.0, "over_share:slot_share:b.test": 5.0})


def slow_and_nearly_due(crawl: Planted) -> None:
    slow(crawl, wait_s=65)


def fast_after_slow(crawl: Planted) -> None:
    slow(crawl, wait_s=0)
    crawl.pass_time(140)
    crawl.ask("https://a.test/2", status=200, duration_s=2)
    crawl.links("https://a.test/3")
    crawl.turn(Done(), wait_s=70)


def slow_and_busy(crawl: Planted) -> None:
    seeded(crawl)
    crawl.links("https://a.test/busy", "https://a.test/2")
    crawl.ask("https://a.test/busy", status=503, duration_s=20)
    crawl.turn(Retry(wait_s=900), wait_s=900, failures=1)


def slow_elsewhere(crawl: Planted) -> None:
    queued(crawl)
    crawl.ask("https://a.test/robots.txt", status=200, kind="robots_elsewhere", duration_s=20)


def silent_for_long(crawl: Planted) -> None:
    seeded(crawl)
    crawl.links("https://a.test/1", "https://a.test/2")
    crawl.ask("https://a.test/1", reason="connect_timeout", duration_s=20)
    crawl.turn(Retry(wait_s=100), wait_s=100)


def retry(crawl: Planted) -> None:
    seeded(crawl)
    crawl.links("https://a.test/slow", "https://a.test/2")
    crawl.ask("https://a.test/slow", reason="timeout")
    crawl.turn(Retry(wait_s=600), wait_s=70, failures=1)


def blocked(crawl: Planted) -> None:
    crawl.add("https://a.test/")
    crawl.ask("https://a.test/robots.txt", status=500, kind="robots")
    closed = crawl.robots(NOTHING_ALLOWED, failures=1, failing_since=time.time(), blocked_s=600)
    crawl.turn(Retry(wait_s=0, counted=False), closed, wait_s=70)


def silent(crawl: Planted) -> None:
    crawl.add("https://a.test/")
    crawl.ask("https://a.test/robots.txt", reason="connect_refused", kind="robots")
    crawl.turn(None, HostState(host="https://a.test", silent=1, blocked_s=600), wait_s=70)


def given_up_with_its_host(crawl: Planted) -> None:
    crawl.add("https://a.test/", "https://a.test/2")
    state = HostState(host="https://a.test", silent=4, given_up=Reason.CONNECT_REFUSED, blocked_s=86_400)
    crawl.turn(GivenUp(reason=Reason.CONNECT_REFUSED), state)


def found(rules: str = RULES, *moved_to: str, outcome: str = "") -> str:
    return replace(RobotsRules.from_text(rules), moved_to=moved_to, outcome=outcome).to_text()


def waiting(crawl: Planted) -> None:
    crawl.add("https://a.test/")
    state = crawl.robots(found(NOTHING_ALLOWED, "https://c.test/a.txt", outcome=NOT_DUE), blocked_s=140)
    crawl.turn(Retry(wait_s=0, counted=False), replace(state, expires_at=LONG_AGO_AT), wait_s=70)


def blocked_elsewhere(crawl: Planted) -> None:
    crawl.add("https://a.test/")
    rules = found(NOTHING_ALLOWED, "https://b.test/x", "https://c.test/a.txt", outcome="connect_refused")
    closed = crawl.robots(rules, failures=1, failing_since=BEGAN_AT, blocked_s=600)
    crawl.turn(Retry(wait_s=0, counted=False), closed, wait_s=70)


def ruled_elsewhere(crawl: Planted) -> None:
    crawl.add("https://a.test/private/1")
    rules = found(RULES, "https://b.test/x", "https://c.test/a.txt")
    crawl.turn(GivenUp(reason=Reason.ROBOTS_DISALLOWED), crawl.robots(rules))


def too_many_redirects(crawl: Planted) -> None:
    seeded(crawl)
    crawl.links("https://a.test/2")
    rules = found("", "https://b.test/x", "https://c.test/a.txt", outcome="too_many_redirects")
    crawl.turn(Done(), crawl.robots(rules))


def bad_redirect(crawl: Planted) -> None:
    seeded(crawl)
    crawl.links("https://a.test/2")
    crawl.turn(Done(), crawl.robots(found("", outcome="bad_redirect")))


def unreachable(crawl: Planted) -> None:
    crawl.add("https://a.test/")
    crawl.turn(GivenUp(reason=Reason.ROBOTS_UNREACHABLE), crawl.robots(NOTHING_ALLOWED, failures=5))


def excluded(crawl: Planted) -> None:
    queued(crawl)
    crawl.frontier.exclude(["a.test"])


def excluded_prefix(crawl: Planted) -> None:
    queued(crawl)
    crawl.frontier.exclude(["https://a.test/2"])


def excluded_and_given_up(crawl: Planted) -> None:
    crawl.add("https://a.test/2")
    crawl.turn(GivenUp(reason=Reason.EXCLUDED))
    crawl.frontier.exclude(["https://a.test/2"])


def page_limit(crawl: Planted) -> None:
    seeded(crawl, wait_s=70)
    crawl.links("https://a.test/2")


SITUATIONS: list[tuple[Callable[[Planted], None], dict[str, object], str, str, list[str]]] = [
    (done, {}, "https://a.test/", "done: It is done, last requested 2026-01-01", ["request   2026-01-01"]),
    (
        barred,
        {"max_depth": 1},
        "https://a.test/2",
        "given up: It was given up: too_deep (2 links from a seed, and --max-depth is 1)",
        ["known     yes, given up, depth 2"],
    ),
    (
        due,
        {"max_pages_per_site": 1},
        "https://a.test/2",
        "pages per site: Its site has 1 page stored, all that --max-pages-per-site allows",
        ["site      a.test, 1 queued, its page limit is reached"],
    ),
    (due, {"max_pages_per_site": 1}, "a.test", "pages per site: Its site has 1 page stored", []),
    (
        done,
        {"include": ("/blog/",)},
        "https://a.test/shop",
        "not included: It would not be fetched: no pattern of --include matches it.",
        [],
    ),
    (
        due,
        {"exclude": ("*.pdf$", "/2")},
        "https://a.test/2",
        "excluded: It is queued and will not be requested: it is excluded by /2 (--exclude).",
        [],
    ),
    (missing, {}, "https://a.test/x", "given up: It was given up: http_error (the last answer was status 404", []),
    (sitemap, {}, "https://a.test/map.xml", "done: It is a sitemap that was read, last requested 2026-01-01", []),
    (
        sitemap,
        {},
        "https://a.test/other.xml",
        "not known: It is a sitemap: with --sitemaps it is read",
        ["robots    allowed: no rule matches; names it as a sitemap"],
    ),
    (
        no_sitemap,
        {},
        "https://a.test/sitemap.xml",
        "given up: It was given up: no_sitemap (a sitemap was looked for there by convention",
        [],
    ),
    (
        noindex,
        {},
        "https://a.test/x",
        "given up: It was given up: noindex (the page or its server says so: it is not stored, and its links are",
        [],
    ),
    (
        left_out,
        {},
        "https://a.test/x?sort=1",
        "given up: It was given up: not_canonical (it names another page of its site, queued in its place; if that",
        [],
    ),
    (
        disallowed,
        {},
        "https://a.test/private/1",
        "given up: It was given up: robots_disallowed (disallowed: Disallow: /private (group gossamer)",
        [],
    ),
    (
        disallowed_soon,
        {},
        "https://a.test/private/1",
        "robots.txt: It will be given up when its turn comes: disallowed: Disallow: /private",
        [],
    ),
    (
        disallowed_soon,
        {},
        "https://a.test/private/other",
        "robots.txt: It was never accepted, and would not be fetched: disallowed: Disallow: /private",
        [],
    ),
    (
        queued,
        {},
        "https://a.test/2",
        "delay: Its site's next turn is in 1 min: the crawl's delay is 70 s.",
        [
            "known     yes, queued since 20",
            "robots    allowed: no rule matches",
        ],
    ),
    (
        queued,
        {},
        "https://a.test/private/not/1",
        "not known: It was never accepted: no page that was read so far links to it.",
        ["robots    allowed: Allow: /private/not (group gossamer)"],
    ),
    (queued, {"max_depth": 3}, "https://a.test/9", "or those pages are at the maximum depth (3)", []),
    (
        queued,
        {"delay": 0.5},
        "a.test",
        "Its site's next turn is in 1 min",
        ["pace      delay 0.5 s"],
    ),
    (due, {}, "https://a.test/2", "due: Its site is due", []),
    (in_hand, {}, "https://a.test/2", "in hand: Worker 2 has its site in hand", []),
    (
        crawl_delay,
        {},
        "https://a.test/2",
        "Crawl-delay: Its site's next turn is in 5 min: its robots.txt asks for 300 s",
        [],
    ),
    (
        crawl_delay,
        {"site_delay": "a.test=400"},
        "a.test",
        "site delay: Its site's next turn is in 5 min: you gave it a delay of 400 s.",
        [],
    ),
    (back_off, {}, "https://a.test/2", "back-off: Its site's next turn is in 5 min: it failed 4 times in a row", []),
    (
        suspended,
        {},
        "a.test",
        "suspended: Its site's next turn is in 6 h 0 min: it failed 10 times in a row and is suspended for 21600 s.",
        [],
    ),
    (retry_after, {}, "a.test", "Retry-After: Its site's next turn is in 15 min: it answered 429", ["request"]),
    (
        slow,
        {},
        "a.test",
        "slow: Its site's next turn is in 2 min: its last answer took 20 s, so it is left alone for 2 min.",
        [],
    ),
    (slow, {}, "https://a.test/2", "slow: Its site's next turn is in 2 min: its last answer took 20 s", []),
    (
        over_its_share,
        {},
        "a.test",
        "over its share: Its site's next turn is in 2 min: its pages take more processor time than its share",
        [],
    ),
    (slow_and_nearly_due, {}, "a.test", "slow: Its site's next turn is in 1 min: its last answer took 20 s", []),
    (fast_after_slow, {}, "a.test", "delay: Its site's next turn is in 1 min: the crawl's delay is 70 s.", []),
    (slow_and_busy, {}, "a.test", "Retry-After: Its site's next turn is in 15 min: it answered 503", []),
    (slow_elsewhere, {}, "a.test", "delay: Its site's next turn is in 1 min: the crawl's delay is 70 s.", []),
    (silent_for_long, {}, "a.test", "retry: Its site's next turn is in 2 min", []),
    (
        retry,
        {},
        "https://a.test/slow",
        "retry: It failed 1 time, the last time with timeout, and may be requested again in 10 min",
        [],
    ),
    (
        blocked,
        {},
        "https://a.test/",
        "robots.txt unavailable: It waits for the robots.txt of its host, requested again in 10 min",
        ["robots    robots.txt failed 1 time"],
    ),
    (
        silent,
        {},
        "https://a.test/",
        "host does not answer: It waits for its host, which did not answer once and is tried again in 10 min.",
        ["robots    not read yet", "host      did not answer once"],
    ),
    (
        silent,
        {},
        "a.test",
        "host does not answer: Its site's next turn is in 1 min: https://a.test did not answer once and is tried again",
        ["host      https://a.test: did not answer once"],
    ),
    (
        given_up_with_its_host,
        {},
        "https://a.test/2",
        "given up: It was given up: connect_refused (its host did not answer 4 times in a row and is given up",
        [],
    ),
    (
        waiting,
        {},
        "https://a.test/",
        "robots.txt unavailable: It waits for the robots.txt of its host, requested again in 2 min",
        ["robots    robots.txt is on another site, which is requested in 2 min, from https://c.test/a.txt"],
    ),
    (
        waiting,
        {},
        "a.test",
        "robots.txt unavailable: Its site's next turn is in",
        ["host      https://a.test: robots.txt is on another site, which is requested in 2 min"],
    ),
    (
        blocked_elsewhere,
        {},
        "https://a.test/",
        "robots.txt unavailable: It waits for the robots.txt of its host, requested again in 10 min",
        [
            (
                "robots    robots.txt failed 1 time since 2026-01-01 00:00:00Z, requested again in 10 min, "
                "from https://c.test/a.txt (connect_refused), redirected through https://b.test/x"
            )
        ],
    ),
    (
        ruled_elsewhere,
        {},
        "https://a.test/private/1",
        "given up: It was given up: robots_disallowed (disallowed: Disallow: /private (group gossamer)",
        [
            (
                "robots    disallowed: Disallow: /private (group gossamer), "
                "from https://c.test/a.txt, redirected through https://b.test/x"
            )
        ],
    ),
    (
        too_many_redirects,
        {},
        "a.test",
        "nothing to do",
        [
            (
                "host      https://a.test: robots.txt has no rules for us, as if there were none: too many redirects, "
                "redirected through https://b.test/x to https://c.test/a.txt"
            )
        ],
    ),
    (
        bad_redirect,
        {},
        "https://a.test/2",
        "done",
        ["robots    allowed: no rule matches, as if there were none: bad redirect"],
    ),
    (
        unreachable,
        {},
        "https://a.test/",
        "given up: It was given up: robots_unreachable (robots.txt failed 5 times",
        [],
    ),
    (
        excluded,
        {},
        "https://a.test/2",
        "excluded: It is queued and will not be requested: it is excluded by a.test.",
        [],
    ),
    (excluded, {}, "a.test", "excluded: It is excluded by a.test: none of its URLs is requested.", []),
    (
        excluded_prefix,
        {},
        "https://a.test/2",
        "excluded: It is queued and will not be requested: it is excluded by https://a.test/2.",
        [],
    ),
    (
        excluded_and_given_up,
        {},
        "https://a.test/2",
        "given up: It was given up: excluded (excluded by https://a.test/2)",
        [],
    ),
    (queued, {}, "https://b.test/", "out of scope: It would not be fetched: its site is not one of the seeds'", []),
    (
        queued,
        {"scope": "web"},
        "https://b.test/",
        "not known: It was never accepted",
        ["scope     links are followed anywhere", "robots    not requested yet"],
    ),
    (
        queued,
        {},
        "https://a.test/x/y/x/y/x/y",
        "trap: It would not be fetched: links to it are refused as a trap: repeated_segments.",
        [],
    ),
    (queued, {"trap_limits": False}, "https://a.test/x/y/x/y/x/y", "not known:", []),
    (
        queued,
        {},
        "https://a.test/2?PHPSESSID=1",
        "session id: Links to it are followed without the session id: explain https://a.test/2.",
        [],
    ),
    (page_limit, {"max_pages": 1}, "https://a.test/2", "page limit: The page limit is reached", []),
    (
        done,
        {},
        "a.test",
        "nothing to do: Nothing of it is left to fetch.",
        ["host      https://a.test: 2 rules for group gossamer"],
    ),
    (done, {}, "c.test", "not known: No URL of it was ever accepted.", ["site      not known"]),
]


@pytest.mark.parametrize(
    ("plant", "settings", "what", "sentence", "facts"),
    SITUATIONS,
    ids=[f"{plant.__name__}-{what}" for plant, _, what, *_ in SITUATIONS],
)
def test_what_decides_is_named(
    plant: Callable[[Planted], None],
    settings: dict[str, object],
    what: str,
    sentence: str,
    facts: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Planted(tmp_path / "crawl", **settings) as crawl:
        plant(crawl)
        crawl.store.sync()
        assert run(["explain", what, "--data-dir", str(crawl.folder)]) == 0
    named, said, *lines = capsys.readouterr().out.splitlines()
    assert named == what
    assert sentence in said
    for fact in facts:
        assert any(line.strip().startswith(fact) for line in lines), lines


LINKS = "<a href=/2>A link</a>"
LINKING = "https://a.test/"
LINKED = f"It is linked from {LINKING}"


@pytest.mark.parametrize(
    ("html", "settings", "what", "sentence"),
    [
        ("<meta name=robots content=nofollow>" + LINKS, {}, "/2", f"nofollow: {LINKED}, which says nofollow: none"),
        ("<meta name=bot content=nofollow>" + LINKS, {"agent_name": "Bot"}, "/2", f"nofollow: {LINKED}, which says"),
        ("<a href=/2 rel='ugc nofollow'>x</a>", {}, "/2", f"nofollow: The link on {LINKING} is marked nofollow."),
        ("<a rel=nofollow href=/2>x</a>" + LINKS, {}, "/2", f"not known: {LINKED}, and no rule of now refuses it"),
        (LINKS, {"max_depth": 0}, "/2", f"too deep: {LINKED}, at depth 0, and --max-depth is 0."),
        (LINKS, {"include": ["/blog/"]}, "/2", "not included: It would not be fetched: no pattern of --include"),
        (LINKS, {"exclude": ["/2"]}, "/2", "excluded: It would not be fetched: it is excluded by /2 (--exclude)."),
        (LINKS, {"site_budget": 1}, "/2", f"trap: {LINKED}, and such links are refused as a trap: site_budget."),
        ("<a href=/a/a/a/a/a/b>x</a>", {}, "/a/a/a/a/a/b", "trap: It would not be fetched: links to it are refused"),
        ("<a href=//b.test/>x</a>", {}, "https://b.test/", "out of scope: It would not be fetched: its site is not"),
        ("<a href=//c.a.test/>x</a>", {"scope": "host"}, "https://c.a.test/", "its host is not one of the seeds'"),
        ("<a href=//a.test:81/>x</a>", {}, "https://a.test:81/", "address or port: It would not be fetched: links to"),
        ("<a href=//192.0.2.1/>x</a>", {"scope": "web"}, "https://192.0.2.1/", "address or port: It would not be"),
    ],
)  # fmt: skip
def test_why_a_link_of_a_stored_page_was_not_followed_is_said(
    html: str, settings: dict[str, object], what: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = what if "://" in what else f"https://a.test{what}"
    with Planted(tmp_path / "crawl", **{"scope": "site", **settings}) as crawl:
        crawl.add(LINKING)
        crawl.keep("https://a.test/other", "<a href=/elsewhere>nothing</a>")
        crawl.keep(LINKING, html)
        crawl.turn(Done(), crawl.robots())
        assert run(["explain", url, "--data-dir", str(crawl.folder)]) == 0
        searched = capsys.readouterr().out
        assert run(["explain", url, "--data-dir", str(crawl.folder), "--from", LINKING]) == 0
        assert capsys.readouterr().out == searched
    assert sentence in searched.splitlines()[1]
    assert f"  linked    from {LINKING}, depth 0" in searched.splitlines()


def test_a_limit_that_remembers_is_named_with_its_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Planted(tmp_path / "crawl") as crawl:
        crawl.add(LINKING)
        crawl.keep(LINKING, LINKS)
        crawl.turn(Done(), crawl.robots())
        crawl.frontier.heartbeat({"trap_foreign_links": 7.0})
        assert run(["explain", "https://a.test/2", "--data-dir", str(crawl.folder)]) == 0
    assert "a limit that counts earlier links must have refused it: foreign_links (7 links)." in capsys.readouterr().out


def test_a_page_named_with_from_must_be_stored_and_link_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Planted(tmp_path / "crawl") as crawl:
        seeded(crawl)
        for source, why in ((LINKING, "does not link to"), ("https://a.test/none", "is not stored with its source")):
            assert run(["explain", "https://a.test/2", "--data-dir", str(crawl.folder), "--from", source]) == 2
            assert why in capsys.readouterr().err
        assert run(["explain", "https://a.test/2", "--data-dir", str(crawl.folder)]) == 0
    assert "linked    from none of 1 archived page" in capsys.readouterr().out


def test_a_delay_that_the_operator_gave_is_not_said_to_be_the_sites_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Planted(tmp_path / "crawl", site_delay="a.test=300") as crawl:
        crawl_delay(crawl)  # as a worker records it that obeys the operator
        assert run(["explain", "a.test", "--data-dir", str(crawl.folder)]) == 0
    said = capsys.readouterr().out
    assert "you gave it a delay of 300 s" in said
    assert "robots.txt asks" not in said


def test_what_the_exclusion_file_excludes_is_said_to_be_its(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "exclude.txt"
    file.write_text("a.test\n")
    with Planted(tmp_path / "crawl", exclude_file=str(file)) as crawl:
        assert run(["explain", "https://www.a.test/", "--data-dir", str(crawl.folder)]) == 0
    assert "excluded: It would not be fetched: it is excluded by a.test (exclusion file)." in capsys.readouterr().out


def test_what_cannot_be_crawled_is_refused_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Planted(tmp_path / "crawl") as crawl:
        assert run(["explain", "ftp://a.test/", "--data-dir", str(crawl.folder)]) == 2
    assert (
        "'ftp://a.test/' cannot be part of a crawl (neither http nor https): write it like" in capsys.readouterr().err
    )
