"""Inflicts each kind of fault on a simulated crawl."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from chaos.simulation.faults import MACHINE, Fault
from chaos.simulation.supervisor import DRAINED
from gossamer.records import CrawlState

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.simulation.faults import Event
    from chaos.simulation.members import Member
    from chaos.simulation.supervisor import Supervisor
    from chaos.simulation.world import World

JUMP: Final = 20_000  # seconds of the wall clock for each second of a fault: up to some days


def plan(world: World, supervisor: Supervisor) -> None:
    """Schedule the faults that the seed has drawn."""
    for event in world.terms.events:
        world.scheduler.at(event.at_s, partial(_inflict, world, supervisor, event))


def _inflict(world: World, supervisor: Supervisor, event: Event) -> None:
    if supervisor.over or supervisor.stopping == DRAINED:
        return
    if not supervisor.is_alive and event.fault not in MACHINE:
        return
    world.note(str(event))
    _WAYS[event.fault](world, supervisor, event)


def _victim(supervisor: Supervisor, event: Event) -> Member | None:
    members = supervisor.members
    return members[event.number % len(members)] if members else None


def _kill(_world: World, supervisor: Supervisor, event: Event) -> None:
    if member := _victim(supervisor, event):
        supervisor.kill(member)


def _kill_in_steps(_world: World, supervisor: Supervisor, event: Event) -> None:
    if member := _victim(supervisor, event):
        member.process.steps_left = 1 + event.number


def _crash(world: World, supervisor: Supervisor, event: Event) -> None:
    supervisor.die()
    if event.fault is Fault.REBOOT:
        world.booted_s = world.scheduler.now_s - event.number / 50
    world.scheduler.after(event.length_s, supervisor.start)


def _stop(_world: World, supervisor: Supervisor, _event: Event) -> None:
    supervisor.stop("asked to")


def _order_stop(_world: World, supervisor: Supervisor, _event: Event) -> None:
    supervisor.frontier.order(CrawlState.STOPPING)


def _order_pause(world: World, supervisor: Supervisor, event: Event) -> None:
    def go_on() -> None:
        if supervisor.is_alive and not supervisor.stopping:
            supervisor.frontier.order(CrawlState.RUNNING)
        else:
            world.scheduler.after(1.0, go_on)  # a crawl that was stopped meanwhile stays paused until then

    if not supervisor.stopping:
        supervisor.frontier.order(CrawlState.PAUSED)
        world.scheduler.after(event.length_s, go_on)


def _pause(world: World, supervisor: Supervisor, event: Event) -> None:
    member = _victim(supervisor, event)
    if member is None or member.process.paused:
        return

    def go_on() -> None:
        world.scheduler.go_on(member.process)
        member.paused_since_s = None
        if world.terms.lease_s is not None:
            world.forgets(paused_s)

    paused_s = world.scheduler.now_s
    world.scheduler.pause(member.process)
    member.paused_since_s = paused_s
    world.scheduler.after(event.length_s, go_on)


def _break_database(share: float, world: World, _supervisor: Supervisor, event: Event) -> None:
    def fix() -> None:
        world.trouble.database = 0.0

    world.trouble.database = share
    world.troubles_s.append((world.scheduler.now_s, world.scheduler.now_s + event.length_s))
    world.scheduler.after(event.length_s, fix)


def _fill_disk(world: World, _supervisor: Supervisor, event: Event) -> None:
    def free() -> None:
        world.trouble.disk = False

    world.trouble.disk = True
    world.troubles_s.append((world.scheduler.now_s, world.scheduler.now_s + event.length_s))
    world.scheduler.after(event.length_s, free)


def _exclude(world: World, supervisor: Supervisor, event: Event) -> None:
    supervisor.exclude(world.web.sites[event.number % len(world.web.sites)])
    world.scheduler.after(event.length_s, supervisor.readmit)


def _jump(world: World, _supervisor: Supervisor, event: Event) -> None:
    world.jump_s += (-1) ** event.number * event.length_s * JUMP


def _cut_network(world: World, _supervisor: Supervisor, event: Event) -> None:
    def reconnect() -> None:
        world.network.is_down = world.monitor.is_outage = False

    world.network.is_down = world.monitor.is_outage = True
    world.scheduler.after(event.length_s, reconnect)


_WAYS: Final[dict[Fault, Callable[[World, Supervisor, Event], None]]] = {
    Fault.KILL: _kill,
    Fault.KILL_IN_STEPS: _kill_in_steps,
    Fault.CRASH: _crash,
    Fault.REBOOT: _crash,
    Fault.STOP: _stop,
    Fault.STOP_ORDER: _order_stop,
    Fault.PAUSE: _pause,
    Fault.PAUSE_ORDER: _order_pause,
    Fault.DATABASE: partial(_break_database, 0.3),
    Fault.DATABASE_DOWN: partial(_break_database, 1.0),
    Fault.DISK: _fill_disk,
    Fault.EXCLUDE: _exclude,
    Fault.WALL_CLOCK: _jump,
    Fault.OUTAGE: _cut_network,
}
