"""Seeded random numbers: a key determines every draw, on every machine and in any order. Pure."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING, TypeVar

from xxhash import xxh3_64_intdigest, xxh3_128_intdigest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")


def unit_of(*key: int | str) -> float:
    """Return the number in [0, 1) that a key determines."""
    return (xxh3_64_intdigest(repr(key).encode()) >> 11) / (1 << 53)


class SeededRandom:
    """A stream of random draws that depends only on its key."""

    __slots__ = ("unit",)

    def __init__(self, *key: int | str) -> None:
        # `Random.random` is fast and gives the same numbers for the same seed in every version of Python.
        seed = xxh3_128_intdigest(repr(key).encode())
        self.unit: Callable[[], float] = Random(seed).random  # noqa: S311  # a number in [0, 1)

    def below(self, limit: int) -> int:
        """Return one of 0 … limit - 1, all equally likely."""
        return int(self.unit() * limit)

    def skewed(self, limit: int) -> int:
        """Return one of 0 … limit - 1 by a power law: 0 is the most likely."""
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


class EvenSpread:
    """Spreads a feature evenly over consecutive numbers (a low-discrepancy sequence).

    Every run of a few times 1/share numbers contains some with the feature. Independent draws would leave small webs
    without rare features; multiples of an irrational number cover [0, 1) evenly. Features that must not depend on
    each other use different primes.
    """

    __slots__ = ("_offset", "_step")

    def __init__(self, seed: int, prime: int) -> None:
        self._offset = unit_of(seed, "spread", prime)
        self._step = math.sqrt(prime)

    def unit(self, number: int) -> float:
        """Return the position of `number` in [0, 1)."""
        return (number * self._step + self._offset) % 1.0
