"""Ranges that were read once are not asked for again, within a bounded amount of memory."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from gossamer.bucket.address import parse_address
from gossamer.bucket.objects import Bucket
from gossamer.bucket.range_reader import RangeReader
from gossamer.bucket.ranges import RangeCache

DATA = bytes(range(100))


class CountingBucket(Bucket):
    """A bucket of one object, which counts what is asked for."""

    def __init__(self) -> None:
        super().__init__(parse_address("file:///"))
        self.asked: list[tuple[str, int, int]] = []

    def read_range(self, key: str, start: int, length: int) -> bytes:
        """Return a range."""
        self.asked.append((key, start, length))
        return DATA[start : start + length]


def test_a_range_inside_one_that_was_read_is_not_asked_for_again() -> None:
    bucket = CountingBucket()
    ranges = RangeCache(bucket)
    for start, length in ((10, 50), (10, 50), (20, 5), (59, 1)):
        assert ranges.read("a", start, length) == DATA[start : start + length]
    assert bucket.asked == [("a", 10, 50)]
    ranges.read("a", 59, 2)
    ranges.read("b", 10, 50)
    assert bucket.asked[1:] == [("a", 59, 2), ("b", 10, 50)]


def test_the_range_that_was_not_used_for_longest_is_forgotten() -> None:
    bucket = CountingBucket()
    ranges = RangeCache(bucket, max_bytes=60)
    for start in (0, 30, 0, 60):  # the last one is too much: 30 has to go
        ranges.read("a", start, 30)
    bucket.asked.clear()
    ranges.read("a", 0, 30)
    ranges.read("a", 60, 30)
    assert bucket.asked == []
    ranges.read("a", 30, 30)
    assert bucket.asked == [("a", 30, 30)]


def test_threads_that_share_a_file_do_not_get_the_bytes_of_each_other() -> None:
    def read_range(start: int, length: int) -> bytes:
        time.sleep(0.001)  # as a bucket does: other threads go on meanwhile
        return DATA[start : start + length]

    file = RangeReader(read_range, len(DATA))

    def seek_and_read(start: int) -> bytes:
        file.seek(start)
        return file.read(10)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(seek_and_read, [start % 90 for start in range(400)]))
    assert found == [DATA[start % 90 : start % 90 + 10] for start in range(400)]


def test_a_file_that_is_read_in_sequence_is_read_ahead() -> None:
    asked: list[int] = []

    def read_range(start: int, length: int) -> bytes:
        asked.append(length)
        return bytes(length)

    file = RangeReader(read_range, 10_000)
    assert sum(len(file.read(100)) for _ in range(101)) == 10_000
    assert len(asked) < 10
    asked.clear()
    for start in (5_000, 1_000, 7_000):
        file.seek(start)
        file.read(10)
    assert asked == [10, 10, 10]
