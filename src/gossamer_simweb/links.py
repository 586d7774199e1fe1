"""The links of a page, and how HTML spells them. Pure.

`planned_links` returns the URLs that a page leads to; the judge needs nothing else. `spell` writes each of them in one
of the many forms that HTML allows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from gossamer_simweb.hosts import split_url
from gossamer_simweb.plan import WITH_LINKS, PageKind
from gossamer_simweb.seeded_random import SeededRandom

if TYPE_CHECKING:
    from gossamer_simweb.plan import PlannedPage, PlannedSite, WebPlan


class PlannedLink(NamedTuple):
    """A link from a page to a URL."""

    url: str  # normalised
    follow: bool  # False: the link is marked nofollow


def planned_links(web: WebPlan, page: PlannedPage) -> list[PlannedLink]:
    """Return the links of a page in order. URLs may repeat, and the hosts of some do not exist."""
    if page.planted is not None:
        return [PlannedLink(url, True) for url in page.planted.links]
    if page.kind not in WITH_LINKS:
        return []
    spec, site = web.spec, web.site(page.site)
    follow = page.kind is not PageKind.NOFOLLOW
    found = [
        PlannedLink(child.url, follow and child.kind is not PageKind.UNLINKED)
        for child in site.children.get(page.number, ())
    ]
    dice = SeededRandom(spec.seed, "links", page.site, page.number)
    numbered = site.numbered
    for _ in range(_how_many(spec.links, dice)):
        place = dice.unit()
        other = numbered[int(place**3 * len(numbered))]  # a power law: the front page gets the most links
        chance = (
            place * 65_536 % 1.0
        )  # the lower bits of the same draw, because a second draw would slow down every link
        url = other.url if chance > 0.03 else _other_name(web, site, other)
        found.append(PlannedLink(url, follow and chance < 0.98 and other.kind is not PageKind.UNLINKED))
    for _ in range(_how_many(spec.links_across, dice)):
        if (abroad := web.cross_link(page.site, dice)) is not None:
            found.append(PlannedLink(abroad, follow))  # noqa: PERF401  (the draws must keep their order)
    if dice.chance(0.05):
        found.append(PlannedLink(f"{web.origin(f'nowhere-{page.site}.test')}/", follow))
    return found


def _how_many(mean: float, dice: SeededRandom) -> int:
    """Draw a number by a power law with the given mean: most pages have few links, some have very many."""
    return min(int(mean * 0.5 / math.sqrt(1.0 - dice.unit()) + dice.unit()), int(10 * mean))


def _other_name(web: WebPlan, site: PlannedSite, page: PlannedPage) -> str:
    """Return a URL that redirects to the page from another name of its site; the page's own if there is none."""
    if page.kind not in WITH_LINKS:
        return page.url
    scheme, name, target = split_url(page.url)
    if web.spec.tls:
        scheme = "http"
    elif name == site.hosts.main and site.hosts.alias is not None:
        name = site.hosts.alias
    return web.origin(name, scheme) + target


def spell(url: str, base: str, dice: SeededRandom, *, utf8: bool) -> str:
    """Write a URL as an href on a page with the base URL `base`, not yet escaped for HTML."""
    scheme, name, target = split_url(url)
    origin = url[: -len(target)]
    way = dice.unit()
    if way < 0.4 or not base.startswith(origin + "/"):
        return _spell_in_full(url, scheme, name, base, dice)
    if way < 0.55:
        return _relative(target, base[len(origin) :])
    if way < 0.6:
        return f"/x/..{target}"
    if way < 0.7:
        return _with_odd_escapes(target, dice)
    if way < 0.8 and utf8:
        return target.replace("%C3%A9", "é")
    return target


def _spell_in_full(url: str, scheme: str, name: str, base: str, dice: SeededRandom) -> str:
    way = dice.unit()
    if way < 0.25 and base.startswith(scheme + ":"):
        return url[len(scheme) + 1 :]
    if way < 0.4:
        return f"{url}#part-{dice.below(9)}"
    if way < 0.45:
        return url.replace(name, name.title(), 1)
    if way < 0.5:
        return f"\n  {url} "
    return url


def _relative(target: str, base: str) -> str:
    folder = base.partition("?")[0].rpartition("/")[0] + "/"
    if target.startswith(folder):
        rest = target[len(folder) :]
        return rest if rest and rest[0] != "?" else "./" + rest
    return "../" * (folder.count("/") - 1) + target[1:]


def _with_odd_escapes(target: str, dice: SeededRandom) -> str:
    path, question, query = target.partition("?")
    if "%" in path:
        return path.lower() + question + query
    if "e" in path and dice.chance(0.7):
        return path.replace("e", "%65", 1) + question + query
    return target
