"""A page as sent becomes title, text, language and links."""

from __future__ import annotations

import gzip
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_128_digest

from gossamer.parse.head import read_head
from gossamer.parse.page import MAX_TITLE_CHARS, read_page
from gossamer.parse.simhash import simhash
from gossamer.records import PageRow, ParsedPage, ParseFailed, Reason
from gossamer.urls import identify
from tests.parse.pages import CAP, URL, answer, read

ARTICLE = """<!DOCTYPE html>
<html lang="en-GB" class="no-js">
<head>
<meta charset="utf-8">
<title>
  Spiders that fly &mdash; The Daily Web
</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="max-image-preview:large, noai">
<meta property="og:title" content="Spiders that fly">
<link rel="stylesheet" href="/static/main.css?v=12">
<link rel="canonical" href="https://www.daily.example/science/flying-spiders">
<link rel="alternate" type="application/rss+xml" href="/feed.xml">
<script>window.dataLayer = window.dataLayer || []; document.write('<a href="/tracked">no</a>');</script>
<style>.teaser a[href="/styled"] { color: red }</style>
</head>
<body>
<header><nav aria-label="Main"><ul>
  <li><a href="/">Home</a></li>
  <li><a href="/science/" class="active">Science</a></li>
  <li><a href="#content">Skip to the text</a></li>
</ul></nav></header>
<main id="content"><article>
<h1>Spiders that fly</h1>
<p class="byline">By <a href="/authors/j-m%c3%bcller">Jana Müller</a></p>
<p>Young spiders climb to the tip of a blade of grass, raise their bodies, and let out threads of silk until the
wind, or the electric field of the air, carries them off: naturalists call it <em>ballooning</em>, and the threads
that settle on the meadows in autumn are known as <a href="https://en.encyclopedia.example/wiki/Gossamer">gossamer</a>.</p>
<p>Most of them come down again within a few metres, but sailors have found spiders in their rigging hundreds of
miles from any coast, as <a href="../archive/1832?page=2#beagle">Darwin noted on the Beagle</a>, and they are among
the first animals to settle on new islands, on lava fields, and on ground that a glacier has just left behind.</p>
<p>How do they know when to go? They feel the wind with fine hairs on their legs, and it seems that they feel
electric fields with the same hairs, even on days when no breath of air is moving, says a study from Bristol.</p>
</article></main>
<aside><h2>Sponsored</h2><ul>
  <li><a rel="sponsored nofollow" href="https://shop.example/silk?utm=x">Buy silk</a></li>
  <li><a rel="sponsored" href="https://shop.example/about">Who we are</a></li>
</ul></aside>
<noscript><img src="/pixel.gif" alt=""><a href="/no-script">Without scripts</a></noscript>
<template id="card"><a href="/{{slug}}">{{title}}</a></template>
<footer><map name="m"><area shape="rect" coords="0,0,1,1" href="/imprint" alt="Imprint"></map>
<svg role="img"><title>Logo</title></svg>
<a href="mailto:desk@daily.example">Write to us</a> <a href="/science/">Science</a></footer>
</body>
</html>
"""


def test_a_page_as_news_sites_write_them() -> None:
    page = read(ARTICLE, "text/html; charset=UTF-8", url="https://www.daily.example/science/2026/spiders")
    assert page.row == PageRow(
        content_type="text/html",
        mime_detected="text/html",
        charset="utf-8",
        title="Spiders that fly — The Daily Web",
        text=page.row.text,
        lang="en",
        links=8,
        canonical="https://www.daily.example/science/flying-spiders",
        signals="robots=max-image-preview:large, noai",
        content_hash=xxh3_128_digest(ARTICLE.encode()),
        body_bytes=len(ARTICLE.encode()),
        simhash=simhash(page.row.text),
        lang_declared="en",
        lang_detected="en",
        lang_score=page.row.lang_score,
    )
    assert page == ParsedPage(
        row=page.row,
        links=[
            identify(url)
            for url in (
                "https://www.daily.example/",
                "https://www.daily.example/science/",
                "https://www.daily.example/authors/j-m%C3%BCller",
                "https://en.encyclopedia.example/wiki/Gossamer",
                "https://www.daily.example/science/archive/1832?page=2",
                "https://shop.example/about",
                "https://www.daily.example/no-script",
                "https://www.daily.example/imprint",
            )
        ],
        anchors=[],
        refresh="",
        noindex=False,
        nofollow=False,
        noai=True,
    )
    assert page.row.text.startswith(
        "Spiders that fly\n\nBy Jana Müller\n\nYoung spiders climb to the tip of a blade of"
    )
    assert page.row.text.endswith("says a study from Bristol.")
    for furniture in ("Skip to the text", "dataLayer", "color: red", "{{title}}", "Logo"):
        assert furniture not in page.row.text


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("br", brotli.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
        ("br, gzip", lambda body: gzip.compress(brotli.compress(body))),
    ],
)
def test_an_encoded_page_reads_like_a_plain_one(encoding: str, encode: object) -> None:
    assert callable(encode)
    plain = read(ARTICLE)
    assert read(encode(ARTICLE.encode()), headers=(f"Content-Encoding: {encoding}",)) == plain


def test_encodings_on_separate_lines_are_undone_in_turn() -> None:
    body = brotli.compress(gzip.compress(ARTICLE.encode()))
    assert read(body, headers=("Content-Encoding: gzip", "content-encoding:br")) == read(ARTICLE)


@pytest.mark.parametrize("encoding", ["gzip", "sdch"])
def test_a_page_that_cannot_be_decoded_says_so(encoding: str) -> None:
    fetched = answer(ARTICLE, headers=(f"Content-Encoding: {encoding}",))
    found = read_page(fetched, agent="gossamer", max_bytes=CAP)
    assert isinstance(found, ParseFailed)
    assert found.reason is Reason.BAD_ENCODING
    assert encoding in found.detail


def test_a_page_cut_at_the_cap_is_marked() -> None:
    found = read_page(answer(ARTICLE), agent="gossamer", max_bytes=2_000)
    assert isinstance(found, ParsedPage)
    assert found.row.truncated
    assert found.row.body_bytes == 2_000
    assert found.row.content_hash == xxh3_128_digest(ARTICLE.encode()[:2_000])
    assert found.links


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "html",
        "text/html",
        "TEXT/HTML;charset=utf-8",
        "text/html, text/html",
        "application/xhtml+xml",
        "application/rss+xml",
        "application/xml",
        "text/xml; x=y",
    ],
)
def test_what_may_be_markup_is_read_as_html(content_type: str | None) -> None:
    body = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><a href="/x">y</a></body></html>'
    page = read(body, content_type)
    assert [link.url for link in page.links] == ["https://example.org/x"]
    assert page.row.text == "y"


@pytest.mark.parametrize("content_type", ["text/plain", "Text/Plain; charset=utf-8", "text/csv", "application/json"])
def test_plain_text_is_its_own_text_and_has_no_links(content_type: str) -> None:
    body = "\n  <a href=/x>Größe</a>\0\n<title>no</title>\n"
    page = read(body, content_type, headers=("Content-Language: de",))
    assert page.row.text == "<a href=/x>Größe</a>\ufffd\n<title>no</title>"
    assert (page.links, page.row.title, page.row.charset, page.row.lang) == ([], "", "utf-8", "de")


def test_of_anything_else_only_the_bytes_count() -> None:
    page = read(b"%PDF-1.7 <a href=/x>", "application/pdf")
    assert (page.row.text, page.links, page.row.charset, page.row.body_bytes) == ("", [], "", 20)


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("<title> A \n b </title>", "A b"),
        ("<title>a &amp; b</title><title>second</title>", "a & b"),
        ("<title><b>x</b></title>", "<b>x</b>"),
        ("<svg><title>picture</title></svg><body><title>real</title>", "real"),
        ("<svg><title>picture</title></svg>", ""),
        ("<title></title>", ""),
        ("<h1>x</h1>", ""),
        (f"<title>{'x' * 5_000}</title>", "x" * MAX_TITLE_CHARS),
    ],
)
def test_the_title_is_the_first_of_the_document_itself(markup: str, title: str) -> None:
    assert read(markup).row.title == title


@pytest.mark.parametrize(
    ("markup", "headers", "lang"),
    [
        ("<html lang=en>", (), "en"),
        ("<html lang=' EN-us '>", (), "en"),
        ("<html lang=zh_Hant_TW>", (), "zh"),
        ("<html xml:lang=fr>", (), "fr"),
        ("<html lang=de>", ("Content-Language: fr",), "de"),
        ("<html lang=''>", ("Content-Language: fr-CA",), "fr"),
        ("<meta http-equiv=content-language content=it>", ("Content-Language: fr",), "it"),
        ("<p>", ("Content-Language: de, en",), ""),
        ("<html lang='{{lang}}'>", (), ""),
        ("<html lang=x>", (), ""),
        ("<p lang=de>", (), ""),
        ("<body lang=da>", ("Content-Language: fr",), "da"),
        ("<meta property=og:locale content=pt_BR>", (), "pt"),
        ("<meta property=og:locale content=pt_BR>", ("Content-Language: fr",), "fr"),
    ],
)
def test_the_language_is_what_the_page_declares(markup: str, headers: tuple[str, ...], lang: str) -> None:
    row = read(markup, headers=headers).row
    assert (row.lang_declared, row.lang, row.lang_detected, row.lang_score) == (lang, lang, "", 0.0)


def test_a_tiny_page_gives_all_of_its_text() -> None:
    page = read("<title>t</title><script>s</script><style>y</style><p>Hello</p><template>u</template><p>world")
    assert page.row.text == "Hello\n\nworld"


def test_an_empty_page_gives_nothing() -> None:
    page = read(b"")
    assert (page.row.text, page.row.title, page.links, page.row.body_bytes, page.row.charset) == (
        "",
        "",
        [],
        0,
        "utf-8",
    )


def test_a_wide_cell_does_not_blow_up_the_text() -> None:
    rows = "".join(f"<tr><td>{n}<td>y</tr>" for n in range(200))
    paragraphs = "<p>A paragraph, long enough, with commas, to be taken for the main text of its page.</p>" * 50
    body = f"<article>{paragraphs}<table><tr><td>{'x' * 2_000}<td>y</tr>{rows}</table></article>"
    page = read(body)
    assert len(page.row.text) < len(body)
    assert "\n199 y" in page.row.text


def test_the_head_is_read_as_servers_write_it() -> None:
    head = read_head(
        b"HTTP/1.1 200 OK\r\nX-Content-Type: no\r\ncontent-TYPE :  Text/HTML ; Charset='UTF-8' \r\n"
        b"Content-Encoding:gzip\nX-Robots-Tag: noindex,\r\n\tnofollow\r\nContent-Language:\r\n"
        b"Via: content-type: x\r\n\r\n"
    )
    assert head.media_type == "text/html"
    assert head.charset == "UTF-8"
    assert head.encodings == "gzip"
    assert head.robots == ("noindex, nofollow",)
    assert head.language == ""


ODD = st.sampled_from(
    [
        *(
            b"<",
            b">",
            b"</",
            b"<!--",
            b"-->",
            b"<![CDATA[",
            b"&#",
            b"&#x110000;",
            b"\0",
            b"=",
            b'"',
            b"\r\n",
            b"//",
            b"?\xe9",
        ),
        *(
            b"\xff\xfe",
            b"\xef\xbb\xbf",
            b"\x1b$B",
            b"http://[",
            b"</p>",
            b"<table>",
            b"<tr><td colspan=9>",
            b"<frameset>",
        ),
        *(
            b"<a href=",
            b"<base href=",
            b"<meta http-equiv=refresh content='0;",
            b"<meta charset=",
            b"<title>",
            b"<svg>",
        ),
        *(b"<meta name=robots content=", b"<template shadowrootmode=open>", b"<math>", b"<select>", b"<plaintext>"),
        *(b"<script>", b"<noscript>"),
    ]
)
BODIES = st.lists(st.one_of(st.binary(max_size=20), ODD), max_size=40).map(b"".join)
CHARSETS = ("shift_jis", "utf-8", "utf-16", "windows-1251", "\0")
TYPES = st.sampled_from(
    [
        None,
        "text/html",
        "text/plain",
        "application/xhtml+xml",
        "image/png",
        *(f"text/html; charset={c}" for c in CHARSETS),
    ]
)
URLS = st.sampled_from([URL, "http://[::1]:8080/", "https://xn--bcher-kva.example/?q=%E9"])


@given(BODIES, TYPES, URLS)
def test_no_page_makes_it_raise(body: bytes, content_type: str | None, url: str) -> None:
    page = read(body, content_type, url=url)
    for text in (page.row.text, page.row.title, page.row.signals, page.row.lang, page.row.canonical, page.refresh):
        text.encode()  # no half of a surrogate pair: what is stored must have a UTF-8 form
    assert all(link == identify(link.url) for link in page.links)


@given(st.binary(max_size=300), BODIES)
def test_no_head_makes_it_raise(head: bytes, body: bytes) -> None:
    fetched = answer(body)
    object.__setattr__(fetched, "head", head)
    read_page(fetched, agent="gossamer", max_bytes=1_000)


def test_the_type_that_is_stored_is_the_one_that_was_declared_first() -> None:
    page = read("x", "text/html", headers=("Content-Type: Text/Plain ; charset=utf-8",))
    assert page.row.content_type == "text/plain"
    assert read("x", None).row.content_type == ""


def test_a_header_that_says_that_this_is_not_the_page_counts_for_every_type() -> None:
    mark = "Cloudflare: header cf-mitigated: challenge"
    for content_type in ("text/html", "application/json", "image/png"):
        assert read("{}", content_type, headers=("cf-mitigated: challenge",)).blocked == mark
