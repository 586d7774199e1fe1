"""Whether a fetched page is stored: opt-outs beyond robots.txt, languages, canonical pages. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gossamer.records import Reason, UrlStatus
from gossamer.urls import identify, site_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from gossamer.records import UrlState
    from gossamer.urls import Url

_LANGUAGE = re.compile("[a-z]{2,3}")
# Languages that pages name by their own code, or by that of the language which includes them.
_INCLUDED = {
    "nb": "no",
    "nn": "no",
    "bs": "sh",
    "hr": "sh",
    "sr": "sh",
    "fil": "tl",
    "prs": "fa",
    "yue": "zh",
    "wuu": "zh",
    "cmn": "zh",
    "arz": "ar",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepingSettings:
    """Which pages are kept."""

    respect_ai_optout: bool = field(
        default=False,
        metadata={
            "help": "Keep no page whose owner objects to its use for artificial intelligence. Before the first page of "
            "a host, its /.well-known/tdmrep.json is requested."
        },
    )
    canonical: bool = field(
        default=False,
        metadata={"help": "Keep no page that names another page of its site as canonical; fetch that page instead."},
    )
    languages: tuple[str, ...] = field(
        default=(),
        metadata={"help": "Keep only pages in these languages, such as de,en, and pages whose language is not known."},
    )

    def __post_init__(self) -> None:
        for language in self.languages:
            if not _LANGUAGE.fullmatch(language):
                raise ValueError(f"{language!r} is not a language: use two or three small letters, such as de or en")


def is_foreign(language: str, wanted: Collection[str]) -> bool:
    """Return whether a page is in a language that the operator does not want; without `wanted`, all are wanted."""
    if not wanted or not language or language in wanted:
        return False
    return not any(_INCLUDED.get(language) == other or language == _INCLUDED.get(other) for other in wanted)


def other_canonical(canonical: str, url: str) -> Url | None:
    """Return the other page of the same site that a page names as canonical, if it names one."""
    return identify(canonical) if canonical and canonical != url and site_of(canonical) == site_of(url) else None


def is_deferred_to(state: UrlState | None) -> bool:
    """Return whether a page may be left out in favour of its canonical page, given the state of that page.

    It may not if the canonical page was given up: perhaps because that one named another page. So if pages name each
    other in a circle, the last one is stored. A canonical page that says noindex speaks for this one as well.
    """
    return state is None or state.status is not UrlStatus.GIVEN_UP or state.reason is Reason.NOINDEX
