"""Repeatable chance: every draw follows from a key, on every machine, in any order. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from xxhash import xxh3_128_intdigest

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


class Dice:
    """A stream of draws that depends on its key alone."""

    __slots__ = ("_bits", "_key", "_left", "_rounds")

    def __init__(self, *key: int | str) -> None:
        self._key = repr(key).encode()
        self._rounds = 0
        self._bits = xxh3_128_intdigest(self._key)
        self._left = 4

    def unit(self) -> float:
        """Return a number in [0, 1)."""
        if not self._left:
            self._rounds += 1
            self._bits = xxh3_128_intdigest(self._key, self._rounds)
            self._left = 4
        self._left -= 1
        low = self._bits & 0xFFFFFFFF
        self._bits >>= 32
        return low / 4294967296

    def below(self, limit: int) -> int:
        """Return one of 0 … limit - 1, all equally likely."""
        return int(self.unit() * limit)

    def low(self, limit: int) -> int:
        """Return one of 0 … limit - 1 by a power law: 0 is the most popular."""
        return int(self.unit() ** 3 * limit)

    def chance(self, share: float) -> bool:
        """Return True in `share` of all cases."""
        return self.unit() < share

    def pick(self, choices: Sequence[T]) -> T:
        """Return one of `choices`."""
        return choices[int(self.unit() * len(choices))]

    def normal(self) -> float:
        """Return a draw from the standard normal distribution (Box and Muller)."""
        return math.sqrt(-2.0 * math.log(1.0 - self.unit())) * math.cos(math.tau * self.unit())


class Spread:
    """Deals a feature out evenly: any run of a few times 1/share numbers holds some that have it.

    Multiples of an irrational number are spread evenly over [0, 1); independent draws would leave small webs
    without their rarer features. Features that must not depend on each other take different primes.
    """

    __slots__ = ("_offset", "_step")

    def __init__(self, seed: int, prime: int) -> None:
        self._offset = Dice(seed, "spread", prime).unit()
        self._step = math.sqrt(prime)

    def unit(self, number: int) -> float:
        """Return the place of `number` in [0, 1)."""
        return (number * self._step + self._offset) % 1.0
