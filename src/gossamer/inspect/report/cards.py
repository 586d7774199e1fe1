"""The cards of a report: for each question a plot, a sentence that explains it, and the same figures as a table."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Final

from gossamer.inspect.report.card import card
from gossamer.inspect.report.curves import TimeAxis
from gossamer.inspect.report.figures import MAX_DEPTH, Gaps
from gossamer.inspect.report.history_card import history_card
from gossamer.inspect.report.plots import NARROW, WIDE, Bar, area, columns, rows
from gossamer.wording import count, delay, moment, plain, size, span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.inspect.report.figures import ReportFigures
    from gossamer.records import Stats

SITE_LETTERS: Final = 24
MAX_ERROR_BARS: Final = 10
_STATUS_KINDS: Final = {2: "", 3: "quiet", 4: "warn", 5: "bad"}
_LANGUAGES: Final = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish",
    "fa": "Persian", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian",
    "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nb": "Norwegian", "nl": "Dutch",
    "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish",
    "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


def cards(figures: ReportFigures, stats: Stats | None, *, delay_s: float) -> Iterator[str]:
    """Yield every card that has figures."""
    if figures.stretches:
        axis = TimeAxis(began_at=figures.period[0], ended_at=figures.period[1], width=WIDE, marks=figures.history.marks)
        yield _throughput(figures, axis)
        if figures.history.panels:
            yield history_card(figures.history, axis)
    if stats is not None:
        yield _outcomes(stats)
    if figures.statuses:
        yield _statuses(figures)
    if figures.gaps:
        yield _gaps(figures.gaps, delay_s)
    if figures.pages:
        yield _sizes(figures)
        yield _depths(figures)
        yield _languages(figures)
    if figures.top_sites:
        yield _top_sites(figures)
    yield _errors(figures)


# ---------------------------------------------------------------------- over time


def _throughput(figures: ReportFigures, axis: TimeAxis) -> str:
    stretch_s, stretches = figures.stretch_s, figures.stretches
    whens = [moment(stretch.began_at) for stretch in stretches]
    series = (
        ("Pages a second", "", [stretch.pages / stretch_s for stretch in stretches], lambda rate: f"{rate:,.5g}"),
        ("Received a second", "second", [stretch.bytes / stretch_s for stretch in stretches], size),
    )
    drawn = ""
    for title, kind, values, tell in series:
        hints = [f"{when}: {tell(round(value, 2))}/s" for when, value in zip(whens, values, strict=True)]
        plots = "".join(
            area(
                values, label=f"{title} over time", hints=hints, tell=tell, width=sized.width, kind=kind,
                names=sized.names(), behind=sized.draw_marks,
            ).replace("<svg ", f'<svg class="{name}" ', 1)
            for sized, name in ((axis, "wide"), (replace(axis, width=NARROW), "narrow"))
        )  # fmt: skip
        drawn += f"<div><h3>{title}</h3>{plots}</div>"
    busiest = max(stretches, key=lambda stretch: stretch.pages)
    rate = busiest.pages / stretch_s
    table = [
        (when, f"{stretch.pages:,}", size(stretch.bytes)) for when, stretch in zip(whens, stretches, strict=True)
    ]  # fmt: skip
    return card(
        "Throughput",
        f"Pages and bytes in periods of {span(stretch_s)}; at best {rate:,.1f} pages a second. "
        "A page is a request for one that was answered with a status of 2xx.",
        f'<div class="pair">{drawn}</div>',
        ("from", "pages", "received"),
        table,
        kind="whole",
    )


# ---------------------------------------------------------------------- what became of it


def _outcomes(stats: Stats) -> str:
    given_up = sum(stats.given_up.values())
    parts = [("page", stats.pages, ""), ("moved, or not kept", stats.done - stats.pages, "quiet"),
             ("queued", stats.queued, "quiet")]  # fmt: skip
    parts += [(reason.value, urls, "warn") for reason, urls in sorted(stats.given_up.items(), key=lambda one: -one[1])]
    return _shares(
        "What became of URLs",
        f"Of {count(stats.known, 'URL')}, {stats.done:,} done, {given_up:,} given up and {stats.queued:,} waiting.",
        "outcome", "URLs", [part for part in parts if part[1] or part[0] == "page"],
    )  # fmt: skip


def _statuses(figures: ReportFigures) -> str:
    answered = sum(requests for _, requests in figures.statuses)
    good = sum(requests for status, requests in figures.statuses if status // 100 == 2)
    listed, rest = figures.statuses[:14], sum(requests for _, requests in figures.statuses[14:])
    parts = [(str(status), requests, _STATUS_KINDS.get(status // 100, "bad")) for status, requests in listed]
    parts += [("others", rest, "quiet")] if rest else []
    return _shares(
        "Status codes",
        f"What servers answered to {count(answered, 'request')} for pages; {good / answered:.0%} brought one.",
        "status", "requests", parts,
    )  # fmt: skip


def _languages(figures: ReportFigures) -> str:
    listed = sum(pages for _, pages in figures.languages)
    parts = [(_language(code), pages, "" if code else "quiet") for code, pages in figures.languages]
    parts += [("others", figures.pages - listed, "quiet")] if listed < figures.pages else []
    known = figures.pages - sum(pages for code, pages in figures.languages if not code)
    return _shares(
        "Languages",
        f"As pages declare them or their texts show; known for {known / figures.pages:.0%}.",
        "language", "pages", parts,
    )  # fmt: skip


def _language(code: str) -> str:
    if not code:
        return "not known"
    return f"{_LANGUAGES[code]} ({code})" if code in _LANGUAGES else plain(code)


def _shares(title: str, said: str, what: str, unit: str, parts: Sequence[tuple[str, int, str]]) -> str:
    """A card of bars that add up to a whole."""
    whole = sum(part for _, part, _ in parts) or 1
    bars = [
        Bar(name=name, value=part, told=f"{part:,}", kind=kind, hint=f"{name}: {part:,} ({part / whole:.1%})")
        for name, part, kind in parts
    ]
    table = [(name, f"{part:,}", f"{part / whole:.1%}") for name, part, _ in parts]
    return card(title, said, rows(bars, label=title), (what, unit, "share"), table)


# ---------------------------------------------------------------------- pages


def _sizes(figures: ReportFigures) -> str:
    counts = dict(figures.sizes)
    half, most, largest = figures.size_quantiles
    bars = [
        Bar(
            name=_power(exponent), value=counts.get(exponent, 0), told=f"{counts.get(exponent, 0):,}",
            hint=f"{_power(exponent)} to {_power(exponent + 1)}: {count(counts.get(exponent, 0), 'page')}",
        )
        for exponent in range(min(counts), max(counts) + 1)
    ]  # fmt: skip
    return card(
        "Page sizes",
        f"Inflated. Half of the pages are no larger than {size(half)}, 95 % no larger than {size(most)}; "
        f"the largest has {size(largest)}.",
        columns(bars, label="Pages by size", unit="pages", edges=True),
        ("from", "pages"),
        [(bar.name, bar.told) for bar in bars],
    )


def _power(exponent: int) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if exponent < 10 or unit == "GiB":
            return f"{1 << exponent:,} {unit}"
        exponent -= 10
    raise AssertionError("units end with the last")


def _depths(figures: ReportFigures) -> str:
    counts = dict(figures.depths)
    bars = [
        Bar(
            name=f"{depth}+" if depth == MAX_DEPTH else str(depth), value=counts.get(depth, 0),
            told=f"{counts.get(depth, 0):,}", hint=f"depth {depth}: {count(counts.get(depth, 0), 'page')}",
            kind="second",
        )
        for depth in range(max(counts) + 1)
    ]  # fmt: skip
    return card(
        "Depth",
        f"Links from the nearest seed. Seeds, or where seeds redirect to: {count(figures.seed_pages, 'page')}.",
        columns(bars, label="Pages by depth", unit="pages"),
        ("depth", "pages"),
        [(bar.name, bar.told) for bar in bars],
    )


# ---------------------------------------------------------------------- sites


def _top_sites(figures: ReportFigures) -> str:
    bars = [
        Bar(name=plain(site.site), value=site.pages, told=f"{site.pages:,}",
            hint=f"{plain(site.site)}: {count(site.pages, 'page')}, {size(site.bytes)}")
        for site in figures.top_sites
    ]  # fmt: skip
    share = sum(site.pages for site in figures.top_sites) / max(1, figures.pages)
    table = [
        (
            plain(site.site), f"{site.pages:,}", f"{site.requests:,}", f"{site.errors:,}", size(site.bytes),
            _seconds(site.mean_request_s), "" if site.min_gap_s is None else _seconds(site.min_gap_s),
        )
        for site in figures.top_sites
    ]  # fmt: skip
    return card(
        "Top sites",
        f"The {len(bars)} with the most pages, of {figures.sites:,}; they hold {share:.0%} of all pages.",
        rows(bars, label="Sites by pages", names=SITE_LETTERS),
        ("site", "pages", "requests", "errors", "received", "mean time", "shortest gap"),
        table,
        kind="whole",
        is_split=True,
    )


def _gaps(gaps: Gaps, delay_s: float) -> str:
    counted = sum(gaps.sites)
    said = (
        f"The shortest wait of each of {count(counted, 'site')}, from the end of a turn to the start of the next one."
    )
    if delay_s and not gaps.sooner:
        said += f" None was visited before the crawl's delay of {delay(delay_s)} was over."
    caption = escape(said)
    if gaps.sooner:
        named = ", ".join(f"{plain(site)} after {_seconds(gap_s)}" for site, gap_s in gaps.soonest)
        alarm = f"{gaps.sooner:,} of them sooner than the crawl's delay of {delay(delay_s)}: {named}."
        caption += f' <span class="alarm">{escape(alarm)}</span>'
    bars = []
    for low_s, high_s, sites in zip(gaps.edges_s, (*gaps.edges_s[1:], None), gaps.sites, strict=True):
        until = "or more" if high_s is None else f"to {_seconds(high_s)}"
        bars.append(
            Bar(
                name=_seconds(low_s), value=sites, told=f"{sites:,}",
                hint=f"{_seconds(low_s)} {until}: {count(sites, 'site')}",
                kind="bad" if low_s < delay_s else "second",
            )
        )  # fmt: skip
    marker = gaps.edges_s.index(delay_s) if delay_s else None
    return card(
        "Politeness",
        caption,
        columns(
            bars, label="Sites by their shortest gap", unit="sites", edges=True, marker=marker,
            marked=f"delay {delay(delay_s)}" if delay_s else "",
        ),
        ("shortest gap from", "sites"),
        [(bar.name, bar.told) for bar in bars],
        is_markup=True,
    )  # fmt: skip


def _seconds(value: float) -> str:
    if value and abs(value) < 1:
        return f"{value * 1000:,.3g} ms"
    return f"{value:,.4g} s" if value < 600 else span(value)


# ---------------------------------------------------------------------- what went wrong


def _errors(figures: ReportFigures) -> str:
    if not figures.errors:
        return card("Errors", "No request failed.", "", (), [], kind="whole")
    failed = sum(error.requests for error in figures.errors)
    bars = [
        Bar(name=plain(error.what), value=error.requests, told=f"{error.requests:,}",
            kind="bad" if error.what.startswith("HTTP 5") else "warn")
        for error in figures.errors[:MAX_ERROR_BARS]
    ]  # fmt: skip
    table = [
        (plain(error.what), f"{error.requests:,}", f"{error.sites:,}", "\n".join(map(plain, error.examples)))
        for error in figures.errors
    ]
    return card(
        "Errors",
        f"{failed:,} of {count(figures.requests, 'request')} failed: no answer, or an error status. "
        "Some were repeated and succeeded later.",
        rows(bars, label="Errors by kind"),
        ("what", "requests", "sites", "latest examples"),
        table,
        kind="whole errors",
        is_split=True,
    )
