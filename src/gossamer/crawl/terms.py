"""The settings that all machines of a crawl must share: how it treats sites, what belongs to it, when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.config import declared
from gossamer.crawl.settings import SECTIONS

if TYPE_CHECKING:
    from gossamer.crawl.settings import Settings

_SECTIONS: Final = {"scope", "traps", "sitemaps", "pace", "robots", "keeping"}
_OTHERS: Final = {"agent_name", "max_pages", "lease"}
_OWN: Final = {"exclude_file", "site_delays_file"}  # paths: each machine has its own copy


def shared_terms(settings: Settings) -> dict[str, str]:
    """Return those settings by name, as text that can be compared."""
    return {
        key: str(getattr(getattr(settings, setting.section), setting.field.name))
        for key, setting in declared(SECTIONS).items()
        if (setting.section in _SECTIONS or key in _OTHERS) and key not in _OWN
    }
