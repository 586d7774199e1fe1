"""The demo, of a smaller web, killed in the middle and started again, as a newcomer would."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.end_to_end.crawls import Start, wait_until

if TYPE_CHECKING:
    from pathlib import Path

SMALLER = (
    "from dataclasses import replace; from gossamer.cli import demo, main; "
    "demo.WEB = replace(demo.WEB, sites=60, pages=10); main()"
)


def demo(folder: Path) -> Start:
    return Start(["demo", "--folder", str(folder)], program=("-c", SMALLER))


def test_the_demo_goes_on_after_a_kill_and_ends_with_a_clean_verdict(tmp_path: Path) -> None:
    folder = tmp_path / "a demo"
    log = folder / "server-1" / "access.log"
    with demo(folder) as first:
        wait_until(lambda: log.exists() and log.stat().st_size > 30_000, "some hundred requests")
        first.kill_group()
    with demo(folder) as second:
        said = second.end(timeout_s=200)
    assert "60 sites with 10 pages each" in said
    assert "started 2 times" in said
    assert "0 missed, 0 disallowed, 0 too early for the delay" in said
    assert "No faults found" in said
    with demo(folder) as third:
        assert "is finished. Remove that folder to run it again" in third.end(status=2)
