"""Turns in random worlds: whatever is answered, some things hold. Hypothesis shrinks a world in which one does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.records import (
    Done,
    Fetched,
    HostState,
    Kind,
    ParseFailed,
    Reason,
    RequestKind,
    Scope,
    Truncation,
    UrlState,
    UrlStatus,
)
from gossamer.rules.answers import HANG_UP_S
from gossamer.rules.hosts import NOTHING_ALLOWED, refusal_of, rules_of
from gossamer.rules.keeping import KeepingSettings
from gossamer.rules.pace import PaceSettings
from gossamer.rules.scope import ScopeSettings
from gossamer.rules.sitemaps import SitemapSettings
from gossamer.turn import Hooks
from gossamer.turn.steps import NO_ROOM, NOT_SENT, UNAVAILABLE, Ask
from gossamer.urls import hash_url, host_of
from tests.turn.rows import HOME, ROBOTS, WWW
from tests.turn.scripted import (
    HOST,
    NOW_AT,
    World,
    answered,
    effects_of,
    failed,
    links_of,
    outcomes_of,
    parsed,
    queued,
    sitemap,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DataObject, DrawFn, SearchStrategy

    from gossamer.records import PageRow, QueuedUrl
    from gossamer.turn import TurnResult

    Draw = Callable[[SearchStrategy[Any]], Any]

HOSTS = [HOST, "http://a.test", WWW]
PAGES = [f"{host}/{path}" for host in HOSTS for path in ("", "1", "2", "map.xml", "sitemap.xml")]
FOREIGN = ["https://b.test/", "https://b.test/robots.txt", "http://www.b.test/1"]
TARGETS = [*PAGES, *(f"{host}/robots.txt" for host in HOSTS), *FOREIGN, "mailto:no@b.test", ""]
ROBOTS_LINES = [
    "Disallow: /", "Disallow: /1", "Allow: /", "Crawl-delay: 120", "Crawl-delay: 1", "Sitemap: /map.xml",
    f"Sitemap: {WWW}/map.xml", "Sitemap: https://b.test/map.xml", "Content-Signal: ai-train=no",
]  # fmt: skip
STATUSES = [200, 200, 200, 204, 301, 302, 301, 304, 404, 429, 500, 503]
RESERVATIONS = st.sampled_from(
    [[], [f"Tdmrep: {NOW_AT + 3_600} 0", "Tdmrep: 0 /1"], [f"Tdmrep: {NOW_AT - 1} 0"], ["Tdmrep: 0.0 1"]]
)
TDMREP_FILES = st.sampled_from([b"", b'[{"location": "/1", "tdm-reservation": 1}]', b"["])
DURATIONS_S = st.sampled_from([0.0, 0.05, 3.0, 30.0])
SLACK_S = 1e-6  # what adding up times may lose


def refuse_some(url: str) -> bool:
    """Want about half of all URLs."""
    return hash_url(url)[0] % 2 == 0


def fail(_: object) -> bool:
    """Raise, as a hook with a mistake does."""
    raise LookupError("a mistake of the program")


async def take_page(row: PageRow, answer: Fetched) -> None:
    """Take a page, as a program that wants pages does."""


@st.composite
def answers(draw: DrawFn, url: str, *, is_robots: bool) -> Any:
    """Draw what comes of a request."""
    how = draw(st.sampled_from(["answered", "answered", "answered", "failed", "not sent"]))
    if how == "not sent":
        return NOT_SENT
    if how == "failed":
        return failed(url, draw(st.sampled_from(sorted(Reason))), duration_s=draw(DURATIONS_S))
    status = draw(st.sampled_from(STATUSES))
    headers = [f"Location: {draw(st.sampled_from(TARGETS))}"] if status in (301, 302) else []
    headers += draw(st.sampled_from([[], [], ["Retry-After: 30"], ["Retry-After: 600"]]))
    lines = draw(st.lists(st.sampled_from(ROBOTS_LINES), max_size=3)) if is_robots else []
    return answered(
        url,
        status,
        *headers,
        body="\n".join(["User-agent: *", *lines]).encode() if is_robots else draw(TDMREP_FILES),
        truncated=draw(st.sampled_from([None, None, *Truncation])),
        type_refused=draw(st.integers(0, 9)) == 0,
        links_only=draw(st.integers(0, 9)) == 0,
        duration_s=draw(DURATIONS_S),
    )


@st.composite
def parses(draw: DrawFn) -> Any:
    """Draw what is found in a page or a sitemap."""
    how = draw(st.sampled_from(["page", "page", "page", "sitemap", "no room", "failed"]))
    if how == "no room":
        return NO_ROOM
    if how == "failed":
        return ParseFailed(reason=draw(st.sampled_from([Reason.BAD_SITEMAP, Reason.PARSE_CRASHED])))
    found = draw(st.lists(st.sampled_from([*PAGES, *FOREIGN]), max_size=4, unique=True))
    if how == "sitemap":
        return sitemap(*found, sitemaps=draw(st.lists(st.sampled_from([*PAGES, *FOREIGN]), max_size=3, unique=True)))
    return parsed(
        *found,
        refresh=draw(st.sampled_from(["", "", "", *PAGES, *FOREIGN])),
        noindex=draw(st.integers(0, 5)) == 0,
        noai=draw(st.integers(0, 5)) == 0,
        row={
            "lang": draw(st.sampled_from(["", "de", "fr"])),
            "canonical": draw(st.sampled_from(["", "", *PAGES, *FOREIGN])),
        },
    )


@st.composite
def host_states(draw: DrawFn, host: str, *, may_block: bool) -> HostState:
    """Draw what is known about a host."""
    lines = draw(st.lists(st.sampled_from(ROBOTS_LINES[:6]), max_size=2))
    failures = draw(st.sampled_from([0, 0, 0, 1, 4, 5]))
    silent = draw(st.sampled_from([0, 0, 0, 1, 3, 6]))
    return HostState(
        host=host,
        rules=NOTHING_ALLOWED if failures else "\n".join(["User-agent: *", *lines, *draw(RESERVATIONS)]),
        expires_at=NOW_AT + draw(st.sampled_from([-NOW_AT, -1.0, 3_600.0, 3_600.0, 3_600.0, 100_000.0])),
        failures=failures,
        failing_since=NOW_AT - draw(st.sampled_from([60.0, 400_000.0])) if failures else None,
        blocked_s=draw(st.sampled_from([0.0, 0.0, 60.0])) if may_block else 0.0,
        silent=silent,
        given_up=Reason.CONNECT_REFUSED if silent and may_block and draw(st.booleans()) else None,
    )


@st.composite
def urls_in_hand(draw: DrawFn) -> tuple[QueuedUrl, ...]:
    """Draw some URLs in hand, the one of the turn first."""
    chosen = draw(st.lists(st.sampled_from(PAGES), min_size=1, max_size=4, unique=True))
    found = []
    for url in chosen:
        depth = draw(st.integers(0, 3))
        kinds = [Kind.PAGE, Kind.PAGE, Kind.SITEMAP, *([Kind.BARE] * 2 if url.startswith(HOST) and not depth else [])]
        found.append(
            queued(
                url,
                depth=depth,
                kind=draw(st.sampled_from(kinds)),
                tries=draw(st.sampled_from([0, 0, 1, 3, 4])),
                hops=draw(st.sampled_from([0, 0, 1, 4, 5, 9, 10])),
            )
        )
    return tuple(found)


ORDINARY = object()


class Lazily(dict[str, Any]):
    """A table of a world that is drawn as far as the turn looks into it: a turn needs little of what there could be."""

    def __init__(self, draw: Draw, strategy: Callable[[str], SearchStrategy[Any]], **known: Any) -> None:
        super().__init__(known)
        self._draw = draw
        self._strategy = strategy

    def get(self, key: str, default: Any = None) -> Any:
        """Return what was drawn for a key, or the ordinary value."""
        if key not in self:
            self[key] = self._draw(st.one_of(st.just(ORDINARY), self._strategy(key)))
        return default if self[key] is ORDINARY else self[key]


KNOWN = st.sampled_from(
    [
        UNAVAILABLE,
        *(UrlState(status=status, depth=1, via=hash_url(HOME)) for status in UrlStatus),
        UrlState(status=UrlStatus.GIVEN_UP, depth=1, reason=Reason.NOT_CANONICAL),
    ]
)
LINES = st.sampled_from(["", "", "wait 1.00", f"ask robots {ROBOTS}", f"ask page {HOME}", "commit"])
EXCLUDED = st.sampled_from([(), (), (), (), (HOME,), (f"{HOST}/1",), ("http://a.test/",), ("a.test",)])
SETTINGS: SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "own_delay_s": st.sampled_from([0.0, 0.0, 90.0]),
        "site_delays_s": st.sampled_from([{}, {}, {"a.test": 80.0}]),
        "failures": st.sampled_from([0, 0, 1, 2, 9]),
        "keeping": st.builds(
            KeepingSettings,
            canonical=st.booleans(),
            languages=st.sampled_from([(), ("de",)]),
            respect_ai_optout=st.booleans(),
        ),
        "scope": st.builds(
            ScopeSettings,
            scope=st.sampled_from(Scope),
            max_depth=st.sampled_from([None, None, 1]),
            include=st.sampled_from([(), (), ("/1",)]),
        ),
        "sitemaps": st.builds(SitemapSettings, sitemaps=st.booleans(), max_sitemaps=st.just(2)),
        "hooks": st.builds(
            Hooks,
            should_visit=st.sampled_from([None, refuse_some, fail]),
            rank=st.sampled_from([None, fail]),
            on_page=st.sampled_from([None, take_page]),
        ),
    }
)
EVENTS: SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "excluded": EXCLUDED,
        "excluded_after": st.builds(lambda line, urls: {line: urls}, LINES, EXCLUDED),
        "stops_after": LINES,
        "outage_after": LINES,
        "in_outage": st.sampled_from([False, False, False, True]),
        "interrupt_at": st.one_of(st.none(), st.none(), st.integers(0, 12)),
        "bug": st.sampled_from([None, RuntimeError("a bug of ours")]),
    }
)


def draw_world(draw: Draw) -> World:
    """Draw a world in which a turn may meet anything."""
    urls = draw(urls_in_hand())
    own = {url.host for url in urls}
    delay_s = draw(st.sampled_from([0.0, 0.5, 70.0, 70.0]))
    hosts = draw(st.lists(st.sampled_from(HOSTS), unique=True))
    return World(
        urls=urls,
        hosts=[draw(host_states(host, may_block=host not in own)) for host in hosts],
        hosts_of=Lazily(draw, lambda site: st.tuples(host_states(f"https://www.{site}", may_block=True))),
        answers=Lazily(draw, lambda url: answers(url, is_robots=url.endswith("/robots.txt"))),
        elsewhere=Lazily(
            draw,
            lambda url: st.one_of(
                st.just(100.0), answers(url, is_robots=True).filter(lambda answer: answer is not NOT_SENT)
            ),
        ),
        parses=Lazily(draw, lambda _: parses()),
        states=Lazily(draw, lambda _: KNOWN, **{url.url: UrlState(status=UrlStatus.QUEUED, depth=1) for url in urls}),
        delay_s=delay_s,
        pace=PaceSettings(delay_s=delay_s),
        **draw(SETTINGS),
        **draw(EVENTS),
    )


def check_urls(world: World, result: TurnResult) -> None:
    """Each URL taken is settled exactly once or stays queued, and every effect names a URL of this turn."""
    outcomes = outcomes_of(world, result)  # none of them twice
    links = links_of(world, result)
    in_hand = {url.url_hash for url in world.urls}
    of_turn = in_hand | {link.url_hash for link in links}
    assert outcomes.keys() <= of_turn
    assert not outcomes.keys() & {url.url_hash for url in world.site.urls}, "a settled URL is still in hand"
    plain = {hash_url(url.url.partition("#")[0]) for url in world.urls}
    robots_urls = {hash_url(f"{host}/robots.txt") for host in HOSTS}
    assert {link.via for link in links} <= of_turn | plain | robots_urls | {hash_url(HOME)}
    hosts = {url.host for url in world.urls} | {link.host for link in links} | {"http://a.test"}
    assert {state.host for effects in effects_of(world, result) for state in effects.hosts} <= hosts


def check_pages(world: World, result: TurnResult) -> None:
    """A page counts if and only if it was stored; only an interruption leaves a stored page without an outcome."""
    outcomes = outcomes_of(world, result)
    kept = {row.url_hash for row in world.kept}
    done = {url_hash for url_hash, outcome in outcomes.items() if outcome == Done(page=True)}
    assert done <= kept
    assert done == kept or "interrupted" in world.trace


def status_of(world: World, url: str) -> int:
    """Return the status of the answer that a request got; 0: it got none."""
    answer = world.answers.get(url)
    return answer.status if isinstance(answer, Fetched) else 0


def check_requests(world: World, result: TurnResult) -> None:
    """No request comes before its wait is over, unasked, or twice; the site waits its delay after the last one."""
    previous_s = None
    is_delayed = False  # after a tdmrep.json, which is no step to a page
    for request in world.requests:
        if previous_s is not None:
            gap_s = world.site.delay_s if is_delayed else request.gap_s
            assert request.began_s >= previous_s + gap_s - SLACK_S
        previous_s = request.ended_s
        is_delayed = request.kind is RequestKind.TDMREP and not 300 <= status_of(world, request.url) < 400
    pages = [request for request in world.requests if request.kind is not RequestKind.ROBOTS]
    assert len({request.url for request in pages}) == len(pages)
    for request in pages:
        assert host_of(request.url) == request.host
        assert refusal_of(world.site.hosts[request.host], request.url) is None
        assert request.url not in world.excluded
        assert "a.test" not in world.excluded
        if world.keeping.respect_ai_optout and request.kind is not RequestKind.TDMREP:
            assert rules_of(world.site.hosts[request.host]).reservations.was_read
    if previous_s is not None:
        assert result.ended_s is not None
        assert result.ended_s >= previous_s
    if isinstance(world.interrupted, Ask):  # it may have been made
        assert result.ended_s == world.clock_s + (HANG_UP_S if world.site.delay_s else 0.0)
    blocked = {state.host for state in world.hosts if state.blocked_s and not state.silent}
    assert not blocked & {request.host for request in world.requests}
    if result.ended_s is None:
        assert result.wait.wait_s == 0.0
    else:
        assert result.wait.wait_s >= world.site.delay_s >= max(world.pace.delay_s, world.own_delay_s)


@settings(max_examples=5 * settings().max_examples)  # a turn has many paths
@given(st.data())
def test_a_turn_in_any_world_keeps_its_promises(data: DataObject) -> None:
    world = draw_world(data.draw)
    result = world.play()
    assert result.bug is (world.bug if "interrupted" in world.trace else None)
    check_urls(world, result)
    check_pages(world, result)
    check_requests(world, result)
