"""Makes requests, many at once: find an address that may be contacted, wait for a place, transfer.

Whatever the web does is returned as a value. Only bugs and cancellation are raised.
"""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, Self

from gossamer.errors import GossamerError
from gossamer.fetch.addresses import judge_address, parse_network
from gossamer.fetch.authorities import authorities_file
from gossamer.fetch.failures import Stop
from gossamer.fetch.multi import Multi
from gossamer.fetch.names import Resolved, Resolver, Unresolved
from gossamer.fetch.slots import RequestGate, RequestPlace
from gossamer.fetch.transfer import Transfer, TransferContext, TransferRequest
from gossamer.records import Failed, Fetched, Reason, RequestKind, SiteStanding
from gossamer.urls import host_of, name_of_host
from gossamer.waste import NetworkLedger

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.fetch.addresses import Network
    from gossamer.fetch.names import Answer
    from gossamer.fetch.settings import FetchSettings


# Failures that cost a slot for long. A refused connection or a broken answer is over at once.
WASTES: Final = frozenset(
    {
        *(Reason.CONNECT_TIMEOUT, Reason.TIMEOUT, Reason.TOO_SLOW, Reason.CUT_SILENT),  # silent seconds
        *(Reason.CONNECTION_LOST, Reason.BAD_RESPONSE, Reason.HEADERS_TOO_LARGE),  # failures of what answers at all
    }
)


class FetchLoad(NamedTuple):
    """What requests and bodies hold, and whether others wait for it."""

    silent: int = 0  # slots of requests that may wait in vain
    held_bytes: int = 0  # of bodies, those that wait to be read or stored included
    paused: int = 0  # transfers of large bodies that wait for memory
    wasteful_networks: int = 0
    slow_lookups: int = 0
    slots_contended: bool = False


class Requester(Protocol):
    """Makes requests: what a worker needs of fetching. The simulation has one without a network."""

    def recall(self, host: str) -> tuple[str, ...] | None:
        """Return the addresses of a host that requests may go to, the next one to use first; None: look them up."""

    async def locate(self, url: str) -> tuple[str, ...] | Failed:
        """Look up the addresses that a request may go to, the next one to use first; at least one."""

    def is_own(self, address: str) -> bool:
        """Return whether an address lies in a network that the operator named."""

    async def fetch(
        self,
        url: str,
        *,
        address: str | None = None,
        kind: RequestKind = RequestKind.PAGE,
        for_links: bool = False,
        before_send: Callable[[], bool] | None = None,
        site: str = "",
        standing: SiteStanding = SiteStanding.ANSWERED,
    ) -> Fetched | Failed:
        """Make one request; see `Fetcher.fetch`."""

    def release(self, size_bytes: int) -> None:
        """Note that a body that was fetched is not needed any more: it was stored, or it is of no use."""

    @property
    def load(self) -> FetchLoad:
        """What requests hold, and whether others wait for it."""


class Fetcher(Requester):
    """Fetches URLs. An async context: requests under way when it ends are cancelled.

    It makes at most `in_flight` requests at once. The caller computes that from the limit of open files.
    """

    def __init__(
        self,
        settings: FetchSettings,
        *,
        in_flight: int,
        user_agent: str,
        email: str = "",
        archives: bool = True,
        ledger: NetworkLedger | None = None,
    ) -> None:
        """With `archives`, answers are archived: then only encodings that can be replayed are requested."""
        self._settings = settings
        networks = tuple(map(parse_network, settings.allow_network))
        # Cached by address alone: hashing the networks costs more than the check itself.
        self._judge = lru_cache(maxsize=1 << 10)(lambda address: judge_address(address, networks))
        self._is_own = lru_cache(maxsize=1 << 10)(lambda address: is_in_any(address, networks))
        self._headers = request_headers(settings, user_agent=user_agent, email=email, archives=archives)
        self._resolver = Resolver(nameserver=settings.nameserver, timeout_s=settings.dns_timeout_s)
        self._ledger = ledger or NetworkLedger()
        self._gate = RequestGate(limit=in_flight, max_held_bytes=settings.max_held_bytes, networks=self._ledger)
        self._idle: list[Transfer] = []
        self._picks = 0
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            authorities = None
            if not self._settings.insecure:
                authorities = stack.enter_context(authorities_file(self._settings.ca_file))
            self._context = TransferContext(
                settings=self._settings,
                headers=self._headers,
                judge=self._judge,
                authorities=authorities,
                gate=self._gate,
            )
            await stack.enter_async_context(self._resolver)
            self._multi = await stack.enter_async_context(Multi())
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        while self._idle:
            self._idle.pop().close()

    def recall(self, host: str) -> tuple[str, ...] | None:
        """Return the addresses of a host that requests may go to, the next one to use first; None: look them up."""
        name = name_of_host(host)
        answer = _literal(name) or self._resolver.recall(name)
        found = None if answer is None else self._admit(answer)
        return found if isinstance(found, tuple) else None

    async def locate(self, url: str) -> tuple[str, ...] | Failed:
        """Look up the addresses that a request may go to, the next one to use first; at least one."""
        started_at, begun = time.time(), time.perf_counter()
        name = name_of_host(host_of(url))
        found = self._admit(_literal(name) or await self._resolver.resolve(name))
        if isinstance(found, tuple):
            return found
        return Failed(
            url=url,
            reason=found.reason,
            detail=found.detail,
            started_at=started_at,
            duration_s=time.perf_counter() - begun,
        )

    def is_own(self, address: str) -> bool:
        """Return whether an address lies in a network that the operator named."""
        return self._is_own(address)

    async def fetch(
        self,
        url: str,
        *,
        address: str | None = None,
        kind: RequestKind = RequestKind.PAGE,
        for_links: bool = False,
        before_send: Callable[[], bool] | None = None,
        site: str = "",
        standing: SiteStanding = SiteStanding.ANSWERED,
    ) -> Fetched | Failed:
        """Make one request for a normalised URL, to one of the addresses that `locate` returned, or to the first.

        The caller must `release` the body of an answer.

        With `for_links`, an HTML page is read even if its type is not accepted.
        `before_send` is called before a connection is opened, and again before anything is sent over it; if it returns
        False, nothing is sent. It must neither block nor raise. A `Failed` without an address contacted no server;
        it is `CUT_SILENT` if the site may not answer, and silent sites hold as many slots as they may.
        """
        if address is None:
            found = await self.locate(url)
            if isinstance(found, Failed):
                return found
            address = found[0]
        place = RequestPlace(site, address, standing)
        return await self._transfer(TransferRequest(url, address, kind, for_links, before_send, place))

    def release(self, size_bytes: int) -> None:
        """Note that a body that was fetched is not needed any more: it was stored, or it is of no use."""
        self._gate.bodies.release(size_bytes)

    @property
    def load(self) -> FetchLoad:
        """What requests hold, and whether others wait for it."""
        gate = self._gate
        return FetchLoad(
            silent=gate.silent,
            held_bytes=gate.bodies.held_bytes,
            paused=gate.bodies.paused,
            wasteful_networks=self._ledger.wasteful,
            slow_lookups=self._resolver.slow,
            slots_contended=gate.is_contended,
        )

    async def _transfer(self, request: TransferRequest) -> Fetched | Failed:
        place = request.place
        if not await self._gate.enter(place):
            return _not_sent(request, Reason.CUT_SILENT, Stop.SILENT)
        if request.before_send is not None and not request.before_send():
            self._gate.leave(place)
            return _not_sent(request, Reason.CANCELLED, Stop.VETO)
        transfer = self._idle.pop() if self._idle else Transfer(self._context)
        answer: Fetched | Failed | None = None
        try:
            answer = await transfer.perform(self._multi, request)
            transfer.observe_times(answer)
        finally:
            self._gate.bodies.end(place, is_kept=isinstance(answer, Fetched))
            self._gate.leave(place)
            transfer.reset()
            self._idle.append(transfer)
        if isinstance(answer, Fetched):
            if self._ledger.networks:
                self._ledger.note_answer(answer.address)
        elif answer.reason in WASTES:
            self._ledger.note_waste(answer.address)
        return answer

    def _admit(self, answer: Answer) -> tuple[str, ...] | Unresolved:
        """Return the addresses that may be contacted; the next call starts with another one."""
        if isinstance(answer, Unresolved):
            return answer
        addresses = answer.addresses
        if len(addresses) > 1:  # a different start each time, so that a retry uses another address
            self._picks += 1
            start = self._picks % len(addresses)
            addresses = addresses[start:] + addresses[:start]
        verdicts = [self._judge(address) for address in addresses]
        if all(verdict.reason is None for verdict in verdicts):
            return addresses
        admitted = tuple(each for each, verdict in zip(addresses, verdicts, strict=True) if verdict.reason is None)
        reason = verdicts[-1].reason
        if admitted or reason is None:
            return admitted
        return Unresolved(reason=Reason.ADDRESS_REFUSED, detail=f"{addresses[-1]}: {reason.value}")


def _not_sent(request: TransferRequest, reason: Reason, stop: Stop) -> Failed:
    return Failed(url=request.url, reason=reason, detail=stop.value, started_at=time.time(), duration_s=0.0)


def request_headers(settings: FetchSettings, *, user_agent: str, email: str, archives: bool) -> tuple[str, ...]:
    """Return the headers that follow Host, in this order: who we are, and what we accept."""
    accept = dict.fromkeys((*settings.accept_types, "*/*;q=0.1"))
    if "*/*" in accept:
        accept = {"*/*": None}
    headers = (
        f"User-Agent: {user_agent}",
        f"Accept: {','.join(accept)}",
        # pywb cannot replay zstd.
        "Accept-Encoding: gzip, deflate, br" + ("" if archives else ", zstd"),
        *([f"From: {email}"] if email else []),
        "Connection: close",
    )
    for header in headers:
        if not (header.isascii() and header.isprintable()):
            raise GossamerError(f"{header!r} cannot be sent as a header: use printable ASCII.")
    return headers


def _literal(name: str) -> Resolved | None:
    """Return the address that a host name is; None if it is not one."""
    if not (name[-1].isdigit() or ":" in name):
        return None
    try:
        return Resolved(addresses=(str(ip_address(name)),))
    except ValueError:
        return None


def is_in_any(address: str, networks: tuple[Network, ...]) -> bool:
    """Return whether an address lies in one of these networks."""
    parsed = ip_address(address)
    return any(parsed in network for network in networks)
