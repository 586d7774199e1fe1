"""Whether a crawler asks an address for more than it promised, whatever the names. Pure.

The promise: in any ten seconds at most ten seconds / delay requests to one address, and one for each worker.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gossamer_simweb.log import LoggedRequest

WINDOW_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressLimit:
    """What a crawler promises to each address."""

    delay_s: float
    workers: int  # at one time
    address_of: Callable[[str], str | None]  # the address of a host name
    window_s: float = WINDOW_S  # the promise holds for any other time as well

    @property
    def requests(self) -> float:
        """How many requests an address may get in that time."""
        return self.window_s / self.delay_s + self.workers


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdedAddress:
    """An address that got more requests than promised within some time."""

    address: str
    began: float  # the first of them
    window_s: float
    requests: int
    allowed: float

    def __str__(self) -> str:
        return f"{self.address} (requests within {self.window_s:g} s: {self.requests}, at most {self.allowed:g})"


def busiest_windows(
    log: Iterable[LoggedRequest], address_of: Callable[[str], str | None], window_s: float = WINDOW_S
) -> dict[str, tuple[int, float]]:
    """Return, for each address, the most requests within ten seconds or another time, and when these began."""
    arrivals: defaultdict[str, list[float]] = defaultdict(list)
    for request in log:
        if address := address_of(request.host.partition(":")[0]):
            arrivals[address].append(request.arrived)
    return {address: _busiest(sorted(theirs), window_s) for address, theirs in arrivals.items()}


def crowded_addresses(log: Iterable[LoggedRequest], limit: AddressLimit) -> tuple[CrowdedAddress, ...]:
    """Return the addresses that got more requests than promised."""
    return tuple(
        CrowdedAddress(address=address, began=began, window_s=limit.window_s, requests=requests, allowed=limit.requests)
        for address, (requests, began) in busiest_windows(log, limit.address_of, limit.window_s).items()
        if requests > limit.requests
    )


def _busiest(arrivals: list[float], window_s: float) -> tuple[int, float]:
    most, began, first = 0, 0.0, 0
    for last, arrived in enumerate(arrivals):
        while arrivals[first] < arrived - window_s:
            first += 1
        if last - first + 1 > most:
            most, began = last - first + 1, arrivals[first]
    return most, began
