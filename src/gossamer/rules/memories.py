"""Tables of a fixed size: what a worker remembers of links and sites, however many it sees. Pure.

Each table has its full size from the start, so that a crawl does not grow for hours until its tables are full. All
store 64-bit hashes instead of values: a collision makes one unknown link or page look known. A full table overwrites
entries that were not used recently.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable

NEIGHBOURS: Final = 8  # a key is in the slot that its hash selects, or in one of the next
FEW: Final = 4  # values of a key that are stored in an array; most keys have no more
MAX_MANY: Final = 50_000  # values of all keys that have more, stored in sets: some 5 MB


class RecentHashes:
    """Remembers the hashes of recent values in `places` slots (a power of two); a newer one overwrites an older one."""

    def __init__(self, places: int) -> None:
        # Who uses it does so without a call, for the links of every page: `hashes[hashed & mask] = hashed` remembers a
        # value, which is known while `hashes[hashed & mask] == hashed`.
        self.mask = places - 1
        self.hashes = array("q", bytes(8 * places))


class KeyTable:
    """An open-addressed hash table of `places` slots (a power of two) that gives each key a slot.

    If all slots in reach are taken, a new key replaces one that was looked up only once. So a site that is visited
    again and again is not forgotten in favour of thousands that are visited once.
    """

    def __init__(self, places: int) -> None:
        self._mask = places - 1
        self._hashes = array("q", bytes(8 * (places + NEIGHBOURS)))
        self._met_again = bytearray(places + NEIGHBOURS)

    def __len__(self) -> int:
        """Return the number of slots."""
        return len(self._hashes)

    def locate(self, hashed: int) -> tuple[int, bool]:
        """Return the slot of a key and True, or the slot that the key may take and False. Marks a known key as used."""
        home = hashed & self._mask
        for place in range(home, home + NEIGHBOURS):
            found = self._hashes[place]
            if found == hashed:
                self._met_again[place] = 1
                return place, True
            if not found:
                return place, False
        return max(home, self._met_again.find(0, home, home + NEIGHBOURS)), False

    def take(self, place: int, hashed: int) -> None:
        """Give a slot to a key."""
        if self._hashes[place] != hashed:
            self._hashes[place] = hashed
            if self._met_again[place]:  # so had all its neighbours: from now on only new uses count
                self._met_again[place : place + NEIGHBOURS] = bytes(NEIGHBOURS)


class NumberTable:
    """Stores a number for each of many keys, and forgets keys that are rarely used."""

    def __init__(self, places: int) -> None:
        self._keys = KeyTable(places)
        self._numbers = array("q", bytes(8 * len(self._keys)))

    def get(self, key: Hashable, default: int) -> int:
        """Return the number of a key, or the default if the key is unknown."""
        place, is_known = self._keys.locate(_hash(key))
        return self._numbers[place] if is_known else default

    def put(self, key: Hashable, number: int) -> None:
        """Store the number of a key."""
        hashed = _hash(key)
        place, _ = self._keys.locate(hashed)
        self._keys.take(place, hashed)
        self._numbers[place] = number


class PairTable:
    """Stores two numbers for each of many keys, and forgets keys that are rarely used."""

    def __init__(self, places: int) -> None:
        self._keys = KeyTable(places)
        self._numbers = array("q", bytes(16 * len(self._keys)))

    def get(self, key: Hashable) -> tuple[int, int] | None:
        """Return the numbers of a key; None if the key is unknown."""
        place, is_known = self._keys.locate(_hash(key))
        return (self._numbers[2 * place], self._numbers[2 * place + 1]) if is_known else None

    def put(self, key: Hashable, first: int, second: int) -> None:
        """Store the numbers of a key."""
        hashed = _hash(key)
        place, _ = self._keys.locate(hashed)
        self._keys.take(place, hashed)
        self._numbers[2 * place], self._numbers[2 * place + 1] = first, second


class DistinctLimiter:
    """Accepts the first `limit` distinct values of each key."""

    def __init__(self, limit: int, places: int) -> None:
        self._limit = limit
        self._keys = KeyTable(places)
        self._few = array("q", bytes(8 * FEW * len(self._keys)))
        self._many: OrderedDict[int, set[int]] = OrderedDict()  # the least recently used key first
        self._total = 0  # values in `_many`

    def take(self, key: Hashable, value: Hashable) -> bool:
        """Count a value; return whether it is one of the first `limit` of its key."""
        hashed, wanted = _hash(key), _hash(value)
        values = self._many.get(hashed)
        if values is None:
            start = self._start_of_few(hashed)
            for place in range(start, start + min(FEW, self._limit)):
                if not self._few[place]:
                    self._few[place] = wanted
                if self._few[place] == wanted:
                    return True
            if self._limit <= FEW:
                return False
            values = self._many[hashed] = set(self._few[start : start + FEW])
            self._total += FEW
        self._many.move_to_end(hashed)
        if wanted in values:
            return True
        if len(values) >= self._limit:
            return False
        values.add(wanted)
        self._total += 1
        while self._total > MAX_MANY and len(self._many) > 1:
            self._total -= len(self._many.popitem(last=False)[1])
        return True

    def _start_of_few(self, hashed: int) -> int:
        """Return where the first few values of a key begin; an unknown key gets a slot with zeros."""
        place, is_known = self._keys.locate(hashed)
        if not is_known:
            self._keys.take(place, hashed)
            self._few[place * FEW : place * FEW + FEW] = array("q", bytes(8 * FEW))
        return place * FEW


def _hash(value: Hashable) -> int:
    return hash(value) or 1  # 0 marks a free slot
