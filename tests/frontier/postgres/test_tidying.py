"""Sites whose queue has to be put in order before they are claimed: a bounded number of URLs per transaction."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from gossamer.frontier.postgres import claiming
from gossamer.records import HostState, Retry
from tests.frontier.samples import claim, complete, links, names, wait

if TYPE_CHECKING:
    import pytest

    from tests.frontier.labs import PostgresLab

SITES = ["a.test", "b.test", "c.test", "d.test", "e.test"]


def test_when_much_wakes_up_at_once_a_claim_puts_some_sites_in_order_and_leaves_the_others_to_the_next(
    lab: PostgresLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    frontier, _ = lab.join()
    frontier.add([link for site in SITES for link in links(site, 1)])
    for claimed in claim(frontier):
        complete(frontier, claimed, Retry(wait_s=100))
    lab.advance(200)
    monkeypatch.setattr(claiming, "MOST_MOVED", 2)
    found = [names(claim(frontier)) for _ in range(2)]
    assert [len(some) for some in found] == [4, 1], "in three rounds: none, two, two"
    assert sorted(chain(*found)) == SITES
    assert frontier.audit() == []


def test_the_urls_of_a_blocked_host_are_put_off_in_bounded_steps_until_none_is_left(
    lab: PostgresLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    frontier, _ = lab.join()
    frontier.add(links("a.test", 9))
    (claimed,) = claim(frontier)
    blocked = HostState(host="https://a.test", rules="", expires_at=0.0, blocked_s=1_000)
    complete(frontier, claimed, Retry(wait_s=0), hosts=[blocked])
    lab.advance(70)
    monkeypatch.setattr(claiming, "MOVE_URLS", 1)
    monkeypatch.setattr(claiming, "MOST_MOVED", 1)
    steps = 1
    while (wait(frontier) or 0) < 900:
        steps += 1
        assert steps < 20, "each claim moves some"
        lab.advance(0.001)
    assert steps >= 9, "and only one"
    assert frontier.audit() == []
    lab.advance(930)
    monkeypatch.undo()
    assert names(claim(frontier)) == ["a.test"]
