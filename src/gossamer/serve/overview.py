"""The overview: how the crawl stands, what troubles it, and its workers. As a page, and as what a stream sends."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from gossamer.crawl.engines import open_existing
from gossamer.crawl.folder import SETTINGS_FILE, read_settings
from gossamer.crawl.standing import heartbeat_of, silence_of, state_of
from gossamer.inspect.status import read_status, sizes
from gossamer.serve.markup import Html, address, join, tag
from gossamer.wording import moment, size, wait
from gossamer.worker.settings import WorkerSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Self

    from gossamer.frontier import FrontierReader
    from gossamer.inspect.status import Status
    from gossamer.records import WorkerState

SIZING_SHARE: Final = 0.02  # of the time, at most: a long crawl has thousands of files
MAX_WORKERS: Final = 256  # shown
TILES: Final = {
    "pages": "pages stored",
    "queued": "URLs queued",
    "done": "URLs done",
    "given_up": "URLs given up",
    "sites": "sites known",
    "with_work": "sites with work",
    "in_hand": "sites in hand",
    "in_trouble": "sites in trouble",
    "next_due": "next site due",
    "used": "disk used",
    "free": "disk free",
}
SPANS_S: Final = {"10 minutes": 600, "1 hour": 3600, "6 hours": 21_600, "1 day": 86_400, "1 week": 604_800, "all": 0}
WORKER_COLUMNS: Final = ("worker", "heartbeat", "loop lag", "memory", "sites in hand", "pages", "requests", "received")


class StatusReader:
    """Reads the status of a crawl again and again, over one open frontier. Not for several threads at once."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._stack = ExitStack()
        self._frontier: FrontierReader | None = None
        self._heartbeat_s = 0.0
        self._used_bytes: Mapping[str, int] = {}
        self._size_again_s = 0.0  # when the files are measured next

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the frontier; the next reading opens it again."""
        self._frontier = None
        self._stack.close()

    def read(self) -> Status:
        """Return the status as it is now. If it cannot be read, raise the error and open the frontier afresh."""
        try:
            if self._frontier is None:
                self._frontier = self._stack.enter_context(open_existing(*self._folders))
                has_settings = (self._folders[0] / SETTINGS_FILE).exists()
                worker = read_settings(self._folders[0]).worker if has_settings else WorkerSettings()
                self._heartbeat_s = worker.heartbeat_s
            self._measure()
            return read_status(
                self._frontier, self._folders[0], heartbeat_s=self._heartbeat_s, used_bytes=self._used_bytes
            )
        except BaseException:
            self.close()
            raise

    def _measure(self) -> None:
        began_s = time.monotonic()
        if began_s >= self._size_again_s:
            self._used_bytes = sizes(self._folders[0])
            ended_s = time.monotonic()
            self._size_again_s = ended_s + (ended_s - began_s) / SIZING_SHARE


def live_values(status: Status, now_at: float) -> dict[str, Any]:
    """Return what the overview shows, as texts: a browser puts them where the page has room for them."""
    given_up = sorted(status.stats.given_up.items(), key=lambda item: -item[1])
    return {
        "texts": {"state": state_of(status), "as_of": f"as of {moment(now_at)}", **_tiles(status)},
        "lists": {"troubles": list(_troubles(status))},
        "tables": {
            "workers": [_worker(status, worker) for worker in status.workers[:MAX_WORKERS]],
            "given_up": [[reason.value.replace("_", " "), f"{urls:,}"] for reason, urls in given_up],
        },
    }


def _tiles(status: Status) -> dict[str, str]:
    stats = status.stats
    limit = "" if stats.page_limit is None else f" of {stats.page_limit:,}"
    return {
        "pages": f"{stats.pages:,}{limit}",
        "queued": f"{stats.queued:,}",
        "done": f"{stats.done:,}",
        "given_up": f"{sum(stats.given_up.values()):,}",
        "sites": f"{stats.sites:,}",
        "with_work": f"{stats.sites_with_work:,}",
        "in_hand": f"{stats.sites_in_hand:,}",
        "in_trouble": f"{stats.in_trouble:,}",
        "next_due": "none waits" if stats.wait_s is None else wait(stats.wait_s),
        "used": size(sum(status.used_bytes.values())),
        "free": size(status.free_bytes),
    }


def _troubles(status: Status) -> Iterator[str]:
    """Yield, in words, everything that keeps the crawl from its work."""
    if status.stats.is_paused and not status.is_finished:
        yield "The operator paused the crawl on all machines: nothing is begun until it is resumed."
    for trouble in status.running.troubles if status.running else ():
        yield f"{trouble}; nothing new is started meanwhile"
    yield from silence_of(status)
    for damage in status.damage:
        yield f"damaged by the disk: {damage}"


def _worker(status: Status, worker: WorkerState) -> list[str]:
    figures = worker.figures
    return [
        worker.label,
        heartbeat_of(status, worker),
        f"{figures.get('loop_lag_s', 0) * 1000:,.0f} ms",
        size(figures.get("memory_bytes", 0)),
        f"{figures.get('sites_in_hand', worker.sites):,.0f}",
        f"{figures.get('pages', 0):,.0f}",
        f"{figures.get('requests', 0):,.0f}",
        size(figures.get("bytes", 0)),
    ]


def overview(values: Mapping[str, Any], *, may_order: bool, is_paused: bool, is_running: bool) -> Html:
    """Return the content of the page."""
    texts = values["texts"]
    return join([
        tag("p", tag("strong", texts["state"], data_text="state"), " ", tag("span", texts["as_of"], data_text="as_of")),
        tag("ul", [tag("li", each) for each in values["lists"]["troubles"]], class_="troubles", data_list="troubles",
            role="status", aria_label="Trouble"),
        tag("dl", [tag("div", tag("dt", name), tag("dd", texts[key], data_text=key)) for key, name in TILES.items()],
            class_="tiles"),
        _orders(is_paused=is_paused, is_running=is_running) if may_order else None,
        _plots(),
        tag("section", tag("h2", "Workers"), _table("workers", WORKER_COLUMNS, values["tables"]["workers"]),
            class_="card"),
        tag("section", tag("h2", "URLs given up"), _table("given_up", ("reason", "URLs"), values["tables"]["given_up"]),
            class_="card"),
    ])  # fmt: skip


def _plots() -> Html:
    """Return the place for the plots, which a script draws."""
    options = [tag("option", name, value=name, selected=name == "1 hour") for name in SPANS_S]
    return tag(
        "section",
        tag("h2", "History"),
        tag("p", tag("label", "Period ", tag("select", options, id="span")), tag("span", id="moment"), class_="search"),
        tag("p", "The crawl has written no history yet.", id="no-plots", hidden=True),
        tag("div", id="plots", class_="plots", tabindex="0", role="group",
            aria_label="Plots over time; the arrow keys move a cursor over all of them"),
        class_="card",
    )  # fmt: skip


def _orders(*, is_paused: bool, is_running: bool) -> Html:
    """Return the links to the orders that make sense now; each asks for confirmation."""
    orders = [("resume", "Resume") if is_paused else ("pause", "Pause")] + ([("stop", "Stop")] if is_running else [])
    links = [tag("a", name, href=address("/order", what=what), class_="button") for what, name in orders]
    return tag("p", links, class_="orders")


def _table(name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Html:
    head = tag("thead", tag("tr", [tag("th", column, scope="col") for column in columns]))
    body = tag("tbody", [tag("tr", [tag("td", cell) for cell in row]) for row in rows], data_table=name)
    return tag("div", tag("table", head, body), class_="scroll", tabindex="0", role="region", aria_label=name)
