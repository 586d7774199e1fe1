"""What a crawl says of itself: before it begins, while it runs, and at its end."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gossamer.cli.console import Lines, one_line, summary
from gossamer.cli.wording import duration
from gossamer.crawl.announce import announce, warnings
from gossamer.crawl.folder import gather_settings
from gossamer.records import Reason, Stats
from gossamer.supervisor import End, Ended, Progress
from gossamer.supervisor.outlook import Forecast, Outlook, Trend, predict_end, trend_of
from gossamer.supervisor.progress import Tally

STATS = Stats(
    sites=200, sites_with_work=150, sites_in_hand=80, known=9_000, queued=4_321, done=4_000, pages=1_234,
    given_up={Reason.HTTP_ERROR: 7, Reason.ROBOTS_DISALLOWED: 5}, wait_s=None, sites_in_trouble=3,
)  # fmt: skip
PROGRESS = Progress(
    elapsed_s=83.4, figures={"pages": 1_200, "bytes": 12_345_678, "max_loop_lag_s": 0.0123, "retries": 3},
    pages_per_s=98.24, bytes_per_s=1_500_000, stats=STATS, workers=2, alive=2,
)  # fmt: skip


def settings(**flags: Any) -> Any:
    return gather_settings(None, environment={}, flags={"email": "you@example.org", **flags})


def stats(sites: int) -> Stats:
    return Stats(sites=sites, sites_with_work=sites, sites_in_hand=0, known=sites, queued=sites, done=0, pages=0)


@pytest.mark.parametrize(
    ("sites", "flags", "said"),
    [
        (1, {}, "Staying on the seeds' sites: 1 site / 70 s = at most 51 pages an hour; your own site? --delay 1"),
        (1, {"delay": 1}, "Staying on the seeds' sites: 1 site / 1 s = at most 3,600 pages an hour"),
        (2_000, {}, "Staying on the seeds' sites: 2,000 sites / 70 s = at most 102,857 pages an hour"),
        (9, {"scope": "host", "delay": 0}, "Staying on the seeds' hosts: 9 sites, without a delay"),
        (70, {"scope": "web"}, "Following links anywhere: 70 sites / 70 s = at most 3,600 pages an hour, more"),
    ],
)  # fmt: skip
def test_the_first_line_says_how_far_and_how_fast(sites: int, flags: dict[str, Any], said: str) -> None:
    first, second = announce(settings(**flags), stats(sites), workers=2, folder=Path("crawl-data"))
    assert first.startswith(said)
    assert second.startswith("As Gossamer/")
    assert second.endswith(" (mailto:you@example.org); 2 workers; into crawl-data")


def test_what_may_be_wrong_is_said() -> None:
    assert warnings(settings(), descriptors=-1) == []
    assert warnings(settings(delay=0.5, allow_network=["127.0.0.0/8"]), descriptors=65_536) == []
    (short,) = warnings(settings(delay=0.5), descriptors=-1)
    assert short.startswith("a delay of 0.5 s is less than most sites accept")
    (cut,) = warnings(settings(in_flight=1_000), descriptors=1_024)
    assert cut.startswith(
        "a process may open 1,024 descriptors, so each worker makes at most 704 and not 1,000 requests"
    )
    assert "doctor` says how" in cut
    (loud,) = warnings(settings(insecure=True), descriptors=-1)
    assert loud.startswith("CERTIFICATES ARE NOT VERIFIED")


def test_progress_fits_into_one_line() -> None:
    said = one_line(PROGRESS)
    assert said == "1,234 pages (98.2/s), 4,321 queued, 200 sites, 12 given up, 3 in trouble"


def test_a_page_limit_stands_beside_the_pages() -> None:
    limited = replace(PROGRESS, stats=replace(STATS, pages=12, page_limit=300))
    assert one_line(limited).startswith("12 of 300 pages (98.2/s), ")


def test_a_crawl_that_is_over_is_called_finished() -> None:
    assert one_line(replace(PROGRESS, end=End.DRAINED)).endswith("; finished: nothing is left to fetch")
    assert "finished" not in one_line(replace(PROGRESS, end=End.STOPPED))


def test_a_driver_error_of_several_lines_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    error = "the frontier cannot be read: Connection refused\n\tIs the server running?\n"
    assert "\n" not in one_line(replace(PROGRESS, troubles=(error,)))
    with Lines(Path("crawl-data"), every_s=0) as console:
        console.warn(error)
    assert capsys.readouterr().err.count("\n") == 1


def test_a_crawl_that_waits_says_until_when() -> None:
    waits = Progress(**{**fields(PROGRESS), "stats": replace(STATS, wait_s=190.0)})
    assert one_line(waits).endswith("3 in trouble; next URL due in 3 min")
    for busy in ({"turns": 1}, {"sites_due": 1}, {"next_due_s": 0.5}):
        assert Progress(**{**fields(waits), "figures": {**PROGRESS.figures, **busy}}).next_due_s is None
    sooner = Progress(**{**fields(waits), "figures": {**PROGRESS.figures, "next_due_s": 42.0}})
    assert one_line(sooner).endswith("; next URL due in 42.0 s")


def test_the_end_says_where_the_files_are_and_what_to_type() -> None:
    said = summary(Path("my-data"), Ended(end=End.STOPPED, progress=PROGRESS))
    assert said.startswith("Stopped: 1,200 pages in 0:01:23 (14.4/s); over all starts 1,234 pages, 4,321 URLs queued, ")
    assert "my-data/warc (archives)" in said
    assert said.endswith("Next: gossamer status --data-dir my-data, or resume: gossamer crawl --data-dir my-data")


def test_a_reader_who_has_gone_does_not_end_the_crawl(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr("sys.stdout", Gone())
    monkeypatch.setattr("sys.stderr", Gone())
    with Lines(Path("crawl-data"), every_s=0) as console:
        console.say("hello")
        console.warn("hello")
        console.show(PROGRESS)


def test_figures_of_workers_add_up_also_of_dead_ones() -> None:
    tally = Tally()
    tally.reap({"pages": 10, "bytes": 100, "sites_in_hand": 5, "max_loop_lag_s": 0.5})
    total = tally.total([{"pages": 1, "sites_in_hand": 2, "max_loop_lag_s": 0.1}, {"pages": 2, "sites_in_hand": 1}])
    assert total == {"pages": 13, "bytes": 100, "sites_in_hand": 3, "max_loop_lag_s": 0.5}


def test_of_what_workers_have_now_the_worst_lag_and_the_nearest_due_time_count() -> None:
    tally = Tally()
    tally.reap({"pages": 1, "in_flight": 9, "memory_bytes": 9e6, "next_due_s": 1.0, "loop_lag_s": 5.0})
    living = [
        {"in_flight": 2, "memory_bytes": 1e6, "next_due_s": 70.0, "loop_lag_s": 0.1},
        {"in_flight": 3, "memory_bytes": 2e6, "next_due_s": 30.0, "loop_lag_s": 0.2},
    ]
    now = {"in_flight": 5, "memory_bytes": 3e6, "next_due_s": 30.0, "loop_lag_s": 0.2}
    assert tally.total(living) == {"pages": 1} | now


def test_a_trend_is_steady_if_both_halves_of_its_time_show_it() -> None:
    assert trend_of([(float(now_s), now_s) for now_s in range(60)]) is None, "too early"
    assert trend_of([(float(now_s), 2 * now_s) for now_s in range(61)]) == Trend(2, is_steady=True)
    assert trend_of([(float(now_s), -now_s) for now_s in range(61)]) == Trend(-1, is_steady=False)
    burst = trend_of([(float(now_s), min(now_s, 10)) for now_s in range(101)])
    assert burst is not None
    assert not burst.is_steady
    assert trend_of([(0.0, 0), (100.0, 50)]) == Trend(0.5, is_steady=False), "neither half can tell"


STEADY, GROWING, STILL = Trend(4.0, is_steady=True), Trend(-3.0, is_steady=False), Trend(0.0, is_steady=False)
UNSTEADY, PAGES = Trend(4.0, is_steady=False), Trend(10.0, is_steady=True)


@pytest.mark.parametrize(
    ("terms", "left_s", "why"),
    [
        ({"drain": None}, None, "too early to tell"),
        ({"drain": GROWING}, None, "the queue does not shrink"),
        ({"drain": UNSTEADY}, None, "the rate changes too much"),
        ({"drain": STILL, "pages": STILL}, None, "no pages in the last minutes"),
        ({"drain": STEADY}, 1_000, "until the queue is empty, at this rate"),
        ({"drain": GROWING, "page_limit": STATS.pages + 300}, 30, "until the page limit, at this rate"),
        ({"drain": GROWING, "page_limit": STATS.pages + 300, "pages": STILL}, None, "no pages in the last minutes"),
        ({"drain": STEADY, "page_limit": STATS.pages + 300, "time_left_s": 20.0}, 20, "until the time limit"),
        ({"drain": None, "time_left_s": -1.0}, 0, "until the time limit"),
    ],
)
def test_when_it_ends_is_told_as_far_as_anyone_can(terms: dict[str, Any], left_s: float | None, why: str) -> None:
    limit = terms.pop("page_limit", None)
    stats = replace(STATS, queued=4_000, page_limit=limit, pages_left=None if limit is None else 20)
    known = {"pages": PAGES, "time_left_s": None, **terms}
    assert predict_end(stats, **known) == Outlook(left_s=left_s, why=why)


def crawl_in_bursts(now_s: int) -> tuple[int, int]:
    """Pages and queue of a crawl whose pages come every 15 seconds, and whose queue grows and shrinks meanwhile."""
    return 30 * (now_s // 15), max(0, 20_000 - 2 * now_s + 300 * (now_s % 45 < 20))


@pytest.mark.parametrize("limited", [True, False])
def test_the_time_left_is_hidden_until_it_means_something_and_then_does_not_jump(*, limited: bool) -> None:
    forecast = Forecast()
    shown: list[float | None] = []
    for now_s in range(3_600):
        pages, queued = crawl_in_bursts(now_s)
        stats = replace(STATS, pages=pages, queued=queued, page_limit=9_000 if limited else None)
        shown.append(forecast.update(float(now_s), stats, time_left_s=None).left_s)
    assert shown[:60] == [None] * 60
    assert all(shown[900:])
    told = [left_s for left_s in shown if left_s is not None]
    assert max(max(a, b) / min(a, b) for a, b in pairwise(told)) < 1.5


def test_rates_are_those_of_the_last_ten_seconds() -> None:
    tally = Tally()
    rates = [
        tally.update_rates(float(now_s), {"pages": now_s * 5.0 if now_s <= 20 else 100.0})[0] for now_s in range(41)
    ]
    assert rates[0] == 0
    assert rates[1] == rates[20] == 5
    assert rates[25] == 2.5
    assert rates[40] == 0


def test_durations_are_written_like_a_clock() -> None:
    assert [duration(seconds) for seconds in (0, 65.9, 3_600, 90_061)] == ["0:00:00", "0:01:05", "1:00:00", "25:01:01"]


def fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}
