"""What a crawl says of itself: before it begins, while it runs, and at its end."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gossamer.cli.console import Lines, duration, one_line, screen, summary
from gossamer.crawl.announce import announce, warnings
from gossamer.crawl.folder import gather_settings
from gossamer.records import Reason, Stats
from gossamer.supervisor import End, Ended, Progress
from gossamer.supervisor.progress import Tally

STATS = Stats(
    sites=200, sites_with_work=150, sites_in_hand=80, known=9_000, queued=4_321, done=4_000, pages=1_234,
    given_up={Reason.HTTP_ERROR: 7, Reason.ROBOTS_DISALLOWED: 5}, wait_s=None,
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
    assert warnings(settings()) == []
    assert warnings(settings(delay=0.5, allow_network=["127.0.0.0/8"])) == []
    (short,) = warnings(settings(delay=0.5))
    assert short.startswith("a delay of 0.5 s is less than most sites put up with")
    (loud,) = warnings(settings(insecure=True))
    assert loud.startswith("CERTIFICATES ARE NOT VERIFIED")


def test_progress_fits_into_one_line() -> None:
    said = one_line(PROGRESS)
    assert said == "1,234 pages (98.2/s), 4,321 queued, 200 sites, 12 given up, 0 in trouble"


def test_progress_fits_on_one_screen_of_80_columns() -> None:
    trouble = Progress(**{**fields(PROGRESS), "troubles": ("disk nearly full",), "stopping": True})
    drawn = io.StringIO()
    Console(file=drawn, width=80).print(screen(Path("crawl-data"), trouble))
    lines = drawn.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 12
    text = "\n".join(" ".join(line.split()) for line in lines)
    for part in (
        "pages 1,234 (98.2 a second)", "received 12.3 MB (1.50 MB a second)", "150 with work, 80 in hand",
        "queue 4,321 of 9,000 URLs known", "given up 12 (7 http_error, 5 robots_disallowed)",
        "workers 2 of 2, event loop late by 12 ms at most", "trouble disk nearly full", "finishing what is under way",
    ):  # fmt: skip
        assert part in text


def test_the_end_says_where_the_files_are_and_what_to_type() -> None:
    said = summary(Path("my-data"), Ended(end=End.STOPPED, progress=PROGRESS))
    assert said.startswith("Stopped: 1,200 pages in 0:01:23 (14.4/s); over all starts 1,234 pages, 4,321 URLs queued, ")
    assert "my-data/warc (archives)" in said
    assert said.endswith("Next: gossamer status --data-dir my-data, or go on: gossamer crawl --data-dir my-data")


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
    tally.bury({"pages": 10, "bytes": 100, "sites_in_hand": 5, "max_loop_lag_s": 0.5})
    total = tally.total([{"pages": 1, "sites_in_hand": 2, "max_loop_lag_s": 0.1}, {"pages": 2, "sites_in_hand": 1}])
    assert total == {"pages": 13, "bytes": 100, "sites_in_hand": 3, "max_loop_lag_s": 0.5}


def test_rates_are_those_of_the_last_ten_seconds() -> None:
    tally = Tally()
    rates = [tally.rates(float(now_s), {"pages": now_s * 5.0 if now_s <= 20 else 100.0})[0] for now_s in range(41)]
    assert rates[0] == 0
    assert rates[1] == rates[20] == 5
    assert rates[25] == 2.5
    assert rates[40] == 0


def test_durations_are_written_like_a_clock() -> None:
    assert [duration(seconds) for seconds in (0, 65.9, 3_600, 90_061)] == ["0:00:00", "0:01:05", "1:00:00", "25:01:01"]


def fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}
