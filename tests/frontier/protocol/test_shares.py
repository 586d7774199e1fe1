"""Whatever happens to heartbeats and workers, together they never use more of an address than the whole."""

from __future__ import annotations

from functools import partial

from gossamer.frontier.shares import WHOLE
from gossamer.records import AddressShare
from tests.frontier.protocol.explorer import explore
from tests.frontier.protocol.shares import Rules, invariant, start, steps

BEATS = 5  # more take minutes


def test_shares_never_add_up_to_more_than_the_whole() -> None:
    found = explore(start(beats=BEATS, deaths=1, joins=1), steps, invariant)
    print(f"\n{found}")
    assert found.wrong is None, str(found)


def test_three_workers_end_with_equal_shares() -> None:
    world = start(beats=12, deaths=0, joins=2)
    for what in ["joins", "joins", *["beats", "leaves", "hears"] * 12]:
        choices = [after for label, after in steps(world) if what in label]
        # Each worker in its turn.
        world = choices[world.sent % len(choices)] if what == "beats" else choices[0]
    assert {process.used.parts for process in world.processes} == {WHOLE // 3}


def test_a_late_heartbeat_that_lowered_a_share_would_break_the_promise() -> None:
    def lower_always(kept: AddressShare, used: AddressShare) -> AddressShare:
        return AddressShare(min(kept.parts, used.parts), kept.version + 1)

    found = explore(start(beats=BEATS, deaths=1, joins=1), partial(steps, rules=Rules(lower=lower_always)), invariant)
    assert found.wrong is not None
    print(f"\n{found}")


def test_a_share_that_is_raised_before_others_use_less_would_break_the_promise() -> None:
    def tell_fair(kept: AddressShare, live: int) -> AddressShare:
        return AddressShare(WHOLE // live, kept.version)

    found = explore(start(beats=BEATS, deaths=1, joins=1), partial(steps, rules=Rules(answer=tell_fair)), invariant)
    assert found.wrong is not None
