"""Content encodings are undone whatever the bytes, and never cost more than the cap."""

from __future__ import annotations

import gzip
import random
import struct
import time
import tracemalloc
import zlib
from typing import TYPE_CHECKING

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gossamer.inflate import MAX_LAYERS, MAX_MEMBERS, Inflated, NotInflated, inflate

if TYPE_CHECKING:
    from collections.abc import Callable

CAP = 1 << 20
PAGE = b"".join(b"<p>paragraph %d, %r</p>\n" % (n, random.Random(n).random()) for n in range(9_000))


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda data: brotli.compress(data, quality=4),
    "zstd": zstd,
}


def read(body: bytes, encodings: str, max_bytes: int = CAP) -> Inflated:
    found = inflate(body, encodings, max_bytes=max_bytes)
    assert isinstance(found, Inflated), found
    return found


@pytest.mark.parametrize("name", ENCODERS)
def test_a_sound_body_comes_out_whole(name: str) -> None:
    assert read(ENCODERS[name](PAGE), name) == Inflated(body=PAGE, truncated=False)
    assert read(ENCODERS[name](b""), name) == Inflated(body=b"", truncated=False)


@pytest.mark.parametrize("value", ["", "identity", "Identity", "none", " , identity,"])
def test_a_body_without_an_encoding_is_left_alone(value: str) -> None:
    assert read(PAGE, value) == Inflated(body=PAGE, truncated=False)


@pytest.mark.parametrize("value", ["GZIP", " gzip ", "gzip,", "identity, gzip", "X-GZip"])
def test_the_header_may_be_spelled_in_many_ways(value: str) -> None:
    assert read(gzip.compress(PAGE), value).body == PAGE


@pytest.mark.parametrize("outer", ENCODERS)
@pytest.mark.parametrize("inner", ENCODERS)
def test_encodings_on_top_of_each_other_are_undone_last_first(inner: str, outer: str) -> None:
    assert read(ENCODERS[outer](ENCODERS[inner](PAGE)), f"{inner}, {outer}") == Inflated(body=PAGE, truncated=False)


def test_deflate_without_the_header_of_zlib_is_read_too() -> None:
    assert read(raw_deflate(PAGE), "deflate") == Inflated(body=PAGE, truncated=False)


@pytest.mark.parametrize("value", ["compress", "gzip, sdch", "utf-8", "dcb", "gzip;q=1", "gz ip"])
def test_an_unknown_encoding_is_named(value: str) -> None:
    found = inflate(PAGE, value, max_bytes=CAP)
    assert isinstance(found, NotInflated)
    assert "unknown content encoding" in found.detail


def test_more_layers_than_anybody_needs_are_refused() -> None:
    body = PAGE
    for _ in range(MAX_LAYERS):
        body = gzip.compress(body)
    assert read(body, ", ".join(["gzip"] * MAX_LAYERS)).body == PAGE
    once_more = inflate(gzip.compress(body), ", ".join(["gzip"] * (MAX_LAYERS + 1)), max_bytes=CAP)
    assert isinstance(once_more, NotInflated)


def test_a_layer_cut_short_marks_the_body_even_if_the_layer_below_is_whole() -> None:
    cut = gzip.compress(zlib.compress(PAGE))[:-8]
    assert read(cut, "deflate, gzip") == Inflated(body=PAGE, truncated=True)


@pytest.mark.parametrize("name", ENCODERS)
def test_a_body_that_is_not_in_its_encoding_is_refused(name: str) -> None:
    found = inflate(b"<!DOCTYPE html><p>not compressed at all</p>", name, max_bytes=CAP)
    assert isinstance(found, NotInflated)
    assert found.detail.startswith(f"not {name}")


@pytest.mark.parametrize("name", ENCODERS)
def test_an_empty_body_is_empty_whatever_its_encoding(name: str) -> None:
    assert read(b"", name) == Inflated(body=b"", truncated=False)


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_streams_that_follow_each_other_are_one_body(name: str) -> None:
    encode = ENCODERS[name]
    assert read(encode(PAGE) + encode(b"and more") + encode(b""), name) == Inflated(
        body=PAGE + b"and more", truncated=False
    )


def test_zstd_frames_to_be_skipped_are_skipped() -> None:
    skipped = b"\x5a\x2a\x4d\x18" + struct.pack("<I", 5) + b"hello"
    assert read(skipped + zstd(PAGE) + skipped, "zstd") == Inflated(body=PAGE, truncated=False)


@pytest.mark.parametrize("name", ["gzip", "deflate", "zstd"])
@pytest.mark.parametrize("garbage", [b"\0" * 512, b"\r\n", b"<!-- served by a cache -->" * 400])
def test_garbage_behind_the_end_does_no_harm(name: str, garbage: bytes) -> None:
    assert read(ENCODERS[name](PAGE) + garbage, name) == Inflated(body=PAGE, truncated=False)


@pytest.mark.parametrize("name", ENCODERS)
def test_a_stream_cut_short_yields_what_could_be_read(name: str) -> None:
    encoded = ENCODERS[name](PAGE)
    found = read(encoded[: len(encoded) * 3 // 4], name)
    assert found.truncated
    assert len(found.body) > len(PAGE) // 2
    assert PAGE.startswith(found.body)


@pytest.mark.parametrize("name", ENCODERS)
def test_a_damaged_stream_yields_what_came_before_the_damage(name: str) -> None:
    noise = random.Random(1).randbytes(20_000)
    encoded = ENCODERS[name](PAGE + noise)
    found = read(encoded[:-15_000] + b"\xff" * 15_000, name)
    assert found.truncated
    assert len(found.body) > len(PAGE) // 2
    assert PAGE.startswith(found.body[: len(PAGE)])


def test_a_wrong_checksum_marks_the_body() -> None:
    encoded = gzip.compress(PAGE)
    found = read(encoded[:-8] + b"12345678", "gzip")
    assert found.truncated
    assert PAGE.startswith(found.body)


@pytest.mark.parametrize("name", ["", *ENCODERS])
@pytest.mark.parametrize("room", [-1, 0, 1])
def test_the_cap_is_exact(name: str, room: int) -> None:
    encoded = ENCODERS[name](PAGE) if name else PAGE
    found = read(encoded, name, max_bytes=len(PAGE) + room)
    assert found == Inflated(body=PAGE[: len(PAGE) + room], truncated=room < 0)


def rle_bomb(blocks: int) -> bytes:
    """Return a zstd frame in which every four bytes stand for 128 KB of zeros."""
    header = b"\x28\xb5\x2f\xfd" + bytes((0b0000_0000, 7 << 3))  # no content size; a window of 128 KB
    block = struct.pack("<I", (1 << 17) << 3 | 1 << 1)[:3] + b"\0"
    last = struct.pack("<I", (1 << 17) << 3 | 1 << 1 | 1)[:3] + b"\0"
    return header + block * (blocks - 1) + last


ZEROS = b"\0" * (1 << 26)
BOMBS: dict[str, Callable[[], bytes]] = {
    "gzip": lambda: gzip.compress(ZEROS, 9),
    "deflate": lambda: zlib.compress(ZEROS, 9),
    "br": lambda: brotli.compress(ZEROS, quality=5),
    "zstd": lambda: rle_bomb(500_000),
    "gzip, gzip": lambda: gzip.compress(gzip.compress(ZEROS, 9), 9),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_costs_only_the_cap(name: str) -> None:
    bomb = BOMBS[name]()
    began_s = time.process_time()
    found = read(bomb, name, max_bytes=8 << 20)
    spent_s = time.process_time() - began_s
    assert found == Inflated(body=ZEROS[: 8 << 20], truncated=True)
    assert spent_s < 0.5
    tracemalloc.start()
    inflate(bomb, name, max_bytes=8 << 20)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 48 << 20


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_a_flood_of_tiny_streams_is_cut_off(name: str) -> None:
    flood = ENCODERS[name](b"x") * 100_000
    began_s = time.process_time()
    found = read(flood, name)
    assert time.process_time() - began_s < 0.5
    assert found == Inflated(body=b"x" * MAX_MEMBERS, truncated=True)


def test_a_zstd_frame_that_asks_for_too_much_memory_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=27)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    greedy = stream.compress(ZEROS) + stream.flush()
    assert isinstance(inflate(greedy, "zstd", max_bytes=CAP), NotInflated)


NAMES = st.sampled_from([*ENCODERS, "gzip, br", "zstd, gzip", "identity", "other"])


@given(st.binary(max_size=300), NAMES)
def test_no_bytes_make_it_raise(body: bytes, name: str) -> None:
    inflate(body, name, max_bytes=1_000)


@given(st.binary(max_size=2_000), st.sampled_from([*ENCODERS]), st.data())
def test_no_damage_makes_it_raise_or_exceed_the_cap(body: bytes, name: str, data: st.DataObject) -> None:
    encoded = bytearray(ENCODERS[name](body))
    for _ in range(data.draw(st.integers(0, 3))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    del encoded[data.draw(st.integers(0, len(encoded))) :]
    found = inflate(bytes(encoded), name, max_bytes=1_000)
    assert isinstance(found, NotInflated) or len(found.body) <= 1_000


@given(st.binary(max_size=5_000), st.lists(st.sampled_from([*ENCODERS]), max_size=3))
def test_what_was_encoded_comes_back(body: bytes, names: list[str]) -> None:
    encoded = body
    for name in names:
        encoded = ENCODERS[name](encoded)
    assert read(encoded, ", ".join(names)) == Inflated(body=body, truncated=False)
