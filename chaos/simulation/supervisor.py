"""The supervisor of a simulated machine: does with simulated processes what `gossamer.supervisor` does with real ones.

It starts workers. It recovers the sites of a dead worker, repairs its files and starts another. It kills silent workers
and ends the crawl when it is drained. With leases it also plays the other machines, which watch heartbeats.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from chaos.simulation.loop import Process
from chaos.simulation.members import FRONTIER_FILE, Member
from gossamer.frontier import FrontierError
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.records import Link
from gossamer.store.repair import repair

if TYPE_CHECKING:
    from chaos.simulation.world import World

TICK_S: Final = 0.5
SILENCE_S: Final = 4.0  # after which a worker without a lease is killed
LAST_WORDS_S: Final = 4.0
DRAINED: Final = "drained"


class Supervisor:
    """The parent of the workers; may die with them, and be started again."""

    def __init__(self, world: World) -> None:
        self.members: list[Member] = []
        self.deaths = 0
        self.over = False
        self.excluded: set[str] = set()
        self.stopping = ""  # why
        self._world = world
        self._frontier: SqliteFrontier | None = None
        self._page_limit = world.terms.page_limit
        self._lives = 0  # starts and ends so far; what was scheduled in an earlier life is void
        self._started = 0  # workers
        self._dying = 0  # dead workers that are not recovered yet
        self._beats: dict[int, tuple[int, float]] = {}  # by worker: its last count, and since when

    @property
    def is_alive(self) -> bool:
        """Whether there is a supervisor now."""
        return self._frontier is not None

    @property
    def frontier(self) -> SqliteFrontier:
        """The supervisor's own view of the frontier."""
        assert self._frontier is not None
        return self._frontier

    # ------------------------------------------------------------------ starts and ends

    def start(self) -> None:
        """Start or resume the crawl, as `gossamer crawl` does."""
        if self.is_alive:
            return
        world = self._world
        world.note("starts")
        self.stopping = ""
        repair(world.folder)
        self._frontier = frontier = SqliteFrontier(world.folder / FRONTIER_FILE, clock=world.clock)
        former = [worker.worker for worker in frontier.workers()]
        frontier.resume(delay_s=world.terms.delay_s, page_limit=self._page_limit, scope=world.web.scope)
        for worker in former:
            world.monitor.recovered(worker)
        frontier.add([Link(*seed, 0, seeded=True) for seed in world.web.seeds])
        for _ in range(world.terms.workers):
            self._start_worker()
        self._later(TICK_S, self._tick)

    def stop(self, why: str) -> None:
        """Shut all workers down gracefully; then the crawl is over, or another start resumes it."""
        if self.stopping:
            return
        world = self._world
        world.note(f"stops: {why}")
        self.stopping = why
        for member in self.members:
            member.stop()
        self._later(world.terms.stop_s + LAST_WORDS_S, self._kill_late)
        self._end_if_all_have()

    def die(self) -> None:
        """Kill all workers, and end at once."""
        for member in list(self.members):
            self._end(member)
        self.close()
        self.stopping = ""

    def close(self) -> None:
        """Kill and close everything."""
        for member in self.members:
            member.process.kill()
            member.let_go()
        self.members.clear()
        self._lives += 1
        self._dying = 0
        self._beats.clear()
        if self._frontier is not None:
            self._frontier.__exit__()
            self._frontier = None

    def _end_if_all_have(self) -> None:
        if self.members or self._dying:
            return
        if self.stopping == DRAINED:
            self.over = True
            return
        self.close()
        self._world.scheduler.after(self._world.dice.uniform(0.0, 2.0), self.start)

    # ------------------------------------------------------------------ workers

    def kill(self, member: Member) -> None:
        """Kill a worker; another takes its place."""
        if member in self.members:
            self._end(member)
            self._recover_soon(member)

    def kill_doomed(self) -> None:
        """Kill the workers that have taken their last step."""
        doomed, self._world.scheduler.doomed = self._world.scheduler.doomed, []
        for member in [member for member in self.members if member.process in doomed]:
            self.kill(member)

    def _start_worker(self) -> None:
        self._started += 1
        scheduler = self._world.scheduler
        process = Process(scheduler, f"p{self._started}", has_thread=self._world.terms.has_threads)  # type: ignore[abstract]
        member = Member(process=process, label=f"here:{self._started}")
        self.members.append(member)
        scheduler.processes.append(process)
        member.task = process.create_task(member.live(self._world))
        member.task.add_done_callback(lambda _: scheduler.after(0.01, lambda: self._reap(member)))

    def _reap(self, member: Member) -> None:
        """Take in that a worker has ended by itself: stop if it was ordered to, else replace it."""
        if member not in self.members or member.task is None:
            return
        error = member.task.exception()
        if error is not None and not _is_excused(error):
            raise error
        member.process.end()
        self._world.note(f"{member.process.name} has ended: {error or 'well'}")
        self._dismiss(member)
        self._recover_soon(member)
        if error is None:
            self.stop("an order")  # the worker got it from the frontier
        else:
            self._world.forgets()

    def _end(self, member: Member) -> None:
        self._world.note(f"{member.process.name} is killed")
        self._world.forgets(math.inf if member.paused_since_s is None else member.paused_since_s)
        self.deaths += 1
        member.process.kill()
        self._dismiss(member)

    def _dismiss(self, member: Member) -> None:
        self.members.remove(member)
        self._world.scheduler.processes.remove(member.process)
        self._world.monitor.hung_up(member.process.name)
        member.let_go()

    def _recover_soon(self, member: Member) -> None:
        self._dying += 1
        self._later(self._world.dice.uniform(0.0, 0.3), lambda: self._recover(member))

    def _recover(self, member: Member) -> None:
        """Free the sites of a dead worker, repair its files, and start another."""
        world = self._world
        if world.trouble.disk or world.dice.random() < world.trouble.database:
            self._later(TICK_S, lambda: self._recover(member))
            return
        listed = [w.worker for w in self.frontier.workers() if w.label == member.label and not w.gone]
        for worker in listed:
            self._declare_dead(worker)
        world.note(f"recovers {listed}")
        self._dying -= 1
        if self.stopping:
            self._end_if_all_have()
        else:
            repair(world.folder, [f"w{worker}" for worker in listed])
            self._later(world.dice.uniform(0.0, 0.5), self._replace)

    def _replace(self) -> None:
        if not self.stopping:
            self._start_worker()

    def _kill_late(self) -> None:
        for member in list(self.members):
            self.kill(member)

    def _declare_dead(self, worker: int) -> None:
        self.frontier.recover(worker)
        self._world.monitor.recovered(worker)

    # ------------------------------------------------------------------ watching

    def _tick(self) -> None:
        """Check workers and crawl once per `TICK_S`."""
        if self.stopping:
            return
        self._later(TICK_S, self._tick)
        self._watch_workers()
        lease_s = self._world.terms.lease_s
        if lease_s is not None:
            self._watch_heartbeats(lease_s)
        self._watch_crawl()

    def _watch_workers(self) -> None:
        terms, now_s = self._world.terms, self._world.scheduler.now_s
        for member in list(self.members):
            if member.bench is not None and len(member.bench) > terms.max_sites_in_hand:
                self._world.monitor.fail(f"{member.process.name} has {len(member.bench)} sites in hand")
            since_s = member.paused_since_s
            if terms.lease_s is None and since_s is not None and now_s - since_s > SILENCE_S:
                self.kill(member)

    def _watch_heartbeats(self, lease_s: float) -> None:
        """Declare workers dead that sent no heartbeat for a lease, as workers of other machines would."""
        now_s = self._world.scheduler.now_s
        for worker in self.frontier.workers():
            if worker.gone:
                continue
            beats, since_s = self._beats.get(worker.worker, (-1, 0.0))
            if beats != worker.beats:
                self._beats[worker.worker] = (worker.beats, now_s)
            elif now_s - since_s > lease_s:
                self._world.note(f"worker {worker.worker} was silent for its lease")
                self._world.forgets(since_s - TICK_S)
                self._declare_dead(worker.worker)

    def _watch_crawl(self) -> None:
        """End the crawl when it is over."""
        stats, monitor, limit = self.frontier.stats(), self._world.monitor, self._page_limit
        if limit is not None and stats.pages > limit and not monitor.fenced:
            monitor.fail(f"{stats.pages} pages, though the limit is {limit}")
        if self.frontier.drained():
            if self.excluded:
                self.readmit()
            else:
                self.stop(DRAINED)
        elif limit is not None and stats.pages_left == 0 and not stats.sites_in_hand:
            if stats.pages < limit:
                monitor.fail(f"only {stats.pages} pages, and nothing is left of the limit {limit}")
            self._page_limit = None
            self.stop("the page limit")

    # ------------------------------------------------------------------ the operator

    def exclude(self, site: str) -> None:
        """Exclude a site."""
        self.excluded.add(site)
        self.frontier.exclude([site])

    def readmit(self) -> None:
        """Readmit all excluded sites, if the supervisor is alive; else the end of the crawl does so."""
        if self.is_alive:
            self.frontier.readmit(self.excluded)
            self.excluded.clear()

    def _later(self, wait_s: float, do: Any) -> None:
        """Call a function after a wait, unless this life of the supervisor is over by then."""
        life = self._lives

        def if_alive() -> None:
            if self._lives == life:
                do()

        self._world.scheduler.after(wait_s, if_alive)


def _is_excused(error: BaseException) -> bool:
    """Return whether a worker may end with this error: a last report that failed is repeated after the next start."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_excused, error.exceptions))
    return isinstance(error, OSError | FrontierError)
