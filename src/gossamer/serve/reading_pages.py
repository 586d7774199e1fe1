"""The pages about sites and URLs: search, lists, explanations, and what is stored. Pure: values in, markup out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gossamer.serve.markup import Html, address, join, tag
from gossamer.wording import count, moment, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SORTS: Final = {  # by column of the table `sites`: its name on the page, and whether large values come first
    "pages": ("pages", True),
    "site": ("name", False),
    "requests": ("requests", True),
    "errors": ("errors", True),
    "bytes": ("bytes received", True),
    "min_gap_s": ("shortest gap, shortest first", False),
    "mean_request_s": ("mean time of a request, longest first", True),
    "last_request_at": ("last request, latest first", True),
}
_SITE_COLUMNS: Final = ("site", "next turn", "queued", "pages", "errors", "received", "shortest gap", "delay", "robots")


def sites_page(found: Mapping[str, Any], *, search: str, sort: str, number: int, may_order: bool) -> Html:
    """Return the list of sites, with a form to search and to sort it."""
    total, rows = found["total"], found["rows"]
    as_of = f", as of {moment(found['made_at'])}" if found["made_at"] else ""
    said = f"{count(total, 'site')} asked so far{as_of}." if not search else f"{count(total, 'site')} found{as_of}."
    unknown = (
        " A site that was never asked is found by its whole name, on its own page." if search and not total else ""
    )
    return join([
        _search(search, sort),
        tag("p", said, unknown, role="status"),
        tag("p", tag("a", f"Look at {search}", href=address("/site", name=search))) if unknown else None,
        _table(_SITE_COLUMNS, [_site_row(row) for row in rows], "Sites") if rows else None,
        _turn_pages(total, found["a_page"], search, sort, number),
        _exclusions(found["exclusions"], may_order=may_order),
    ])  # fmt: skip


def _search(search: str, sort: str) -> Html:
    options = [tag("option", name, value=key, selected=key == sort) for key, (name, _) in SORTS.items()]
    return tag(
        "form",
        tag("label", "Part of the name ", tag("input", name="q", type="search", value=search)),
        tag("label", "Sorted by ", tag("select", options, name="sort")),
        tag("button", "Show", type="submit"),
        method="get", action="/sites", class_="search", role="search",
    )  # fmt: skip


def _site_row(row: Mapping[str, Any]) -> list[Html]:
    early = " before the delay was over" if row["is_early"] else ""
    return [
        tag("td", tag("a", row["site"], href=address("/site", name=row["site"]))),
        tag("td", tag("strong", row["cause"]), " ", row["sentence"], class_="words"),
        *(tag("td", f"{row[key]:,}") for key in ("queued", "pages", "errors")),
        tag("td", row["bytes"]),
        tag("td", row["gap"], early, class_="alarm" if early else None),
        tag("td", row["delay"]),
        tag("td", row["robots"], class_="words"),
    ]


def _turn_pages(total: int, a_page: int, search: str, sort: str, number: int) -> Html | None:
    last = max(0, (total - 1) // a_page)
    if not last:
        return None
    targets = [("Previous", number - 1), ("Next", number + 1)]
    links = [tag("a", name, href=address("/sites", q=search, sort=sort, page=str(to)), class_="button")
             for name, to in targets if 0 <= to <= last]  # fmt: skip
    return tag("nav", links, tag("span", f"page {number + 1:,} of {last + 1:,}"), class_="orders", aria_label="Parts")


def _exclusions(entries: Sequence[str], *, may_order: bool) -> Html:
    """Return what is excluded, and the orders about it."""
    lines = [
        tag("li", entry, " ", tag("a", "readmit", href=address("/order", what="readmit", entry=entry),
                                  aria_label=f"readmit {entry}") if may_order else None)
        for entry in entries
    ]  # fmt: skip
    form = tag(
        "form",
        tag("input", type="hidden", name="what", value="exclude"),
        tag("label", "A domain, *.domain, or the beginning of URLs ", tag("input", name="entry", required=True)),
        tag("button", "Exclude", type="submit"),
        method="get", action="/order", class_="search",
    )  # fmt: skip
    return tag(
        "section",
        tag("h2", "Excluded"),
        tag("ul", lines, class_="lines") if lines else tag("p", "Nothing is excluded."),
        form if may_order else None,
        class_="card",
    )


def site_page(found: Mapping[str, Any], *, may_order: bool) -> Html:
    """Return what is known of a site, and the orders about it."""
    what = "readmit" if found["is_excluded"] else "exclude"
    link = tag("a", f"{what.capitalize()} {found['site']}", href=address("/order", what=what, entry=found["site"]),
               class_="button")  # fmt: skip
    return join([_explanation(found), tag("p", link, class_="orders") if may_order else None])


def url_form(url: str = "") -> Html:
    """Return the form that asks for a URL."""
    return tag(
        "form",
        tag("label", "URL, or the name of a site ", tag("input", name="url", value=url, required=True, size="50")),
        tag("button", "Look up", type="submit"),
        method="get", action="/url", class_="search", role="search",
    )  # fmt: skip


def url_page(found: Mapping[str, Any]) -> Html:
    """Return why a URL was fetched or not, and what is stored of it."""
    url = found["url"]
    return join([
        url_form(url),
        tag("p", "Its site: ", tag("a", found["site"], href=address("/site", name=found["site"]))),
        _explanation(found),
        tag("section", tag("h2", "What is stored"), _facts(found["stored"]), class_="card"),
        _stored(found) if "text" in found else None,
    ])  # fmt: skip


def _stored(found: Mapping[str, Any]) -> Html:
    """Return headers, text and the archived page, which a sandbox shows without scripts and without the network."""
    frame = [
        tag("p", "As archived, without scripts, pictures and anything else from elsewhere."),
        tag("iframe", sandbox="", src=address("/archived", url=found["url"]), title="The archived page", loading="lazy",
            referrerpolicy="no-referrer"),
    ]  # fmt: skip
    return join([
        _unfold("Headers", tag("pre", "\n".join(map(plain, found["headers"])), tabindex="0")),
        _unfold("Text", tag("pre", found["text"], class_="text", tabindex="0"), is_open=True),
        _unfold("Page", frame) if found["is_archived"] else None,
    ])  # fmt: skip


def _unfold(title: str, content: Sequence[Html] | Html, *, is_open: bool = False) -> Html:
    return tag("details", tag("summary", title), content, class_="card", open=is_open)


def _explanation(found: Mapping[str, Any]) -> Html:
    requests = [tag("li", line) for line in found["requests"]]
    return tag(
        "section",
        tag("h2", "Why"),
        tag("p", tag("strong", found["cause"]), ": ", found["sentence"]),
        _facts(found["facts"]),
        [tag("h3", "Last requests"), tag("ul", requests, class_="lines")] if requests else None,
        class_="card",
    )


def _facts(facts: Sequence[Sequence[str]]) -> Html:
    """Return names and texts; a text without a name goes on with the one before."""
    told: list[tuple[str, list[str]]] = []
    for name, text in facts:
        if name or not told:
            told.append((name, []))
        told[-1][1].append(text)
    rows = [tag("div", tag("dt", name), tag("dd", "\n".join(texts))) for name, texts in told]
    return tag("dl", rows, class_="facts")


def _table(columns: Sequence[str], rows: Sequence[Sequence[Html]], name: str) -> Html:
    words = ("next turn", "robots")
    head = tag("thead", tag("tr", [tag("th", column, scope="col", class_="words" if column in words else None)
                                   for column in columns]))  # fmt: skip
    body = tag("tbody", [tag("tr", row) for row in rows])
    return tag("div", tag("table", head, body), class_="scroll tall card", tabindex="0", role="region", aria_label=name)
