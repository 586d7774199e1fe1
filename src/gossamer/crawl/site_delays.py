"""Reads what the operator says of single sites: longer delays, from flags and from a file, and which are his own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.config import parse_duration
from gossamer.errors import GossamerError, unreadable
from gossamer.rules.lanes import OwnSites
from gossamer.urls import host_of, name_of_host, normalise, site_of_name
from gossamer.wording import delay

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.rules.pace import PaceSettings


def read_site_delays(settings: PaceSettings) -> dict[str, float]:
    """Return the delay of each named site; if a site is named several times, its longest delay."""
    delays_s: dict[str, float] = {}
    for place, text in _lines(settings):
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise GossamerError(f"{place} lacks a delay: write it like {name}=300.")
        site = _site_of(name, place, like="example.org=300")
        try:
            delay_s = parse_duration(value)
        except ValueError as expected:
            raise GossamerError(f"{place}: the delay must be {expected}, not {value!r}.") from None
        if delay_s < settings.delay_s:
            raise GossamerError(
                f"{place} is less than the delay of all sites, {delay(settings.delay_s)}: a site can only get more."
            )
        delays_s[site] = max(delay_s, delays_s.get(site, 0.0))
    return delays_s


def read_own_sites(settings: PaceSettings) -> OwnSites:
    """Return the operator's own sites. Only with a delay of 0 they get several requests at once."""
    names = frozenset(_site_of(name, f"--own {name}", like="example.org") for name in settings.own)
    return OwnSites(names, 1 if settings.delay_s else settings.parallel)


def _lines(settings: PaceSettings) -> Iterator[tuple[str, str]]:
    """Yield where each delay is written, and its text."""
    for text in settings.site_delay:
        yield f"--site-delay {text}", text
    file = settings.site_delays_file
    if file is None:
        return
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(
            file, error, "write one SITE=DURATION per line there, or name another --site-delays-file"
        ) from None
    for number, line in enumerate(lines, start=1):
        if text := line.partition("#")[0].strip():
            yield f"{file}, line {number}: {text!r}", text


def _site_of(name: str, place: str, *, like: str) -> str:
    bare = f"[{name}]" if name.count(":") > 1 and not name.startswith("[") else name
    url = normalise(f"https://{bare}/")
    if not isinstance(url, str) or url.count("/") > 3 or ":" in bare.rpartition("]")[2]:
        raise GossamerError(f"{place}: {name!r} is no site: write it like {like}.")
    host = name_of_host(host_of(url))
    site = site_of_name(host)
    if site != host:
        raise GossamerError(f"{place}: {name} belongs to the site {site}, which has one pace: name that.")
    return site
