"""tdmrep.json in a turn, path by path: a turn of its own before the first page, cached, obeyed, failing, forbidden."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gossamer.records import Done, GivenUp, HostState, Kind, Reason, Retry
from gossamer.rules.hosts import rules_of, with_reservations
from gossamer.rules.keeping import KeepingSettings
from gossamer.rules.pace import WaitCause
from gossamer.rules.patterns import Rule
from gossamer.rules.reservations import RESERVES_ALL, Reservations
from gossamer.rules.robots import RobotsRules
from tests.turn.rows import HOME, NEXT, PAGE_STORED, ROBOTS, WWW, WWW_OPEN, Row, check, moved, play, ruled
from tests.turn.scripted import HOST, NOW_AT, OPEN, RESPONSE_S, World, answered, failed, parsed, queued

DAY_S = 86_400.0
TDMREP = "https://a.test/.well-known/tdmrep.json"
ASKED = f"ask tdmrep {TDMREP}"
RESERVED = json.dumps([{"location": "/", "tdm-reservation": 1}]).encode()


def reserving(*rules: Rule, left_s: float = 3_600.0, failures: int = 0, state: HostState = OPEN) -> HostState:
    return with_reservations(state, Reservations(rules=rules, expires_at=NOW_AT + left_s, failures=failures))


def world(*hosts: HostState, **fields: Any) -> dict[str, Any]:
    """A world of an operator who respects reservations."""
    return {"hosts": hosts, "keeping": KeepingSettings(respect_ai_optout=True), **fields}


def rules_for(**fields: Any) -> str:
    """What is stored of a host without rules whose file was not found."""
    return RobotsRules(reservations=Reservations(**fields)).to_text()


FAILED_ONCE = with_reservations(OPEN, Reservations(failures=1))
STALE = reserving(RESERVES_ALL, left_s=-1.0)
FREE = reserving(Rule(True, "/"))
HELD_BACK = {HOME: GivenUp(reason=Reason.AI_OPTED_OUT)}

TURNS = [
    Row(
        says="without the setting, the file is never asked for",
        world={"hosts": (OPEN,)},
        trace=PAGE_STORED,
    ),
    Row(
        says="a turn that had to ask for robots.txt leaves the file to the next one",
        world=world(),
        trace=[f"ask robots {ROBOTS}", "commit"],
        outcomes={},
        in_hand=[HOME],
        wait_s=70.0,
    ),
    Row(
        says="the file has a turn of its own, with the site's delay behind it",
        world=world(OPEN),
        trace=[ASKED],
        outcomes={},
        in_hand=[HOME],
        cause=WaitCause.DELAY,
        wait_s=70.0,
    ),
    Row(
        says="when it is known what the host reserves, the page is asked for at once",
        world=world(reserving()),
        trace=PAGE_STORED,
        outcomes={HOME: Done()},
        hosts={},
    ),
    Row(
        says="a file that is no longer fresh is asked for again, and the page follows after the site's delay",
        world=world(STALE),
        trace=[ASKED, "wait 70.00", "wait -69.00", *PAGE_STORED],
        outcomes={HOME: Done()},
    ),
    Row(
        says="where robots.txt had to be asked for again, file and page follow in the same turn",
        world=world(replace(OPEN, expires_at=NOW_AT - 1)),
        trace=[f"ask robots {ROBOTS}", "commit", "wait 1.00", ASKED, "wait 70.00", "wait -69.00", *PAGE_STORED],
        outcomes={HOME: Done()},
    ),
    Row(
        says="a new robots.txt does not make the crawler forget what is reserved",
        world=world(replace(reserving(RESERVES_ALL), expires_at=NOW_AT - 1)),
        asks=[f"robots {ROBOTS}", f"page {HOME}"],
        outcomes=HELD_BACK,
    ),
    Row(
        says="the target of a redirect waits in the queue until the file of its host was read",
        world=world(reserving(), WWW_OPEN, answers={HOME: moved(HOME, f"{WWW}/")}),
        asks=[f"page {HOME}"],
        outcomes={HOME: Done(page=False)},
        links=[f"{WWW}/"],
        in_hand=[],
    ),
    Row(
        says="the file is asked for before a sitemap, too",
        world=world(OPEN, urls=(queued(NEXT, kind=Kind.SITEMAP),)),
        trace=[ASKED],
        in_hand=[NEXT],
    ),
    Row(
        says="a redirect on the host is followed",
        world=world(
            OPEN,
            answers={TDMREP: moved(TDMREP, "/t.json"), f"{HOST}/t.json": answered(f"{HOST}/t.json", body=RESERVED)},
        ),
        asks=[f"tdmrep {TDMREP}", f"tdmrep {HOST}/t.json"],
        in_hand=[HOME],
    ),
    Row(
        says="a redirect to another host is not followed: as if there were no file",
        world=world(OPEN, answers={TDMREP: moved(TDMREP, f"{WWW}/t.json")}),
        asks=[f"tdmrep {TDMREP}"],
        hosts={HOST: {"rules": rules_for(expires_at=NOW_AT + RESPONSE_S + DAY_S)}},
    ),
    Row(
        says="a file that robots.txt forbids is not asked for: as if there were none",
        world=world(ruled("Disallow: /.well-known/")),
        trace=PAGE_STORED,
        outcomes={HOME: Done()},
    ),
    Row(
        says="a file that the operator excludes is not asked for",
        world=world(OPEN, excluded=(TDMREP,)),
        trace=PAGE_STORED,
        outcomes={HOME: Done()},
    ),
]
FAILURES = [
    Row(
        says=f"if the file fails ({what}), the host waits, and nothing counts as failed",
        world=world(OPEN, answers={TDMREP: answer}),
        trace=[ASKED],
        outcomes={},
        in_hand=[],
        hosts={HOST: {"blocked_s": 600.0, "failures": 0}},
    )
    for what, answer in [
        ("503", answered(TDMREP, 503)),
        ("429", answered(TDMREP, 429)),
        ("time-out", failed(TDMREP, Reason.TIMEOUT)),
    ]
] + [
    Row(
        says="a Retry-After of the file holds",
        world=world(OPEN, answers={TDMREP: answered(TDMREP, 503, "Retry-After: 700")}),
        hosts={HOST: {"blocked_s": 700.0}},
        cause=WaitCause.RETRY_AFTER,
        wait_s=700.0,
        urgent=True,
    ),
    Row(
        says="after a second failure it counts as if there were none",
        world=world(FAILED_ONCE, answers={TDMREP: answered(TDMREP, 503)}),
        trace=[ASKED],
        in_hand=[HOME],
        hosts={HOST: {"blocked_s": 0.0, "rules": rules_for(expires_at=NOW_AT + RESPONSE_S + DAY_S)}},
    ),
    Row(
        says="a host that does not answer is treated as any silent host",
        world=world(OPEN, answers={TDMREP: failed(TDMREP, Reason.CONNECT_REFUSED)}),
        outcomes={},
        hosts={HOST: {"silent": 1, "blocked_s": 60.0}},
    ),
    Row(
        says="a failure of ours costs the page nothing but time",
        world=world(OPEN, answers={TDMREP: failed(TDMREP, Reason.CONNECT_TIMEOUT)}, in_outage=True),
        outcomes={HOME: Retry(wait_s=0, counted=False)},
        hosts={},
    ),
]
OBEYED = [
    Row(
        says="a page that is reserved is not kept, but its links are followed",
        world=world(reserving(RESERVES_ALL), parses={HOME: parsed(NEXT)}),
        asks=[f"page {HOME}"],
        outcomes=HELD_BACK,
        links=[NEXT],
    ),
    Row(
        says="without the setting, what is known is not applied",
        world={"hosts": (reserving(RESERVES_ALL),)},
        outcomes={HOME: Done()},
        kept={"signals": ""},
    ),
    Row(
        says="a page under a rule that does not reserve it is kept, and the table says so",
        world=world(FREE, parses={HOME: parsed(row={"signals": "robots=max-snippet:1"})}),
        outcomes={HOME: Done()},
        kept={"signals": "robots=max-snippet:1\ntdmrep.json tdm-reservation=0"},
    ),
    Row(
        says="a page that no rule names is kept",
        world=world(reserving(Rule(False, "/other"))),
        outcomes={HOME: Done()},
        kept={"signals": ""},
    ),
    Row(
        says="a page that says itself that it is not reserved is kept: it comes before the file",
        world=world(reserving(RESERVES_ALL), parses={HOME: parsed(row={"signals": "tdm-reservation=0"})}),
        outcomes={HOME: Done()},
        kept={"signals": "tdm-reservation=0\ntdmrep.json tdm-reservation=1"},
    ),
    Row(
        says="a page that opts out by another directive is not kept, whatever the file says",
        world=world(FREE, parses={HOME: parsed(noai=True)}),
        outcomes=HELD_BACK,
    ),
]


@pytest.mark.parametrize("row", [*TURNS, *FAILURES, *OBEYED], ids=str)
def test_reservations(row: Row) -> None:
    check(row)


def test_what_the_file_says_is_noted_for_as_long_as_it_allows() -> None:
    answer = answered(TDMREP, 200, "Cache-Control: max-age=700", body=RESERVED)
    played = play(Row(says="", world=world(OPEN, answers={TDMREP: answer})))
    [state] = played.result.effects.hosts
    found = Reservations(rules=(RESERVES_ALL,), expires_at=NOW_AT + RESPONSE_S + 700.0)
    assert rules_of(state).reservations == found
    assert played.world.site.hosts[HOST] == state


def test_with_another_turn_under_way_the_file_waits_until_its_turn_is_alone() -> None:
    for state, is_asked in ((OPEN, False), (reserving(), True)):
        lanes = World(**world(state))
        lanes.site.turns = 2
        lanes.play()
        assert bool(lanes.trace) is is_asked
