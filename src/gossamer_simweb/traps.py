"""Traps: sites that make up pages without end, each in its own way. Pure.

A page of a trap follows from its URL alone, like any other page of the simulated web, but there is no telling how many
there are. So nobody is expected to visit any: the judge counts what a crawler spends on each.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from xxhash import xxh3_64_hexdigest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FACETS = 12  # of the shop whose filters combine: 4,096 ways
_WORDS = "<p>Words that are on every page of this site, whatever its address may be.</p>" * 5


class TrapUrl(NamedTuple):
    """Where in a trap someone is."""

    name: str  # of the host
    target: str  # path and query
    year: int  # in which calendars begin

    def fresh(self, number: int = 0) -> str:
        """Return a word that leads to no place where anyone was before."""
        return xxh3_64_hexdigest(f"{self.name} {self.target} {number}".encode())


class TrapPage(NamedTuple):
    """What someone finds there."""

    links: tuple[str, ...] = ()  # paths with queries
    hosts: tuple[str, ...] = ()  # whose front pages are linked to
    leads_to: str = ""  # a path: this is a redirect
    words: str = ""  # on this page alone


def _months(door: TrapUrl, form: str) -> TrapPage:
    """A month of a calendar, which links to the one before and the one after."""
    found = re.search(r"(\d+)\D(\d+)$", door.target)
    year, month = (int(found[1]), int(found[2])) if found else (door.year, 6)
    around = [divmod(12 * year + month - 1 + step, 12) for step in (-1, 1)]
    return TrapPage(tuple(form.format(year, month + 1) for year, month in around), words=f"{month}/{year}")


def _sessions(door: TrapUrl) -> TrapPage:
    asked = tuple(f"/room/{room}?PHPSESSID={door.fresh(room)}" for room in range(3))
    return TrapPage((*asked, *(f"/room/{room};jsessionid={door.fresh(room)}?view=all" for room in range(3))))


def _deeper(door: TrapUrl) -> TrapPage:
    return TrapPage((f"{door.target}{door.fresh()[:6]}/",))


def _longer(door: TrapUrl) -> TrapPage:
    return TrapPage((f"{door.target}{door.fresh() * 5}/",))


def _repeated(door: TrapUrl) -> TrapPage:
    return TrapPage((f"{door.target}shop/cart/",))


def _parameters(door: TrapUrl) -> TrapPage:
    return TrapPage((f"{door.target}&{door.fresh()}=1" if "?" in door.target else "/?p=1",))


def _filters(door: TrapUrl) -> TrapPage:
    chosen = set(door.target.partition("?")[2].split("&")) - {""}
    wider = [chosen | {f"facet{facet}=on"} for facet in range(FACETS)]
    return TrapPage(tuple(f"/shop?{'&'.join(sorted(facets))}" for facets in wider))


def _flood(door: TrapUrl) -> TrapPage:
    site = door.name[door.name.index("flood") :]
    return TrapPage(hosts=tuple(f"{door.fresh(number)[:8]}.{site}" for number in range(2)))


def _same(door: TrapUrl) -> TrapPage:
    return TrapPage(tuple(f"/item/{door.fresh(number)}" for number in range(2)))


def _pagination(door: TrapUrl) -> TrapPage:
    page = int(door.target.partition("=")[2] or "1")
    return TrapPage((f"/list?page={page + 1}",), words=f"Page {page} of a very long list")


def _redirects(door: TrapUrl) -> TrapPage:
    if door.target == "/":
        return TrapPage(("/go/1", "/go/2"))
    return TrapPage(leads_to=f"/go/{door.fresh()}")


def _missing(door: TrapUrl) -> TrapPage:
    names = tuple(f"/{door.fresh(number)}.html" for number in range(3))
    return TrapPage(names, words=f"There is no {door.target} here, but these may interest you")


TRAPS: dict[str, Callable[[TrapUrl], TrapPage]] = {
    "calendar": lambda door: _months(door, "/calendar/{}/{}"),
    "dates": lambda door: _months(door, "/day?date={}-{:02d}"),
    "sessions": _sessions,  # names one in every link, in the path and in the query
    "deeper": _deeper,
    "longer": _longer,
    "repeated": _repeated,  # relative links that repeat their own path
    "parameters": _parameters,  # more with every step
    "filters": _filters,  # of a shop, in every combination
    "flood": _flood,  # of names below the site's own
    "same": _same,  # content, under ever new URLs
    "pagination": _pagination,  # has always one page more, with something else on it
    "redirects": _redirects,  # never end
    "missing": _missing,  # pages are answered by 200, and by links to others that are missing
}


def trap_site(kind: str, number: int) -> str:
    """Return the name of a trap's site."""
    return f"{kind}-trap-{number}.test"


def trap_kind(name: str, traps: int) -> str | None:
    """Return the kind of the trap that a host name belongs to, where there are so many of each kind."""
    found = _NAME.fullmatch(name)
    if found is None or found[2] not in TRAPS or int(found[3]) >= traps or (found[1] and found[2] != "flood"):
        return None
    return found[2]


def trap_body(words: str, links: Iterable[str]) -> bytes:
    """Return a page as HTML."""
    anchors = "".join(f'<a href="{link.replace("&", "&amp;")}">on</a> ' for link in links)
    return f"<!DOCTYPE html>\n<title>Welcome</title><p>{words}</p>{_WORDS}<p>{anchors}</p>\n".encode()


_NAME = re.compile(r"(?:([0-9a-f]{8})\.)?([a-z]+)-trap-(0|[1-9][0-9]{0,3})\.test")
