"""The simulated network: a fetcher for each process, and servers that answer from the plan of a web.

A server takes its time to answer whether the crawler is alive, paused or dead.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from chaos.simulation.monitor import MAX_CONNECTING_S, Ticket
from gossamer.fetch import FetchLoad
from gossamer.records import ROBOTS_KINDS, Failed, Fetched, Reason, RequestKind, SiteStanding
from gossamer.urls import hash_url, host_of
from gossamer_simweb import LoggedRequest
from gossamer_simweb.hosts import split_url
from gossamer_simweb.responses import PlannedResponse, Responder

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from chaos.simulation.loop import Process, Scheduler
    from chaos.simulation.monitor import Monitor
    from chaos.simulation.web import Failure, SmallWeb

ADDRESSES: Final = 3  # of all servers
RETRY_AFTER_S: Final = 2
HANG_UP_S: Final = 0.15  # at most, until a server notices that the crawler hung up
NO_CONNECTION: Final = frozenset(
    {Reason.NO_SUCH_NAME, Reason.DNS_FAILED, Reason.CONNECT_REFUSED, Reason.CONNECT_TIMEOUT, Reason.TLS_FAILED}
)
MAX_SERVER_S: Final = 2.0  # less than half of a lease: the other half is for requests under way
ACCEPTED: Final = (b"text/html", b"text/plain")


@dataclass(slots=True)
class Network:
    """All servers, and the connections to them."""

    web: SmallWeb
    scheduler: Scheduler
    monitor: Monitor
    dice: Random
    is_down: bool = False  # no server can be reached
    _asked: Counter[str] | None = None
    _answers: Responder | None = None

    def __post_init__(self) -> None:
        self._asked = Counter()
        self._answers = Responder(self.web.web)

    def failure_of(self, url: str) -> Failure | None:
        """Return how a request fails, if it does."""
        if self.is_down:
            return Reason.DNS_FAILED
        if (dead := self.web.dead.get(host_of(url))) is not None:
            return dead
        assert self._asked is not None
        planned = self.web.failures.get(url, ())
        asked = self._asked[url]
        self._asked[url] += 1
        return planned[asked] if asked < len(planned) else None

    def answer(self, url: str) -> PlannedResponse:
        """Return the answer of a healthy server."""
        assert self._answers is not None
        scheme, name, target = split_url(url)
        answer = self._answers.respond(scheme, name, target)
        return answer or PlannedResponse(404, b"", b"")

    def address_of(self, url: str) -> str:
        """Return the address of a URL's host; sites share a few of them."""
        _, name, _ = split_url(url)
        return f"192.0.2.{1 + crc32(site_of(name).encode()) % ADDRESSES}"

    def connecting_s(self) -> float:
        """Return how long it takes to connect."""
        return self.dice.uniform(0.001, 0.06 if self.dice.random() < 0.8 else MAX_CONNECTING_S)

    def server_s(self, site: str) -> float:
        """Return how long a server takes to answer."""
        slow_s = self.web.slow_s.get(site, 0.0)
        return min(MAX_SERVER_S, slow_s + self.dice.expovariate(1 / 0.08))


class SimulatedFetcher:
    """Stands in for `Fetcher`: one process's access to the network."""

    def __init__(self, network: Network, process: Process, wall_clock: Callable[[], float]) -> None:
        self._network = network
        self._process = process
        self._wall_clock = wall_clock

    @property
    def load(self) -> FetchLoad:
        """Nothing is held."""
        return FetchLoad()

    def release(self, size_bytes: int) -> None:
        """Forget a body."""

    def recall(self, host: str) -> tuple[str, ...]:
        """Return the address of a host."""
        return (self._network.address_of(f"{host}/"),)

    async def locate(self, url: str) -> tuple[str, ...]:
        """Return the address of a URL."""
        return (self._network.address_of(url),)

    def is_own(self, address: str) -> bool:  # noqa: ARG002 - none is
        """Return whether an address is the operator's own."""
        return False

    async def fetch(
        self,
        url: str,
        *,
        address: str | None = None,  # noqa: ARG002 - there is only one
        kind: RequestKind = RequestKind.PAGE,
        for_links: bool = False,  # noqa: ARG002 - HTML is accepted here
        before_send: Callable[[], bool] | None = None,
        site: str = "",  # noqa: ARG002 - slots and memory never run out here
        standing: SiteStanding = SiteStanding.ANSWERED,  # noqa: ARG002
    ) -> Fetched | Failed:
        """Make one request."""
        network, loop = self._network, self._process
        began_s, started_at = loop.time(), self._wall_clock()

        def failed(reason: Reason) -> Failed:
            return Failed(
                url=url,
                reason=reason,
                address=network.address_of(url),
                started_at=started_at,
                duration_s=loop.time() - began_s,
            )

        await asyncio.sleep(network.connecting_s())
        failure = network.failure_of(url)
        if isinstance(failure, Reason) and failure in NO_CONNECTION:
            await asyncio.sleep(network.dice.uniform(0, 0.5))
            network.monitor.now_s = loop.time()
            network.monitor.note(loop.name, f"{failure} for {url}")
            return failed(failure)
        if before_send is not None and not before_send():
            return failed(Reason.CANCELLED)
        exchange = _Exchange(network, self._process, url, kind, failure)
        await exchange.wait()
        if isinstance(failure, Reason):
            return failed(failure)
        answer = exchange.answer
        is_page = kind is RequestKind.PAGE and 200 <= answer.status < 300
        return Fetched(
            url=url,
            status=answer.status,
            head=b"HTTP/1.1 %d Said\r\n%s\r\n" % (answer.status, answer.head),
            body=answer.body,
            type_refused=is_page and not any(accepted in answer.head for accepted in ACCEPTED),
            address=network.address_of(url),
            request_head=b"GET / HTTP/1.1\r\n\r\n",
            started_at=started_at,
            duration_s=loop.time() - began_s,
        )


class _Exchange:
    """One request, as its server sees it, and the process that waits for the answer."""

    def __init__(
        self, network: Network, process: Process, url: str, kind: RequestKind, failure: Failure | None
    ) -> None:
        self._network = network
        self._process = process
        self._done = process.create_future()
        self.answer = _refusal(failure) if isinstance(failure, int) else network.answer(url)
        scheme, name, target = split_url(url)
        site = site_of(name)
        kind_name = "robots" if kind in ROBOTS_KINDS else "page"
        now_s = network.scheduler.now_s
        request = LoggedRequest(now_s, now_s, kind_name, "GET", scheme, name, target, 0, 0, "", 0.0, True, "", url)
        is_page = kind is RequestKind.PAGE
        is_outside = kind is RequestKind.ROBOTS_ELSEWHERE
        self._ticket = Ticket(
            process=process.name, site=site, url=url, request=request, is_page=is_page, is_outside=is_outside,
            address=network.address_of(url),
        )  # fmt: skip
        self._facts: dict[str, Any] = {"status": 0, "retryable": True}
        if not isinstance(failure, Reason):
            answer = self.answer
            self._facts = {
                "status": answer.status, "retryable": answer.retryable, "leads_to": answer.leads_to,
                "wait_s": answer.wait_s,
            }  # fmt: skip
        network.monitor.now_s = now_s
        network.monitor.arrived(self._ticket, hash_url(url))
        network.scheduler.after(network.server_s(site), self._end)

    async def wait(self) -> None:
        """Wait for the answer; after a cancellation the process hangs up, which the server notices a little later."""
        try:
            await self._done
        except asyncio.CancelledError:
            self._network.monitor.cancelled(self._ticket)
            late_s = self._network.dice.uniform(0, HANG_UP_S)
            self._network.scheduler.after(late_s, self._hang_up)
            raise

    def _hang_up(self) -> None:
        self._facts = {"status": 0, "retryable": True}
        self._end()

    def _end(self) -> None:
        self._network.monitor.now_s = self._network.scheduler.now_s
        self._network.monitor.ended(self._ticket, **self._facts)
        late_s = self._network.dice.uniform(0, 0.04)  # the answer's way back
        self._process.call_later(late_s, _wake, self._done)


def site_of(name: str) -> str:
    """Return the site of a host name of a simulated web, without the product's code, which may be wrong."""
    return ".".join(name.split(".")[-2:])


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _refusal(status: int) -> PlannedResponse:
    head = b"Content-Type: text/plain\r\n"
    wait_s = 0.0
    if status in (429, 503):
        wait_s = float(RETRY_AFTER_S)
        head += b"Retry-After: %d\r\n" % RETRY_AFTER_S
    return PlannedResponse(status, head, b"Not now.\n", wait_s=wait_s, retryable=True)
