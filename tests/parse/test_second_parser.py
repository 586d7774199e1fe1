"""A second HTML parser, resiliparse, finds the same links and titles, also in malformed pages; and charsets are read as
the HTML standard's own tests expect. So turbohtml could be replaced, and its next version that differs is noticed.

`html5lib_tests` has the pages and encodings of the html5lib project's tests (`tree-construction`, `encoding`).
"""

from __future__ import annotations

import json
import re
from itertools import count
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from resiliparse.parse.html import HTMLTree

from gossamer.urls import normalise
from tests.parse.pages import URL, read

DATA = Path(__file__).parent / "html5lib_tests"
PAGES = {
    "plain": "<head><title>A page</title></head><body><a href='/a'>a</a><a href='b?c=d&amp;e=f#g'>b</a></body>",
    "base": "<head><base href='https://b.test/x/'><title>T</title></head><body><a href='y'>y</a></body>",
    "charset": "<head><meta charset='utf-8'><title>Größe 漢字</title></head><body><a href='/ä'>x</a></body>",
    "entities": "<head><title>a &lt; b &amp; c &eacute;</title></head><body><a href='/?a=1&amp;b=2'>x</a></body>",
    "blanks": "<head><title>\n  two\n  lines </title></head><body><a href=' /x '>x</a><a href='/x'>y</a></body>",
    "table": "<html><body><table><tr><td><a href='/1'>1</a></td></tr></table><map><area href='/2'></map></body>",
    "nested": "<html><body><div><ul><li><a href='/1'><b>1</b></a></li><li><a href='../up'>2</a></li></ul></div></body>",
    "comments": "<html><body><!-- <a href='/no'>no</a> --><script>'<a href=/no>'</script><a href='/yes'>y</a></body>",
    "schemes": "<html><body><a href='mailto:a@b.test'>m</a><a href='//c.test/'>c</a><a href='HTTP://D.test'>d</a></body>",
}
# Pieces of which hostile pages are made. Each `{}` becomes another number.
PIECES = """
<a_href=/{}> <a_href="/{}"> <a_href='/{}&amp;x'> <A_HREF=/{}> <a_href=/{}_href=/no> <a/href=/{}>
<a_href_=_/{}_> <a_href="/{} </a> <area_href={}> <base_href=/b{}/> <title>t{}</title> <b> </b> <i> </i> <p>
</p> <div> </div> <nobr> <h1> <h2> <hr> <br/> <table> <tr> <td> </td> <tbody> <col> <caption> </table> <form>
<button> </button> <li> <ul> </ul> <dd> <dt> <ruby><rt> <object> <marquee> <svg> </svg> <desc> <foreignObject>
<math> <mi> </math> <script> </script> <style> </style> <textarea> </textarea> <xmp> </xmp> <iframe> </iframe>
<noscript> </noscript> <template> </template> <listing> <plaintext> <frameset> <html> <head> </head> <body>
</body> </html> <!doctype_html> <!-- --> <![CDATA[ ]]> &amp; &#x41; < </ \0 text
""".split()  # noqa: SIM905 - shorter


def is_comparable(source: str) -> bool:
    """Return whether both parsers mean the same.

    resiliparse does not know what the standard now says about <select>, and about </p> within SVG and MathML. We read
    <noframes>, and nothing in a <template>, also within SVG and MathML, where it means nothing. turbohtml forgets that
    a <template> forbids a <frameset> after it.
    """
    text = source.lower()
    if "<svg" in text or "<math" in text:
        return not re.search("<select|<noframes|<template|</p", text)
    return not re.search("<select|<noframes|(?s:<template.*<frameset)", text)


def assert_both_agree(source: str, content_type: str = "text/html; charset=utf-8", body: bytes | None = None) -> None:
    found = read(source.encode() if body is None else body, content_type)
    tree = HTMLTree.parse(source)
    document = tree.document
    based = document.query_selector("base[href]")
    base = normalise(based.getattr("href"), URL) if based else URL
    hrefs = [element.getattr("href").strip() for element in document.query_selector_all("a[href], area[href]")]
    targets = [normalise(href, base if isinstance(base, str) else URL) for href in hrefs]
    assert [link.url for link in found.links] == list(dict.fromkeys(url for url in targets if isinstance(url, str)))
    assert found.row.title == " ".join((tree.title or "").split())


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("charset", ["utf-8", "utf-16"])
def test_both_parsers_agree_about_plain_pages(name: str, charset: str) -> None:
    source = f"<html>{PAGES[name]}</html>"
    assert_both_agree(source, f"text/html; charset={charset}", source.encode(charset))
    found = read(source.encode(charset), f"text/html; charset={charset}")
    assert found.row.charset.lower().replace("-", "").startswith(charset.replace("-", ""))


def test_both_parsers_agree_about_the_pages_of_the_standards_tests() -> None:
    pages = [page for page in json.loads((DATA / "pages.json").read_text()) if is_comparable(page)]
    assert len(pages) > 1_300
    for page in pages:
        first, *others = re.split(r"(?i)<a(?=[\s>/])", page)
        linked = "".join(f"<a href=/{number} {other}" for number, other in enumerate(others))
        assert_both_agree(f"{first}{linked}<a href=/end>end</a>")


@given(st.lists(st.sampled_from(PIECES), max_size=40))
@example(["<table>", "<a_href=/{}>", "<tr>", "<a_href=/{}>", "</table>", "<a_href=/{}>"])
def test_both_parsers_agree_about_hostile_pages(pieces: list[str]) -> None:
    numbers = count()
    page = "".join(piece.replace("{}", str(next(numbers))).replace("_", " ").replace("\\0", "\0") for piece in pieces)
    if is_comparable(page):
        assert_both_agree(page)


WESTERN = "\n café, naïve, “quoted” façade, déjà vu. ".encode("windows-1252") * 3
# We look for declarations in the tree, not in bytes, so a script declares nothing; and forgive a blank.
OTHERWISE = ("<script", "<style", 'http-equiv="Content-Type "')


def test_charsets_are_declared_as_the_standards_tests_expect() -> None:
    cases = json.loads((DATA / "encodings.json").read_text())
    compared = [(page, charset) for page, charset in cases if not any(other in page for other in OTHERWISE)]
    assert len(compared) > 70
    for page, charset in compared:
        text = (
            b"" if charset == "utf-8" else WESTERN
        )  # text that is not UTF-8 has another charset, whatever is declared
        assert read(page.encode("latin-1") + text, "text/html").row.charset == charset, page
