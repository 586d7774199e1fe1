"""With --spreadsheet-safe, no cell of a CSV file is run by a spreadsheet; without it, cells are what the page has."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

import pytest

from gossamer.cli import run
from tests.inspect.crawls import Crawl, html_answer, page_row

if TYPE_CHECKING:
    from pathlib import Path

RUN = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "＝1", '="a"&"b"', '=HYPERLINK("http://x","y")']
HARMLESS = ["", "a=b", "Größe", 'say "no"', "a;=1", "1-1", "two\nlines"]


def cells(folder: Path, capsys: pytest.CaptureFixture[str], texts: list[str], *options: str) -> list[list[str]]:
    """Query texts as CSV, and return the rows."""
    values = ", ".join("('" + text.replace("'", "''") + "', -5, -0.5::double)" for text in texts)
    assert run(["query", f"from (values {values}) t(a, b, c)", "--data-dir", str(folder), *options]) == 0
    return list(csv.reader(io.StringIO(capsys.readouterr().out, newline="")))[1:]


def test_cells_that_would_run_begin_with_an_apostrophe_and_others_stay(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = cells(folder, capsys, RUN + HARMLESS, "--spreadsheet-safe")
    assert [row[0] for row in rows] == [f"'{text}" for text in RUN] + HARMLESS
    assert {(row[1], row[2]) for row in rows} == {("-5", "-0.5")}, "numbers stay numbers"


def test_without_the_option_cells_are_unchanged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [row[0] for row in cells(folder, capsys, RUN + HARMLESS)] == RUN + HARMLESS


def test_every_text_is_in_quotes_so_that_no_other_separator_divides_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["query", "select 'a;=1' as a", "--spreadsheet-safe", "--data-dir", str(folder)]) == 0
    assert capsys.readouterr().out == 'a\n"a;=1"\n'


def test_the_name_of_a_column_is_safe_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["query", 'select 2 as "=1+1"', "--spreadsheet-safe", "--data-dir", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "'=1+1"


@pytest.mark.parametrize("form", ["csv", "txt"])
def test_an_export_is_safe_too(tmp_path: Path, form: str) -> None:
    with Crawl(tmp_path / "crawl") as crawl:
        answer = html_answer("https://a.test/1", 1)
        crawl.store.keep_page(page_row(answer, "")._replace(title="=1+1", text="-2"), b"", 0)
    output = tmp_path / "out"
    options = ["--spreadsheet-safe", "--format", form, "-o", str(output), "--data-dir", str(crawl.folder)]
    assert run(["export", *options]) == 0
    with (output / "index.csv" if form == "txt" else output).open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["title"] == "'=1+1"
    assert not [cell for cell in row.values() if re.match(r"\s*[=+@-]", cell)]


def test_the_option_without_csv_is_a_mistake(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line in (["query", "from pages", "--format", "json"], ["export"]):
        assert run([*line, "--spreadsheet-safe", "--data-dir", str(folder)]) == 2
        assert capsys.readouterr().err == "gossamer: --spreadsheet-safe is about CSV: add --format csv.\n"
