"""Whether a page that came is kept: what its site wants beyond robots.txt, and what stands in its place. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gossamer.records import UrlStatus
from gossamer.urls import identify, site_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from gossamer.records import UrlState
    from gossamer.urls import Url

_LANGUAGE = re.compile("[a-z]{2,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepingSettings:
    """Which pages are kept."""

    respect_ai_optout: bool = field(
        default=False,
        metadata={"help": "Keep no page whose owner objects to its use for artificial intelligence."},
    )
    canonical: bool = field(
        default=False,
        metadata={"help": "Keep no page that names another page of its site as canonical; fetch that page instead."},
    )
    languages: tuple[str, ...] = field(
        default=(),
        metadata={"help": "Keep only pages that declare one of these languages, such as de,en, or that declare none."},
    )

    def __post_init__(self) -> None:
        for language in self.languages:
            if not _LANGUAGE.fullmatch(language):
                raise ValueError(f"{language!r} is not a language: use two or three small letters, such as de or en")


def is_foreign(language: str, wanted: Collection[str]) -> bool:
    """Tell whether a page declares a language that is none of those wanted, if there are such."""
    return bool(wanted and language) and language not in wanted


def other_canonical(canonical: str, url: str) -> Url | None:
    """Return the page of the same site that a page names in its place, if it does."""
    return identify(canonical) if canonical and canonical != url and site_of(canonical) == site_of(url) else None


def is_deferred_to(state: UrlState | None) -> bool:
    """Tell whether a page can be left out for its canonical, given where that stands.

    Not if that was given up: perhaps because it had named a page in its own place. Thus of pages that name each other
    in a circle the last one is kept.
    """
    return state is None or state.status is not UrlStatus.GIVEN_UP
