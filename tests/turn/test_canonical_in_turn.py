"""A page is kept if the page that it names as canonical led to it in the same turn: there is no other one to keep."""

from __future__ import annotations

from gossamer.records import Done, GivenUp, HostState, Kind, Reason, UrlState, UrlStatus
from gossamer.rules.keeping import KeepingSettings
from gossamer.urls import hash_url
from tests.turn.scripted import NOW_AT, World, answered, failed, outcomes_of, parsed, queued

QUEUED = UrlState(status=UrlStatus.QUEUED, depth=1)  # what the frontier knows until the turn has ended
FIRST, SECOND = "https://a.test/first", "https://a.test/second"
GUESS, PLAIN = "https://a.test/", "http://a.test/"


def test_a_page_is_kept_whose_canonical_redirected_to_it() -> None:
    world = World(
        urls=[queued(FIRST)],
        answers={FIRST: answered(FIRST, 302, f"Location: {SECOND}")},
        parses={SECOND: parsed(row={"canonical": FIRST})},
        states={FIRST: QUEUED},
        keeping=KeepingSettings(canonical=True),
    )
    assert outcomes_of(world, world.play()) == {hash_url(FIRST): Done(page=False), hash_url(SECOND): Done()}


def test_a_page_under_http_is_kept_whose_canonical_does_not_answer_under_https() -> None:
    robots = f"{GUESS}robots.txt"
    world = World(
        urls=[queued(GUESS, depth=0, kind=Kind.BARE)],
        hosts=[HostState(host="http://a.test", rules="", expires_at=NOW_AT + 3_600)],
        answers={robots: failed(robots, Reason.CONNECT_REFUSED)},
        parses={PLAIN: parsed(row={"canonical": GUESS})},
        states={GUESS: QUEUED},
        keeping=KeepingSettings(canonical=True),
    )
    assert outcomes_of(world, world.play()) == {
        hash_url(GUESS): GivenUp(reason=Reason.NO_HTTPS),
        hash_url(PLAIN): Done(),
    }
