"""The documentation names what is there, and nothing that is not."""

from __future__ import annotations

import re
import shlex
import textwrap
import tomllib
from pathlib import Path

import pytest

from gossamer.cli import SUMMARIES, run

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
MODULES = {
    path.stem
    for path in (ROOT / "src" / "gossamer").iterdir()
    if (path.suffix == ".py" or (path / "__init__.py").exists()) and not path.stem.startswith("__")
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        assert (page.parent / path).exists(), target
        if anchor:
            titles = re.findall(r"(?m)^#+ (.+)$", (page.parent / path if path else page).read_text())
            assert anchor in {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


def test_pictures_are_small_and_shown() -> None:
    pictures = list((ROOT / "docs" / "images").iterdir())
    assert [picture.name for picture in pictures if picture.stat().st_size > 150_000] == []
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = "".join(page.read_text() for page in pages)
    assert [picture.name for picture in pictures if f"images/{picture.name})" not in shown] == []


def test_tests_are_no_step_of_installing() -> None:
    before, _, after = (ROOT / "README.md").read_text().partition("## Work on it")
    assert "make test" not in before
    assert "make test" in after


def test_the_readme_shows_every_command() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [name for name in SUMMARIES if f"gossamer {name}" not in readme] == []


def test_what_the_readme_shows_of_check_is_what_check_says(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text()
    shown = re.findall(r"(?m)^    \$ ./gossamer (check .+)\n((?:    [^$].*\n)+)", readme)
    assert len(shown) >= 2
    for line, answer in shown:
        assert run(shlex.split(line)) == 0
        assert capsys.readouterr().out == textwrap.dedent(answer)


def test_the_architecture_shows_the_layers_that_the_build_enforces() -> None:
    table = (ROOT / "docs" / "architecture.md").read_text().partition("| layer | modules |")[2]
    rows = [row.split("|")[2] for row in table.partition("\n\n")[0].splitlines()[2:]]
    shown = [set(re.findall(r"`(\w+)`", modules)) for modules in rows]
    assert set().union(*shown) == MODULES
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = [set(re.findall(r"\w+", layer)) for layer in contract["layers"] if layer != "__main__"]
    assert shown == layers


def test_the_architecture_names_files_that_exist_for_ten_likely_changes() -> None:
    table = (ROOT / "docs" / "architecture.md").read_text().partition("## Where would I change it")[2]
    rows = [row for row in table.partition("## ")[0].splitlines() if row.startswith("| ")][1:]
    assert len(rows) >= 10
    for row in rows:
        paths = re.findall(r"`((?:src|tests)/[\w./]+)`", row)
        assert paths or "`make reference`" in row, f"{row} names no file"
        assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_glossary_has_each_word_once_in_order() -> None:
    words = re.findall(r"(?m)^\*\*(.+?)\*\*: ", (ROOT / "docs" / "glossary.md").read_text())
    assert words == sorted(set(words))
    assert len(words) > 30


def test_words_set_in_italics_in_the_glossary_are_defined_there() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text().replace("\n", " ")
    words = set(re.findall(r"\*\*(.+?)\*\*: ", glossary))
    for used in re.findall(r"(?<!\*)\*([a-z. ]+)\*(?!\*)", glossary):
        stem = {"given up": "give up", "seeded": "seed"}.get(used, used)
        assert {stem, stem.removesuffix("s")} & words, used
