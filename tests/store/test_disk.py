"""A crawl pauses before the disk is full, and does not pause and resume all the time at the limit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gossamer.store.disk import DiskGuard, free_space, mount_point


def test_free_space_is_what_may_still_be_written(tmp_path: Path) -> None:
    status = os.statvfs(tmp_path)
    assert free_space(tmp_path) == pytest.approx(status.f_bavail * status.f_frsize, rel=0.2)


def test_the_guard_pauses_below_the_limit_and_goes_on_a_tenth_above_it() -> None:
    guard = DiskGuard(1_000)
    assert not guard.look(1_000)
    assert guard.look(999)
    assert guard.is_paused
    assert guard.look(1_000)  # back at the limit is not enough ...
    assert guard.look(1_099)
    assert not guard.look(1_100)  # ... but this is
    assert not guard.look(1_000)
    assert guard.look(0)


def test_no_limit_never_pauses() -> None:
    guard = DiskGuard(0)
    assert not guard.look(0)


def test_a_disk_is_known_by_its_mount_point(tmp_path: Path) -> None:
    assert mount_point(tmp_path).is_mount()
    assert tmp_path.resolve().is_relative_to(mount_point(tmp_path))
    assert mount_point(Path("/proc/self/task")) == Path("/proc")


def test_the_complaint_names_the_disk_what_is_free_and_what_is_needed() -> None:
    said = DiskGuard(1_000_000_000).complaint(Path("/srv"), 812_000_000)
    assert said == "disk nearly full: 812.0 MB free on /srv, at least 1.0 GB needed, 1.1 GB to go on"
