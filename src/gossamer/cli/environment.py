"""The environment of a command, as far as it holds settings of a crawl."""

from __future__ import annotations

import os
from typing import Final

_PLACES: Final = ("GOSSAMER_DATA_DIR", "GOSSAMER_CONFIG")  # say where settings are, but are not settings


def environment_for_settings() -> dict[str, str]:
    """Return the variables from which settings may be read."""
    return {name: value for name, value in os.environ.items() if name not in _PLACES}
