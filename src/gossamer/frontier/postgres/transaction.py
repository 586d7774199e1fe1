"""One transaction on a PostgreSQL frontier: statements by name, the crawl's terms and time, and counters."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Protocol

from gossamer.frontier.batches import ports_of
from gossamer.frontier.moving import MovedError, Standing, State
from gossamer.frontier.postgres.keys import SiteKey, site_key, worker_shard
from gossamer.records import Scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gossamer.frontier.postgres.address import Address
    from gossamer.frontier.postgres.crawl_clock import CrawlClock, Reading

Row = Any
NO_SITE_LIMIT = 1 << 40  # more pages than any site has
COUNTERS = ("sites", "with_work", "known", "done", "pages", "in_hand", "owned")


class StatementRunner(Protocol):
    """What a transaction needs of the database that it runs in."""

    crawl: int
    worker: int
    address: Address
    crawl_clock: CrawlClock

    def execute(self, name: str, values: dict[str, object]) -> list[Row]:
        """Run one statement and return its rows, if it has any."""

    def execute_each(self, name: str, values: Sequence[dict[str, object]]) -> list[list[Row]]:
        """Run one statement, which returns rows, for each of these values."""

    def copy(self, name: str, types: Sequence[str], rows: Sequence[tuple[object, ...]]) -> None:
        """Send rows in bulk."""


class PostgresTransaction:
    """What one operation does at once. At its end, counters are added to this worker's row."""

    def __init__(self, database: StatementRunner, row: Row, reading: Reading) -> None:
        self._database = database
        self.crawl: int = database.crawl
        self.worker: int = database.worker
        self.reading = reading
        self.now_ms = database.crawl_clock.now_ms()
        self.clock_ms = self.now_ms  # to be saved
        self.wait_from_ms = database.crawl_clock.wait_from_ms()
        self.state: str = row.state
        self.delay_ms: int = row.delay_ms
        self.page_limit: int | None = row.page_limit
        self.has_site_limit: bool = row.site_limit is not None
        self.site_limit: int = row.site_limit if self.has_site_limit else NO_SITE_LIMIT
        self.scope = Scope(row.scope)
        self.exclusions: int = row.exclusions
        self.seed_ports = ports_of(row.seed_ports)
        self.has_written = True  # an operation that changed nothing says so, and costs no commit
        self.counts: defaultdict[int, Counter[str]] = defaultdict(Counter)  # by worker
        self.given_up: Counter[str] = Counter()
        self.seeds: Counter[str] = Counter()  # that were settled, by outcome
        self._seed_examples: dict[str, str] = {}

    def refuse_moved(self) -> None:
        """Raise MovedError if the database now says that the crawl was moved or is being moved."""
        (row,) = self.run("crawl")
        standing = Standing.of(row.identity, row.standing, row.move, row.moved_to)
        if standing.state is not State.LIVE:
            address = self._database.address
            raise MovedError(address.place, standing, here=address.without_password)

    @property
    def mine(self) -> Counter[str]:
        """The counters of the acting worker."""
        return self.counts[self.worker]

    def site_key(self, site: str) -> SiteKey:
        """Return a site's key."""
        return site_key(self.crawl, site)

    def after_ms(self, wait_s: float) -> int:
        """Return the crawl time that is surely not reached before `wait_s` has passed."""
        return self.wait_from_ms + math.ceil(max(0.0, wait_s) * 1000)

    def wait_s(self, at_ms: int) -> float:
        """Return how long until a crawl time is surely reached."""
        return max(0, at_ms - self.now_ms) / 1000

    # ------------------------------------------------------------------ statements

    def run(self, name: str, **values: object) -> list[Row]:
        """Run a statement by its name."""
        return self._database.execute(name, {"crawl": self.crawl, **values})

    def each(self, name: str, values: Sequence[Mapping[str, object]]) -> list[list[Row]]:
        """Run a statement that returns rows once per set of values, in one round trip."""
        if not values:
            return []
        return self._database.execute_each(name, [{"crawl": self.crawl, **some} for some in values])

    def copy(self, name: str, types: Sequence[str], rows: Sequence[tuple[object, ...]]) -> None:
        """Send rows in bulk."""
        self._database.copy(name, types, rows)

    def count_seeds(self, outcome: str, example: str, seeds: int = 1) -> None:
        """Count seeds with the same outcome: '' if they gave a page, else why they were given up."""
        self.seeds[outcome] += seeds
        self._seed_examples.setdefault(outcome, example)

    def save(self) -> None:
        """Add to the counters, each worker's in a row of its own, and save the clock with them."""
        if not self.has_written:
            return
        self.mine["writes"] += 1
        for worker, counts in sorted(self.counts.items()):
            values = {name: counts[name] for name in ("writes", *COUNTERS)}
            place = {"shard": worker_shard(worker), "worker": worker}
            if not self.run("save_tally", clock_ms=self.clock_ms, **place, **values):
                self.refuse_moved()
        for reason, urls in sorted(self.given_up.items()):
            self.run("count_given_up", shard=worker_shard(self.worker), worker=self.worker, reason=reason, urls=urls)
        for outcome, seeds in sorted(self.seeds.items()):
            self.run(
                "count_seeds", shard=worker_shard(self.worker), worker=self.worker, outcome=outcome, seeds=seeds,
                example=self._seed_examples[outcome],
            )  # fmt: skip
