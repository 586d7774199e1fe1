"""`python -m bench text FOLDER`: what counts as kept, lost and too much."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from bench.text_quality import extractors, in_navigation, is_held_out, measure, pick, read_folder, share, words_of

if TYPE_CHECKING:
    from pathlib import Path

STORY = " ".join(f"Sentence number {number} of the story is long enough to be read." for number in range(60))
MENU = "Menu of many words that repeat nothing else. " * 30
PAGE = f"<html><title>A</title><body><nav>{MENU}</nav><main><p>{STORY.replace('. ', '.</p><p>')}</p></main>"


@pytest.fixture
def manuals(tmp_path: Path) -> Path:
    folder = tmp_path / "manuals"
    for number in range(9):
        file = folder / f"book-{number}" / f"page-{number}.html"
        file.parent.mkdir(parents=True)
        file.write_text(PAGE)
    (folder / "tiny.html").write_text("<p>small")
    return folder


def test_a_third_of_the_pages_of_a_folder_is_measured(manuals: Path) -> None:
    names = [f"book-{number}__page-{number}.html" for number in range(9)]
    samples = read_folder(manuals, 100)
    assert {sample.name for sample in samples} == {name for name in names if is_held_out(name)}
    assert len(read_folder(manuals, 1)) == 1
    assert len(pick(samples, 2)) == 2
    with pytest.raises(SystemExit, match="has no HTML files"):
        read_folder(manuals.parent / "none", 1)


def test_a_text_is_judged_by_what_it_keeps_and_by_navigation(manuals: Path) -> None:
    pytest.importorskip("resiliparse")
    pytest.importorskip("trafilatura")
    samples = read_folder(manuals, 2)
    ways = extractors() | {"nothing": lambda _, __: "", "all": lambda document, _: document.to_text()}
    scores = measure(samples, ways)
    assert (scores["fast"].counted, scores["fast"].lost, scores["fast"].noisy) == (2, [], [])
    assert len(scores["nothing"].lost) == 2
    assert len(scores["all"].noisy) == 2


def test_an_article_is_compared_with_its_text(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura")
    name = next(name for name in map(str, range(9)) if is_held_out(name))
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / f"{name}.html.gz").write_bytes(gzip.compress(PAGE.encode()))
    about = {name: {"articleBody": STORY, "url": "https://news.test/1"}}
    (tmp_path / "ground-truth.json").write_text(json.dumps(about))
    (sample,) = read_folder(tmp_path, 9)
    assert sample.label == "news.test"
    scores = measure([sample], {"right": lambda _, __: STORY, "half": lambda _, __: STORY[: len(STORY) // 2]})
    assert scores["right"].f1() == (1, 1, 1)
    assert scores["half"].f1() == pytest.approx((2 / 3, 1, 0.5), abs=0.01)


def test_words_of_navigation_are_those_that_occur_nowhere_else() -> None:
    found = in_navigation("<nav>one two three four five</nav><p>one two three four</p>")
    assert list(found) == [("two", "three", "four", "five")]
    assert share(words_of("a b b"), words_of("b")) == pytest.approx(1 / 3)
