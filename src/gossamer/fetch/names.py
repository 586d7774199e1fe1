"""Looks up the addresses of names: asks a name server without blocking, and caches answers for their time to live.

IPv4 is preferred: AAAA is requested only if there is no A record, which halves the requests. `localhost` and the
system's hosts file come before DNS, unless the operator names a name server. Search domains are never used. Another
module (`addresses`) decides which addresses may be contacted.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import aiodns
from pycares import AAAARecordData, ARecordData
from pycares import errno as ares

from gossamer import metrics
from gossamer.fetch.failures import reason_of_ares
from gossamer.fetch.hosts_file import HOSTS_FILE, HostsFile
from gossamer.records import Reason

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from pycares import DNSResult

MIN_TTL_S, MAX_TTL_S = 10, 3_600
NO_SUCH_NAME_TTL_S = 60
FAILURE_TTL_S = 5
MAX_NAMES = 50_000
_MAX_ADDRESSES = 16  # used of one name; an answer may hold thousands

_LOOKUPS_AT_ONCE = 50  # with more, answers get lost
# A lookup that takes longer than this gives its place to the next one: names whose servers are silent would hold all
# places for many seconds each.
_SLOW_S = 0.5
MAX_SLOW_LOOKUPS = 500
_TRIES = 2
_MAX_TIMEOUTS = 10  # in time-outs; c-ares gives up sooner, unless its answer was lost (out of memory, for example)

# c-ares caches every answer too, for up to an hour and without a bound: 1.25 KB each. A new channel starts empty.
_LOOKUPS_PER_CHANNEL = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The addresses of a name: at least one, all of one family."""

    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unresolved:
    """A name without addresses, and why."""

    reason: Reason
    detail: str


Answer = Resolved | Unresolved


class AnswerCache:
    """A cache of answers until they expire; it keeps the `max_names` that were used last. Time is passed in."""

    def __init__(self, max_names: int) -> None:
        self._max_names = max_names
        self._entries: OrderedDict[str, tuple[float, Answer]] = OrderedDict()

    def get(self, name: str, now_s: float) -> Answer | None:
        """Return the answer for a name, if there is one that has not expired."""
        entry = self._entries.get(name)
        if entry is None:
            return None
        expires_s, answer = entry
        if expires_s <= now_s:
            del self._entries[name]
            return None
        self._entries.move_to_end(name)
        return answer

    def put(self, name: str, answer: Answer, expires_s: float) -> None:
        """Remember an answer."""
        self._entries[name] = (expires_s, answer)
        self._entries.move_to_end(name)
        if len(self._entries) > self._max_names:
            self._entries.popitem(last=False)


class Resolver:
    """Looks up names. Callers that ask for the same name at the same time share one lookup."""

    def __init__(
        self,
        *,
        nameserver: str | None,
        timeout_s: float,
        hosts_file: Path = HOSTS_FILE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._nameservers = None if nameserver is None else [nameserver]
        self._hosts = HostsFile(hosts_file) if nameserver is None else None
        self._timeout_s = timeout_s
        self._clock = clock
        self._cache = AnswerCache(MAX_NAMES)
        self._lookups: dict[str, asyncio.Task[Answer]] = {}
        self._turns = asyncio.Semaphore(_LOOKUPS_AT_ONCE)
        self.slow = 0  # lookups that have given up their place
        self._channel: aiodns.DNSResolver
        self._channel_lookups = 0

    async def __aenter__(self) -> Self:
        self._open_channel()
        return self

    async def __aexit__(self, *_: object) -> None:
        for lookup in self._lookups.values():
            lookup.cancel()
        await asyncio.gather(*self._lookups.values(), return_exceptions=True)
        await self._channel.close()

    def recall(self, name: str) -> Answer | None:
        """Return the addresses of a name as far as they are known without a lookup."""
        answer = self._cache.get(name, self._clock())
        if answer is None and self._hosts is not None and (addresses := self._hosts.find(name)):
            return Resolved(addresses=addresses[:_MAX_ADDRESSES])
        return answer

    async def resolve(self, name: str) -> Answer:
        """Return the addresses of a name. Cancelling this does not cancel the lookup: others may wait for it."""
        if (answer := self.recall(name)) is not None:
            return answer
        lookup = self._lookups.get(name)
        if lookup is None:
            lookup = self._lookups[name] = asyncio.create_task(self._look_up(name))
            lookup.add_done_callback(lambda _: self._lookups.pop(name))
        return await asyncio.shield(lookup)

    async def _look_up(self, name: str) -> Answer:
        async with self._place():
            if self._channel_lookups == _LOOKUPS_PER_CHANNEL:
                self._open_channel()
            self._channel_lookups += 1
            asked_s = time.perf_counter()
            try:
                async with asyncio.timeout(self._timeout_s * _MAX_TIMEOUTS):
                    answer, ttl_s = await _ask(self._channel, name)
            except TimeoutError:
                answer, ttl_s = _LOST, FAILURE_TTL_S
            metrics.DNS_SECONDS.observe(time.perf_counter() - asked_s)
        self._cache.put(name, answer, self._clock() + ttl_s)
        return answer

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """Wait for one of the places for lookups; give it up early if the lookup is slow."""
        await self._turns.acquire()
        is_slow = False

        def give_way() -> None:
            nonlocal is_slow
            if self.slow < MAX_SLOW_LOOKUPS:
                is_slow = True
                self.slow += 1
                self._turns.release()

        timer = asyncio.get_running_loop().call_later(_SLOW_S, give_way)
        try:
            yield
        finally:
            timer.cancel()
            if is_slow:
                self.slow -= 1
            else:
                self._turns.release()

    def _open_channel(self) -> None:
        """Open a new channel; the old one closes itself when its last lookup is done and nothing refers to it."""
        self._channel = aiodns.DNSResolver(self._nameservers, timeout=self._timeout_s, tries=_TRIES)
        self._channel_lookups = 0


async def _ask(channel: aiodns.DNSResolver, name: str) -> tuple[Answer, float]:
    """Ask for A, then for AAAA; return the answer and its time to live in seconds."""
    for record in ("A", "AAAA"):
        try:
            result = await channel.query_dns(name, record)
        except aiodns.error.DNSError as error:
            code, message = error.args
            if code == ares.ARES_ENODATA:
                continue
            reason = reason_of_ares(code)
            ttl_s = NO_SUCH_NAME_TTL_S if reason is Reason.NO_SUCH_NAME else FAILURE_TTL_S
            return Unresolved(reason=reason, detail=f"{record}: {message}"), ttl_s
        if addresses := _addresses(result):
            ttl_s = min(each.ttl for each in result.answer)
            return Resolved(addresses=addresses), min(max(ttl_s, MIN_TTL_S), MAX_TTL_S)
    return _NO_ADDRESS, NO_SUCH_NAME_TTL_S


def _addresses(result: DNSResult) -> tuple[str, ...]:
    found = [each.data.addr for each in result.answer if isinstance(each.data, ARecordData | AAAARecordData)]
    return tuple(found[:_MAX_ADDRESSES])


_LOST: Final = Unresolved(reason=Reason.DNS_FAILED, detail="the lookup never ended")
_NO_ADDRESS: Final = Unresolved(reason=Reason.NO_SUCH_NAME, detail="the name exists but has no address")
