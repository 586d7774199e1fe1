"""What Prometheus scrapes, and what the history keeps, is what the server saw."""

from __future__ import annotations

import os
import re
import signal
import urllib.request
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.error import URLError

import pytest
from prometheus_client.parser import text_string_to_metric_families

import gossamer_simweb as simweb
from gossamer.inspect.history import read_timeline, span_of
from gossamer.metrics import Gauge, Metric
from gossamer.store.checking import check
from gossamer.store.reading import requests, row_files
from gossamer.store.schemas import FIGURES, TICKS
from gossamer_simweb import plain_web
from gossamer_simweb.spec import PlantedPage, PlantedRobots
from tests.end_to_end.crawls import Crawl, Start, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HTML = ("Content-Type", "text/html")
# The robots.txt of the last site fails: it is asked for again after ten minutes, and the crawl is idle until then.
WEB = plain_web(
    sites=12,
    pages=15,
    planted=(
        PlantedPage(host="moved.test", path="/", status=301, headers=(HTML, ("Location", "/gone"))),
        PlantedPage(host="moved.test", path="/gone", status=404, headers=(HTML,)),
        PlantedPage(host="idle.test", path="/", headers=(HTML,), body=b"never asked for"),
    ),
    planted_robots=(PlantedRobots(host="idle.test", status=503),),
)

Scraped = dict[tuple[str, tuple[tuple[str, str], ...]], float]


class Scraper:
    """Scrapes a crawl again and again, and sees that no counter falls."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self.last: Scraped = {}
        self._counted: set[tuple[str, tuple[tuple[str, str], ...]]] = set()

    def scrape(self) -> Scraped:
        """Scrape once."""
        wait_until(lambda: "Metrics for Prometheus: " in self._start.said, "the address of the metrics")
        place = re.findall(r"Metrics for Prometheus: (\S+)", self._start.said)[-1]
        with urllib.request.urlopen(place, timeout=30) as answer:
            families = list(text_string_to_metric_families(answer.read().decode()))
        now: Scraped = {}
        counted = set()
        for family in families:
            for sample in family.samples:
                key = sample.name, tuple(sorted(sample.labels.items()))
                now[key] = sample.value
                if family.type in ("counter", "histogram"):
                    counted.add(key)
                    assert sample.value >= self.last.get(key, 0), f"{key} fell"
        assert self._counted <= counted, f"{self._counted - counted} are gone"
        self.last, self._counted = now, counted
        return now

    def requests(self) -> Counter[tuple[str, str]]:
        """Return how many requests were scraped last, by kind and result."""
        found: Counter[tuple[str, str]] = Counter()
        for (name, labels), value in self.last.items():
            if name == "gossamer_requests_total":
                found[dict(labels)["kind"], dict(labels)["result"]] += int(value)
        return found

    def gauge(self, name: str, **labels: str) -> float:
        """Return a value that was scraped last."""
        return self.last.get((name, tuple(sorted(labels.items()))), -1)


@pytest.fixture
def crawl(tmp_path: Path, frontier: str) -> Iterator[Crawl]:
    """A crawl that becomes idle but does not end."""
    with simweb.serve(WEB) as server:
        more = [f"http://{host}.test:{server.port}/" for host in ("moved", "idle")]
        yield Crawl(server, tmp_path / "data", *more, delay_s=0.05, frontier=frontier)


def until_idle(crawl: Crawl, scraper: Scraper) -> None:
    """Scrape until the crawl is idle."""

    def is_idle() -> bool:
        with suppress(URLError):
            scraper.scrape()
        busy = scraper.gauge("gossamer_in_flight_requests"), scraper.gauge("gossamer_sites_in_hand", state="busy")
        queued = scraper.gauge("gossamer_frontier_urls", state="queued")
        return busy == (0, 0) and queued == 1 and crawl.server.answered() > 150

    wait_until(is_idle, "the crawl to be idle")


def by_kind_and_class(crawl: Crawl) -> Counter[tuple[str, str]]:
    return Counter((request.kind, f"{request.status // 100}xx") for request in crawl.server.log())


def stored(crawl: Crawl) -> Counter[tuple[str, str]]:
    return Counter((row.kind, row.reason or f"{row.status // 100}xx") for row in requests(crawl.folder))


def figures(crawl: Crawl) -> list[dict[str, Any]]:
    """Return the rows of the history, by time."""
    rows = [
        row
        for table in (FIGURES, TICKS)
        for file in row_files(crawl.folder, table)
        for batch in file.batches()
        for row in batch.to_pylist()
    ]
    return sorted(rows, key=lambda row: row["time"])


def counted(rows: list[dict[str, Any]]) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return the last value of every counter in the history, added up over all processes."""
    last = {(row["worker"], row["name"], row["labels"]): row["value"] for row in rows}
    totals: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
    for (_, name, labels), value in last.items():
        if not isinstance(Metric.declared.get(name), Gauge):
            pairs = [tuple(label.split("=")) for label in labels.split(",") if labels]
            totals[name, tuple(sorted(pairs))] += value
    return dict(totals)


def in_steps(crawl: Crawl) -> float:
    """Return how many requests the history has, read as for a plot."""
    period = span_of([crawl.folder])
    assert period
    timeline = read_timeline(
        [crawl.folder], ["gossamer_requests_total"], began_at=period[0], ended_at=period[1], step_s=30
    )
    return sum(value or 0 for value in timeline.total("gossamer_requests_total"))


def test_a_killed_crawl_leaves_a_history_that_can_be_read(crawl: Crawl) -> None:
    with crawl.start() as start:
        crawl.wait_for_requests(50)
        wait_until(lambda: len({row["time"] for row in figures(crawl)}) > 1, "two moments of the history")
        start.kill_group()
    rows = figures(crawl)
    assert all(row["time"].timestamp() % 10 == 0 for row in rows)
    assert {row["worker"].partition("@")[0] for row in rows} >= {"supervisor", "w1", "w2"}
    requested = sum(value for (name, _), value in counted(rows).items() if name == "gossamer_requests_total")
    assert 0 < requested <= crawl.server.answered() + 2
    with crawl.start() as start:
        wait_until(lambda: len(start.workers()) == 2, "two workers")
        start.interrupt()
        start.end()
    again = figures(crawl)
    assert [row for row in again if row["time"] <= rows[-1]["time"]] == rows
    assert check(crawl.folder).problems == []


def test_what_is_scraped_and_kept_at_the_end_is_what_the_server_saw(crawl: Crawl) -> None:
    def has_all() -> bool:
        scraper.scrape()
        pages = scraper.gauge("gossamer_frontier_outcomes_total", outcome="pages")
        return scraper.requests() == by_kind_and_class(crawl) and pages == scraper.requests()["page", "2xx"]

    with crawl.start("--metrics", "0") as start:
        scraper = Scraper(start)
        until_idle(crawl, scraper)
        wait_until(has_all, "the last reports of the workers")
        start.interrupt()
        start.end()
    assert scraper.requests() == by_kind_and_class(crawl) == stored(crawl)
    assert scraper.gauge("gossamer_body_bytes_total") == sum(row.bytes for row in requests(crawl.folder))
    assert scraper.gauge("gossamer_request_seconds_count") == scraper.requests().total()
    assert scraper.gauge("gossamer_parse_seconds_count") == scraper.requests()["page", "2xx"]
    assert scraper.gauge("gossamer_frontier_urls", state="page") == scraper.requests()["page", "2xx"]
    assert scraper.gauge("gossamer_workers", state="alive") == 2
    history = counted(figures(crawl))
    for name in ("requests_total", "body_bytes_total", "frontier_outcomes_total", "request_seconds_count"):
        in_history = {key: value for key, value in history.items() if key[0] == f"gossamer_{name}"}
        assert in_history == {key: value for key, value in scraper.last.items() if key[0] == f"gossamer_{name}"}
    assert {name for name, _ in history} >= {name for name, _ in scraper.last if name.endswith("_total")}
    assert in_steps(crawl) == scraper.requests().total()
    assert check(crawl.folder).problems == []


def test_a_killed_worker_costs_the_counters_what_it_had_not_reported_and_none_falls(crawl: Crawl) -> None:
    """The bound: requests that came between the last scrape before a kill and the start of the next worker."""
    unreported = 0
    with crawl.start("--metrics", "0") as start:
        scraper = Scraper(start)
        for number in (50, 130):
            crawl.wait_for_requests(number)
            scraper.scrape()
            unreported -= scraper.requests().total()
            victim = start.workers()[0]
            os.kill(victim, signal.SIGKILL)
            wait_until(lambda: victim not in start.workers() and len(start.workers()) == 2, "another worker")  # noqa: B023
            unreported += len(crawl.server.log())
        until_idle(crawl, scraper)

        def missing() -> int:
            scraper.scrape()
            return by_kind_and_class(crawl).total() - scraper.requests().total()

        wait_until(lambda: missing() <= unreported, "the last reports of the workers")
        print(f"\n{missing()} of {by_kind_and_class(crawl).total()} requests are missing; {unreported} may be")
        assert missing() >= 0
        assert scraper.gauge("gossamer_worker_replacements_total", cause="signal") == 2
        start.interrupt()
        start.end()
    kept = sum(value for (name, _), value in counted(figures(crawl)).items() if name == "gossamer_requests_total")
    assert kept == in_steps(crawl) == scraper.requests().total()
