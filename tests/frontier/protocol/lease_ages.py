"""Tells worlds of `leases` apart only by what can still matter, so that they can be explored for ever.

Times become ages: this second is always 0, and what is too old to make a difference is cut to the least age that is too
old. Claims are numbered from the site's last one. The set of states is finite then, and needs no horizon.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.frontier.protocol.leases import HALF_LEASE, JUMP, LEASE, TRANSIT, Watched

if TYPE_CHECKING:
    from tests.frontier.protocol.leases import Letter, Member, Process, World

OLD_TIME = -LEASE - JUMP
OLD_BEAT = OLD_TIME - 1  # before anybody who still looks for crawl time began to
OLDER_BEAT = OLD_BEAT - 1  # not equal to any that a member may have


def age(world: World) -> World:
    """Return the same world with this second as 0."""
    members = _members(world)
    ready_at = _ready_at(world, members)
    return world._replace(
        now=0,
        site=world.site._replace(ready_at=ready_at, token=0),
        members=members,
        processes=tuple(_process(world, members, process) for process in world.processes),
        letters=frozenset(_letter(world, members, letter) for letter in world.letters),
        asked_at=max(world.asked_at - world.now, -world.delay),
    )


def _ready_at(world: World, members: tuple[Member, ...]) -> int:
    """Cut it to what every clock has passed, but keep whether it had come when crawl time was last saved."""
    ready_at = world.site.ready_at - world.now
    saved = max((member.crawl_now for member in world.members if member.crawl_now is not None), default=0)
    aged = max((member.crawl_now for member in members if member.crawl_now is not None), default=0)
    clocks = [world.jump, aged, *(process.lower for process in world.processes if process.joined)]
    claims = [(letter.time or 0) - world.now for letter in world.letters if letter.kind == "claim"]
    passed = min(clocks + [max(time, OLD_TIME) for time in claims])
    return max(ready_at, passed, aged + 1 if world.site.ready_at > saved else passed)


def _members(world: World) -> tuple[Member, ...]:
    now = world.now
    latest = max((m.crawl_now for m in world.members if m.crawl_now is not None), default=0)
    aged = []
    for member in world.members:
        crawl_now = member.crawl_now
        if crawl_now is not None:
            crawl_now = None if member.dead and crawl_now < latest else max(crawl_now - now, OLD_TIME)
        if member.dead:
            aged.append(member._replace(beat=0, stamped=None, crawl_now=crawl_now))
            continue
        beat = max(member.beat - now, OLD_BEAT)
        stamped = None if member.stamped is None else max(member.stamped - now, world.jump + OLD_TIME)
        aged.append(member._replace(beat=beat, stamped=stamped, crawl_now=crawl_now))
    return tuple(aged)


def _process(world: World, members: tuple[Member, ...], process: Process) -> Process:
    now = world.now
    watched = tuple(
        (other, Watched(_beat(world, members, other, seen.beat), max(seen.since - now, -LEASE)))
        for other, seen in process.watched
    )
    return process._replace(
        watched=watched,
        leased=max(process.leased - now, -process.slept - HALF_LEASE),
        joins_since=0 if process.joined or not process.running else max(process.joins_since - now, OLD_TIME),
        token=None if process.token is None else _token(world, process.token),
    )


def _letter(world: World, members: tuple[Member, ...], letter: Letter) -> Letter:
    now = world.now
    time = None if letter.time is None else max(letter.time - now, OLD_TIME - 1)
    if letter.kind in ("request", "giving back"):
        number = _token(world, letter.number)
        return letter._replace(sent=max(letter.sent - now, -TRANSIT), number=number, time=time)
    if letter.kind == "recovery":
        return letter._replace(number=_beat(world, members, letter.id, letter.number), time=time)
    return letter._replace(sent=max(letter.sent - now, -HALF_LEASE - LEASE), time=time)


def _beat(world: World, members: tuple[Member, ...], id_: int, beat: int) -> int:
    """Keep whether a remembered counter is still the counter."""
    return members[id_].beat if world.members[id_].beat == beat else max(beat - world.now, OLDER_BEAT)


def _token(world: World, token: int) -> int:
    return max(token - world.site.token, -1)
