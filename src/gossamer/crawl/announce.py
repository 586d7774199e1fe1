"""The lines that a crawl prints before it begins: its scope, its speed, and warnings about its settings. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.commands import to_type
from gossamer.fetch.limits import in_flight_limit
from gossamer.records import Scope
from gossamer.wording import count, delay

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.crawl.settings import Settings
    from gossamer.records import Stats

_SCOPES: Final = {
    Scope.HOST: "Staying on the seeds' hosts",
    Scope.SITE: "Staying on the seeds' sites",
    Scope.WEB: "Following links anywhere",
}
FEW_SITES: Final = 3  # so few sites are often the operator's own, where a shorter delay is fine
HOUR_S: Final = 3_600


def announce(settings: Settings, stats: Stats, *, workers: int, folder: Path) -> tuple[str, str]:
    """Return two lines: the scope and greatest speed of the crawl; its user agent, workers and folder."""
    return (
        f"{_SCOPES[settings.scope.scope]}: {ceiling(settings, stats.sites)}",
        f"As {settings.crawl.user_agent}; {count(workers, 'worker')}; into {folder}",
    )


def ceiling(settings: Settings, sites: int) -> str:
    """Return how many pages an hour the delay allows, as text."""
    named, delay_s = count(sites, "site"), settings.pace.delay_s
    if not delay_s:
        return f"{named}, without a delay, as fast as they answer"
    most = f"{named} / {delay(delay_s)} = at most {count(int(sites * HOUR_S / delay_s), 'page')} an hour"
    if settings.scope.scope is Scope.WEB:
        return f"{most}, more as sites are found"
    return f"{most}; your own site? --delay 1" if sites <= FEW_SITES and delay_s > 1 else most


def warnings(settings: Settings, *, descriptors: int) -> list[str]:
    """Return a warning for each setting that is risky or impolite, or that this machine cannot fulfil.

    `descriptors` is how many a worker may open, less than 0 if any number.
    """
    found = []
    wanted = settings.fetch.in_flight
    if descriptors >= 0 and (possible := in_flight_limit(wanted, descriptors)) < wanted:
        found.append(
            f"a process may open {count(descriptors, 'descriptor')}, so each worker makes at most {possible:,} and not "
            f"{count(wanted, 'request')} at once (in_flight): `{to_type('doctor')}` says how to allow more"
        )
    if settings.fetch.insecure:
        found.append("CERTIFICATES ARE NOT VERIFIED (--insecure): anyone on the way can forge what is crawled")
    if settings.pace.delay_s < 1 and not settings.fetch.allow_network:
        found.append(
            f"a delay of {delay(settings.pace.delay_s)} is less than most sites accept: use it on your own sites only"
        )
    return found
