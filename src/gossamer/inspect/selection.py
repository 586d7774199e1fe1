"""Which pages to export: filters as operators write them, and as SQL. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from gossamer.errors import GossamerError
from gossamer.inspect.views import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNITS_S: Final = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")
_STATUS: Final = re.compile(r"([1-9])(\d\d|xx)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The pages to export: those that pass every filter that is set."""

    sites: tuple[str, ...] = ()
    since: float | None = None  # Unix seconds
    statuses: tuple[str, ...] = ()  # 404, or 4xx
    langs: tuple[str, ...] = ()  # de means de-AT too
    where: str = ""  # an SQL condition

    def condition(self) -> str:
        """Return all filters as one SQL condition."""
        every = []
        if self.sites:
            every.append(f"site in ({', '.join(quoted(site.lower()) for site in self.sites)})")
        if self.since is not None:
            every.append(f"fetched_at >= make_timestamptz({round(self.since * 1e6)})")
        if self.statuses:
            every.append(_either(map(_status_condition, self.statuses)))
        if self.langs:
            every.append(_either(_lang_condition(lang.lower()) for lang in self.langs))
        if self.where:
            every.append(f"({self.where}\n)")
        return " and ".join(every) or "true"


def read_since(text: str, now: float) -> float:
    """Return the time (Unix seconds) of a date, a time in UTC or a duration before `now`."""
    if (found := _DURATION.fullmatch(text.strip().lower())) and found[2] in _UNITS_S:
        return max(0.0, now - float(found[1]) * _UNITS_S[found[2]])
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise GossamerError(
            f"--since {text} is not a time: write 2026-01-31, 2026-01-31T12:00, or 2d, 12h, 30m for how long ago."
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _either(conditions: Iterable[str]) -> str:
    return f"({' or '.join(conditions)})"


def _status_condition(text: str) -> str:
    found = _STATUS.fullmatch(text.lower())
    if found is None:
        raise GossamerError(f"--status {text} is not a status: write 200, or 2xx for all from 200 to 299.")
    if found[2] == "xx":
        return f"status between {found[1]}00 and {found[1]}99"
    return f"status = {found[0]}"


def _lang_condition(lang: str) -> str:
    return f"(lower(lang) = {quoted(lang)} or starts_with(lower(lang), {quoted(lang + '-')}))"
