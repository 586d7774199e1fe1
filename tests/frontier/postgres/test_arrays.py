"""Arrays that we write as text arrive as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gossamer.frontier.postgres.adding import array_of_numbers, array_of_texts

if TYPE_CHECKING:
    import psycopg


@pytest.mark.parametrize("texts", [["a"], ["null", "NULL", ""], ['"', "\\", '\\"', "{},", " x ", "é\n"], ["a"] * 3])
def test_arrays_arrive_as_they_were(outsider: psycopg.Connection[Any], texts: list[str]) -> None:
    statement = "SELECT %s::text[], %s::int8[], %s::bool[]"
    values = (array_of_texts(texts), array_of_numbers([-(2**63), 0, 7]), array_of_numbers([True, False]))
    assert outsider.execute(statement, values).fetchone() == (texts, [-(2**63), 0, 7], [True, False])
