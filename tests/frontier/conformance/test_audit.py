"""Auditing: every accepted URL is accounted for, after any history, also while others write."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from hypothesis.stateful import invariant

from gossamer.records import Done, GivenUp, Reason, Retry, UrlStatus
from tests.frontier.conformance.test_model import History, run_histories
from tests.frontier.samples import claim, complete, link, links

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.records import Outcome
    from tests.frontier.conformance.lab import Engine, Lab


def test_a_fresh_frontier_has_nothing_to_say(lab: Lab) -> None:
    frontier = lab.open()
    assert frontier.audit() == []
    assert list(frontier.settled()) == []


def test_what_is_settled_comes_with_its_site_and_reason_and_the_rest_does_not(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1"), link("b.test/1"), link("c.test/1"), link("d.test/1")])
    by_site = {one.site: one for one in claim(frontier)}
    complete(frontier, by_site["a.test"], Done())
    complete(frontier, by_site["b.test"], GivenUp(reason=Reason.NO_SUCH_NAME))
    complete(frontier, by_site["c.test"], Retry(wait_s=100))
    assert sorted(frontier.settled()) == [
        ("a.test", link("a.test/1").url_hash, None),
        ("b.test", link("b.test/1").url_hash, Reason.NO_SUCH_NAME),
    ]
    assert frontier.audit() == []


def test_pages_are_counted_apart_from_what_else_is_done(lab: Lab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1"), link("b.test/1"), link("c.test/1")])
    outcomes: list[Outcome] = [Done(), Done(page=False), GivenUp(reason=Reason.HTTP_ERROR)]
    for one, outcome in zip(claim(frontier), outcomes, strict=True):
        complete(frontier, one, outcome)
    stats = frontier.stats()
    assert (stats.done, stats.pages) == (2, 1)


def test_large_frontiers_are_walked_whole_in_small_steps(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(delay_s=0)
    frontier, _ = lab.join()
    wanted = [one for number in range(40) for one in links(f"site-{number}.test", 300)]
    frontier.add(wanted)
    while owned := claim(frontier, 100):
        for one in owned:
            complete(frontier, one, wait_s=0)
    settled = [(site, url_hash) for site, url_hash, _ in frontier.settled()]
    assert len(settled) == len(set(settled)) == 12_000
    assert set(settled) == {(one.site, one.url_hash) for one in wanted}
    assert frontier.audit() == []


def test_an_audit_is_content_while_others_crawl(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(delay_s=0, real_time=True)
    lab.open().add([one for number in range(30) for one in links(f"site-{number}.test", 200)])
    stop = threading.Event()

    def crawl(name: str) -> None:
        frontier, _ = lab.join()
        turn = 0
        while not stop.is_set():
            for one in claim(frontier, 5):
                turn += 1
                found = [link(f"{name}-{turn % 7}.test/{turn}-{number}") for number in range(3)]
                outcome = (Done(), Done(page=False), GivenUp(reason=Reason.TIMEOUT), Retry(wait_s=0.01))[turn % 4]
                complete(frontier, one, outcome, links=found, wait_s=0)

    workers = [threading.Thread(target=crawl, args=(name,)) for name in ("x", "y")]
    reader = lab.open()
    for worker in workers:
        worker.start()
    try:
        before = reader.stats().done
        audits = 0
        while audits < 10 or (reader.stats().done < before + 500 and all(worker.is_alive() for worker in workers)):
            assert reader.audit() == []
            assert len(list(reader.settled())) >= before
            audits += 1
    finally:
        stop.set()
        for worker in workers:
            worker.join()
    assert reader.stats().done >= before + 500
    assert reader.audit() == []


class AuditedHistory(History):
    """Random histories, crashes included, with an audit after every step."""

    @invariant()
    def nothing_contradicts_itself(self) -> None:
        if not hasattr(self, "model"):
            return
        assert self.reader.audit() == []
        settled = {(site, url_hash): reason for site, url_hash, reason in self.reader.settled()}
        for site in self.model.sites.values():
            for page in site.pages.values():
                key = (page.link.site, page.link.url_hash)
                assert (key in settled) == (page.outcome is not None)
                found = self.reader.find_url(*key)
                assert found is not None
                assert key not in settled or found.reason == settled[key]
                assert key not in settled or found.status is not UrlStatus.QUEUED


def test_any_history_leaves_a_frontier_that_agrees_with_itself(engine: Engine) -> None:
    run_histories(engine, AuditedHistory, max(1, engine.histories // 20))
