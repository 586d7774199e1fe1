"""Take the pictures in docs/images: a running crawl in `top` and on the dashboard, and its `report`. Run by
`make screenshots`.

Crawls a simulated web on this machine for two minutes and needs Chromium, which draws the pictures. Everything that
decides what they show is at the top of this file.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

import gossamer_simweb as simweb
from tests.serve.browsers import CHROMIUM, chromium
from tests.serve.dashboards import dashboard

if TYPE_CHECKING:
    from collections.abc import Iterator

IMAGES: Final = Path(__file__).resolve().parent.parent / "docs" / "images"
MAX_BYTES: Final = 150_000  # of a picture

WEB: Final = simweb.WebSpec(sites=120, pages=150, seed=3, slow_s=1.5)
CRAWL: Final = ("--email", "you@example.org", "--delay", "2", "--set", "retry_wait=2", "--allow-network", "127.0.0.0/8")
TOP_AT_S: Final = 90.0  # after the start of the crawl
WATCH_S: Final = 20.0  # how long `top` runs before its picture is taken: it needs a while to tell the time left
DASHBOARD_S: Final = 5.0  # after its first page was opened: it needs a moment for its live figures
COLUMNS: Final = 104
LINES: Final = 38
COLUMN_PX: Final = 8.43  # of the terminal's font, below
LINE_PX: Final = 16
REPORT_SIZE: Final = (1_180, 1_070)  # pixels of its page, from the top
DASHBOARD_SIZE: Final = (1_180, 1_015)
SCALE: Final = 1.0  # pixels of the picture for one of a page: small enough

THEME: Final = TerminalTheme(
    (22, 27, 34),
    (215, 221, 228),
    [(72, 79, 88), (255, 123, 114), (126, 231, 135), (242, 204, 96), (121, 192, 255), (210, 168, 255), (118, 227, 234),
     (177, 186, 196)],
)  # fmt: skip
TERMINAL: Final = """<!doctype html><meta charset="utf-8"><style>
html {{ background: {background} }}
body {{ margin: 0; padding: 14px 18px; width: max-content }}
pre {{ margin: 0; font: 14px/16px "DejaVu Sans Mono", Menlo, monospace; color: {foreground} }}
</style><pre>{code}</pre>"""


def main() -> None:
    """Take the pictures."""
    if CHROMIUM is None:
        sys.exit("Chromium is needed: install it (Debian and Ubuntu: sudo apt install chromium) and start again.")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, simweb.serve(WEB) as server:
        here = Path(folder)
        (here / "seeds.txt").write_text("".join(f"{seed}\n" for seed in server.seeds()))
        print(f"Crawling a simulated web; the picture of top is taken in {TOP_AT_S + WATCH_S:.0f} s.", flush=True)
        with _crawl(here, server.dns):
            time.sleep(TOP_AT_S)
            screen = _last_screen(here)
            _photograph_dashboard(here)
        (here / "top.html").write_text(_page_of(screen), encoding="utf-8")
        subprocess.run([*_gossamer(), "report"], cwd=here, check=True)
        width, height = round(COLUMNS * COLUMN_PX) + 36, (LINES - 1) * LINE_PX + 28  # `top` leaves the last line empty
        _photograph(CHROMIUM, here / "top.html", IMAGES / "top.png", width, height)
        _photograph(CHROMIUM, here / "crawl-data" / "report.html", IMAGES / "report.png", *REPORT_SIZE)


def _gossamer() -> list[str]:
    return [sys.executable, "-m", "gossamer"]


@contextmanager
def _crawl(here: Path, nameserver: str) -> Iterator[None]:
    """Crawl until the block is left, then stop gracefully."""
    command = [*_gossamer(), "crawl", "seeds.txt", *CRAWL, "--nameserver", nameserver]
    with subprocess.Popen(command, cwd=here, stdout=subprocess.DEVNULL) as crawl:
        try:
            yield
        finally:
            crawl.send_signal(signal.SIGINT)


def _last_screen(here: Path) -> str:
    """Watch the crawl in a terminal for a while; return the last screen as it was sent."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    environment = os.environ | {"TERM": "xterm-256color", "LANG": "C.UTF-8"}
    sent = b""
    with subprocess.Popen(
        [*_gossamer(), "top"], cwd=here, env=environment, stdin=slave, stdout=slave, stderr=slave
    ) as top:
        os.close(slave)
        until_s = time.monotonic() + WATCH_S
        while (left_s := until_s - time.monotonic()) > 0:
            if select.select([master], [], [], left_s)[0]:
                sent += os.read(master, 1 << 16)
        os.write(master, b"q")
        top.wait(timeout=10)
    os.close(master)
    # Each screen begins with the cursor at home; the last may have been cut off.
    return sent.decode(errors="replace").split("\x1b[H")[-2]


def _page_of(screen: str) -> str:
    """Return a page of HTML that looks like a terminal with this screen."""
    coloured = re.sub(r"\x1b\[[0-9;?]*[A-Zac-ln-z]|\r", "", screen)  # what is left are colours
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(coloured), soft_wrap=True)
    return console.export_html(theme=THEME, code_format=TERMINAL, inline_styles=True)


def _photograph_dashboard(here: Path) -> None:
    """Log in to the dashboard of the crawl, and draw its first page."""
    picture = IMAGES / "dashboard.png"
    with dashboard(here / "crawl-data", here / "tokens") as served, chromium() as browser:
        browser.look(DASHBOARD_SIZE[0])
        browser.open(f"{served.url}/login#{served.tokens['operator']}")
        browser.wait_for("document.querySelector('h1').textContent === 'Overview'")
        time.sleep(DASHBOARD_S)
        browser.photograph(picture, DASHBOARD_SIZE)
    _weigh(picture)


def _photograph(program: str, page: Path, picture: Path, width: int, height: int) -> None:
    """Let Chromium draw the upper part of a page."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            program, "--headless=new", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--hide-scrollbars", f"--user-data-dir={profile}",
            f"--force-device-scale-factor={SCALE}", f"--window-size={width},{height}", f"--screenshot={picture}",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            page.as_uri(),
        ]  # fmt: skip
        subprocess.run(command, check=True, timeout=120, stderr=subprocess.DEVNULL)
    _weigh(picture)


def _weigh(picture: Path) -> None:
    """Refuse a picture that is too large."""
    size_bytes = picture.stat().st_size
    print(f"docs/images/{picture.name}: {size_bytes / 1000:.0f} kB")
    if size_bytes > MAX_BYTES:
        sys.exit(
            f"That is more than {MAX_BYTES / 1000:.0f} kB: make it smaller with the numbers in {Path(__file__).name}."
        )


if __name__ == "__main__":
    main()
