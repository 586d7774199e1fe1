"""The screen on which a crawl is watched: what it shows, in which room, and how a terminal gets it."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions

from gossamer.cli.console import Screen
from gossamer.cli.screen import ASCII_BLOCKS, Spark, View, draw, plot
from gossamer.inspect.recent import Lately, SiteLately
from gossamer.records import Reason, Stats
from gossamer.supervisor import End
from gossamer.supervisor.outlook import Outlook
from gossamer.supervisor.progress import Member, Progress
from tests.end_to_end.crawls import wait_until
from tests.terminal import Terminal

STATS = Stats(
    sites=200, sites_with_work=150, sites_in_hand=80, known=9_000, queued=4_321, done=4_000, pages=1_234,
    given_up={Reason.HTTP_ERROR: 7, Reason.ROBOTS_DISALLOWED: 59}, wait_s=None, sites_in_trouble=9,
)  # fmt: skip
WORKER = {
    "pages": 600, "requests": 800, "bytes": 6e6, "in_flight": 7, "sites_in_hand": 40, "loop_lag_s": 0.003,
    "memory_bytes": 123e6,
}  # fmt: skip
PROGRESS = Progress(
    elapsed_s=83.4, pages_per_s=98.24, bytes_per_s=1_500_000, stats=STATS, workers=2, alive=2,
    figures={
        "pages": 1_200, "bytes": 12_345_678, "loop_lag_s": 0.003, "max_loop_lag_s": 0.045, "retries": 3, "turns": 15,
        "sites_due": 2, "in_flight": 14, "memory_bytes": 246e6,
    },
    members=(Member(label="host:4711", figures=WORKER), Member(label="host:4712", figures=WORKER)),
    outlook=Outlook(left_s=725, why="until the queue is empty, at this rate"),
)  # fmt: skip
SITES = [SiteLately(f"site-{n}.test", 30 - n, 100_000 - n, 3.0 * n, n) for n in range(30)]
VIEW = View(
    folder=Path("crawl-data"), progress=PROGRESS, used_bytes=1_234_567_890, free_bytes=45_600_000_000, hint="q leaves",
    lately=Lately(
        pages=tuple(range(300)), bytes=tuple(range(300, 0, -1)), sites_s=300.0, busiest=tuple(SITES),
        slowest=tuple(reversed(SITES)),
    ),
)  # fmt: skip
DRIVER_ERROR = (
    'connection to server at "127.0.0.1", port 5432 failed: Connection refused\n'
    "\tIs the server running on that host and accepting TCP/IP connections?\n"
)
EVERYTHING = (
    "Gossamer crawl-data", "running, 0:01:23", "speed 98.2 pages/s, 14 in flight", "received 1.5 MB/s",
    "all starts 1,234 pages, 4,321 queued of 9,000 URLs", "this start 12.3 MB received, 3 retried",
    "sites 200 known, 9 in trouble; 80 in hand: 15 busy, 2 due; 133 waiting",
    "time left about 12 min until the queue is empty, at this rate", "246.0 MB memory",
    "disk 1.2 GB used, 45.6 GB free", "lag 3 ms", "all outcomes URLs share", "page 1,234 30.3%",
    "robots_disallowed 59", "http_error 7", "4711", "3 ms 123 MB",
    "busiest in 5 min", "site-0.test 30 100.0 kB", "slowest", "site-29.test 87.00 s", "q leaves",
)  # fmt: skip


def lines(view: View, width: int, height: int, *, ascii_only: bool = False) -> list[str]:
    drawn = io.StringIO()
    console = Console(file=drawn, width=width, height=height, force_terminal=True, color_system=None)
    console.print(draw(view, width=width, height=height, ascii_only=ascii_only))
    return drawn.getvalue().splitlines()


def words(drawn: list[str]) -> str:
    return "\n".join(" ".join(line.split()) for line in drawn)


def told(progress: Progress, width: int = 80, height: int = 24) -> str:
    return words(lines(replace(VIEW, progress=progress), width, height))


@pytest.mark.parametrize(("width", "height"), [(80, 24), (160, 50), (100, 30), (81, 35), (119, 36), (40, 10), (20, 3)])
def test_a_screen_has_as_many_lines_as_there_are_and_none_is_too_long(width: int, height: int) -> None:
    drawn = lines(VIEW, width, height)
    assert len(drawn) == height
    assert max(map(cell_len, drawn)) <= width


@pytest.mark.parametrize(("width", "height"), [(80, 24), (160, 50)])
def test_everything_has_its_place(width: int, height: int) -> None:
    text = words(lines(VIEW, width, height))
    assert [part for part in EVERYTHING if part not in text] == []


def test_a_large_screen_tells_more() -> None:
    small, large = (words(lines(VIEW, *size)) for size in ((80, 24), (160, 50)))
    more = ("host:4711 600 800 6.0 MB 40 7", "site-20.test", "site-29.test 87.00 s 1 100.0 kB 29", "last 3 min")
    assert all(part in large and part not in small for part in more)
    assert sum("█" in line for line in lines(VIEW, 160, 50)) == 6


def test_what_cannot_be_told_is_not_guessed() -> None:
    unknown = replace(PROGRESS, outlook=Outlook(why="the queue does not shrink"))
    assert "time left unknown: the queue does not shrink" in told(unknown)


def test_a_crawl_that_waits_says_until_when_and_one_in_trouble_says_which() -> None:
    waits = replace(PROGRESS, figures={}, stats=replace(STATS, wait_s=190.0))
    assert "nothing is due; next URL due in 3 min" in told(waits)
    assert "nothing is due" not in told(PROGRESS)
    troubled = replace(PROGRESS, troubles=("disk nearly full",), alive=1, end=End.STOPPED)
    assert "trouble disk nearly full" in told(troubled)
    assert "workers 1 of 2 alive" in told(troubled)
    assert "finishing what is under way, 0:01:23" in told(troubled)


def test_a_long_trouble_has_two_lines_and_is_not_broken_within_a_word() -> None:
    trouble = f"the frontier cannot be read: {DRIVER_ERROR}"
    drawn = lines(replace(VIEW, progress=replace(PROGRESS, troubles=(trouble,))), 80, 24)
    first, second = (line for line in drawn if line.startswith("trouble") or "5432" in line)
    assert first == 'trouble     the frontier cannot be read: connection to server at "127.0.0.1",'
    assert second == " " * 12 + "port 5432 failed: Connection refused  Is the server running on that…"
    assert len(drawn) == 24


def test_a_crawl_that_is_over_is_called_finished() -> None:
    for end in (End.DRAINED, End.PAGE_LIMIT):
        assert f"finished: {end.value}, 0:01:23" in told(replace(PROGRESS, end=end))
    assert "finished" not in told(PROGRESS)


def test_a_page_limit_is_shown_beside_what_there_is() -> None:
    limited = replace(PROGRESS, stats=replace(STATS, pages=12, page_limit=300, pages_left=280))
    assert "all starts 12 of 300 pages, " in told(limited)


@pytest.mark.parametrize("lag_s", [0.003, 1.307, 45.0])
def test_no_heading_is_broken_at_80_columns(lag_s: float) -> None:
    slow = {**WORKER, "loop_lag_s": lag_s, "pages": 123_456}
    members = tuple(Member(label=f"host:{pid}", figures=slow) for pid in (4_194_303, 4_194_304))
    drawn = lines(replace(VIEW, progress=replace(PROGRESS, members=members)), 80, 24)
    (heading,) = [line for line in drawn if line.startswith("all outcomes")]
    assert heading.split() == ["all", "outcomes", "URLs", "share", "workers", "pages", "flight", "lag", "memory"]
    assert "4194303 123,456" in words(drawn)


def test_many_workers_and_reasons_are_counted_where_they_have_no_room() -> None:
    many = replace(
        PROGRESS,
        members=tuple(Member(label=f"host:{pid}", figures=WORKER) for pid in range(5_000, 5_064)),
        stats=replace(STATS, given_up=dict.fromkeys(Reason, 5)),
    )
    drawn = lines(replace(VIEW, progress=many), 80, 24)
    assert len(drawn) == 24
    (counted,) = [line for line in drawn if line.count(" more") == 2]
    shown = sum("123 MB" in line for line in drawn)
    assert counted.rstrip().endswith(f"and {64 - shown} more")
    assert "site-4.test" in words(drawn)


def test_an_empty_crawl_can_be_watched_too() -> None:
    stats = Stats(sites=0, sites_with_work=0, sites_in_hand=0, known=0, queued=0, done=0, pages=0)
    nothing = Progress(elapsed_s=0, figures={}, pages_per_s=0, bytes_per_s=0, stats=stats, workers=0, alive=0)
    for size in ((80, 24), (160, 50)):
        assert len(lines(replace(VIEW, progress=nothing, lately=Lately()), *size)) == size[1]


def test_names_from_the_web_cannot_move_the_cursor() -> None:
    hostile = SiteLately("evil\x1b[2J\n[bold]x", 99, 1, 1.0, 0)
    drawn = lines(replace(VIEW, lately=Lately(busiest=(hostile,), slowest=(hostile,), sites_s=1.0)), 160, 50)
    assert len(drawn) == 50
    assert "evil [2J [bold]x" in words(drawn)
    assert "\x1b" not in "".join(drawn)


def test_a_terminal_without_blocks_gets_letters() -> None:
    assert "".join(lines(VIEW, 160, 50, ascii_only=True)).isascii()
    assert not "".join(lines(VIEW, 160, 50)).isascii()


def test_a_plot_is_as_high_as_its_highest_bar_and_shows_whatever_is_not_nothing() -> None:
    assert plot([0, 1, 4, 8], width=4, height=1) == [" ▁▄█"]
    assert plot([0, 1, 100], width=3, height=1) == [" ▁█"]
    assert plot([1, 2], width=4, height=2) == ["   █", "  ██"]
    assert plot([9, 1, 3, 2, 2], width=3, height=1) == ["█▂▂"]  # pairs from the end
    assert plot([], width=3, height=2) == ["   ", "   "]
    assert plot([0, 0], width=2, height=1) == ["  "]
    assert plot([0, 8], width=2, height=1, levels=ASCII_BLOCKS) == [" %"]


def test_a_terminal_that_is_resized_is_cleared_and_filled_again(tmp_path: Path) -> None:
    drawn = io.StringIO()
    console = Console(file=drawn, width=80, height=24, force_terminal=True)
    with Screen(tmp_path, every_s=1, console=console) as screen:
        screen.show(PROGRESS)
        screen.show(PROGRESS)
        assert "\x1b[2J" not in drawn.getvalue()
        assert drawn.getvalue().count("Gossamer") == 2
        console.size = ConsoleDimensions(100, 30)
        drawn.truncate(0)
        screen.show(PROGRESS)
    text = drawn.getvalue()
    assert "\x1b[2J" in text
    assert max(cell_len(line) for line in console.render_str(text).plain.splitlines()) > 80


def test_a_terminal_that_has_gone_does_not_end_the_crawl(tmp_path: Path) -> None:
    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise OSError(5, "Input/output error")

    with Screen(tmp_path, every_s=1, console=Console(file=Gone(), width=80, height=24, force_terminal=True)) as screen:
        screen.show(PROGRESS)
    (tmp_path / "missing").mkdir()
    with Screen(tmp_path / "nowhere", every_s=1, console=Console(file=io.StringIO(), force_terminal=True)) as screen:
        screen.show(PROGRESS)


WARNING_PROGRAM = """
import sys
from pathlib import Path
from gossamer.cli.console import Screen
from tests.crawl.test_screen import DRIVER_ERROR, PROGRESS
with Screen(Path(sys.argv[1]), every_s=1) as screen:
    for number in range(5):
        screen.show(PROGRESS)
        screen.warn(f"Warning {number}: {DRIVER_ERROR}")
        screen.say("Something else is said.")
        screen.show(PROGRESS)
    print("\\033]0;end\\007", end="", flush=True, file=sys.__stdout__)
    input()
"""


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (160, 50)])
def test_a_driver_error_of_several_lines_leaves_the_rows_of_the_screen_in_place(
    tmp_path: Path, columns: int, rows: int
) -> None:
    with Terminal(["-c", WARNING_PROGRAM, str(tmp_path)], columns=columns, rows=rows) as terminal:
        wait_until(lambda: terminal.look() is not None and "]0;end" in terminal.written, "the last screen")
        screen = terminal.look()
        assert screen.lines[0] == "Something else is said."
        assert screen.lines[1].startswith("Gossamer  ")
        assert screen.lines[-1].startswith("Ctrl-C shuts the crawl down")
        assert [line for line in screen.scrolled if line.startswith(("Gossamer", "speed", "sites", "Ctrl-C"))] == []
        assert screen.text.count("accepting TCP/IP") == 5


def test_a_tall_screen_shows_the_history_in_small_plots() -> None:
    sparks = (
        Spark(label="claimed", value="12.5 URLs/s", values=[0.0, 5.0, 10.0]),
        Spark(label="unused", value="0.1 sites/s", values=[1.0, 1.0, 0.0]),
        Spark(label="queue", value="3 URLs", values=[1.0, 2.0, 3.0]),
    )
    view = replace(VIEW, sparks=sparks, others=2)
    shown = lines(view, 120, 50)
    assert "crawl-data and 2 more" in shown[0]
    (first,), (second,) = ([line for line in shown if line.startswith(label)] for label in ("claimed", "queue"))
    assert " ".join(first.split()) == "claimed 12.5 URLs/s ▄█ unused 0.1 sites/s ██"
    assert " ".join(second.split()) == "queue 3 URLs ▃▅█"
    assert "claimed" not in words(lines(view, 120, 24))
