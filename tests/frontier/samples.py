"""Links and reports to feed a frontier with, and those who do so at once or again and again."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gossamer.records import (
    Batch,
    Claim,
    Claimed,
    Completion,
    Done,
    HostState,
    Link,
    Outcome,
    Release,
    Visit,
)
from gossamer.urls import identify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gossamer.frontier import Frontier


def link(url: str, depth: int = 1, *, rank: int = 0, seeded: bool = False, via: bytes | None = None) -> Link:
    """Return a link to this URL; `a.test/x` is short for `https://a.test/x`."""
    named = identify(url if "://" in url else f"https://{url}")
    return Link(*named, depth, rank, seeded, via=via)


def links(site: str, count: int, depth: int = 1) -> list[Link]:
    """Return so many links of one site."""
    return [link(f"{site}/{number}", depth) for number in range(count)]


def claim(frontier: Frontier, sites: int = 10) -> tuple[Claim, ...]:
    """Claim as a worker that must not be gone."""
    claimed = frontier.claim(sites)
    assert isinstance(claimed, Claimed)
    return claimed.claims


def wait(frontier: Frontier) -> float | None:
    """Return how long a claim that yields nothing says to wait."""
    claimed = frontier.claim(10)
    assert isinstance(claimed, Claimed)
    assert not claimed.claims
    return claimed.wait_s


def complete(
    frontier: Frontier,
    claimed: Claim,
    outcome: Outcome | None = None,
    *,
    links: Sequence[Link] = (),
    hosts: Sequence[HostState] = (),
    wait_s: float | None = 70.0,
    own_delay_s: float = 0.0,
) -> Completion:
    """Report the same outcome (done, unless told) for all of a claim's URLs and give the site back."""
    release = None if wait_s is None else Release(wait_s=wait_s, own_delay_s=own_delay_s)
    outcomes = [(url.url_hash, outcome or Done()) for url in claimed.urls]
    visit = Visit(site=claimed.site, epoch=claimed.epoch, outcomes=outcomes, hosts=hosts, release=release)
    return frontier.complete(Batch(links=links, visits=[visit]))


def names(claims: Sequence[Claim]) -> list[str]:
    """Return the sites of some claims, in their order."""
    return [one.site for one in claims]


def paths(claimed: Claim) -> list[str]:
    """Return the URLs of a claim without their scheme."""
    return [url.url.partition("://")[2] for url in claimed.urls]


def all_at_once(count: int, act: Callable[[], object]) -> None:
    """Let so many do the same at the same moment, each in a thread; the first who fails is heard."""
    barrier = threading.Barrier(count)

    def come(_: int) -> None:
        barrier.wait()
        act()

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(come, range(count)))


@contextmanager
def beating(beat: Callable[[], object], every_s: float = 0.05) -> Iterator[None]:
    """Show life again and again, in another thread."""
    stop = threading.Event()

    def live() -> None:
        while not stop.wait(every_s):
            beat()

    thread = threading.Thread(target=live)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
