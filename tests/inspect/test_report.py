"""`gossamer report`: one file about a crawl that loads nothing and trusts nothing from the web."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gossamer import metrics
from gossamer.cli import run
from gossamer.crawl.folder import gather_settings, write_settings
from gossamer.inspect.report import About, gather, render
from gossamer.inspect.report.curves import Curve, TimeAxis, draw_curves
from gossamer.inspect.report.figures import ErrorFigures, Gaps, ReportFigures, SiteFigures, Stretch, stretch_for
from gossamer.inspect.report.panels import METRICS, largest
from gossamer.inspect.report.plots import WIDE, Bar, columns, nice_ticks, rows, time_names
from gossamer.records import Reason, RequestRow, Stats
from gossamer.store.schemas import PAGES, REQUESTS
from gossamer.urls import hash_url
from tests.inspect.crawls import BEGAN_AT, HTML, Crawl
from tests.inspect.histories import Figures
from tests.inspect.histories import write as write_history

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "</title><script>alert('x')</script>\"'&\x1b[2J"
STATS = Stats(
    sites=3, sites_with_work=0, sites_in_hand=0, known=15, queued=0, done=12, pages=9, given_up={Reason.HTTP_ERROR: 3}
)
ABOUT = About(
    folder="crawl-data", delay_s=70.0, settings=[("delay", "70 s")], stats=STATS, made_at=BEGAN_AT, version="1.2.3"
)
CAPTIONS = (
    "Throughput", "What became of URLs", "Status codes", "Politeness", "Page sizes", "Depth", "Languages", "Top sites",
    "Errors",
)  # fmt: skip


class Elements(HTMLParser):
    """The elements of a page: all, and those that are open."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "rect", "line", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("rect", "line", "path"):
            assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    @property
    def tags(self) -> set[str]:
        return {tag for tag, _ in self.found}


@pytest.fixture
def crawled(folder: Path) -> Path:
    """A finished crawl with its settings; see `folder` for its contents."""
    write_settings(folder, gather_settings(None, environment={}, flags={"email": "you@example.org", "delay": 0.5}))
    return folder


def report(folder: Path, *more: str) -> str:
    assert run(["report", "--data-dir", str(folder), *more]) == 0
    return (folder / "report.html").read_text(encoding="utf-8")


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page.partition("</style>")[2]))


def everything(text: str) -> ReportFigures:
    """Figures of a crawl in which everything that the web may name is this text."""
    return ReportFigures(
        requests=10, bytes=1_000, began_at=BEGAN_AT, ended_at=BEGAN_AT + 2, sites=1, pages=2, page_bytes=5,
        seed_pages=1, stretches=(Stretch(began_at=BEGAN_AT, pages=2, bytes=1_000),), statuses=((200, 2), (999, 1)),
        sizes=((0, 1), (35, 1)), depths=((0, 1), (15, 1)), languages=((text, 1), ("", 1)),
        top_sites=(SiteFigures(site=text, pages=2, requests=3, errors=0, bytes=9, mean_request_s=1, min_gap_s=None),),
        gaps=Gaps(edges_s=(0.0, 70.0, 140.0), sites=(1, 1, 0), sooner=1, soonest=((text, 1.25),)),
        errors=(ErrorFigures(what="timeout", requests=1, sites=1, examples=(text, text)),),
    )  # fmt: skip


# ---------------------------------------------------------------------- what it tells


def test_a_report_has_all_plots_with_captions_and_tables(crawled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = report(crawled)
    assert f"The report is {crawled / 'report.html'} (" in capsys.readouterr().out
    figures = re.findall(r"<figure.*?</figure>", page, re.DOTALL)
    assert sorted(re.findall(r"<figcaption><h2>(.*?)</h2><p>.+?</p>", page)) == sorted(CAPTIONS)
    assert len(figures) == len(CAPTIONS)
    for figure in figures:
        assert 'role="img" aria-label="' in figure
        assert "<details" in figure
        assert "<title>" in figure  # shown when pointed at
    said = text_of(page)
    for part in (
        "pages 9", "sites asked 3", "requests 15", "received 51.8 kB", "delay 0.5 s between two pages of a site",
        "scope site", "agent Gossamer/", "mailto:you@example.org", "From 2026-01-01 00:00:01Z to 2026-01-01 00:00:15Z",
        "Of 15 URLs, 12 done, 3 given up and 0 waiting.", "German (de) 9", "https://a.test/gone", "HTTP 404 3",
    ):  # fmt: skip
        assert part in said, part
    assert Elements(page).open == []


def test_figures_are_those_of_the_tables(crawled: Path) -> None:
    figures = gather([crawled], delay_s=0.5)
    assert (figures.requests, figures.pages, figures.sites, figures.seed_pages) == (15, 9, 3, 9)
    assert (figures.bytes, figures.page_bytes) == (15 * 3_456, 9 * len(HTML.encode("macintosh")))
    assert sum(stretch.pages for stretch in figures.stretches) == 9
    assert [stretch.began_at - BEGAN_AT for stretch in figures.stretches] == list(range(1, 16))
    assert figures.statuses == ((200, 9), (301, 3), (404, 3))
    assert figures.depths == ((0, 9),)
    assert figures.languages == (("de", 9),)
    assert [(site.site, site.pages, site.requests, site.errors) for site in figures.top_sites] == [
        (f"{name}.test", 3, 5, 1) for name in "abc"
    ]
    (error,) = figures.errors
    assert (error.what, error.requests, error.sites) == ("HTTP 404", 3, 3)
    assert error.examples == tuple(f"https://{name}.test/gone" for name in "cba")


def requests_of(crawl: Crawl, *asked: tuple[str, str, float, float, int]) -> None:
    """Log requests: site, kind, start and end in seconds, and status."""
    for site, kind, began_s, ended_s, status in asked:
        times = BEGAN_AT + began_s, BEGAN_AT + ended_s
        row = RequestRow(hash_url(f"https://{site}/"), f"https://{site}/", site, kind, *times, status, "", 1,
                         "192.0.2.1", "allowed", 1, "w1")  # fmt: skip
        crawl.store.keep_request(row)
    crawl.store.sync()


def test_the_shortest_gap_of_every_site_stands_against_the_delay(tmp_path: Path) -> None:
    with Crawl(tmp_path / "crawl") as crawl:
        requests_of(
            crawl,
            ("polite.test", "robots", 0, 1, 200), ("polite.test", "page", 2, 3, 200),  # one turn
            ("polite.test", "page", 13.1, 14, 301), ("polite.test", "page", 14.5, 15, 200),  # another, with a redirect
            ("polite.test", "page", 40, 41, 200),
            ("exact.test", "page", 0, 1, 200), ("exact.test", "page", 10.999, 12, 200),  # measured by another clock
            ("hasty.test", "page", 0, 5, 200), ("hasty.test", "page", 8, 9, 200), ("hasty.test", "page", 30, 31, 200),
            ("once.test", "page", 0, 1, 200),
        )  # fmt: skip
        for site in ("polite", "exact", "hasty"):
            crawl.store_page(f"https://{site}.test/")
        crawl.store.sync()
        found = gather([crawl.folder], delay_s=10.0)
    assert found.gaps is not None
    shortest = dict(zip(found.gaps.edges_s, found.gaps.sites, strict=True))
    assert {edge: sites for edge, sites in shortest.items() if sites} == {2.5: 1, 10.0: 2}
    assert (found.gaps.sooner, found.gaps.soonest) == (1, (("hasty.test", 3.0),))
    page = render(replace(ABOUT, delay_s=10.0), found)
    assert "1 of them sooner than the crawl&#x27;s delay of 10 s: hasty.test after 3 s." in page
    assert 'class="marked start" x="151.7" y="22.0">delay 10 s<' in page
    polite = render(replace(ABOUT, delay_s=2.0), gather([crawl.folder], delay_s=2.0))
    assert "None was visited before the crawl&#x27;s delay of 2 s was over." in polite
    assert "alarm" not in polite.partition("</style>")[2]
    assert (
        "delay" not in (render(replace(ABOUT, delay_s=0), gather([crawl.folder], delay_s=0))).partition("Politeness")[2]
    )


def test_a_missing_robots_txt_is_no_error_and_a_broken_one_is(tmp_path: Path) -> None:
    with Crawl(tmp_path / "crawl") as crawl:
        requests_of(
            crawl, ("a.test", "robots", 0, 1, 404), ("b.test", "robots", 0, 1, 503), ("b.test", "page", 9, 9, 410)
        )
        found = gather([crawl.folder], delay_s=10.0)
    assert sorted(error.what for error in found.errors) == ["HTTP 410", "HTTP 503"]


def test_of_a_page_that_was_fetched_twice_the_last_counts_and_open_journals_are_read(tmp_path: Path) -> None:
    with Crawl(tmp_path / "crawl") as crawl:
        crawl.keep("https://a.test/1")
        crawl.keep("https://a.test/1")
        crawl.store.sync()
        found = gather([crawl.folder], delay_s=10.0)
    assert (found.pages, found.requests) == (1, 2)


# ---------------------------------------------------------------------- what it never does


def test_a_report_loads_nothing_and_runs_nothing(crawled: Path) -> None:
    for page in (report(crawled), render(ABOUT, everything(HOSTILE))):
        elements = Elements(page)
        assert not elements.tags & {"script", "link", "img", "iframe", "object", "embed", "a", "base", "form", "use"}
        for tag, attributes in elements.found:
            assert not {"src", "href", "srcset", "xlink:href", "style"} & attributes.keys(), tag
            assert not [name for name in attributes if name.startswith("on")], tag
        style = page.partition("<style>")[2].partition("</style>")[0]
        assert not re.search(r"url\(|@import|https?:", style)
        assert "default-src 'none'" in page


def test_what_comes_from_the_web_stays_text() -> None:
    page = render(replace(ABOUT, folder=HOSTILE, settings=[("agent", HOSTILE)]), everything(HOSTILE))
    assert "<script" not in page
    assert "\x1b" not in page
    assert page.count("&lt;script&gt;") > 5
    assert Elements(page).open == []
    for drawn in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        Xml.fromstring(drawn)


def test_hostile_rows_go_through_the_whole_command(crawled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Crawl(crawled, worker="w9") as crawl:
        requests_of(crawl, ("<script>evil</script>.test", "page", 0, 1, 200), ('"><img src=x>', "page", 0, 1, 500))
    page = report(crawled)
    assert "&lt;script&gt;evil&lt;/script&gt;.test" in page
    assert Elements(page).tags <= Elements(render(ABOUT, everything("plain"))).tags


# ---------------------------------------------------------------------- when there is little, or much


def test_a_crawl_that_has_stored_nothing_gets_a_report_that_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    with Crawl(folder) as crawl:
        crawl.add("https://a.test/")
        write_settings(folder, gather_settings(None, environment={}, flags={"email": "you@example.org"}))
        page = report(folder)
    assert "Nothing has been asked for yet." in page
    assert "This crawl has stored neither pages nor requests." in page
    assert "<svg" not in page
    assert Elements(page).open == []


def test_a_crawl_that_only_failed_gets_a_report_too(tmp_path: Path) -> None:
    with Crawl(tmp_path / "crawl") as crawl:
        crawl.ask("https://a.test/", reason="timeout")
        crawl.store.sync()
        page = render(ABOUT, gather([crawl.folder], delay_s=70.0))
    assert "timeout" in page
    assert "Page sizes" not in page
    assert Elements(page).open == []


def test_a_mistake_is_one_sentence(crawled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--data-dir", str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err.startswith("gossamer: No crawl in ")
    assert run(["report", "--data-dir", str(crawled), "-o", str(tmp_path / "no" / "r.html")]) == 2
    assert f"The folder {tmp_path / 'no'} does not exist: create it, or name" in capsys.readouterr().err
    next((crawled / "requests").iterdir()).write_bytes(b"damaged")
    assert run(["report", "--data-dir", str(crawled)]) == 2
    assert "lists all damage" in capsys.readouterr().err
    assert [path.name for path in crawled.iterdir() if path.suffix in (".html", ".tmp")] == []


def big_table(folder: Path, rows_: int) -> None:
    """Write parts with this many rows of both tables, far faster than a crawl."""
    for table, name in ((PAGES, "pages"), (REQUESTS, "requests")):
        (folder / name).mkdir(exist_ok=True)
        numbers = range(rows_)
        arrays = []
        for column in table.columns:
            if pa.types.is_fixed_size_binary(column.type):
                values = pa.array([number.to_bytes(16, "big") for number in numbers], column.type)
            elif column.name == "site":
                values = pa.array([f"site-{number % 5_000}.test" for number in numbers])
            elif pa.types.is_timestamp(column.type):
                values = pa.array([int(BEGAN_AT * 1e6) + number * 1_000 for number in numbers], column.type)
            elif column.name == "kind":
                values = pa.repeat("page", rows_)
            elif pa.types.is_string(column.type):
                values = pa.repeat("", rows_)
            elif pa.types.is_binary(column.type):
                values = pa.repeat(b"", rows_).cast(column.type)
            elif pa.types.is_boolean(column.type):
                values = pa.repeat(False, rows_)
            else:
                values = pa.repeat(200, rows_).cast(column.type)
            arrays.append(values)
        written = pa.table(arrays, schema=table.schema)
        pq.write_table(written, folder / name / "part-20260101000000000-w1-00001.parquet", compression="zstd")


def test_many_rows_take_moments(tmp_path: Path) -> None:
    big_table(tmp_path, 200_000)
    began_s = time.monotonic()
    found = gather([tmp_path], delay_s=5.0)
    assert time.monotonic() - began_s < 10  # about 0.5 s when nothing else runs
    assert (found.requests, found.pages, found.sites) == (200_000, 200_000, 5_000)
    assert len(found.stretches) <= 121
    assert found.gaps is not None
    assert sum(found.gaps.sites) == 5_000
    assert len(render(ABOUT, replace(found, gaps=None))) < 200_000


# ---------------------------------------------------------------------- the history

PANELS = (
    "Claimed a second", "Claims a second", "Sites given back a second", "Links a second", "Database time by operation",
    "Database time by statement", "Lock waits by operation", "Dead rows by table", "Oldest transaction",
    "Queue", "Sites in hand", "Lateness of turns",
    "Requests in flight", "Outcomes a second", "Robots decisions a second", "Processor", "Loop lag", "Memory",
    "Descriptors", "Free disk space",
)  # fmt: skip


def every_metric(number: int) -> Figures:
    """The figures of a worker that has counted something of everything, in its tick of this number."""
    values: dict[metrics.Metric, tuple[str, ...]] = {
        metrics.REQUESTS_TOTAL: ("kind=page,result=2xx", "kind=robots,result=4xx"),
        metrics.FRONTIER_OUTCOMES_TOTAL: ("outcome=pages", "outcome=robots_disallowed"),
        metrics.FRONTIER_CLAIMS_TOTAL: ("result=some", "result=empty"),
        metrics.FRONTIER_RELEASES_TOTAL: ("use=used", "use=unused"),
    }
    figures: Figures = {}
    for metric in METRICS:
        given = [",".join(f"{label}=x" for label in metric.label_names)]
        if isinstance(metric, metrics.Gauge):
            given = [f"{metric.label_names[0]}={value[0]}" if value else "" for value in metric.figures.values()]
        suffixes = ("_sum", "_count") if isinstance(metric, metrics.Histogram) else ("",)
        for labels in values.get(metric, given):
            figures |= {("w1", f"{metric.name}{suffix}", labels): 3.0 * number for suffix in suffixes}
    return figures


def test_the_history_is_drawn_under_the_throughput_on_its_axis(crawled: Path) -> None:
    moments = {BEGAN_AT + second: every_metric(1 + second // 10) for second in range(0, 60, 10)}
    for at, figures in moments.items():
        figures["supervisor@<here>", metrics.UPTIME_SECONDS.name, ""] = at - BEGAN_AT - 2.5
        figures["w1", metrics.PAUSED_WORKERS.name, "cause=outage"] = float(at == BEGAN_AT + 10)
    write_history(crawled, moments)
    page = report(crawled)
    history = next(figure for figure in re.findall(r"<figure.*?</figure>", page, re.DOTALL) if "<h2>History" in figure)
    assert page.index("<h2>Throughput") < page.index("<h2>History") < page.index("<h2>What became of URLs")
    assert tuple(re.findall(r"<h3>(.*?)(?: <span|</h3>)", history)) == PANELS
    over_time = re.findall(r'<svg class="wide".*?</svg>', page, re.DOTALL)
    assert len(over_time) == 2 + len(PANELS)
    assert len({tuple(re.findall(r'<text class="tick mid" x="([\d.]+)"', plot)) for plot in over_time}) == 1
    assert "start: 1" in history
    assert "outage: 1" in history
    assert "&lt;here&gt;" in history
    assert history.count('class="band warn"') == 2 * len(PANELS)
    assert Elements(page).open == []


def test_a_crawl_without_a_history_has_no_card_for_it(crawled: Path) -> None:
    assert "<h2>History" not in report(crawled)


def test_what_is_not_known_is_a_gap_and_not_zero() -> None:
    axis = TimeAxis(began_at=0.0, ended_at=40.0, width=WIDE)
    drawn = draw_curves(
        [Curve(name="a", values=[1.0, None, 2.0, 0.0])], axis, began_at=0.0, step_s=10.0, label="A", tell=str
    )
    (path,) = re.findall(r'<path class="line " d="([^"]*)"', drawn)
    assert (path.count("M"), path.count("V")) == (2, 1)
    assert drawn.count("no figures") == 1


def test_of_many_curves_the_largest_are_drawn_and_the_rest_is_added_up() -> None:
    curves = {f"c{number}": [float(number), None] for number in range(9)}
    assert largest(curves) == {f"c{number}": [float(number), None] for number in (8, 7, 6, 5, 4)} | {
        "others": [6.0, None]
    }


# ---------------------------------------------------------------------- plots


def test_ticks_are_round_and_reach_the_highest_value() -> None:
    assert nice_ticks(0) == [0, 1]
    assert nice_ticks(4) == [0, 1, 2, 3, 4]
    assert nice_ticks(265) == [0, 100, 200, 300]
    for most in (0.003, 1, 7, 99, 12_345, 3.7e9):
        ticks = nice_ticks(most)
        assert ticks[-1] >= most * 0.99
        assert 3 <= len(ticks) <= 6


def test_bars_are_as_long_as_their_values_and_what_is_not_nothing_shows() -> None:
    bars = [
        Bar(name=name, value=value, told=str(value)) for name, value in (("a", 100), ("b", 50), ("c", 0.01), ("d", 0))
    ]
    for drawn, side in ((rows(bars, label="x"), "width"), (columns(bars, label="x", unit="y"), "height")):
        lengths = [float(length) for length in re.findall(rf'class="bar ".*?{side}="([\d.]+)"', drawn)]
        assert lengths[0] == pytest.approx(2 * lengths[1], rel=0.01)
        assert lengths[2:] == [1.5, 0.0]
        assert drawn.count("<title>") == 4
        Xml.fromstring(drawn)


def test_time_is_cut_into_round_stretches_and_named_by_round_times() -> None:
    assert [stretch_for(duration_s) for duration_s in (0, 100, 121, 3_600, 86_400, 30 * 86_400)] == [
        1, 1, 2, 30, 900, 21_600,
    ]  # fmt: skip
    assert stretch_for(1_000 * 86_400) == 9 * 86_400
    assert time_names(BEGAN_AT, 3_600, at_most=4) == [(0.25, "00:15"), (0.5, "00:30"), (0.75, "00:45")]
    assert time_names(BEGAN_AT, 40, at_most=4) == [(0.25, "00:00:10"), (0.5, "00:00:20"), (0.75, "00:00:30")]
    assert [name for _, name in time_names(BEGAN_AT, 2 * 86_400, at_most=4)] == [
        "01 Jan 12:00", "02 Jan 00:00", "02 Jan 12:00",
    ]  # fmt: skip
    assert len(time_names(BEGAN_AT, 400 * 86_400, at_most=4)) <= 4


# ---------------------------------------------------------------------- in a browser


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (500, "dark")])
def test_a_browser_shows_the_report(tmp_path: Path, width: int, scheme: str) -> None:
    assert CHROMIUM is not None
    page, picture = tmp_path / "report.html", tmp_path / "report.png"
    page.write_text(render(ABOUT, everything("example.org")), encoding="utf-8")
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}", "--hide-scrollbars",
        f"--window-size={width},900", f"--blink-settings=preferredColorScheme={int(scheme == 'light')}",
        f"--screenshot={picture}", page.as_uri(),
    ]  # fmt: skip
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "Refused to" not in ended.stderr  # to load something
    assert picture.stat().st_size > 10_000
