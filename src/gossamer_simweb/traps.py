"""Crawler traps: sites that generate endless pages, one way per kind. Pure.

The URL alone determines a page of a trap. The number of pages is unbounded, so `expected` contains none of them: the
judge counts the pages that a crawler requests from each trap.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from xxhash import xxh3_64_hexdigest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FACETS = 12  # filters of the shop: 4,096 combinations
_WORDS = "<p>Words that are on every page of this site, whatever its address may be.</p>" * 5


class TrapUrl(NamedTuple):
    """A URL within a trap."""

    name: str  # the host name
    target: str  # path and query
    year: int  # the first one of calendars

    def fresh(self, number: int = 0) -> str:
        """Return a hash of this URL and `number`, for links that are always new."""
        return xxh3_64_hexdigest(f"{self.name} {self.target} {number}".encode())


class TrapPage(NamedTuple):
    """The content of a trap's page."""

    links: tuple[str, ...] = ()  # paths with queries
    hosts: tuple[str, ...] = ()  # the page links to their front pages
    leads_to: str = ""  # a path: the page is a redirect
    words: str = ""  # only on this page


def _months(door: TrapUrl, form: str) -> TrapPage:
    """Return a month of a calendar, with links to the previous month and the next."""
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
    "sessions": _sessions,  # a new session id in every link, in the path and in the query
    "deeper": _deeper,
    "longer": _longer,
    "repeated": _repeated,  # relative links that repeat the path
    "parameters": _parameters,  # one more parameter in every link
    "filters": _filters,  # every combination of a shop's filters
    "flood": _flood,  # ever new subdomains
    "same": _same,  # the same content at ever new URLs
    "pagination": _pagination,  # always one more page, with different text
    "redirects": _redirects,  # endless chains of redirects
    "missing": _missing,  # missing pages with status 200 and links to more missing pages
}


def trap_site(kind: str, number: int) -> str:
    """Return the name of a trap's site."""
    return f"{kind}-trap-{number}.test"


def trap_kind(name: str, traps: int) -> str | None:
    """Return the kind of trap that a host name belongs to; `traps` is the number of traps of each kind."""
    found = _NAME.fullmatch(name)
    if found is None or found[2] not in TRAPS or int(found[3]) >= traps or (found[1] and found[2] != "flood"):
        return None
    return found[2]


def trap_body(words: str, links: Iterable[str]) -> bytes:
    """Return a trap's page as HTML."""
    anchors = "".join(f'<a href="{link.replace("&", "&amp;")}">on</a> ' for link in links)
    return f"<!DOCTYPE html>\n<title>Welcome</title><p>{words}</p>{_WORDS}<p>{anchors}</p>\n".encode()


_NAME = re.compile(r"(?:([0-9a-f]{8})\.)?([a-z]+)-trap-(0|[1-9][0-9]{0,3})\.test")
