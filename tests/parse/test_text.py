"""One of three libraries finds the main text; they differ in what they find."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from turbohtml import parse

from gossamer.cli import run
from gossamer.errors import GossamerError
from gossamer.page_process.settings import PageSettings
from gossamer.parse.text import MAX_SLOW_CHARS, Choice, check_choice, text_finder

if TYPE_CHECKING:
    from pathlib import Path

CHOICES: list[Choice] = ["fast", "balanced", "best"]
SENTENCE = "Spiders let themselves be carried by the wind, on threads that are as fine as <em>gossamer</em>. "
PAGE = (
    "<html><head><title>Spiders</title></head><body><nav><a href=/>Home</a> <a href=/shop>Shop</a></nav>"
    f"<main><article><h1>Spiders that fly</h1><p>{SENTENCE * 5}</p>"
    f"<p>See <a href=/more>more of them</a>. {SENTENCE}</p>"
    f"<ul><li>{SENTENCE}</li><li>{SENTENCE}</li></ul></article></main>"
    "<footer>All rights reserved</footer></body></html>"
)

NEEDED = pytest.mark.parametrize(
    ("choice", "library"), [("balanced", "resiliparse"), ("best", "trafilatura"), ("best", "lxml_html_clean")]
)


def find(choice: Choice, source: str = PAGE, *, markdown: bool = False) -> str:
    return text_finder(choice, markdown=markdown)(parse(source), source)


@pytest.mark.parametrize("choice", CHOICES)
def test_each_finds_the_article_and_not_what_is_around_it(choice: Choice) -> None:
    text = find(choice)
    assert text.count("carried by the wind") == (6 if choice == "balanced" else 8)  # it leaves short lists out
    assert "Shop" not in text
    assert "reserved" not in text
    assert "<" not in text
    assert text == text.strip()


@pytest.mark.parametrize("choice", ["fast", "best"])
def test_two_of_them_write_markdown(choice: Choice) -> None:
    text = find(choice, markdown=True)
    assert text.startswith("# Spiders that fly\n\nSpiders let themselves")
    assert "*gossamer*" in text
    assert "\n- Spiders" in text
    assert "See more of them." in text
    assert "Shop" not in text


def test_markdown_of_the_one_that_writes_none_is_refused() -> None:
    with pytest.raises(ValueError, match="use --text fast or --text best"):
        PageSettings(text="balanced", markdown=True)
    assert PageSettings(text="best", markdown=True).markdown


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("markdown", [False, True])
def test_a_page_too_small_for_a_main_text_gives_all_its_text(choice: Choice, markdown: bool) -> None:
    assert find(choice, "<p>Hello", markdown=markdown) == "Hello"
    assert find(choice, "", markdown=markdown) == ""


@pytest.mark.parametrize("choice", ["balanced", "best"])
def test_of_a_page_too_large_for_the_slow_ones_the_fast_text_is_taken(choice: Choice) -> None:
    source = PAGE.replace("</p>", " word" * (MAX_SLOW_CHARS // 5) + "</p>", 1)
    assert len(source) > MAX_SLOW_CHARS
    assert find(choice, source) == find("fast", source)


def test_a_library_that_fails_does_not_cost_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    import trafilatura

    def failing(*_: object, **__: object) -> str:
        raise RecursionError

    monkeypatch.setattr(trafilatura, "extract", failing)
    assert find("best") == find("fast")
    monkeypatch.setattr(trafilatura, "extract", lambda *_, **__: None)
    assert find("best") == find("fast")


@NEEDED
def test_what_is_not_installed_is_asked_for_in_one_sentence(
    choice: Choice, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_choice(choice)
    monkeypatch.setitem(sys.modules, library, None)  # as Python itself marks what cannot be imported
    with pytest.raises(GossamerError, match=f"^--text {choice} needs {library}: install it with "):
        check_choice(choice)
    with pytest.raises(GossamerError):
        text_finder(choice, markdown=False)
    check_choice("fast")


def test_it_is_asked_for_before_the_crawl_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    folder = tmp_path / "crawl"
    assert run(["crawl", "example.org", "--email", "a@b.test", "--text", "best", "--data-dir", str(folder)]) == 2
    assert "--text best needs trafilatura: install it with " in capsys.readouterr().err
    assert not folder.exists()
