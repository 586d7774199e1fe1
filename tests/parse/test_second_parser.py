"""A second HTML parser finds the same links and titles in well-formed pages: turbohtml could be replaced."""

from __future__ import annotations

import lxml.html
import pytest

from gossamer.records import ParsedPage
from gossamer.urls import normalise
from tests.parse.pages import URL, read

PAGES = {  # all within <html>
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


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("charset", ["utf-8", "utf-16"])
def test_both_parsers_agree(name: str, charset: str) -> None:
    source = f"<html>{PAGES[name]}</html>"
    found = read(source.encode(charset), f"text/html; charset={charset}")
    assert isinstance(found, ParsedPage)
    document = lxml.html.document_fromstring(source, base_url=URL)
    base = document.xpath("string(//base/@href)") or URL
    targets = [normalise(href.strip(), base) for href in document.xpath("//a/@href | //area/@href")]
    assert [link.url for link in found.links] == list(dict.fromkeys(url for url in targets if isinstance(url, str)))
    assert found.row.title == " ".join(document.xpath("string(//title)").split())
    assert found.row.charset.lower().replace("-", "").startswith(charset.replace("-", ""))
