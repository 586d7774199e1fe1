"""The settings of politeness and workbench, as an operator gives them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.config import as_toml, gather
from gossamer.errors import GossamerError
from gossamer.fetch.settings import FetchSettings
from gossamer.rules.hosts import RobotsSettings
from gossamer.rules.outage import OutageSettings
from gossamer.rules.pace import PaceSettings
from gossamer.rules.scope import Scope, ScopeSettings
from gossamer.workbench import WorkbenchSettings

SECTIONS = {
    "fetch": FetchSettings,
    "outage": OutageSettings,
    "pace": PaceSettings,
    "robots": RobotsSettings,
    "scope": ScopeSettings,
    "workbench": WorkbenchSettings,
}


def given(**flags: object) -> dict[str, object]:
    return gather(SECTIONS, file=None, environment={}, flags=flags)


def test_the_defaults_are_those_of_the_design() -> None:
    found = given()
    assert found["pace"] == PaceSettings(delay_s=70.0, step_gap_s=1.0, retry_wait_s=60.0, max_tries=3)
    assert found["robots"] == RobotsSettings(
        robots_retry_waits_s=(600.0, 3_600.0, 21_600.0, 86_400.0), robots_give_up_s=259_200.0
    )
    assert found["scope"] == ScopeSettings(scope=Scope.SITE, max_depth=None, exclude_file=None)
    assert found["outage"] == OutageSettings(outage_sites=10, outage_window_s=10.0)
    assert found["workbench"] == WorkbenchSettings(
        max_sites_in_hand=10_000, max_urls_in_hand=50_000, max_in_hand_bytes=64_000_000
    )


def test_settings_are_given_in_words_of_their_own() -> None:
    found = given(
        delay="2m", step_gap="0", robots_retry_waits="1s,2m", robots_give_up="5m", scope="web", max_depth=3,
        exclude_file="leave-alone.txt", outage_sites=4, outage_window="5s", max_in_hand="1MB", max_sites_in_hand=5,
    )  # fmt: skip
    assert found["pace"] == PaceSettings(delay_s=120.0, step_gap_s=0.0)
    assert found["robots"] == RobotsSettings(robots_retry_waits_s=(1.0, 120.0), robots_give_up_s=300.0)
    assert found["scope"] == ScopeSettings(scope=Scope.WEB, max_depth=3, exclude_file=Path("leave-alone.txt"))
    assert found["outage"] == OutageSettings(outage_sites=4, outage_window_s=5.0)
    assert found["workbench"] == WorkbenchSettings(max_sites_in_hand=5, max_in_hand_bytes=1_000_000)


def test_settings_survive_being_written_to_a_file(tmp_path: Path) -> None:
    found = given(delay=0.5, robots_retry_waits="1s,2m", scope="host", max_depth=0)
    file = tmp_path / "crawl.toml"
    file.write_text(as_toml(found), encoding="utf-8")
    assert gather(SECTIONS, file=file, environment={}, flags={}) == found


@pytest.mark.parametrize(
    ("key", "least"),
    [
        ("delay", 0), ("step_gap", 0), ("retry_wait", 0), ("max_tries", 0), ("robots_give_up", 0), ("max_depth", 0),
        ("outage_sites", 2), ("outage_window", 0), ("max_sites_in_hand", 1),
        ("max_urls_in_hand", 1), ("max_in_hand", 1),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(key: str, least: int) -> None:
    given(**{key: least})
    with pytest.raises(GossamerError, match=f"must be at least {least}"):
        given(**{key: least - 1})


@pytest.mark.parametrize("waits", ["0", "600,-1", "10m,0"])
def test_robots_waits_without_a_pause_are_refused(waits: str) -> None:
    with pytest.raises(GossamerError, match="robots_retry_waits needs at least one wait, and each longer than 0"):
        given(robots_retry_waits=waits)
