"""Texts that are nearly the same have fingerprints that differ in few bits; others do not."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse.simhash import MAX_WORDS, simhash

WORDS = [f"word{number}" for number in range(400)]


def words(seed: int, count: int = 300) -> list[str]:
    return random.Random(seed).choices(WORDS, k=count)


def distance(one: str, other: str) -> int:
    return (simhash(one) ^ simhash(other)).bit_count()


def test_a_fingerprint_never_changes_because_stored_ones_are_compared_with_new_ones() -> None:
    assert simhash("To be, or not to be: that is the question.") == 0x2F31_9A6A_69E3_E116
    assert simhash("") == simhash(" \n.,;") == 0


def test_capitals_blanks_and_punctuation_do_not_count() -> None:
    assert simhash("To be, or NOT to be;\n\nthat…is") == simhash("to be or not to be that\u2026is")


@pytest.mark.parametrize("changed", [1, 3, 6])
def test_a_few_other_words_change_a_few_bits(changed: int) -> None:
    for seed in range(20):
        text = words(seed)
        other = text.copy()
        for place in random.Random(seed).sample(range(len(text)), changed):
            other[place] = "changed"
        assert distance(" ".join(text), " ".join(other)) <= 8 + 2 * changed


def test_a_sentence_more_in_front_changes_a_few_bits() -> None:
    for seed in range(20):
        text = " ".join(words(seed))
        assert distance(text, "Accept all cookies. " + text) <= 12


def test_texts_of_the_same_words_in_another_order_are_different_texts() -> None:
    distances = []
    for seed in range(50):
        text = words(seed)
        distances.append(distance(" ".join(text), " ".join(random.Random(seed).sample(text, len(text)))))
    assert min(distances) > 12
    assert 28 < sum(distances) / len(distances) < 36


def test_text_without_blanks_has_fingerprints_too() -> None:
    dice = random.Random(1)
    text = "".join(chr(dice.randrange(0x4E00, 0x9FA5)) for _ in range(1_500))
    assert distance(text, text[:700] + "改" + text[701:]) <= 6
    assert distance(text, text[::-1]) > 15


def test_only_the_first_words_count() -> None:
    text = " ".join(words(1, MAX_WORDS))
    assert simhash(text) == simhash(text + " and more")
    assert simhash(text) != simhash("before " * 100 + text)


@given(st.text())
def test_any_text_has_a_fingerprint_of_64_bits(text: str) -> None:
    assert 0 <= simhash(text) < 1 << 64
    simhash(text + "\ud800")
