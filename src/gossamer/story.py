"""Tells what a crawl does, step by step, at the level debug: one line for each claim, release, wait and the like.

A step has a name and facts. The log of a crawl writes them as `name fact=value ...` or as JSON, and writes only so many
lines of one name a second (`crawl.log`).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_NAMES: Final = 50  # of sites, in one line


def tell(log: logging.Logger, step: str, **facts: object) -> None:
    """Log a step with its facts; costs next to nothing unless the log's level is debug."""
    if log.isEnabledFor(logging.DEBUG):
        log.debug("%s %s", step, in_words(facts), extra={"step": step, "facts": facts})


def in_words(facts: Mapping[str, object]) -> str:
    """Return facts in one line: `name=value`, lists with commas, at most `MAX_NAMES` of each."""
    return " ".join(f"{name}={_value(value)}" for name, value in facts.items())


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, list | tuple):
        more = f",+{len(value) - MAX_NAMES}" if len(value) > MAX_NAMES else ""
        return ",".join(map(str, value[:MAX_NAMES])) + more
    text = str(value)
    return f'"{text}"' if " " in text else text
