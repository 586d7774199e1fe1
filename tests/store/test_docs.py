"""What the documentation says of the stored data is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gossamer.store.schemas import TABLES, Table
from gossamer.store.store import StoreSettings

DATA = (Path(__file__).resolve().parents[2] / "docs" / "data.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_column_is_documented_as_it_is_declared(table: Table) -> None:
    section = DATA.partition(f"## The table `{table.name}`")[2].partition("\n## ")[0]
    documented = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+) \|$", section, re.MULTILINE)
    assert documented == [(column.name, str(column.type), column.meaning) for column in table.columns]


def test_the_sizes_that_are_named_are_the_defaults() -> None:
    settings = StoreSettings()
    assert (settings.part_age_s, settings.part_rows, settings.part_size_bytes) == (300, 50_000, 128_000_000)
    assert "after five minutes (`part_age`), 50,000 rows (`part_rows`) or 128 MB (`part_size`)" in DATA
    assert settings.segment_size_bytes == 1_000_000_000
    assert "A segment is closed at 1 GB (`segment_size`)." in DATA
