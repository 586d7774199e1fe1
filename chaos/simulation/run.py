"""Runs one seed, from drawing its web to the verdict."""

from __future__ import annotations

import logging
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

import gossamer_simweb as simweb
from chaos.simulation.faults import Fault, draw_terms
from chaos.simulation.inflicting import plan
from chaos.simulation.loop import Scheduler
from chaos.simulation.monitor import Broken, Monitor
from chaos.simulation.network import Network
from chaos.simulation.supervisor import Supervisor
from chaos.simulation.web import draw_web
from chaos.simulation.world import UNHEARD_S, World
from gossamer.store.checking import check
from gossamer.store.reading import pages
from gossamer.store.repair import repair
from gossamer.urls import host_of, identify

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from chaos.simulation.faults import Terms
    from chaos.simulation.web import Outcome
    from gossamer.frontier.sqlite import SqliteFrontier
    from gossamer.records import Reason

MAX_TIME_S: Final = 1_000.0
MAX_STEPS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a seed."""

    seed: int
    broken: str  # the first invariant that did not hold; empty if all did
    trace_hash: str
    trace: tuple[str, ...]  # empty unless asked for
    terms: Terms
    time_s: float  # simulated
    steps: int
    requests: int
    pages: int
    deaths: int
    fenced: int


def simulate(seed: int, *, keep_trace: bool = False) -> Result:
    """Run the crawl of a seed to its end, or until an invariant breaks."""
    terms = draw_terms(Random(f"{seed} terms"))
    web = draw_web(
        Random(f"{seed} web"), delay_s=terms.delay_s, sites=terms.sites, max_pages=terms.max_pages,
        fails=not terms.is_outage, elsewhere=not terms.holds(Fault.EXCLUDE),
    )  # fmt: skip
    scheduler = Scheduler(Random(f"{seed} schedule"))
    monitor = Monitor(
        delay_s=terms.delay_s, inner_gap_s=terms.step_gap_s, in_flight_limit=terms.in_flight,
        address_delay_s=terms.address_delay_s if terms.lanes == 1 else 0.0, lanes=terms.lanes, keep_trace=keep_trace,
    )  # fmt: skip
    network = Network(web=web, scheduler=scheduler, monitor=monitor, dice=Random(f"{seed} network"))
    folder = Path(tempfile.mkdtemp(prefix="simulation-", dir=_memory()))
    world = World(
        terms=terms, web=web, folder=folder, monitor=monitor, scheduler=scheduler, network=network,
        dice=Random(f"{seed} world"),
    )  # fmt: skip
    supervisor = Supervisor(world)
    steps, broken, stored = 0, "", 0
    try:
        with _bugs_in_the_log() as bugs:
            steps = _run(world, supervisor, bugs)
            stored = _check_the_end(world, supervisor.frontier)
    except Exception as error:
        broken = str(error) if isinstance(error, Broken) else f"{type(error).__name__}: {error}"
        if not isinstance(error, Broken) and keep_trace:
            raise
    finally:
        supervisor.close()
        shutil.rmtree(folder)
    return Result(
        seed=seed,
        broken=broken,
        trace_hash=monitor.trace_hash,
        trace=tuple(monitor.lines),
        terms=terms,
        time_s=scheduler.now_s,
        steps=steps,
        requests=len(monitor.log),
        pages=stored,
        deaths=supervisor.deaths,
        fenced=monitor.fenced,
    )


def _run(world: World, supervisor: Supervisor, bugs: list[str]) -> int:
    """Take steps until the crawl is over; return how many it took."""
    scheduler, monitor = world.scheduler, world.monitor
    supervisor.start()
    plan(world, supervisor)
    steps = 0
    while not supervisor.over:
        steps += 1
        if not scheduler.step():
            monitor.fail("the crawl is not over, but nothing is scheduled any more")
        if monitor.broken or bugs or scheduler.errors:
            raise Broken(monitor.broken or (bugs or [repr(scheduler.errors[0])])[0])
        if scheduler.doomed:
            supervisor.kill_doomed()
        if scheduler.now_s > MAX_TIME_S or steps > MAX_STEPS:
            monitor.fail(f"the crawl does not end: {supervisor.frontier.stats()}")
    return steps


def _check_the_end(world: World, frontier: SqliteFrontier) -> int:
    """Check that nothing is lost and that the crawl was polite; return the number of stored pages."""
    monitor, web = world.monitor, world.web
    repair(world.folder)  # as the next start would
    if contradictions := frontier.audit():
        monitor.fail(f"the frontier contradicts itself: {contradictions}")
    if monitor.owned:
        monitor.fail(f"sites that were not released: {monitor.owned}")
    found = {url_hash: reason for _, url_hash, reason in frontier.settled()}
    stored = {row.url_hash for row in pages(world.folder)}
    accepted = _accepted(world, frontier)
    _compare(monitor, {url_hash: web.outcomes[url_hash] for url_hash in accepted}, found, stored)
    if world.terms.checks_files and (problems := check(world.folder).problems):
        monitor.fail(f"the store is damaged: {problems}")
    _judge_politeness(world, {web.outcomes[url_hash][0] for url_hash in accepted})
    return len(stored)


def _accepted(world: World, frontier: SqliteFrontier) -> set[bytes]:
    """Return the URLs that the crawl has to settle: all except links found while their site was excluded."""
    outcomes = world.web.outcomes
    if not any(event.fault is Fault.EXCLUDE for event in world.terms.events):
        return set(outcomes)
    return {url_hash for url_hash, (url, _) in outcomes.items() if frontier.known(identify(url).site, url_hash)}


def _compare(
    monitor: Monitor,
    wanted: Mapping[bytes, tuple[str, Outcome]],
    found: Mapping[bytes, Reason | None],
    stored: Container[bytes],
) -> None:
    """Check that every URL has the expected outcome, and that no other URL has one."""
    for url_hash, (url, outcome) in wanted.items():
        if url_hash not in found:
            monitor.fail(f"{url} was lost")
        reason = None if isinstance(outcome, bool) else outcome
        if found[url_hash] != reason:
            monitor.fail(f"{url} ended as {found[url_hash]} instead of {reason}")
        if outcome is True and url_hash not in stored:
            monitor.fail(f"{url} is done and not stored")
    if len(found) != len(wanted):
        monitor.fail(f"{len(found) - len(wanted)} URLs were settled that are not in the web")


def _judge_politeness(world: World, accepted: Container[str]) -> None:
    """Let simweb's judge check the log: that no URL was missed, and every gap between requests by its turn."""
    terms, web = world.terms, world.web
    depths = web.expected.depths.items()
    alive = {url: depth for url, depth in depths if url in accepted and host_of(url) not in web.dead}
    verdict = simweb.judge(
        world.monitor.log,
        delay_s=terms.delay_s,
        expected=replace(web.expected, depths=alive),
        tries=100,
        inner_gap_s=terms.step_gap_s,
        workers=world.monitor.workers,
        allowed_repeats=0 if not terms.events else 10_000,
        slack_s=1e-6,
        kills=world.kills_s,
        unheard_s=2 * UNHEARD_S,
        lanes=dict.fromkeys(web.sites, terms.lanes) if terms.lanes > 1 else {},
    )
    if not verdict.ok:
        world.monitor.fail(verdict.summary())


def _memory() -> str | None:
    """Return a folder in memory, if there is one: a simulation need not survive the machine."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


@contextmanager
def _bugs_in_the_log() -> Iterator[list[str]]:
    """Hide the product's log, and collect the errors in it: they are bugs."""
    bugs: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.levelno >= logging.ERROR:
                bugs.append(logging.Formatter().format(record))

    logger, handler = logging.getLogger("gossamer"), Collector()
    logger.addHandler(handler)
    propagated, logger.propagate = logger.propagate, False
    try:
        yield bugs
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagated
