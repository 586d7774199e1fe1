"""Named SQL statements, read from the `.sql` files that stand beside each engine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"^\s*--.*\n?", re.MULTILINE)


def read_statements(file: Traversable) -> dict[str, str]:
    """Return the statements of a file by the name each carries in its `-- name:` line."""
    _, *named = _NAME.split(file.read_text(encoding="utf-8"))
    names, texts = named[::2], named[1::2]
    if len(set(names)) != len(names):
        raise ValueError(f"{file.name} gives one name to two statements")
    return {name: _COMMENT.sub("", text).strip() for name, text in zip(names, texts, strict=True)}
