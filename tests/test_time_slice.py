"""The slice of a page in the quick lane, which shrinks while pages overrun."""

from __future__ import annotations

import pytest

from gossamer.page_process.slices import SHORTEST, TimeSlice


def test_an_ordinary_crawl_keeps_the_whole_slice() -> None:
    piece = TimeSlice(0.1)
    for _ in range(100):
        piece.note_overrun(0.1)
        for _ in range(500):  # one page in five hundred
            piece.note_read(0.003)
        assert piece.now_s == 0.1


def test_hundreds_of_sites_that_overrun_take_little_more_than_the_shortest_slice_each() -> None:
    piece = TimeSlice(0.1)
    taken_s = 0.0
    for _ in range(500):
        taken_s += piece.now_s
        piece.note_overrun(piece.now_s)
        piece.note_read(0.003)
    assert piece.now_s == pytest.approx(SHORTEST * 0.1)
    assert taken_s < 11


def test_the_slice_becomes_whole_again_when_pages_no_longer_overrun() -> None:
    piece = TimeSlice(0.1)
    for _ in range(50):
        piece.note_overrun(piece.now_s)
    assert piece.now_s < 0.1
    for _ in range(600):
        piece.note_read(0.003)
    assert piece.now_s == 0.1


def test_without_a_limit_there_is_none_at_any_time() -> None:
    piece = TimeSlice(float("inf"))
    for _ in range(50):
        piece.note_overrun(1.0)
    assert piece.now_s == float("inf")
