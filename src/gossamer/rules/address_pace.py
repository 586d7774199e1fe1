"""When an address may get its next request of this worker, whatever the names that lead there. Pure.

An address gets one request per `delay_s` of all workers together. Each worker has a share of that, and a clock that
runs by its share: one tick per request. An address is due one tick after its last request, and more while it is slow or
fails. So a worker sends at most as many requests to an address in any time as its clock ticks in that time, and one;
and the clocks of all workers together never tick faster than once per `delay_s`, because their shares never add up to
more than the whole (`gossamer.frontier.shares`). Times are seconds of any monotonic clock, passed in.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.rules.pace import PaceSettings

DEFAULT_DELAY_S: Final = 0.1
MARGIN: Final = 1.02  # the pace is slower by this, because requests do not take equally long to arrive
FAILURES_BEFORE_BACKOFF: Final = 2  # in a row, which is normal
MAX_DOUBLINGS: Final = 6
MAX_IDLE_ADDRESSES: Final = 20_000  # that are remembered though they are due
LEAST_SHARE: Final = 0.02  # estimates assume at least this
_EPSILON: Final = 1e-9


def address_delay_s(settings: PaceSettings) -> float:
    """Return the time between two requests to one address: the operator's, or the default one."""
    given_s = settings.address_delay_s
    return min(DEFAULT_DELAY_S, settings.delay_s) if given_s is None else given_s


class _Address:
    """What is known of one address."""

    __slots__ = ("at_once", "booked_s", "failures", "inside", "is_granted", "last_tick", "slow_s")

    def __init__(self, at_once: float) -> None:
        self.at_once = at_once
        self.last_tick = -math.inf  # when its last request was sent, on the clock that runs by the share
        self.inside = 0  # requests under way, or granted
        self.is_granted = False  # one is granted and not sent yet
        self.failures = 0  # in a row
        self.slow_s = 0.0  # how long its last answer took
        self.booked_s = -math.inf  # until when sites that were given back will use it


class AddressPace:
    """The addresses that a worker sends requests to, and when each is due."""

    def __init__(
        self, *, delay_s: float, most_s: float, at_once: int, is_own: Callable[[str], bool] = lambda _: False
    ) -> None:
        """An address gets one request per `delay_s`, and per `most_s` at the slowest; `at_once` of them at a time.

        `at_once` does not apply to the operator's own addresses (`is_own`).
        """
        self._delay_s = delay_s * MARGIN
        self._most_factor = max(1.0, most_s / delay_s) if delay_s else 1.0
        self._at_once = at_once
        self._is_own = is_own
        self._addresses: dict[str, _Address] = {}
        self._sweep_at = MAX_IDLE_ADDRESSES
        self._share = 0.0
        self._ticks = 0.0  # of the clock that runs by the share, at `_counted_s`
        self._counted_s = 0.0
        self._began_tick = 0.0  # the worker sends nothing to any address until a tick after this

    def set_share(self, share: float, now_s: float) -> None:
        """Let the clock run by another share of the whole, from now on."""
        self._ticks = self._ticks_at(now_s)
        self._counted_s = now_s
        self._share = share

    def restart(self, now_s: float) -> None:
        """Begin anew without a share: this worker was declared dead, and joins again."""
        self.set_share(0.0, now_s)
        self._began_tick = self._ticks  # plant: rejoined-worker-keeps-allowance

    def until_due(self, address: str, now_s: float) -> float:
        """Return how long until a request to an address may be granted; infinity if something must happen first."""
        known = self._addresses.get(address)
        if known is not None and (known.is_granted or known.inside >= known.at_once):
            return math.inf
        if not self._delay_s:
            return 0.0
        last_tick = self._began_tick if known is None else max(known.last_tick, self._began_tick)
        left = last_tick + self._factor(known) - self._ticks_at(now_s)
        if left <= _EPSILON:
            return 0.0
        return left * self._delay_s / self._share if self._share else math.inf

    def wait_s(self, address: str, place: int) -> float:
        """Estimate how long the request at this place in an address's line waits."""
        known = self._addresses.get(address)
        return place * self._delay_s * self._factor(known) / max(self._share, LEAST_SHARE)

    def book(self, address: str, place: int, now_s: float) -> float:
        """Estimate when a site that is given back can be requested; the next one that is given back comes later."""
        known = self._known(address)
        known.booked_s = max(known.booked_s, now_s + self.wait_s(address, place)) + self.wait_s(address, 1)
        return known.booked_s

    def grant(self, address: str) -> None:
        """Allow one request to an address that is due. No other is allowed until it is sent, or does not happen."""
        known = self._known(address)
        known.is_granted = True
        known.inside += 1

    def cancel(self, address: str) -> None:
        """Note that a request that was allowed will not be sent."""
        known = self._addresses[address]
        known.is_granted = False
        known.inside -= 1

    def sent(self, address: str, now_s: float) -> None:
        """Note that the request that was allowed is being sent."""
        known = self._addresses[address]
        known.is_granted = False
        self._ticks, self._counted_s = self._ticks_at(now_s), now_s
        known.last_tick = self._ticks  # plant: address-asked-at-once

    def ended(self, address: str, *, duration_s: float, failed: bool) -> None:
        """Note how a request that was sent has ended."""
        known = self._addresses[address]
        known.inside -= 1
        known.failures = known.failures + 1 if failed else 0
        known.slow_s = duration_s

    def _factor(self, known: _Address | None) -> float:
        """Return how many ticks an address gets between two requests: one, more while it is slow or fails."""
        if known is None:
            return 1.0
        factor = known.slow_s / (self._at_once * self._delay_s) if self._delay_s else 1.0
        if known.failures > FAILURES_BEFORE_BACKOFF:
            factor = max(factor, 2.0 ** min(known.failures - FAILURES_BEFORE_BACKOFF, MAX_DOUBLINGS))
        return min(max(1.0, factor), self._most_factor)

    def _ticks_at(self, now_s: float) -> float:
        if not self._delay_s:
            return 0.0
        return self._ticks + (now_s - self._counted_s) * self._share / self._delay_s

    def _known(self, address: str) -> _Address:
        known = self._addresses.get(address)
        if known is None:
            if len(self._addresses) >= self._sweep_at:
                self._sweep()
            known = self._addresses[address] = _Address(math.inf if self._is_own(address) else self._at_once)
        return known

    def _sweep(self) -> None:
        """Forget addresses that are due for long: a new one would be due as well."""
        before = self._ticks - 2 * self._most_factor
        self._addresses = {
            address: known for address, known in self._addresses.items() if known.inside or known.last_tick > before
        }
        self._sweep_at = max(MAX_IDLE_ADDRESSES, 2 * len(self._addresses))
