"""One card of a report, as HTML: a plot, a caption, and the figures as a table."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def card(
    title: str,
    said: str,
    plot: str,
    heading: Sequence[str],
    table: Iterable[Sequence[str]],
    *,
    kind: str = "",
    is_markup: bool = False,
    is_split: bool = False,
) -> str:
    """Return a plot with its caption, and its figures as a table that can be unfolded.

    `is_markup`: the caption is HTML already. `is_split`: the table is so large that it is next to the plot.
    """
    lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in table)
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in heading)
    unfolds = (
        f'<details{" open" if is_split else ""}><summary>As a table</summary><div class="scroll" tabindex="0"><table>'
        f"<thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table></div></details>"
        if lines
        else ""
    )
    caption = f"<figcaption><h2>{escape(title)}</h2><p>{said if is_markup else escape(said)}</p></figcaption>"
    body = f'<div class="split"><div>{plot}</div>{unfolds}</div>' if is_split else plot + unfolds
    return f'<figure class="{kind}">{caption}{body}</figure>'
