"""The documentation of the stored data is true."""

from __future__ import annotations

from pathlib import Path

from gossamer.store.store import StoreSettings

DATA = (Path(__file__).resolve().parents[2] / "docs" / "data.md").read_text(encoding="utf-8")


def test_the_sizes_that_are_named_are_the_defaults() -> None:
    settings = StoreSettings()
    assert (settings.part_age_s, settings.part_rows, settings.part_size_bytes) == (300, 50_000, 128_000_000)
    assert "after five minutes (`part_age`), 50,000 rows (`part_rows`) or 128 MB (`part_size`)" in DATA
    assert settings.segment_size_bytes == 1_000_000_000
    assert "A segment is closed at 1 GB (`segment_size`)." in DATA
