"""Sitemaps of the simulated web: their forms, the robots.txt files that name them, and their entries. Pure.

The number of a site decides which of six forms its sitemaps have. They list pages that the site also links to, pages
that only sitemaps list, and pages of other hosts. A crawler must follow an entry of another host if the robots.txt of
that host names the sitemap, and must not follow it otherwise.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Literal, NamedTuple
from xml.sax.saxutils import escape

from gossamer_simweb.seeded_random import EvenSpread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer_simweb.hosts import HostPlan
    from gossamer_simweb.seeded_random import SeededRandom

Form = Literal["index", "conventional", "rss", "atom", "text", "moved"]
_FORMS: tuple[Form, ...] = ("index", "conventional", "rss", "atom", "text", "moved")
_TOPS: dict[Form, str] = {
    "index": "/maps/index.xml",
    "conventional": "/sitemap.xml",
    "rss": "/feed.rss",
    "atom": "/feed.atom",
    "text": "/urls.txt",
    "moved": "/maps/index.xml",
}
_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


class PlannedSitemap(NamedTuple):
    """A sitemap and its entries."""

    url: str
    form: str  # urlset, index, rss, atom, text; planted
    entries: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()


class SitemapPlan(NamedTuple):
    """The sitemaps of a site, with the pages and redirects that exist because of them."""

    sitemaps: list[PlannedSitemap]
    only: list[str]  # pages that only sitemaps list
    moved: list[tuple[str, str]]  # redirects: (from, to)


def sitemap_form(plan: HostPlan, site: int) -> Form | None:
    """Return the form of a site's sitemaps; None if it has none. Without a robots.txt, it is at /sitemap.xml."""
    hosts = plan.hosts(site)
    if hosts.moved_to is not None or EvenSpread(plan.spec.seed, 19).unit(site) >= plan.spec.sitemaps:
        return None
    form = _FORMS[site % len(_FORMS)]
    if form in ("conventional", "moved") or plan.has_robots(hosts.main):
        return form
    return "moved" if form == "index" else "conventional"


def named_sitemaps(plan: HostPlan, name: str) -> tuple[str, ...]:
    """Return the sitemaps that the robots.txt of a host names."""
    site = plan.site_number(name)
    form = sitemap_form(plan, site) if site is not None else None
    if site is None or form is None:
        return ()
    hosts = plan.hosts(site)
    main = plan.origin(hosts.main)
    if name in hosts.subs:  # the robots.txt of the second subdomain names none
        return (main + ("/maps/for-sub.xml" if _is_guessed(form) else _TOPS[form]),) if name == hosts.subs[0] else ()
    named = [] if _is_guessed(form) else [main + _TOPS[form]]
    if form == "rss" and (abroad := _abroad(plan, site)) is not None:
        named.append(f"{plan.origin(plan.hosts(abroad).main)}/maps/for-{site}.xml")
    return tuple(named)


def plan_sitemaps(plan: HostPlan, site: int, pages: Sequence[str]) -> SitemapPlan:
    """Return the sitemaps of a site with these pages, and the one that it serves for its neighbour."""
    found = SitemapPlan([], [], [])
    main = plan.origin(plan.hosts(site).main)
    before = (site - 1) % plan.spec.sites
    if sitemap_form(plan, before) == "rss" and _abroad(plan, before) == site:
        theirs = plan.origin(plan.hosts(before).main)
        guest = f"{main}/only/guest.html"
        found.only.append(guest)
        found.sitemaps.append(
            PlannedSitemap(f"{main}/maps/for-{before}.xml", "urlset", (f"{theirs}/only/abroad.html", guest))
        )
    form = sitemap_form(plan, site)
    if form is not None:
        _plan_own(plan, site, form, pages, found)
    return found


def _plan_own(plan: HostPlan, site: int, form: Form, pages: Sequence[str], found: SitemapPlan) -> None:
    hosts = plan.hosts(site)
    main = plan.origin(hosts.main)
    only = [f"{main}/only/{number}.html" for number in range(1, 5)]
    if form == "rss":
        found.only.append(f"{main}/only/abroad.html")
    theirs = [f"{plan.origin(sub)}/only/{number}.html" for sub in hosts.subs for number in (1, 2)]
    neighbour = plan.origin(plan.hosts((site + 1) % plan.spec.sites).main)
    entries = [*only, *pages[::2], only[0], f"{main}/private/listed.html", f"{main}/gone/listed.html", *theirs]
    entries.append(f"{neighbour}/only/stolen.html")
    found.only.extend([*only, *theirs])
    top = main + _TOPS[form]
    if form in ("index", "moved"):
        files = [f"{main}/maps/{name}" for name in ("1.xml", "2.xml.gz", "3.txt", "more.xml")]
        found.sitemaps.append(PlannedSitemap(top, "index", (), (*files, top)))
        found.sitemaps.append(PlannedSitemap(files[3], "index", (), (top, files[1], f"{neighbour}/maps/1.xml")))
        for number, (url, kind) in enumerate(zip(files[:3], ("urlset", "urlset", "text"), strict=True)):
            found.sitemaps.append(PlannedSitemap(url, kind, tuple(entries[number::3])))
    else:
        found.sitemaps.append(PlannedSitemap(top, "urlset" if form == "conventional" else form, tuple(entries)))
    if form == "moved":
        found.moved.append((f"{main}/sitemap.xml", top))
    if hosts.subs and _is_guessed(form):
        listed = (f"{plan.origin(hosts.subs[0])}/only/more.html", f"{main}/only/for-sub.html")
        found.only.extend(listed)
        found.sitemaps.append(PlannedSitemap(f"{main}/maps/for-sub.xml", "urlset", listed))


def _is_guessed(form: Form) -> bool:
    return form in ("conventional", "moved")


def _abroad(plan: HostPlan, site: int) -> int | None:
    """Return the site that serves a sitemap for `site`; None if there is none."""
    other = (site + 1) % plan.spec.sites
    return other if other != site and plan.hosts(other).moved_to is None else None


# ---------------------------------------------------------------------- files


def write_sitemap(sitemap: PlannedSitemap, dice: SeededRandom) -> tuple[str, bytes]:
    """Return the content type and the bytes of a sitemap."""
    match sitemap.form:
        case "text":
            return "text/plain; charset=utf-8", "\n".join(sitemap.entries).encode()
        case "rss":
            items = "".join(f"<item><title>x</title><link>{escape(url)}</link></item>" for url in sitemap.entries)
            return "application/rss+xml", f"<rss version='2.0'><channel>{items}</channel></rss>".encode()
        case "atom":
            items = "".join(f'<entry><link href="{escape(url)}"/></entry>' for url in sitemap.entries)
            return "application/atom+xml", f"<feed xmlns='http://www.w3.org/2005/Atom'>{items}</feed>".encode()
        case "index":
            files = "".join(f"<sitemap><loc>{escape(url)}</loc></sitemap>" for url in sitemap.sitemaps)
            text = f"<sitemapindex xmlns='{_NAMESPACE}'>{files}</sitemapindex>"
            return "application/xml", f"<?xml version='1.0' encoding='UTF-8'?>\n{text}".encode()
    urls = "".join(f"<url><loc>{_spell(url, dice)}</loc>{_about(dice)}</url>\n" for url in sitemap.entries)
    text = f"<urlset xmlns='{_NAMESPACE}'>\n{urls}</urlset>"
    if sitemap.url.endswith(".gz"):
        return "application/gzip", gzip.compress(text.encode(), 1, mtime=0)
    charset = "UTF-16" if dice.chance(0.2) else "UTF-8"
    return "text/xml", f"<?xml version='1.0' encoding='{charset}'?>\n{text}".encode(charset)


def _spell(url: str, dice: SeededRandom) -> str:
    way = dice.unit()
    if way < 0.2:
        return f"<![CDATA[{url}]]>"
    return f"\n  {escape(url)}\n" if way < 0.4 else escape(url)


def _about(dice: SeededRandom) -> str:
    way = dice.unit()
    changed = f"<lastmod>20{10 + dice.below(16)}-0{1 + dice.below(9)}-15</lastmod>" if way < 0.6 else ""
    return changed + (f"<priority>0.{dice.below(10)}</priority>" if 0.3 < way < 0.8 else "")
