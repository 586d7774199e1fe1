"""What the PostgreSQL engine promises at scale, in short form; `python -m bench postgres` has the long ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

from bench.postgres import claims, domains, owners
from bench.postgres.building import build
from gossamer.frontier.postgres import PostgresFrontier
from tests.frontier import postgres_server

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION = postgres_server.versions()[0]


@pytest.fixture(scope="module")
def million() -> Iterator[PostgresFrontier]:
    """A worker in a crawl of a million URLs on as many sites."""
    address = postgres_server.new_database(VERSION)
    build(address, claims.CRAWL, urls=1_000_000, sites=1_000_000)
    with PostgresFrontier(address, claims.CRAWL) as frontier:
        frontier.join("test")
        yield frontier


def test_at_a_million_urls_a_claim_walks_the_ready_list_without_a_sort_or_a_scan(million: PostgresFrontier) -> None:
    for shard in (0, 100, 255):
        claims.check_plan(claims.claim_plan(million, shard))
    pages, _ = claims.pages_per_claim(million, claims=3)
    assert pages < 60 * claims.CLAIM_SITES


def test_what_the_server_believes_about_sizes_does_not_change_the_claims_plan(million: PostgresFrontier) -> None:
    with psycopg.connect(million._database.address.text, autocommit=True) as connection:
        for urls, sites in ((40_000_000, 1_000_000), (0, 0)):
            believe = "UPDATE pg_class SET reltuples = %s WHERE oid = %s::regclass"
            connection.execute(believe, (urls, "gossamer.queue"))
            connection.execute(believe, (sites, "gossamer.site"))
            million._database.close()  # a new connection makes new plans
            claims.check_plan(claims.claim_plan(million, 7))


def test_workers_that_are_killed_among_others_leave_no_site_owned_twice_and_nothing_behind() -> None:
    address = postgres_server.new_database(VERSION)
    history = owners.run(address, processes=4, workers=8, sites=3_000, kills=1, seconds=2.0)
    assert history.turns > 100
    assert history.owned_twice == []
    assert history.contradictions == []
    assert history.left_behind == 0
    assert history.deadlocks == 0


def test_a_handful_of_sites_with_most_of_the_links_costs_the_others_no_turn() -> None:
    address = postgres_server.new_database(VERSION)
    outcome = domains.run(address, hot=10, cold=100, turns=3, workers=2)
    assert outcome.hot_share > 0.7
    assert outcome.unfetched == 0
    assert outcome.fetched == outcome.ideal
