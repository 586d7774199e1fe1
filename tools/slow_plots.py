"""Draw docs/images/slow-*.svg: what planted causes of a slow crawl look like in the history. Run by `make slow-plots`.

Each cause is planted in a small crawl of a simulated web on this machine, with PostgreSQL where the cause is in the
database. The plots are those of a report. All of them take about 15 minutes; name some to draw only those.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psycopg

import gossamer_simweb as simweb
from gossamer.frontier.postgres.administering import prepare
from gossamer.inspect.report.curves import TimeAxis, draw_curves
from gossamer.inspect.report.history_card import gather_history
from gossamer.store.figure_files import TICK_S
from gossamer_simweb import PlantedPage, plain_web
from tests.end_to_end.crawls import Crawl
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.inspect.report.panels import Panel
    from gossamer_simweb import WebSpec

IMAGES: Final = Path(__file__).resolve().parent.parent / "docs" / "images"
WIDTH: Final = 720
PLOT_HEIGHT: Final = 124  # of a report
HEAD: Final = 22  # above each plot, for its title
LENGTH_S: Final = 120.0
PLANT_AT_S, REMOVE_AT_S = 40.0, 80.0
LINKS: Final = 6_000
STYLE: Final = """
svg { font: 11px system-ui, sans-serif; } text { fill: #5b6572; } .title { font-weight: 600; font-size: 12px; }
.tick { font-size: 10px; } .mid { text-anchor: middle; } .end, .name { text-anchor: end; } .grid { stroke: #8884; }
.line { fill: none; stroke: #2b6cb0; stroke-width: 1.5; } .key { stroke-width: 3; stroke: #2b6cb0; }
.second { stroke: #2f855a; } .third { stroke: #7c4fc0; } .warn { stroke: #c77d10; } .bad { stroke: #c53030; }
.quiet { stroke: #8a94a0; } .event { stroke-dasharray: 2 2; } .planted { fill: #c77d1022; }
"""

NAP: Final = """
    CREATE FUNCTION gossamer.nap() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(0.4); RETURN NULL; END $$;
    CREATE TRIGGER nap AFTER UPDATE OF owner ON gossamer.site FOR EACH STATEMENT EXECUTE FUNCTION gossamer.nap()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A planted cause, and the two panels that show it."""

    name: str
    panels: tuple[str, str]
    web: WebSpec
    plant: Callable[[psycopg.Connection], object] | None = None  # in a session of its own, which then stays open
    remove: Callable[[psycopg.Connection], object] | None = None
    length_s: float = LENGTH_S
    planted_s: tuple[float, float] = (PLANT_AT_S, REMOVE_AT_S)
    delay_s: float = 0.3
    address_delay_s: float | None = None
    wrapper: tuple[str, ...] = ()


def forget_transaction(connection: psycopg.Connection) -> None:
    """Read in a transaction, and leave it open."""
    connection.autocommit = False
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.execute("SELECT 1 FROM gossamer.crawl")


def hold_lock(connection: psycopg.Connection) -> None:
    """Hold a lock that claims and completions need."""
    connection.autocommit = False
    connection.execute("LOCK TABLE gossamer.site IN EXCLUSIVE MODE")


WEB: Final = plain_web(sites=60, pages=2_000, links_across=0.0)
BURST: Final = "".join(f"<p><a href='/{number}'>{number}</a></p>" for number in range(LINKS)).encode()
CAUSES: Final = (
    Cause(
        name="unused", panels=("Sites given back a second", "Sites in hand"), delay_s=0.1, address_delay_s=2.0,
        web=plain_web(sites=200, pages=5, crowded=1.0), planted_s=(0.0, LENGTH_S),
    ),
    Cause(
        name="statement", panels=("Claimed a second", "Database time by statement"), web=WEB,
        plant=lambda connection: connection.execute(NAP.encode()),
        remove=lambda connection: connection.execute("DROP TRIGGER nap ON gossamer.site"),
    ),
    Cause(
        name="lock", panels=("Claimed a second", "Database time by operation"), web=WEB, plant=hold_lock,
        remove=lambda connection: connection.rollback(), planted_s=(60.0, 66.0),
    ),
    Cause(
        name="transaction", panels=("Oldest transaction", "Dead rows by table"), web=WEB, plant=forget_transaction,
        remove=lambda connection: connection.rollback(), length_s=300.0, planted_s=(30.0, 200.0),
    ),
    Cause(
        name="burst", panels=("Links a second", "Queue"), planted_s=(0.0, 10.0),
        web=plain_web(sites=2, pages=200, planted=(PlantedPage(host="burst.test", body=BURST),)),
    ),
    Cause(
        name="descriptors", panels=("Requests in flight", "Descriptors"), delay_s=0.1, planted_s=(0.0, LENGTH_S),
        web=plain_web(sites=400, pages=100, slow=0.9, slow_s=3.0),
        wrapper=("sh", "-c", 'ulimit -n 300; exec "$@"', "sh"),
    ),
)  # fmt: skip


def crawl(cause: Cause, folder: Path) -> tuple[float, float]:
    """Crawl with a planted cause; return when the crawl began and ended."""
    with ExitStack() as stack:
        address = new_database() if cause.plant else ""
        if address:
            prepare(address)
        server = stack.enter_context(simweb.serve(cause.web))
        more = [f"http://burst.test:{server.port}/"] if cause.web.planted else []
        crawled = Crawl(
            server, folder, *more, delay_s=cause.delay_s, workers=1, frontier=address,
            address_delay_s=cause.address_delay_s, wrapper=cause.wrapper,
        )  # fmt: skip
        start = stack.enter_context(crawled.start("--no-trap-limits"))
        began_at = time.time()
        if cause.plant and cause.remove:
            session = stack.enter_context(psycopg.connect(address, autocommit=True))
            time.sleep(cause.planted_s[0])
            cause.plant(session)
            time.sleep(cause.planted_s[1] - cause.planted_s[0])
            cause.remove(session)
        time.sleep(max(0.0, began_at + cause.length_s - time.time()))
        if start.status is None:
            start.interrupt()
            start.end()
        return began_at, time.time()


def draw(cause: Cause, folder: Path, began_at: float, ended_at: float) -> str:
    """Return the picture: both panels, with the time in which the cause was there."""
    history = gather_history([folder], began_at=began_at, ended_at=ended_at, stretch_s=TICK_S)
    by_title = {panel.title: panel for panel in history.panels}
    axis = TimeAxis(began_at=began_at, ended_at=ended_at, width=WIDTH, marks=history.marks)
    drawn = [f"<style>{STYLE}</style>"]
    for number, title in enumerate(cause.panels):
        top = number * (PLOT_HEIGHT + HEAD)
        drawn.append(_head(by_title[title], top))
        first, last = (axis.place(began_at + second) for second in cause.planted_s)
        drawn.append(
            f'<rect class="planted" x="{first:.0f}" y="{top + HEAD + 8}" width="{last - first:.0f}" height="94"/>'
        )
        plot = draw_curves(
            by_title[title].curves, axis, began_at=history.began_at, step_s=history.step_s, label=title,
            tell=by_title[title].tell,
        )  # fmt: skip
        drawn.append(plot.replace("<svg ", f'<svg y="{top + HEAD}" width="{WIDTH}" height="{PLOT_HEIGHT}" ', 1))
    height = len(cause.panels) * (PLOT_HEIGHT + HEAD)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
        + "\n".join(drawn)
        + "</svg>\n"
    )


def _head(panel: Panel, top: float) -> str:
    """Return the title of a plot, and the colours of its curves."""
    x = 4.0
    drawn = [f'<text class="title" x="{x}" y="{top + 14}">{escape(panel.title)}</text>']
    x += 16 + 7.6 * len(panel.title)
    for curve in panel.curves:
        name = curve.name.replace("_", " ")
        drawn.append(f'<line class="key {curve.kind}" x1="{x:.0f}" x2="{x + 12:.0f}" y1="{top + 10}" y2="{top + 10}"/>')
        drawn.append(f'<text x="{x + 16:.0f}" y="{top + 14}">{escape(name)}</text>')
        x += 30 + 6.2 * len(name)
    return "".join(drawn)


def main(names: list[str]) -> None:
    """Draw all causes, or those that are named."""
    for cause in CAUSES:
        if not names or cause.name in names:
            with tempfile.TemporaryDirectory() as base:
                folder = Path(base) / "crawl"
                began_at, ended_at = crawl(cause, folder)
                (IMAGES / f"slow-{cause.name}.svg").write_text(draw(cause, folder, began_at, ended_at))
            print(f"docs/images/slow-{cause.name}.svg", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
