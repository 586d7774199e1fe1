"""Cancellation and bugs of ours at every step of a turn: no further step, and at most one outcome for each URL."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from gossamer.records import Done, GivenUp, HostState, Kind, Outcome, Reason, Retry
from gossamer.rules.answers import HANG_UP_S
from gossamer.rules.keeping import KeepingSettings
from gossamer.rules.pace import PaceSettings
from gossamer.rules.sitemaps import SitemapSettings
from gossamer.turn import Hooks
from gossamer.turn.sitemaps import PORTION_LINKS
from gossamer.turn.steps import Commit
from gossamer.urls import hash_url
from tests.turn.rows import HOME, NEXT, ROBOTS, WWW, moved, robots
from tests.turn.scripted import HOST, OPEN, START_S, World, answered, failed, links_of, outcomes_of, parsed, queued
from tests.turn.scripted import sitemap as listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gossamer.records import Fetched, PageRow

ON_WWW = f"{WWW}/"
PLAIN = "http://a.test/"
THIRD = "https://a.test/3"
MAP = "https://a.test/map.xml"
MOVED = Done(page=False)
RETRY = Retry(wait_s=60.0)
LAST_TRY = 3  # failures behind a URL that has no further try
BROKEN = parsed()._replace(links=None)  # type: ignore[arg-type]
BARE = queued(depth=0, kind=Kind.BARE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Some steps in a row that are about the same URL."""

    steps: int
    about: str = ""  # empty: everything in question is settled, or only queued
    settled: Mapping[str, Outcome]  # before these steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A long way through a turn."""

    says: str
    world: Mapping[str, Any]
    spans: Sequence[Span]

    @property
    def first(self) -> str:
        """The URL in hand."""
        return str(self.world.get("urls", (queued(),))[0].url)

    def span(self, step: int) -> Span:
        """Return the span in which a step is."""
        for span in self.spans:
            if step < span.steps:
                return span
            step -= span.steps
        raise LookupError("the path has fewer steps")

    def world_with(self, **fields: Any) -> World:
        """Return its world, a little different."""
        return World(**{**self.world, **fields})


async def take_page(row: PageRow, answer: Fetched) -> None:
    """Take a page, as a program that wants pages does."""


PATHS = [
    Path(
        says="robots.txt, then a page that a program gets",
        world={"hosts": (), "hooks": Hooks(on_page=take_page)},
        spans=[Span(steps=7, about=HOME, settled={})],
    ),
    Path(
        says="a redirect to another host",
        world={"answers": {HOME: moved(HOME, ON_WWW)}},
        spans=[
            Span(steps=2, about=HOME, settled={}),
            Span(steps=2, settled={HOME: MOVED}),
            Span(steps=7, about=ON_WWW, settled={HOME: MOVED}),
        ],
    ),
    Path(
        says="a refresh, then a redirect, then a page",
        world={"parses": {HOME: parsed(refresh=NEXT)}, "answers": {NEXT: moved(NEXT, THIRD)}},
        spans=[
            Span(steps=2, about=HOME, settled={}),
            Span(steps=1, settled={HOME: MOVED}),
            Span(steps=3, about=NEXT, settled={HOME: MOVED}),
            Span(steps=1, settled={HOME: MOVED, NEXT: MOVED}),
            Span(steps=4, about=THIRD, settled={HOME: MOVED, NEXT: MOVED}),
        ],
    ),
    Path(
        says="a redirect to a page that fails",
        world={"answers": {HOME: moved(HOME, NEXT), NEXT: answered(NEXT, 503)}},
        spans=[
            Span(steps=2, about=HOME, settled={}),
            Span(steps=1, settled={HOME: MOVED}),
            Span(steps=3, about=NEXT, settled={HOME: MOVED}),
        ],
    ),
    Path(
        says="a bare seed that steps to http",
        world={"urls": (BARE,), "hosts": (), "answers": {ROBOTS: failed(ROBOTS, Reason.CONNECT_REFUSED)}},
        spans=[
            Span(steps=4, about=HOME, settled={}),
            Span(steps=5, about=PLAIN, settled={HOME: GivenUp(reason=Reason.NO_HTTPS)}),
        ],
    ),
    Path(
        says="a page that gives way to its canonical page",
        world={"parses": {HOME: parsed(row={"canonical": NEXT})}, "keeping": KeepingSettings(canonical=True)},
        spans=[
            Span(steps=3, about=HOME, settled={}),
            Span(steps=1, settled={HOME: GivenUp(reason=Reason.NOT_CANONICAL)}),  # the interrupted commit has it
        ],
    ),
    Path(
        says="a robots.txt on another site",
        world={"hosts": (), "answers": {ROBOTS: moved(ROBOTS, "https://b.test/robots.txt")}},
        spans=[Span(steps=7, about=HOME, settled={})],
    ),
    Path(
        says="the operator's delay, then a robots.txt that names another host's sitemap",
        world={
            "hosts": (),
            "site_delays_s": {"a.test": 90.0},
            "sitemaps": SitemapSettings(sitemaps=True),
            "answers": {ROBOTS: robots(f"Sitemap: {WWW}/map.xml")},
        },
        spans=[Span(steps=9, about=HOME, settled={})],
    ),
    Path(
        says="a sitemap in portions behind an index",
        world={
            "urls": (queued(MAP, kind=Kind.SITEMAP, hops=1),),
            "sitemaps": SitemapSettings(sitemaps=True),
            "parses": {
                MAP: listed(f"{WWW}/1", *(f"{HOST}/{number}" for number in range(PORTION_LINKS)), archive=b"record")
            },
        },
        spans=[Span(steps=6, about=MAP, settled={})],
    ),
    Path(
        says="a sitemap behind a redirect",
        world={
            "urls": (queued(MAP, kind=Kind.SITEMAP),),
            "answers": {MAP: moved(MAP, "/m2.xml")},
            "parses": {"https://a.test/m2.xml": listed(NEXT, archive=b"record")},
        },
        spans=[
            Span(steps=2, about=MAP, settled={}),
            Span(steps=1, settled={MAP: MOVED}),
            Span(steps=4, about="https://a.test/m2.xml", settled={MAP: MOVED}),
        ],
    ),
]

# Each path, played once to learn its steps.
UNDISTURBED = [(path, tuple(world.trace), links_of(world, result)) for path in PATHS
               for world in [World(**path.world)] for result in [world.play()]]  # fmt: skip
INTERRUPTED = [
    pytest.param(path, step, trace, links, id=f"{path.says}: {step} {trace[step]}")
    for path, trace, links in UNDISTURBED
    for step in range(len(trace))
]


def interrupt(world: World, trace: Sequence[str], step: int, links: Sequence[Any]) -> dict[bytes, Outcome]:
    """Play a world whose step does not end; check what holds for cancellation and bugs alike, return the outcomes."""
    result = world.play()
    assert world.trace == [*trace[:step], "interrupted"]
    assert result.bug is world.bug
    reported = links_of(world, result)
    assert reported == list(links[: len(reported)])
    is_request = trace[step].startswith("ask ") and not trace[step].startswith("ask elsewhere")
    if is_request:  # it may have been made: the site waits its delay from now on
        assert result.ended_s == world.clock_s + (HANG_UP_S if world.site.delay_s else 0.0)
    assert (result.ended_s is not None) == (is_request or bool(world.requests))
    if result.ended_s is not None:
        assert result.wait.wait_s >= world.site.delay_s
    return outcomes_of(world, result)


def hashed(outcomes: Mapping[str, Outcome]) -> dict[bytes, Outcome]:
    """Return outcomes as a turn reports them."""
    return {hash_url(url): outcome for url, outcome in outcomes.items()}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.says)
def test_the_spans_of_a_path_are_all_its_steps(path: Path) -> None:
    world = World(**path.world)
    assert world.play().bug is None
    assert len(world.trace) == sum(span.steps for span in path.spans)


@pytest.mark.parametrize(("path", "step", "trace", "links"), INTERRUPTED)
def test_a_cancelled_step_settles_nothing_more(
    path: Path, step: int, trace: Sequence[str], links: Sequence[Any]
) -> None:
    world = path.world_with(interrupt_at=step)
    assert interrupt(world, trace, step, links) == hashed(path.span(step).settled)


@pytest.mark.parametrize(("path", "step", "trace", "links"), INTERRUPTED)
def test_a_bug_costs_the_url_that_it_is_about_a_try(
    path: Path, step: int, trace: Sequence[str], links: Sequence[Any]
) -> None:
    span = path.span(step)
    world = path.world_with(interrupt_at=step, bug=RuntimeError("a bug of ours"))
    wanted = {**span.settled, span.about: RETRY} if span.about else span.settled
    assert interrupt(world, trace, step, links) == hashed(wanted)


@pytest.mark.parametrize(("path", "step", "trace", "links"), INTERRUPTED)
def test_a_bug_at_the_last_try_gives_up_the_url_in_hand_but_not_a_target(
    path: Path, step: int, trace: Sequence[str], links: Sequence[Any]
) -> None:
    span = path.span(step)
    in_hand = path.world_with().site.urls[0]._replace(tries=LAST_TRY)
    world = path.world_with(interrupt_at=step, bug=RuntimeError("a bug of ours"), urls=(in_hand,))
    cost = GivenUp(reason=Reason.INTERNAL_ERROR) if span.about == path.first else RETRY
    wanted = {**span.settled, span.about: cost} if span.about else span.settled
    assert interrupt(world, trace, step, links) == hashed(wanted)


# ---------------------------------------------------------------------- bugs of the turn itself


class BrokenHooks(Hooks):
    """Hooks with a bug of ours in place of `on_page`."""

    def __getattribute__(self, name: str) -> Any:
        """Fail where the turn asks whether the program wants pages."""
        if name == "on_page":
            raise RuntimeError("a bug of ours")
        return super().__getattribute__(name)


class BrokenDelays(dict[str, float]):
    """Delays of single sites with a bug of ours."""

    def get(self, *_: object) -> NoReturn:
        """Fail where the turn asks for the delay of its site."""
        raise RuntimeError("a bug of ours")


OWN_BUGS: list[tuple[str, dict[str, Any], dict[str, Outcome]]] = [
    ("a page that was parsed into nonsense is tried again", {"parses": {HOME: BROKEN}}, {HOME: RETRY}),
    (
        "a page that was parsed into nonsense at its last try is given up",
        {"parses": {HOME: BROKEN}, "urls": (queued(tries=LAST_TRY),)},
        {HOME: GivenUp(reason=Reason.INTERNAL_ERROR)},
    ),
    (
        "nonsense behind a redirect is tried again, and the redirect is done",
        {"answers": {HOME: moved(HOME, NEXT)}, "parses": {NEXT: BROKEN}},
        {HOME: MOVED, NEXT: RETRY},
    ),
    (
        "nonsense under http is tried again under http, since its host has answered",
        {
            "urls": (BARE,),
            "hosts": (),
            "answers": {ROBOTS: failed(ROBOTS, Reason.CONNECT_REFUSED)},
            "parses": {PLAIN: BROKEN},
        },
        {HOME: GivenUp(reason=Reason.NO_HTTPS), PLAIN: RETRY},
    ),
    (
        "nonsense in the rules of http costs the guess a try: http is no URL of the crawl yet",
        {
            "urls": (BARE,),
            "hosts": (HostState(host="http://a.test", rules="", expires_at="soon"),),  # type: ignore[arg-type]
            "answers": {ROBOTS: failed(ROBOTS, Reason.CONNECT_REFUSED)},
        },
        {HOME: RETRY},
    ),
    (
        "a bug in the rules of a host costs its page a try",
        {"hosts": (replace(OPEN, rules=None),)},  # type: ignore[arg-type]
        {HOME: RETRY},
    ),
    (
        "a bug before the first step costs the page a try",
        {"site_delays_s": BrokenDelays({"a.test": 90.0})},
        {HOME: RETRY},
    ),
    ("a bug after the page is stored costs it a try", {"hooks": BrokenHooks()}, {HOME: RETRY}),
    (
        "a sitemap that was parsed into nonsense is tried again, whatever of it was queued",
        {"urls": (queued(MAP, kind=Kind.SITEMAP),), "parses": {MAP: listed(NEXT, THIRD, ranks=[0])}},
        {MAP: RETRY},
    ),
    (
        "without further tries, a bug gives the page up",
        {"parses": {HOME: BROKEN}, "pace": PaceSettings(max_tries=0)},
        {HOME: GivenUp(reason=Reason.INTERNAL_ERROR)},
    ),
    (
        "a bug at a page that failed before waits as long as any failure",
        {"parses": {HOME: BROKEN}, "urls": (queued(tries=2),)},
        {HOME: Retry(wait_s=960.0)},
    ),
]


@pytest.mark.parametrize(("says", "world", "wanted"), OWN_BUGS, ids=[says for says, _, _ in OWN_BUGS])
def test_a_bug_of_the_turn(says: str, world: Mapping[str, Any], wanted: Mapping[str, Outcome]) -> None:
    played = World(**world)
    result = played.play()
    assert result.bug is not None, says
    assert outcomes_of(played, result) == hashed(wanted)
    if played.requests:
        assert result.ended_s is not None
        assert result.wait.wait_s >= played.site.delay_s


def test_a_cancelled_request_makes_the_site_wait_from_the_moment_of_its_end() -> None:
    world = World(interrupt_at=0)
    result = world.play()
    assert (result.ended_s, result.wait.wait_s) == (START_S + HANG_UP_S, 70.0)


def test_a_turn_that_is_cancelled_before_its_first_request_need_not_wait() -> None:
    world = World(interrupt_at=0, site_delays_s={"a.test": 90.0})
    result = world.play()
    assert (result.ended_s, result.wait.wait_s) == (None, 0.0)


@pytest.mark.parametrize("former", [None, replace(OPEN, expires_at=0.0)], ids=["no rules", "old rules"])
def test_rules_that_are_perhaps_not_durable_are_asked_for_again(former: HostState | None) -> None:
    world = World(hosts=(former,) if former else (), interrupt_at=1)
    world.play()
    assert isinstance(world.interrupted, Commit)
    assert world.site.hosts.get(HOST) == former


def test_a_site_delay_that_is_perhaps_not_durable_is_committed_again() -> None:
    world = World(interrupt_at=0, site_delays_s={"a.test": 90.0})
    world.play()
    assert isinstance(world.interrupted, Commit)
    assert world.site.own_delay_s < world.site.delay_s == 90.0
