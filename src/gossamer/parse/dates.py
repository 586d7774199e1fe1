"""Parses the dates of sitemaps and feeds. Pure."""

from __future__ import annotations

import calendar
import re
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Final

MAX_CHARS: Final = 100

_W3C: Final = re.compile(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]+)?)?"
    r"\s?(?:[Zz]|([+-])([0-9]{2}):?([0-9]{2}))?)?)?)?$"
)
_MAIL_DATE: Final = re.compile(r"(?:[A-Za-z]{3,9},)?\s*[0-9]{1,2}[ -][A-Za-z]{3,9}[ -][0-9]{2,4}\b")


@lru_cache(maxsize=1_024)  # many sites give all pages the same date
def parse_time(text: str) -> float | None:
    """Return a date of a sitemap (W3C) or a feed (RFC 822) in Unix seconds; None if it is no date."""
    if len(text) > MAX_CHARS:
        return None
    found = _W3C.match(text)
    if found is None:
        return _parse_mail_date(text)
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    month, day = month or 1, day or 1
    if not (year and month <= 12 and day <= calendar.monthrange(year, month)[1]):
        return None
    if hour > 24 or minute > 59 or second > 60:
        return None
    moment = calendar.timegm((year, month, day, hour, minute, second))
    sign, hours, minutes = found[7], int(found[8] or 0), int(found[9] or 0)
    return float(moment - (hours * 3_600 + minutes * 60) * (-1 if sign == "-" else 1))


def _parse_mail_date(text: str) -> float | None:
    if not _MAIL_DATE.match(text):
        return None
    try:
        moment = parsedate_to_datetime(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, TypeError):
        return None
