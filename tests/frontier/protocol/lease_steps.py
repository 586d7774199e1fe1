"""What may happen in the world of `leases`: the steps out of a state, and what must never be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.frontier.protocol.lease_ages import age
from tests.frontier.protocol.leases import (
    HALF_LEASE,
    JUMP,
    LEASE,
    NAMES,
    TRANSIT,
    Fault,
    Letter,
    Member,
    Process,
    Rule,
    Stage,
    Watched,
    World,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Step = tuple[str, World]

# What becomes of a process.
STOPS: dict[Fault, Callable[[Process], Process]] = {
    Fault.PAUSE: lambda process: process._replace(awake=False, stuck_s=0),
    Fault.SLEEP: lambda process: process._replace(awake=False, suspended=True, stuck_s=0),
    Fault.CUT: lambda process: process._replace(connected=False, stuck_s=0),
    Fault.CRASH: lambda process: Process(id=process.id),
}


def invariant(world: World, ways: Sequence[Step]) -> str | None:
    """Say what must never be."""
    return world.wrong


def _same_ages(world: World, after: World) -> bool:
    """Whether a step touched only what has no age; saves time."""
    return after[:3] == world[:3] and after.letters is world.letters and after.jump == world.jump


class Model:
    """The protocol under some of its rules."""

    def __init__(self, rules: frozenset[Rule]) -> None:
        self.rules = rules

    def steps(self, world: World) -> list[Step]:
        """List what may happen next."""
        found = [*self._letters(world)]
        for place, process in enumerate(world.processes):
            if not process.running:
                found.append((f"{NAMES[place]} starts", self._register(world, place)))
            elif not process.awake:
                woken = process._replace(awake=True, suspended=False)
                found += self._looks_again(world, place, f"{NAMES[place]} goes on", woken)
            else:
                found += self._turn(world, place)
                if process.connected:
                    found += self._statements(world, place)
                else:
                    reached = process._replace(connected=True)
                    found += self._looks_again(world, place, f"{NAMES[place]} is connected again", reached)
        found += self._faults(world)
        if not self._must_arrive(world):
            found += self._seconds(world)
        return [(label, after if _same_ages(world, after) else age(after)) for label, after in found]

    def _looks_again(self, world: World, place: int, label: str, process: Process) -> Iterator[Step]:
        """Who could not look at others for long begins to count their silence anew; for how long does not matter."""
        yield label, world.put(place, process)
        if process.watched:
            yield f"{label}, and watches anew", world.put(place, process._replace(watched=()))

    # A second passes: heartbeats, then everybody watches and reconciles.

    def _seconds(self, world: World) -> Iterator[Step]:
        processes = tuple(p._replace(slept=p.slept + self._stands_still(p)) for p in world.processes)
        later = world._replace(now=world.now + 1, processes=processes)
        yield "a second passes", self._duties(later, None, None)
        for place, process in enumerate(later.processes):
            if process.acts and not process.waits_for_reply:
                for fault in (Fault.LATE_HEARTBEAT, Fault.LATE_REPLY):
                    if fault in world.faults:
                        label = f"a second passes; {NAMES[place]}'s heartbeat {fault.value}"
                        yield label, self._duties(self._spend(later, fault), place, fault)
                if Fault.LATE_RECOVERY in world.faults and self._overdue(later, process):
                    label = f"a second passes; {NAMES[place]}'s recovery takes effect late"
                    yield label, self._duties(self._spend(later, Fault.LATE_RECOVERY), place, None)

    def _duties(self, world: World, late: int | None, fault: Fault | None) -> World:
        for place, process in enumerate(world.processes):
            if process.acts and not process.waits_for_reply:
                crawl_now = world.now + process.lower if process.joined else None
                beat = Letter("heartbeat", place, process.id, sent=world.now, time=crawl_now)
                waiting = world.put(place, process._replace(waits_for_reply=True))
                if place != late or fault is None:
                    world = self._reply(*self._count(waiting, beat))
                elif fault is Fault.LATE_HEARTBEAT:
                    world = waiting.post(beat)
                else:
                    counted, reply = self._count(waiting, beat)
                    world = counted.post(reply)
        for place, process in enumerate(world.processes):
            if process.acts:
                world = self._join(world, place)
                world = self._reconcile(self._watch(world, place, late=place == late and fault is None), place)
        return self._count_stuck(world)

    def _count(self, world: World, letter: Letter) -> tuple[World, Letter]:
        """UPDATE worker SET beat = beat + 1, crawl_now = … WHERE NOT dead; and the reply."""
        member = world.members[letter.id]
        if member.dead and Rule.DEAD_STAY_DEAD in self.rules:
            return world, letter._replace(kind="reply", gone=True, time=None)
        beaten = member._replace(beat=world.now, crawl_now=letter.time, stamped=self._stamp(world))
        return world.enrol(letter.id, beaten), letter._replace(kind="reply", time=None)

    def _stamp(self, world: World) -> int | None:
        return None if Rule.WATCH_BY_OWN_CLOCK in self.rules else world.now + world.jump

    def _reply(self, world: World, letter: Letter) -> World:
        """A worker hears that its heartbeat counted, or that it is gone."""
        process = world.processes[letter.process]
        if not process.running or process.id != letter.id:
            return world
        process = process._replace(waits_for_reply=False)
        if letter.gone:
            if Rule.GONE_FORGETS_TIME in self.rules:
                return self._register(world, letter.process)
            return self._enrol(world, letter.process, process._replace(token=None, stage=Stage.HELD))
        leased = letter.sent if Rule.LEASE_FROM_SEND in self.rules else world.now
        return world.put(letter.process, process._replace(leased=leased - process.slept))

    def _overdue(self, world: World, process: Process) -> bool:
        return any(self._silent(world, process, other) for other in range(len(world.members)))

    def _silent(self, world: World, process: Process, other: int) -> bool:
        member = world.members[other]
        if member.dead or other == process.id:
            return False
        if Rule.WATCH_BY_OWN_CLOCK not in self.rules:
            return world.now + world.jump - (member.stamped or 0) >= LEASE
        seen = dict(process.watched).get(other)
        return seen is not None and seen.beat == member.beat and world.now - seen.since >= LEASE

    def _watch(self, world: World, place: int, *, late: bool) -> World:
        process = world.processes[place]
        for other, member in enumerate(world.members):
            if self._silent(world, process, other):
                letter = Letter("recovery", place, other, number=member.beat, time=self._freed_at(world, process))
                world = world.post(letter) if late else self._recover(world, letter, joined=process.joined)
        owner = world.site.owner
        if Rule.RECOVER_AGAIN in self.rules and process.joined and owner is not None and world.members[owner].dead:
            world = self._free(world, self._freed_at(world, process))
        watched = dict(process.watched)
        for other, member in enumerate(world.members):
            if member.dead or other == process.id:
                watched.pop(other, None)
            elif other not in watched or watched[other].beat != member.beat:
                watched[other] = Watched(member.beat, world.now)
        return world.put(place, process._replace(watched=tuple(sorted(watched.items()))))

    def _recover(self, world: World, letter: Letter, *, joined: bool) -> World:
        """UPDATE worker SET dead = true WHERE beat = … AND NOT dead; then free its sites."""
        member = world.members[letter.id]
        if member.dead or (Rule.RECOVERY_COMPARES in self.rules and member.beat != letter.number):
            return world
        world = world.enrol(letter.id, member._replace(dead=True))
        return self._free(world, letter.time) if joined and world.site.owner == letter.id else world

    def _reconcile(self, world: World, place: int) -> World:
        process = world.processes[place]
        unknown = world.site.owner == process.id and process.token != world.site.token
        if not unknown or not process.joined or Rule.RECONCILE not in self.rules:
            return world
        return self._free(world, self._freed_at(world, process))

    def _count_stuck(self, world: World) -> World:
        site = world.site
        works = any(p.acts and (p.id, p.token) == (site.owner, site.token) for p in world.processes)
        if site.owner is None or works:
            return self._forgive(world)
        for place, process in enumerate(world.processes):
            if process.acts and not process.waits_for_reply:
                world = world.put(place, process._replace(stuck_s=process.stuck_s + 1))
                if process.stuck_s >= 2 * LEASE:
                    world = world._replace(wrong="the site is stuck for more than two leases")
        return world

    # Joining.

    def _register(self, world: World, place: int) -> World:
        """Join, or join anew: drop everything, get an id, look for crawl time."""
        fresh = Process(running=True, joins_since=world.now, slept=world.processes[place].slept)
        if Rule.JOIN_FROM_THE_LIVING not in self.rules and self._somebody_lives(world):
            fresh = fresh._replace(joined=True, lower=world.jump, upper=world.jump)
        return self._join(self._enrol(world, place, fresh), place)

    def _enrol(self, world: World, place: int, process: Process) -> World:
        dead = [id_ for id_, member in enumerate(world.members) if member.dead]
        id_ = dead[0] if dead and Rule.IDS_ARE_NEW not in self.rules else len(world.members)
        process = process._replace(id=id_, leased=world.now - process.slept)
        crawl_now = world.now + process.lower if process.joined else None
        return world.put(place, process).enrol(id_, Member(world.now, crawl_now, self._stamp(world)))

    def _join(self, world: World, place: int) -> World:
        process = world.processes[place]
        if process.joined:
            return world
        for id_, member in enumerate(world.members):
            if member.crawl_now is not None and not member.dead and self._heard(process, id_, member):
                lower = member.crawl_now - world.now
                upper = lower + world.now - process.joins_since
                return self._know(world, place, lower, upper)
        if self._somebody_lives(world):
            return world
        saved = max((m.crawl_now for m in world.members if m.crawl_now is not None), default=0)
        begins = max(world.now + world.jump, saved)
        site = world.site
        if Rule.BEGIN_WITH_A_DELAY in self.rules and site.ready_at > saved:
            site = site._replace(ready_at=begins + world.delay)
        return self._know(world._replace(site=site), place, begins - world.now, begins - world.now)

    def _know(self, world: World, place: int, lower: int, upper: int) -> World:
        """Have crawl time from now on, and save it at once: or the next who joins would begin another one."""
        process = world.processes[place]
        member = world.members[process.id]._replace(crawl_now=world.now + lower)
        return world.put(place, process._replace(joined=True, lower=lower, upper=upper)).enrol(process.id, member)

    def _heard(self, process: Process, id_: int, member: Member) -> bool:
        """Whether a heartbeat came in that was sent since I began to look."""
        if Rule.JOIN_BY_SECOND_BEAT not in self.rules:
            return member.beat > process.joins_since
        seen = dict(process.watched).get(id_)
        return seen is not None and member.beat > seen.beat > process.joins_since

    def _somebody_lives(self, world: World) -> bool:
        return any(member.crawl_now is not None and not member.dead for member in world.members)

    # What a worker does with a site.

    def _turn(self, world: World, place: int) -> Iterator[Step]:
        process, name = world.processes[place], NAMES[place]
        if process.token is None:
            return
        fresh = world.now - process.slept - process.leased < HALF_LEASE
        if process.stage is Stage.HELD and fresh:
            yield f"{name} starts a turn", world.put(place, process._replace(stage=Stage.CONNECTING))
        elif process.stage is Stage.CONNECTING and (fresh or Rule.CHECK_BEFORE_SENDING not in self.rules):
            if Rule.NO_FREEZE_AT_SEND in self.rules:
                yield f"{name} checks and sends its request", self._send(world, place)
            else:
                yield f"{name} checks", world.put(place, process._replace(stage=Stage.CHECKED))
        elif process.stage is Stage.CHECKED:
            yield f"{name} sends its request", self._send(world, place)

    def _send(self, world: World, place: int) -> World:
        process = world.processes[place]
        request = Letter("request", place, process.id, sent=world.now, number=process.token or 0)
        return world.put(place, process._replace(stage=Stage.SENT)).post(request)

    def _statements(self, world: World, place: int) -> Iterator[Step]:
        process, name = world.processes[place], NAMES[place]
        if not process.joined:
            yield f"{name} looks for crawl time", self._join(world, place)
        elif process.token is None:
            clock = process.lower if Rule.CLAIM_BY_LOWER_BOUND in self.rules else process.upper
            clock = clock if Rule.CARRY_TIME in self.rules else world.jump
            claim = Letter("claim", place, process.id, time=world.now + clock)
            claimed = self._claim(world, claim)
            if claimed != world:
                yield f"{name} claims", claimed.put(place, process._replace(token=claimed.site.token, stage=Stage.HELD))
                if Fault.LOST_CLAIM in world.faults:
                    yield f"{name} claims; the reply is lost", self._spend(claimed, Fault.LOST_CLAIM)
                if Fault.LATE_CLAIM in world.faults:
                    yield f"{name}'s claim is late", self._spend(world.post(claim), Fault.LATE_CLAIM)
        elif process.stage is Stage.ANSWERED:
            back = Letter("giving back", place, process.id, number=process.token, time=self._freed_at(world, process))
            empty = world.put(place, process._replace(token=None, stage=Stage.HELD))
            yield f"{name} gives back", self._give_back(empty, back)
            if Fault.SECOND_RELEASE in world.faults:
                yield (
                    f"{name} gives back, and will again",
                    self._spend(self._give_back(empty, back).post(back), Fault.SECOND_RELEASE),
                )
            if Fault.LATE_RELEASE in world.faults:
                yield f"{name}'s giving back is late", self._spend(empty.post(back), Fault.LATE_RELEASE)

    def _claim(self, world: World, letter: Letter) -> World:
        site = world.site
        if site.owner is not None or site.ready_at > (letter.time or 0):
            return world
        return world._replace(site=site._replace(owner=letter.id, token=site.token + 1))

    def _give_back(self, world: World, letter: Letter) -> World:
        site = world.site
        owner = site.owner == letter.id or Rule.FENCED_BY_OWNER not in self.rules
        token = site.token == letter.number or not {Rule.FENCED_BY_OWNER, Rule.FENCED_BY_TOKEN} <= self.rules
        return self._free(world, letter.time) if owner and token else world

    def _free(self, world: World, ready_at: int | None) -> World:
        assert ready_at is not None
        return world._replace(site=world.site._replace(owner=None, ready_at=ready_at))

    def _freed_at(self, world: World, process: Process) -> int:
        clock = process.upper if Rule.WRITE_UPPER_BOUND in self.rules else process.lower
        return world.now + (clock if Rule.CARRY_TIME in self.rules else world.jump) + world.delay

    def _stands_still(self, process: Process) -> bool:
        return process.suspended and Rule.BOOT_CLOCK not in self.rules

    # What is under way, and what goes wrong.

    def _letters(self, world: World) -> Iterator[Step]:
        for letter in world.letters:
            opened = world._replace(letters=world.letters - {letter})
            process = world.processes[letter.process]
            if letter.kind == "request":
                yield f"the request of {NAMES[letter.process]} arrives", self._arrive(opened, letter)
            elif letter.kind == "claim":
                yield "the late claim takes effect", self._claim(opened, letter)
            elif letter.kind == "giving back":
                yield "the late giving back takes effect", self._give_back(opened, letter)
            elif letter.kind == "recovery":
                yield "the late recovery takes effect", self._recover(opened, letter, joined=True)
            elif process.id != letter.id or process.acts:  # a heartbeat, or the reply to one
                opened = self._forgive(opened)  # only now the fault is over
                late = self._count(opened, letter) if letter.kind == "heartbeat" else (opened, letter)
                yield f"the late {letter.kind} arrives", self._reply(*late)

    def _arrive(self, world: World, letter: Letter) -> World:
        gap = world.now - world.asked_at
        if gap < world.delay:
            world = world._replace(wrong="the site is asked within its delay")
        process = world.processes[letter.process]
        if (process.id, process.token, process.stage) == (letter.id, letter.number, Stage.SENT):
            world = world.put(letter.process, process._replace(stage=Stage.ANSWERED))
        return world._replace(asked_at=world.now)

    def _must_arrive(self, world: World) -> bool:
        under_way = (letter for letter in world.letters if letter.kind == "request")
        return Rule.ARRIVE_IN_TIME in self.rules and any(world.now - letter.sent >= TRANSIT for letter in under_way)

    def _spend(self, world: World, fault: Fault) -> World:
        return self._forgive(world._replace(faults=world.faults - {fault}))

    def _forgive(self, world: World) -> World:
        if not any(process.stuck_s for process in world.processes):
            return world
        return world._replace(processes=tuple(process._replace(stuck_s=0) for process in world.processes))

    def _faults(self, world: World) -> Iterator[Step]:
        for fault in world.faults & STOPS.keys():
            for place, process in enumerate(world.processes):
                if process.acts:
                    stopped = STOPS[fault](process)
                    yield f"{NAMES[place]} {fault.value}", self._spend(world, fault).put(place, stopped)
        if Fault.JUMP in world.faults:
            for jump in (JUMP, -JUMP):
                after = self._spend(world, Fault.JUMP)._replace(jump=world.jump + jump)
                yield f"the database's clock jumps by {jump} s", after
