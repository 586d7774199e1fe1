"""Long arrays as PostgreSQL writes them. The driver looks at every element, which costs more than sending it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def array_of_numbers(values: Iterable[int]) -> str:
    """Return an array of whole numbers, or of booleans, as text: the statement says of which type it is."""
    return f"{{{','.join(map(str, values))}}}"


def array_of_texts(values: Iterable[str]) -> str:
    """Return an array of texts, at least one, as text."""
    quoted = "\0".join(values)  # which no text of PostgreSQL's holds
    quoted = quoted.replace("\\", "\\\\").replace('"', '\\"').replace("\0", '","')
    return f'{{"{quoted}"}}'
