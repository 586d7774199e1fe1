"""Links that others bring at the same moment: nothing is added twice, nothing is lost, the nearer way counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.frontier.postgres.moments import when
from tests.frontier.samples import claim, link, links

if TYPE_CHECKING:
    from tests.frontier.labs import PostgresLab


# At each of these moments we hold nothing yet that somebody else would have to wait for.
@pytest.mark.parametrize(
    ("moment", "before"),
    [("unseen", 0), ("missing_sites", 0), ("open_shards", 0), ("missing_sites", 1), ("add_seen", 1)],
)
def test_what_somebody_else_adds_meanwhile_from_farther_away_counts_once_and_as_the_nearer(
    lab: PostgresLab, moment: str, before: int
) -> None:
    ours, theirs = lab.join()[0], lab.open()
    offered = links("a.test", 4, depth=2)
    ours.add(offered[:before])
    when(ours, moment, lambda: theirs.add(links("a.test", 3, depth=5)))
    assert ours.add(offered) == 1
    assert (ours.stats().known, ours.stats().sites) == (4, 1)
    found = [ours.find_url("a.test", one.url_hash) for one in offered]
    assert [state and state.depth for state in found] == [2] * 4
    (owned,) = claim(ours)
    assert [url.depth for url in owned.urls] == [2] * len(owned.urls)
    assert ours.audit() == []


def test_who_loads_the_same_seeds_at_the_same_moment_lowers_nothing(lab: PostgresLab) -> None:
    """Several machines are started with one seed file: what the first one did costs the others a look."""
    ours, theirs = lab.join()[0], lab.open()
    seeds = [link(f"site-{number}.test/", 0, seeded=True) for number in range(20)]
    when(ours, "missing_sites", lambda: theirs.add(seeds))
    lowered: list[str] = []
    when(ours, "lower_seen", lambda: lowered.append("lower_seen"))
    assert ours.add(seeds) == 0
    assert lowered == []
    assert (ours.stats().known, ours.stats().sites) == (20, 20)
    assert ours.audit() == []


def test_a_batch_brings_new_links_of_new_and_of_known_sites_and_seeds_among_them(lab: PostgresLab) -> None:
    frontier, _ = lab.join()
    frontier.add([link("a.test/1", 3), link("b.test/1", 3)])
    batch = [
        link("c.test/1", 2), link("a.test/1", 3), link("c.test/1", 1), link("a.test/2", 2), link("b.test/1", 1),
        link("d.test/1", 0, seeded=True), link("a.test/1", 3, seeded=True),
    ]  # fmt: skip
    assert frontier.add(batch) == 3
    depths = {"a.test/1": 3, "a.test/2": 2, "b.test/1": 1, "c.test/1": 1, "d.test/1": 0}
    found = {name: frontier.find_url(link(name).site, link(name).url_hash) for name in depths}
    assert {name: state and state.depth for name, state in found.items()} == depths
    seeded = {site: (state := frontier.find_site(site)) and state.seeded for site in ("a.test", "b.test", "d.test")}
    assert seeded == {"a.test": True, "b.test": False, "d.test": True}
    assert [one.site for one in claim(frontier)] == ["a.test", "b.test", "c.test", "d.test"], "by arrival"
    assert frontier.audit() == []
