"""Inputs for fuzzing: bytes of a seed, changed in a few places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_CHANGES = 6
MAX_INSERTED = 40
MAX_BYTES = 100_000


@st.composite
def changed(draw: st.DrawFn, seeds: Sequence[bytes]) -> bytes:
    """A seed in which bytes were replaced, inserted, deleted or repeated, or a part of another seed was put."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, MAX_CHANGES))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, MAX_INSERTED)))
        match draw(st.integers(0, 3)):
            case 0:
                middle = draw(st.binary(max_size=MAX_INSERTED))
            case 1:
                middle = data[start:end] * draw(st.sampled_from((0, 2, 50, 1_000)))
            case 2:
                other = draw(st.sampled_from(seeds))
                middle = other[draw(st.integers(0, len(other))) :]
            case _:
                middle = draw(st.text(max_size=MAX_INSERTED)).encode()
        data = (data[:start] + middle + data[end:])[:MAX_BYTES]
    return data
