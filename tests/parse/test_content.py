"""The fast text reads every kind of page: what it must and must not hold, on small pages of each kind."""

from __future__ import annotations

import pytest
from turbohtml import parse

from gossamer.parse.content import Removed, find_content
from gossamer.parse.render import MAX_CELLS
from gossamer.parse.text import Choice, fast_markdown, fast_text, text_finder

PROSE = "Spiders let themselves be carried by the wind, on threads that are as fine as gossamer, over land and sea. "
LINKS = "".join(f"<li><a href=/{n}>Headline number {n} of another story</a></li>" for n in range(8))
AROUND = "<div class='top-menu'><a href=/>Start</a> <a href=/shop>Shop</a></div>"
FOOT = "<div id=footer>All rights reserved by the publisher of these pages</div>"

PAGES: dict[str, tuple[str, list[str], list[str]]] = {
    "an article among divs": (
        (
            f"{AROUND}<div class=c1><div class=c2><h1>Flying</h1><p>{PROSE * 3}</p><p>Second: {PROSE * 3}</p></div>"
            f"<div class=c3><ul>{LINKS}</ul></div></div><div class='cookie-banner'>We use cookies</div>{FOOT}"
        ),
        ["Flying", "Second: Spiders"],
        ["Start", "Headline number 3", "cookies", "reserved"],
    ),
    "an article with comments": (
        f"<article><p>{PROSE * 8}</p></article><div id=comments>"
        + "".join(f"<div class=comment><p>Comment {n}: {PROSE}</p></div>" for n in range(20))
        + "</div>",
        ["carried by the wind"],
        ["Comment 3"],
    ),
    "a forum, whose comments are the page": (
        f"{AROUND}<h1>Why do spiders fly?</h1><div class=comments>"
        + "".join(f"<div class=comment><p>Reply {n}: {PROSE}</p></div>" for n in range(9))
        + f"</div>{FOOT}",
        ["Reply 0", "Reply 8"],
        ["Shop", "reserved"],
    ),
    "a reference page without paragraphs": (
        "<div role=navigation><a href=/>contents</a></div><h1>spin</h1>"
        "<pre>spin [--fast] thread\n    --fast   x</pre><dl>"
        + "".join(f"<dt>--option-{n}</dt><dd>{PROSE}</dd>" for n in range(9))
        + "</dl><table><tr><th>Code</th><th>Meaning of it</th></tr><tr><td>0</td><td>success</td></tr></table>",
        ["spin [--fast] thread\n    --fast   x", "--option-8", "0 success", "Code Meaning of it"],
        ["contents"],
    ),
    "a manual in sections whose ids are headings": (
        "".join(
            f"<section id={name}><h2>About {name}</h2><p>{PROSE * 2}</p></section>"
            for name in ("comments", "related-tools", "navigation")
        ),
        ["About comments", "About related-tools", "About navigation"],
        [],
    ),
    "a start page of links": (
        f"<nav><a href=/>Start</a></nav><h1>News</h1><ul>{LINKS}</ul>",
        ["Headline number 0", "Headline number 7"],
        ["Start"],
    ),
    "a shop": (
        "<ol class=breadcrumb><li><a href=/>Home of goods</a></ol><main><h1>Silk</h1>"
        + "".join(f"<div class=product><h3>Silk {n}</h3><p>Fine thread, {n} m</p><b>{n}.99</b></div>" for n in range(9))
        + "</main><div class=pagination><a href=2>Next page</a></div>",
        ["Silk 0", "Fine thread, 8 m", "8.99"],
        ["Home of goods", "Next page"],
    ),
    "a layout of tables": (
        (
            "<table><tr><td class=menu><a href=/>Shop</a></td><td><h1>Old</h1>"
            f"<p>{PROSE}</p><p>Second {PROSE}</p></td></tr></table>"
        ),
        ["Old\n\nSpiders", "Second Spiders"],
        [],
    ),
    "a page in one form": (
        f"<form id=aspnetForm><div><p>{PROSE * 5}</p></div></form>",
        ["carried by the wind"],
        [],
    ),
    "a wrapper named after its sidebar": (
        f"<div class='page has-sidebar'><p>{PROSE * 5}</p></div><div class=sidebar><p>Elsewhere: {PROSE}</p></div>",
        ["carried by the wind"],
        ["Elsewhere"],
    ),
    "hidden parts": (
        f"<p>{PROSE * 4}</p><p hidden>Never seen</p><div style='display: none'>Nor this</div><template>x</template>",
        ["carried by the wind"],
        ["Never seen", "Nor this"],
    ),
    "a page in Japanese": (
        f"<div class=nav><a href=/>索引</a></div><p>{'蜘蛛は糸を使って風に乗り、遠くまで飛ぶことができる。' * 9}</p>",
        ["蜘蛛は糸を使って"],
        ["索引"],
    ),
}


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_keeps_what_it_says_and_nothing_around_it(kind: str) -> None:
    source, musts, must_nots = PAGES[kind]
    for find in (fast_text, fast_markdown):
        text = find(parse(source), source)
        missing = [segment for segment in musts if segment not in text and find is fast_text]
        assert not missing, text
        assert not [segment for segment in must_nots if segment in text], text


@pytest.mark.parametrize("choice", ["balanced", "best"])
def test_the_others_fall_back_where_they_keep_too_little(choice: Choice) -> None:
    source = (
        "<h1>spin</h1><dl>"
        + "".join(f"<dt>-{n}<dd><pre>{PROSE}</pre>" for n in range(40))
        + "</dl><p>The end of it.</p>"
    )
    text = text_finder(choice, markdown=False)(parse(source), source)
    assert text.count("carried by the wind") >= 16  # four tenths of it


def test_a_page_that_is_nothing_but_navigation_keeps_it() -> None:
    source = "<nav><a href=/a>First</a> <a href=/b>Second</a></nav>"
    assert fast_text(parse(source), source) == "First Second"


def test_a_table_of_many_cells_keeps_its_rows_and_words() -> None:
    rows = "".join(f"<tr><td>{number}</td><td>name{number} <b>x</b></td></tr>" for number in range(MAX_CELLS // 2 + 1))
    source = f"<h1>Data</h1><table>{rows}</table>"
    lines = [line.rstrip() for line in fast_text(parse(source), source).split("\n") if line]
    assert lines[:3] == ["Data", "0 name0 x", "1 name1 x"]
    assert len(lines) == MAX_CELLS // 2 + 2


def test_a_phrase_is_not_torn_apart_by_the_layout_of_a_table() -> None:
    table = f"<table><caption>Sizes</caption><tr><td>a\n  b</td><td>c</td></tr><tr><td>{'w' * 90}<td>d</table>"
    source = f"<p>{PROSE}</p>{table}"
    assert "Sizes" in fast_text(parse(source), source)
    assert "\na b c\n" in fast_text(parse(source), source)


def test_the_text_of_a_page_depends_on_that_page_alone() -> None:
    pages = [source for source, _, _ in PAGES.values()]
    once = [fast_text(parse(source), source) for source in pages]
    assert [fast_text(parse(source), source) for source in reversed(pages)] == once[::-1]


def test_what_was_removed_is_named_with_its_reason() -> None:
    source = PAGES["an article among divs"][0]
    notes: list[Removed] = []
    content = find_content(parse(source), len(source), notes.append)
    assert content is not None
    assert content.reason == "it holds 100 % of the long paragraphs"
    assert ("div.top-menu", "menu") in [(note.element, note.reason) for note in notes]
    assert ("div#footer", "footer") in [(note.element, note.reason) for note in notes]


@pytest.mark.parametrize(
    "source",
    [
        "<div hidden>" * 20_000 + "word " * 500,
        "<div class='nav related ad'>" * 20_000 + "word " * 500,
        "<table><tr><td>" * 5_000 + "word " * 500,
        "<table><tr><td>" + "w" * 50_000 + "<td>x" + "<tr><td>a<td>b" * 5_000,
    ],
)
def test_a_hostile_page_keeps_its_words(source: str) -> None:
    text = fast_text(parse(source), source)
    assert "word" in text or "www" in text
    assert len(text) < 2 * len(source)
