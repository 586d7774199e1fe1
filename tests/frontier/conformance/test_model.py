"""Thousands of random histories, crashes included, in which the engine must do what the simple model does."""

from __future__ import annotations

import shutil
import tempfile
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from gossamer.frontier import fair_pages
from gossamer.records import (
    GONE,
    Batch,
    Claim,
    Claimed,
    Done,
    GivenUp,
    HostState,
    Link,
    Outcome,
    Reason,
    Release,
    Retry,
    UrlStatus,
    Visit,
)
from tests.frontier.conformance.model import Model
from tests.frontier.samples import link

if TYPE_CHECKING:
    from gossamer.frontier import Frontier
    from tests.frontier.conformance.lab import Engine, Lab

HOSTS = ["a.test", "www.a.test", "b.test", "c.test", "www.c.test", "d.test"]
SITES = ["a.test", "b.test", "c.test", "d.test"]
SECONDS = st.sampled_from([0.0, 0.5, 1.0, 5.0, 30.0, 70.0, 100.0])
LINKS = st.lists(
    st.builds(
        lambda host, page, depth, rank: link(f"{host}/{page}", depth, rank=rank),
        st.sampled_from(HOSTS), st.integers(0, 5), st.integers(0, 3), st.integers(0, 1),
    ),
    max_size=6,
)  # fmt: skip
OUTCOMES: st.SearchStrategy[Outcome | None] = st.one_of(
    st.none(),  # left as it was
    st.builds(Done, page=st.booleans()),
    st.builds(GivenUp, reason=st.sampled_from([Reason.TIMEOUT, Reason.ROBOTS_DISALLOWED])),
    st.builds(Retry, wait_s=SECONDS, counted=st.booleans()),
)
# In memory where there is such a place: thousands of histories would wear out a disk for nothing.
MEMORY = Path("/dev/shm")


class History(RuleBasedStateMachine):
    """A few workers on a few sites, doing anything in any order."""

    engine: Engine

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.lab: Lab = self.engine.new_lab(self.folder)
        self.handles: dict[int, Frontier] = {}
        self.held: list[tuple[int, Claim]] = []  # claims of workers, some of them long lost
        self.version = 0

    def teardown(self) -> None:
        self.lab.close()
        shutil.rmtree(self.folder)

    @initialize(delay=st.sampled_from([0.0, 1.0, 30.0, 70.0]), limit=st.sampled_from([None, None, 3, 8]))
    def begin(self, delay: float, limit: int | None) -> None:
        self.reader = self.lab.open()
        self.reader.resume(delay_s=delay, page_limit=limit)
        self.model = Model(delay=delay, limit=limit)
        self.join()

    @precondition(lambda self: len(self.model.live) < 3)
    @rule()
    def join(self) -> None:
        frontier, worker = self.lab.join()
        assert worker not in self.handles
        self.handles[worker] = frontier
        self.model.live.add(worker)

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: float) -> None:
        self.lab.advance(seconds)
        self.model.now += seconds

    @rule(links=LINKS, who=st.integers(0, 9))
    def add(self, links: list[Link], who: int) -> None:
        assert self._handle(who)[1].add(links) == self.model.add(links)

    @rule(who=st.integers(0, 9), sites=st.integers(1, 4))
    def claim(self, who: int, sites: int) -> None:
        worker, frontier = self._handle(who)
        claimed = frontier.claim(sites)
        if worker not in self.model.live:
            assert claimed is GONE
            return
        assert isinstance(claimed, Claimed)
        due = self.model.due()
        left = self.model.pages_left()
        most = 0 if left is None else fair_pages(left, self.model.busy())
        expected = min(sites, self.model.share(worker), len(due))
        if left is None:
            assert len(claimed.claims) == expected
        else:
            assert len(claimed.claims) <= expected
            assert bool(claimed.claims) == bool(expected and left)
        for claim in claimed.claims:
            assert claim.site in due
            pages = self.model.next_pages(claim.site)
            if left is not None:
                pages, left = pages[: min(left, most)], left - len(claim.urls)
            got = [(url.url_hash, url.depth, url.rank, url.tries) for url in claim.urls]
            assert got == [(p.link.url_hash, p.depth, p.link.rank, p.tries) for p in pages]
            assert claim.delay_s == self.model.site_delay(claim.site)
            self.model.own(worker, claim)
            assert claim.epoch == self.model.sites[claim.site].epoch
            self.held.append((worker, claim))
        if not claimed.claims:
            self._check_wait(claimed.wait_s)

    def _check_wait(self, wait_s: float | None) -> None:
        later = [at for name in self.model.sites if (at := self.model.ready_at(name)) is not None]
        if wait_s is None:
            assert not later or self.model.pages_left() == 0
        else:
            assert wait_s > 0
            if min(later, default=0.0) > self.model.now and self.model.pages_left() != 0:
                assert wait_s <= min(later) - self.model.now + 0.0011

    @precondition(lambda self: self.held)
    @rule(
        which=st.integers(0, 99), outcomes=st.lists(OUTCOMES, min_size=1, max_size=4), links=LINKS,
        release=st.one_of(st.none(), st.builds(Release, wait_s=SECONDS, own_delay_s=st.sampled_from([0.0, 0.0, 40.0]))),
        block=st.sampled_from([None, None, 5.0, 100.0]), given_up=st.booleans(), keep=st.booleans(),
        crash_at=st.one_of(st.none(), st.none(), st.integers(0, 30)),
    )  # fmt: skip
    def complete(
        self,
        which: int,
        outcomes: list[Outcome | None],
        links: list[Link],
        release: Release | None,
        block: float | None,
        given_up: bool,
        keep: bool,
        crash_at: int | None,
    ) -> None:
        worker, claim = self.held[which % len(self.held)]
        if not keep:
            self.held.remove((worker, claim))
        reports = [(u.url_hash, o) for u, o in zip(claim.urls, cycle(outcomes), strict=False) if o is not None]
        hosts = self._block(claim, block, Reason.CONNECT_REFUSED if given_up else None)
        visit = Visit(site=claim.site, epoch=claim.epoch, outcomes=reports, hosts=hosts, release=release)
        batch = Batch(links=links, visits=[visit])
        if crash_at is not None and self.lab.crash(worker, lambda frontier: frontier.complete(batch), step=crash_at):
            return  # nothing can have happened: the next steps would show it
        if crash_at is not None:
            self.model.complete(worker, batch)
            return
        completed = self.handles[worker].complete(batch)
        assert completed.lost == self.model.complete(worker, batch)

    def _block(self, claim: Claim, seconds: float | None, reason: Reason | None) -> list[HostState]:
        """A block is never shortened: robots.txt is not asked again before it ends."""
        host = claim.urls[0].host
        until = self.model.sites[claim.site].blocks.get(host, 0.0)
        if seconds is None or self.model.now + seconds < until:
            return []
        return [HostState(host=host, blocked_s=seconds, silent=int(reason is not None), given_up=reason)]

    @precondition(lambda self: len(self.model.live) > 1)
    @rule(who=st.integers(0, 9))
    def recover(self, who: int) -> None:
        worker, _ = self._handle(who)
        assert self.reader.recover(worker) == self.model.recover(worker)

    @rule(who=st.integers(0, 9), remembered=st.integers(0, 3))
    def reconcile(self, who: int, remembered: int) -> None:
        worker, frontier = self._handle(who)
        held = {claim.site: claim.epoch for owner, claim in self.held if owner == worker}
        held = dict(list(held.items())[:remembered])
        owned = {name: site.epoch for name, site in self.model.sites.items() if site.owner == worker}
        lost = frontier.reconcile(held)
        assert set(lost) == {(name, epoch) for name, epoch in held.items() if owned.get(name) != epoch}
        for name, epoch in owned.items():
            if held.get(name) != epoch:
                self.model.free(name, self.model.site_delay(name))

    @rule(site=st.sampled_from(SITES))
    def exclude(self, site: str) -> None:
        self.reader.exclude([site])
        self.model.excluded.add(site)

    @rule(site=st.sampled_from(SITES))
    def readmit(self, site: str) -> None:
        self.reader.readmit([site])
        self.model.excluded.discard(site)

    @rule(uptime=st.sampled_from([0.0, 100.0, 1e6]))
    def everything_restarts(self, uptime: float) -> None:
        """The machine reboots: whatever is in hand is recovered with a full delay."""
        next(iter(self.handles.values())).heartbeat({})  # saves the clock, as the model has no crash of its own
        self.lab.reboot(uptime_s=uptime)
        self.handles.clear()
        self.held.clear()
        self.reader = self.lab.open()
        self.reader.resume(delay_s=self.model.delay, page_limit=self.model.limit)
        for worker in sorted({site.owner for site in self.model.sites.values() if site.owner} | self.model.live):
            self.model.recover(worker)
        self.join()

    @invariant()
    def figures_agree(self) -> None:
        if not hasattr(self, "model"):
            return
        self._hear_what_claims_gave_up()
        stats = self.reader.stats()
        pages = [page for site in self.model.sites.values() for page in site.pages.values()]
        assert stats.sites == len(self.model.sites)
        assert stats.known == len(pages)
        assert stats.queued == sum(page.outcome is None for page in pages)
        assert stats.done == sum(page.outcome == "done" for page in pages)
        assert stats.sites_in_hand == sum(site.owner is not None for site in self.model.sites.values())
        assert stats.pages_left == self.model.pages_left()
        assert self.reader.drained() == self.model.drained()
        for page in pages:
            found = self.reader.find_url(page.link.site, page.link.url_hash)
            assert found is not None
            assert (found.status is UrlStatus.QUEUED) == (page.outcome is None)
            assert found.depth == page.depth

    def _hear_what_claims_gave_up(self) -> None:
        for name, site in self.model.sites.items():
            for page in site.pages.values():
                if reason := self.model.may_be_given_up(name, page):
                    found = self.reader.find_url(name, page.link.url_hash)
                    page.outcome = found.reason if found and found.reason is reason else None

    def _handle(self, who: int) -> tuple[int, Frontier]:
        workers = sorted(self.handles)
        worker = workers[who % len(workers)]
        return worker, self.handles[worker]


def run_histories(engine: Engine, machine: type[History], examples: int) -> None:
    """Run random histories on an engine."""
    on_engine = type(f"{machine.__name__}On{engine.name.title()}", (machine,), {"engine": engine})
    run_state_machine_as_test(on_engine, settings=settings(max_examples=examples, stateful_step_count=20))


@pytest.mark.timeout(1_200)  # a thousand take half a minute of CPU, and a busy machine gives a tenth of its time
def test_any_history_goes_as_the_model_says(engine: Engine) -> None:
    run_histories(engine, History, engine.histories)
