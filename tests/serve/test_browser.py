"""The dashboard in a real browser: every page during a crawl and after it, search, orders by clicks, hostile texts."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from gossamer_simweb import plain_web
from tests.end_to_end.crawls import Crawl, said
from tests.serve.browsers import CHROMIUM, chromium
from tests.serve.dashboards import dashboard
from tests.serve.payloads import PAYLOADS, hostile_crawl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.serve.browsers import Browser
    from tests.serve.dashboards import ServedCrawl

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

ROOT = Path(__file__).resolve().parents[2]
NOTHING_SERIOUS = ("moderate", "minor", None)
AXE = """axe.run(document, {iframes: false}).then((found) => found.violations.map((each) =>
    [each.impact, each.id, each.nodes.map((node) => node.html).join(" ").slice(0, 300)]))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


def log_in(browser: Browser, served: ServedCrawl, name: str = "operator") -> None:
    browser.open(f"{served.url}/login#{served.tokens[name]}")
    browser.wait_for("document.querySelector('h1').textContent === 'Overview'")
    assert browser.run("location.href") == f"{served.url}/"
    browser.console.clear()
    browser.requests.clear()


def assert_calm(browser: Browser, served: ServedCrawl) -> None:
    """Nothing went wrong in the page, and no request left for elsewhere."""
    assert browser.console == []
    assert browser.dialogs == []
    assert [url for url in browser.requests.values() if not url.startswith((served.url, "data:"))] == []


def test_a_crawl_is_watched_searched_paused_resumed_and_excluded_by_clicks(browser: Browser, tmp_path: Path) -> None:
    with simweb.serve(plain_web(sites=8, pages=60, links_across=0.0)) as web:
        crawl = Crawl(web, tmp_path / "data", delay_s=0.5)
        with crawl.start() as start:
            crawl.wait_for_requests(10)
            with dashboard(crawl.folder, tmp_path / "keys" / "tokens") as served:
                log_in(browser, served)
                _figures_and_plots_move(browser)
                _pause_and_resume(browser, crawl)
                _search_and_exclude(browser, crawl, served)
                _open_all_pages(browser, served, crawl.seeds[1])
                assert_calm(browser, served)
                said("stop", "--data-dir", str(crawl.folder))
                start.end()
                browser.open(served.url)
                assert "not running" in browser.text()
                _open_all_pages(browser, served, crawl.seeds[1])
                assert_calm(browser, served)


def _figures_and_plots_move(browser: Browser) -> None:
    pages = "document.querySelector('[data-text=pages]').textContent"
    before = browser.run(pages)
    browser.wait_for(f"{pages} !== {json.dumps(before)}")
    browser.wait_for("document.querySelectorAll('#plots figure').length === 8")
    curve = "document.querySelectorAll('#plots .curve')[2].getAttribute('d')"
    drawn = browser.run(curve)
    browser.wait_for(f"{curve} !== {json.dumps(drawn)}")
    # One cursor for all plots, by the mouse and by keys.
    middle = "(({left, top, width, height}) => [left + width * 0.7, top + height / 2])"
    browser.run("document.getElementById('plots').scrollIntoView()")
    x, y = browser.run(f"{middle}(document.querySelector('#plots svg').getBoundingClientRect())")
    browser.move(x, y)
    cursors = "[...document.querySelectorAll('.cursor[visibility=visible]')].map((line) => line.getAttribute('x1'))"
    browser.wait_for(f"{cursors}.length === 8 && new Set({cursors}).size === 1")
    at = browser.run(f"{cursors}[0]")
    browser.run("document.getElementById('plots').focus()")
    browser.press("ArrowLeft")
    browser.wait_for(f"{cursors}[0] !== {json.dumps(at)}")


def _pause_and_resume(browser: Browser, crawl: Crawl) -> None:
    def is_paused() -> bool:
        return bool(json.loads(said("status", "--json", "--data-dir", str(crawl.folder)))["paused"])

    browser.click("a[href='/order?what=pause']", loads=True)
    assert "Pause the crawl?" in browser.text()
    assert not is_paused()  # not before it is confirmed
    browser.click("main button", loads=True)
    assert "is paused (it obeys within five seconds)" in browser.text()
    assert is_paused()
    browser.click("main a[href='/']", loads=True)
    assert "The operator paused the crawl on all machines" in browser.text()
    browser.click("a[href='/order?what=resume']", loads=True)
    browser.click("main button", loads=True)
    assert not is_paused()
    assert "The token operator ordered: pause" in crawl.log


def _search_and_exclude(browser: Browser, crawl: Crawl, served: ServedCrawl) -> None:
    browser.click("nav a[href='/sites']", loads=True)
    name = browser.run("document.querySelector('tbody a').textContent")
    browser.type("input[name=q]", name)
    browser.click("form[role=search] button", loads=True)
    assert "1 site found" in browser.text()
    browser.click("tbody a", loads=True)
    browser.click("a.button", loads=True)
    assert (
        f"Exclude this from the crawl? None of its URLs is requested until it is readmitted. {name}" in browser.text()
    )
    browser.click("main button", loads=True)
    assert f"Excluded: {name}; the running crawl obeys within five seconds." in browser.text()
    assert name in said("exclude", "--list", "--data-dir", str(crawl.folder))
    browser.open(f"{served.url}/sites")
    browser.click("a[href^='/order?what=readmit']", loads=True)
    browser.click("main button", loads=True)
    assert f"Readmitted: {name}" in browser.text()


def _open_all_pages(browser: Browser, served: ServedCrawl, url: str) -> None:
    for path in ("/", "/sites", "/url", "/report", f"/site?name={url.split('/')[2].split(':')[0]}", "/order?what=stop"):
        browser.open(f"{served.url}{path}")
        assert browser.run("document.querySelectorAll('h1').length") == 1
    browser.click("nav a[href='/url']", loads=True)
    browser.type("input[name=url]", url)
    browser.click("main button", loads=True)
    browser.wait_for("document.querySelector('h1').textContent.startsWith('http')")
    browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")


# ---------------------------------------------------------------------- hostile texts


@contextmanager
def trap() -> Iterator[tuple[int, list[bytes]]]:
    """A server that must never be asked: yields its port, and what it received."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        stopping = threading.Event()

        def listen() -> None:
            while not stopping.is_set():
                try:
                    client, _ = listener.accept()
                except TimeoutError:
                    continue
                heard.append(b"connected")
                client.close()

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            yield listener.getsockname()[1], heard
        finally:
            stopping.set()
            thread.join()


def test_no_text_of_the_web_runs_or_reaches_anything(browser: Browser, tmp_path: Path) -> None:
    assert len(PAYLOADS) >= 40
    with trap() as (port, heard):
        folder = hostile_crawl(tmp_path / "crawl", port)
        with dashboard(folder, tmp_path / "keys" / "tokens") as served:
            log_in(browser, served)
            for path in ("/", "/sites", "/sites?sort=site&page=1", "/report"):
                browser.open(f"{served.url}{path}")
                assert browser.run("typeof window.pwned") == "undefined"
            for number in range(len(PAYLOADS)):
                _look_at(browser, served, f"http://h{number}.test/")
            assert_calm(browser, served)
        assert heard == []


def _look_at(browser: Browser, served: ServedCrawl, url: str) -> None:
    """Open the page of a URL, with its archived page, and that page alone."""
    browser.open(f"{served.url}/url?url={url}")
    browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    browser.run("document.querySelector('iframe').scrollIntoView()")
    browser.run(
        "new Promise((done) => { const frame = document.querySelector('iframe'); frame.onload = done;"
        " frame.loading = 'eager'; frame.src = frame.src; })"
    )
    assert browser.run("typeof window.pwned") == "undefined"
    assert browser.run("document.querySelector('iframe').contentDocument") is None  # of an origin of its own
    browser.open(f"{served.url}/archived?url={url}")
    assert browser.run("typeof window.pwned + self.origin") == "undefinednull"
    # The browser notes what it refused the archived page, and nothing else.
    browser.console[:] = [line for line in browser.console if "/archived?url=" not in line]


def test_the_report_of_the_command_opens_without_an_error(browser: Browser, tmp_path: Path) -> None:
    folder = hostile_crawl(tmp_path / "crawl", 9)
    said("report", "--data-dir", str(folder), "-o", str(tmp_path / "report.html"))
    browser.console.clear()
    browser.requests.clear()
    browser.open((tmp_path / "report.html").as_uri())
    assert "Crawl report" in browser.text()
    assert browser.run("typeof window.pwned") == "undefined"
    assert browser.console == []
    assert [url for url in browser.requests.values() if not url.startswith("file:")] == []


# ---------------------------------------------------------------------- everybody can use it


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The rules of axe-core, from npm."""
    folder = tmp_path_factory.mktemp("axe")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs npm, for axe-core")
    got = subprocess.run([npm, "install", "--no-audit", "--no-fund", "axe-core@4"], cwd=folder, capture_output=True)
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if got.returncode or not script.exists():
        pytest.skip("axe-core cannot be had from npm")
    return script.read_text()


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize("dark", [False, True])
def test_no_page_shuts_anybody_out(
    browser: Browser, served: ServedCrawl, axe: str, width: int, dark: bool, tmp_path: Path
) -> None:
    browser.look(width, dark=dark)
    log_in(browser, served)
    pages = ("/", "/login", "/sites", "/site?name=a.test", "/url?url=https://a.test/1", "/report", "/order?what=pause")
    for path in pages:
        browser.open(f"{served.url}{path}")
        assert not browser.run("document.documentElement.scrollWidth > document.documentElement.clientWidth"), path
        browser.run(f"{axe};0")
        found = browser.run(AXE)
        assert [each for each in found if each[0] not in NOTHING_SERIOUS] == [], path


def test_the_keyboard_is_enough_to_pause(browser: Browser, served: ServedCrawl) -> None:
    browser.look(1400)
    log_in(browser, served)
    reached = []
    for _ in range(12):
        browser.press("Tab")
        reached.append(browser.run("document.activeElement.textContent"))
        if reached[-1] == "Pause":
            break
    assert reached[0] == "Skip to the content"
    assert reached[-1] == "Pause"
