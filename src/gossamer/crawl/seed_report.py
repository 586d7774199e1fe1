"""The lines about failed seeds that are printed at the end of a crawl. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.records import Reason
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gossamer.records import SeedOutcome

_NOTHING_ANSWERS: Final = "nothing answers there; check the address, and the port if it has one"
_ADVICE: Final = {
    Reason.ADDRESS_REFUSED: "its address is not public; to crawl your own network, name it: --allow-network 10.0.0.0/8",
    Reason.NO_SUCH_NAME: "no such name exists; check the spelling",
    Reason.DNS_FAILED: "the name server gave no answer; try again later, or name another one with --nameserver",
    Reason.CONNECT_REFUSED: _NOTHING_ANSWERS,
    Reason.CONNECT_TIMEOUT: _NOTHING_ANSWERS,
    Reason.CONNECT_FAILED: _NOTHING_ANSWERS,
    Reason.TLS_FAILED: "its certificate cannot be verified; trust your own authority with --ca-file",
    Reason.ROBOTS_DISALLOWED: "its robots.txt does not allow it; the command explain shows the rule",
    Reason.ROBOTS_UNREACHABLE: "its robots.txt could not be read for days; try again later",
    Reason.TYPE_REFUSED: "its content type is not accepted; see --accept-types",
    Reason.HTTP_ERROR: "the server refused it; the command explain shows the status",
    Reason.BLOCKED: "a protection service sent a challenge in its place; ask its owner to admit your crawler",
    Reason.NOINDEX: "its owner does not want it to be stored (noindex)",
    Reason.OTHER_LANGUAGE: "it is in another language than --languages names",
}
_ELSE: Final = "the command explain shows why"


# These seeds answered, but their owners or the operator's settings leave their pages out; their links were followed.
_NOT_KEPT: Final = frozenset(
    {Reason.NOINDEX, Reason.TYPE_REFUSED, Reason.OTHER_LANGUAGE, Reason.AI_OPTED_OUT, Reason.NOT_CANONICAL}
)


def failed_seeds(outcomes: Iterable[SeedOutcome], pages: int) -> list[str]:
    """Return a line for each reason for which seeds failed, most frequent first; `pages` is how many are stored."""
    failed = [
        (each.seeds, each.example, each.reason)
        for each in outcomes
        if each.reason and each.reason is not Reason.NO_HTTPS and not (pages and each.reason in _NOT_KEPT)
    ]
    return [
        f"{count(seeds, 'seed')} failed with {reason}, {'for example ' if seeds > 1 else ''}{example}: "
        f"{_ADVICE.get(reason, _ELSE)}."
        for seeds, example, reason in sorted(failed, key=lambda one: (-one[0], one[1]))
    ]


def is_fruitless(outcomes: Iterable[SeedOutcome], pages: int) -> bool:
    """Return whether a crawl that ended by itself got no page from any seed."""
    return pages == 0 and not any(each.reason is None for each in outcomes)
