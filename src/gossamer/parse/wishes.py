"""What a page and its server want of crawlers: `noindex`, `nofollow`, and limits on the use of the content."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turbohtml import Element

    from gossamer.parse.head import ResponseHead

MAX_SIGNALS: Final = 50
MAX_SIGNAL_CHARS: Final = 500

_SIGNAL_NAMES: Final = frozenset({"tdm-reservation", "tdm-policy"})  # of `<meta name>`, besides robots
# In X-Robots-Tag, `name:` is a crawler, except for these directives with a value.
_WITH_VALUE: Final = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
# As Content-Signal and the drafts of Content-Usage name them.
_AI_USES: Final = frozenset({"ai", "ai-train", "ai-input", "ai-output", "ai-use", "train-ai", "train-genai", "genai"})
_USE: Final = re.compile(r"([a-z-]+)\s*=\s*\"?([a-z]+)")
_AGENT: Final = re.compile(r"\s*([\w.-]+)\s*:\s*(.*)", re.DOTALL)
_COLON: Final = re.compile(r"\s*:\s*")
_BETWEEN: Final = re.compile(r"[,;\s]+")


class Wishes(NamedTuple):
    """The directives for this crawler."""

    noindex: bool
    nofollow: bool
    noai: bool  # the content is not to be used for artificial intelligence
    signals: str  # everything as it was found, `name=value` joined by newlines


def find_wishes(head: ResponseHead, metas: Iterable[Element], agent: str) -> Wishes:
    """Return the directives for all crawlers and for `agent` (in lower case); the strictest one applies."""
    words: set[str] = set()
    signals: list[tuple[str, str]] = [*head.signals]  # robots directives are added below
    noai = any(reserves_ai(name, value) for name, value in head.signals)
    for tag in head.robots:
        words |= _words_for(tag, agent)
        signals.append(("x-robots-tag", tag))
    for meta in metas:
        name = (meta.attr("name") or "").strip().lower()
        if name and (name in ("robots", agent) or name in _SIGNAL_NAMES):
            content = meta.attr("content") or ""
            signals.append((name, content))
            if name in _SIGNAL_NAMES:
                noai = noai or reserves_ai(name, content)
            else:
                words |= _words(content)
    about_us = {"noai", "noimageai"} if head.media_type.startswith("image/") else {"noai"}
    return Wishes(
        not words.isdisjoint(("noindex", "none")),
        not words.isdisjoint(("nofollow", "none")),
        noai or not words.isdisjoint(about_us),
        "\n".join(f"{name}={' '.join(value.split())[:MAX_SIGNAL_CHARS]}" for name, value in signals[:MAX_SIGNALS]),
    )


def reserves_ai(name: str, value: str) -> bool:
    """Return whether a header or meta element forbids some use of the content for artificial intelligence."""
    value = value.strip().lower()
    if name == "tdm-reservation":
        return value == "1"
    if name in ("content-signal", "content-usage"):
        return any(use in _AI_USES and wanted in ("n", "no") for use, wanted in _USE.findall(value))
    return False


def _words(content: str) -> set[str]:
    """Return the directives of a list; a directive with a value stays in one piece."""
    return set(_BETWEEN.split(_COLON.sub(":", content.lower())))


def _words_for(tag: str, agent: str) -> set[str]:
    """Return the directives of an X-Robots-Tag for `agent`; a crawler's name applies up to the next name."""
    words: set[str] = set()
    ours = True
    for part in tag.lower().split(","):
        named = _AGENT.match(part)
        if named and named[1] not in _WITH_VALUE:
            ours, part = named[1] == agent, named[2]
        if ours:
            words |= _words(part)
    return words
