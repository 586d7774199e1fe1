"""The page of a report: figures and plots in one HTML file that loads nothing. Pure.

Titles, sites, languages and URLs come from the web: all text on the page goes through `escape`, here or where plots are
drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from gossamer.inspect.report.cards import cards
from gossamer.wording import duration, moment, plain, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.inspect.report.figures import ReportFigures
    from gossamer.records import Stats

STYLE: Final = (files(__package__) / "style.css").read_text(encoding="utf-8")
# The browser loads and runs nothing, whatever a page of the crawl may have injected.
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Which crawl a report is about, and its settings."""

    folder: str
    delay_s: float
    settings: Sequence[tuple[str, str]]  # the important ones: name and value
    stats: Stats | None  # the frontier's; None: only the bucket is named
    made_at: float  # Unix seconds
    version: str
    is_running: bool = False


def render(about: About, figures: ReportFigures) -> str:
    """Return the report as HTML."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(_title(about))}</title>
<style>
{STYLE}</style>
</head>
<body>
{content(about, figures)}
</body>
</html>
"""


def content(about: About, figures: ReportFigures) -> str:
    """Return the report without a page around it."""
    return f"""<header>
<h1>{escape(_title(about))}</h1>
<p>{escape(_when(about, figures))}</p>
{_tiles(about, figures)}
{_settings(about)}
</header>
{_body(about, figures)}
<footer>Made by Gossamer {escape(about.version)} on {moment(about.made_at)} from the crawl's own tables. All times are
UTC. Sizes: 1 kB = 1,000 bytes. Point at a bar to read its figures.</footer>"""


def _title(about: About) -> str:
    return f"Crawl report: {plain(about.folder)}"


def _when(about: About, figures: ReportFigures) -> str:
    running = "; it is still running" if about.is_running else ""
    if not figures.requests:
        return f"Nothing has been asked for yet{running}."
    return f"From {moment(figures.began_at)} to {moment(figures.ended_at)}{running}."


def _tiles(about: About, figures: ReportFigures) -> str:
    took_s = figures.ended_at - figures.began_at
    rate = f"{figures.pages / took_s:,.1f}" if took_s else "0"
    tiles = [
        ("pages", f"{figures.pages:,}"),
        ("of them seeds", f"{figures.seed_pages:,}"),
        ("sites asked", f"{figures.sites:,}"),
        ("requests", f"{figures.requests:,}"),
        ("received", size(figures.bytes)),
        ("duration", duration(took_s)),
        ("pages a second", rate),
    ]
    if about.stats is not None:
        tiles.append(("URLs still queued", f"{about.stats.queued:,}"))
    return f'<dl class="tiles">{_pairs(tiles)}</dl>'


def _settings(about: About) -> str:
    return f'<dl class="about">{_pairs(about.settings)}</dl>'


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    return "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(plain(value))}</dd></div>" for name, value in pairs)


def _body(about: About, figures: ReportFigures) -> str:
    if not figures.requests and not figures.pages:
        return (
            '<main><figure class="whole empty"><h2>Nothing to show yet</h2>'
            "<p>This crawl has stored neither pages nor requests. Make the report again when it has.</p>"
            "</figure></main>"
        )
    drawn = "\n".join(cards(figures, about.stats, delay_s=about.delay_s))
    return f"<main>\n{drawn}\n</main>"
