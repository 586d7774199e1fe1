"""Reads sitemaps of every format, and files that are odd, broken or hostile."""

from __future__ import annotations

import gc
import gzip
import time

import pytest

from gossamer.parse.dates import parse_time
from gossamer.parse.sitemaps import MAX_ENTRIES, MAX_SITEMAP_BYTES, Format, SitemapContent, rank_of, read_sitemap
from gossamer.records import ParseFailed, Reason, Truncation
from tests.parse.pages import answer

URL = "https://example.org/maps/sitemap.xml"
A, B = "https://example.org/a", "https://example.org/b"
XML = "<?xml version='1.0' encoding='UTF-8'?>"
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
DAY_S = 86_400.0


def read(body: bytes | str, content_type: str | None = "application/xml", *headers: str) -> SitemapContent:
    """The content of a sitemap that can be read."""
    found = read_sitemap(answer(body, content_type, url=URL, headers=headers), agent="Gossamer")
    assert isinstance(found, SitemapContent), found
    return found


def refusal(body: bytes | str, *headers: str) -> str:
    """Why a file is no sitemap."""
    found = read_sitemap(answer(body, "application/xml", url=URL, headers=headers), agent="Gossamer")
    assert isinstance(found, ParseFailed), found
    assert found.reason is Reason.BAD_SITEMAP
    return found.detail


def urls(found: SitemapContent) -> list[str]:
    return [entry.url for entry in found.entries]


def urlset(*locs: str, head: str = XML) -> str:
    return f"{head}<urlset xmlns='{NAMESPACE}'>{''.join(f'<url><loc>{loc}</loc></url>' for loc in locs)}</urlset>"


# ---------------------------------------------------------------------- forms

FORMS = {
    "a set of URLs": (urlset(A, B), Format.URLSET),
    "without a namespace": (f"<urlset><url><loc>{A}</loc></url><url><loc>{B}</loc></url></urlset>", Format.URLSET),
    "in a wrong namespace": (urlset(A, B).replace(NAMESPACE, "http://www.google.com/schemas/sitemap/0.84"), "urlset"),
    "with a prefix": (
        (
            f"{XML}<s:urlset xmlns:s='{NAMESPACE}'><s:url><s:loc>{A}</s:loc></s:url><s:url><s:loc>{B}</s:loc></s:url>"
            "</s:urlset>"
        ),
        Format.URLSET,
    ),
    "with CDATA": (urlset(f"<![CDATA[{A}]]>", B), Format.URLSET),
    "with comments": (urlset(f"<!-- x -->{A}<!-- y -->", B).replace("<url>", "<!-- <loc>no</loc> --><url>"), "urlset"),
    "with blanks": (urlset(f"\n\t {A} \n", f"  {B}"), Format.URLSET),
    "with blanks in front": (f"\n\n  {urlset(A, B)}", Format.URLSET),
    "with a byte-order mark": ("\ufeff" + urlset(A, B), Format.URLSET),
    "with a stylesheet": (urlset(A, B, head=f"{XML}<?xml-stylesheet type='text/xsl' href='/s.xsl'?>"), Format.URLSET),
    "with a document type": (urlset(A, B, head=f"{XML}<!DOCTYPE urlset SYSTEM 'http://127.0.0.1/x.dtd'>"), "urlset"),
    "with relative URLs": (urlset("/a", "../b"), Format.URLSET),
    "with URLs that come twice": (urlset(A, B, A, A + "#top", "HTTPS://EXAMPLE.org:443/b"), Format.URLSET),
    "with pictures and translations": (
        (
            f"{XML}<urlset xmlns='{NAMESPACE}' xmlns:image='i' xmlns:xhtml='h'><url><image:image><image:loc>https://x.org/"
            f"</image:loc></image:image><image:loc>https://y.org/</image:loc><loc>{A}</loc><xhtml:link rel='alternate' "
            f"hreflang='de' href='https://z.org/'/></url><url><loc>{B}</loc><loc>https://second.org/</loc></url></urlset>"
        ),
        Format.URLSET,
    ),
    "RSS": (
        (
            f"{XML}<rss version='2.0' xmlns:atom='a'><channel><link>https://example.org/x</link><atom:link rel='self' "
            f"href='https://example.org/rss'/><item><title>t</title><link>{A}</link><guid>g</guid></item><item><link>"
            f"<![CDATA[{B}]]></link></item></channel></rss>"
        ),
        Format.RSS,
    ),
    "RSS 1.0": (
        (
            f"{XML}<rdf:RDF xmlns:rdf='r' xmlns='http://purl.org/rss/1.0/'><channel/><item rdf:id='x'><link>{A}</link>"
            f"</item><item><link>{B}</link></item></rdf:RDF>"
        ),
        Format.RSS,
    ),
    "Atom": (
        (
            f"{XML}<feed xmlns='http://www.w3.org/2005/Atom'><link href='https://example.org/'/><entry><link "
            f"rel='edit' href='https://example.org/edit'/><link href='{A}'/></entry><entry><link rel='alternate' "
            f"href='{B}'/><link rel='alternate' href='https://example.org/second'/></entry></feed>"
        ),
        Format.ATOM,
    ),
    "text": (f"{A}\n{B}\n", Format.TEXT),
    "text with CR and blanks": (f"\ufeff  {A}\r\r\n\r\n {B} \r# a remark\r", Format.TEXT),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read(form: str) -> None:
    body, format_name = FORMS[form]
    found = read(body)
    assert (urls(found), found.format, found.sitemaps, found.refused, found.cut) == ([A, B], format_name, [], [], "")


def test_an_index_names_other_sitemaps() -> None:
    found = read(
        f"{XML}<sitemapindex xmlns='{NAMESPACE}'><sitemap><loc>https://example.org/1.xml</loc><lastmod>2024</lastmod>"
        "</sitemap><sitemap><loc>2.xml.gz</loc></sitemap><sitemap><loc>https://example.org/1.xml</loc></sitemap>"
        "</sitemapindex>"
    )
    assert found.format is Format.INDEX
    assert found.sitemaps == ["https://example.org/1.xml", "https://example.org/maps/2.xml.gz"]
    assert found.entries == []


CHARSETS = {
    "UTF-16 with a mark": urlset(A, "https://example.org/é").encode("utf-16"),
    "UTF-16 without a mark": urlset(A, "https://example.org/é").encode("utf-16-be"),
    "UTF-8 that says UTF-16": urlset(A, "https://example.org/é").replace("UTF-8", "UTF-16").encode(),
    "UTF-8 with a mark": b"\xef\xbb\xbf" + urlset(A, "https://example.org/é").encode(),
    "Latin-1": urlset(A, "https://example.org/é").replace("UTF-8", "ISO-8859-1").encode("latin-1"),
}


@pytest.mark.parametrize("charset", CHARSETS)
def test_every_charset_is_read(charset: str) -> None:
    assert urls(read(CHARSETS[charset])) == [A, "https://example.org/%C3%A9"]


def test_gzip_is_undone_however_it_is_announced() -> None:
    plain = urlset(A, B).encode()
    once, twice = gzip.compress(plain), gzip.compress(gzip.compress(plain))
    assert urls(read(once, "application/gzip")) == [A, B]
    assert urls(read(once, "application/xml", "Content-Encoding: gzip")) == [A, B]
    assert urls(read(twice, "application/gzip", "Content-Encoding: gzip")) == [A, B]
    assert urls(read(plain, "application/xml", "Content-Encoding: gzip")) == [A, B], "said, but not done"
    assert urls(read(once + gzip.compress(b"\n"), "application/gzip")) == [A, B], "in two members"


# ---------------------------------------------------------------------- odd and hostile files


def test_what_names_no_page_is_left_out_and_named() -> None:
    found = read(urlset("", "mailto:me@example.org", "https://exa mple.org/", "ftp://example.org/", A, "x" * 3_000))
    assert urls(found) == [A]
    assert [why for _, why in found.refused] == [
        "names no URL",
        "neither http nor https",
        "not a valid URL",
        "neither http nor https",
        "longer than 2000 characters",
    ]
    assert max(len(text) for text, _ in found.refused) <= 200


def test_lines_of_text_that_are_no_urls_are_left_out() -> None:
    found = read(f"{A}\n/b\nexample.org/c\n\n{B}")
    assert urls(found) == [A, B]
    assert found.refused == [("/b", "not an absolute URL"), ("example.org/c", "not an absolute URL")]


BROKEN = {
    "cut off": urlset(A, B)[:-30],
    "an entity of HTML": urlset(A, "https://example.org/&nbsp;", B),
    "an ampersand": urlset(A, "https://example.org/?a=1&b=2"),
    "a control character": urlset(A, "https://example.org/\x01"),
    "an element that is not closed": f"{XML}<urlset><url><loc>{A}</loc></url><url><loc>x</url></urlset>",
    "something behind the end": urlset(A) + "<p>",
}


@pytest.mark.parametrize("fault", BROKEN)
def test_of_a_broken_file_what_comes_before_the_fault_is_read(fault: str) -> None:
    found = read(BROKEN[fault])
    assert urls(found)[0] == A
    assert "not well-formed" in found.cut


NO_SITEMAPS = {
    "<!DOCTYPE html><html><head><title>404</title></head><body>Not found": "an HTML page",
    "<html xmlns='http://www.w3.org/1999/xhtml'><body/></html>": "an HTML page",
    "<svg xmlns='http://www.w3.org/2000/svg'/>": "its root element is <svg>",
    "": "empty",
    "Not found": "neither XML nor a list of URLs",
    '{"urls": []}': "neither XML nor a list of URLs",
    "< nonsense": "not XML",
    "\x1f\x8bnonsense": "not gzip",
    "<a>" * 200: "its root element is <a>",
    "<urlset>" + "<a>" * 200: "nested more than 100 deep",
}


@pytest.mark.parametrize("body", NO_SITEMAPS)
def test_what_is_no_sitemap_is_told_apart(body: str) -> None:
    assert NO_SITEMAPS[body] in refusal(body.encode("latin-1"))


LAUGHS = "".join(f"<!ENTITY l{n} '{f'&l{n - 1};' * 10}'>" for n in range(1, 10))
ENTITIES = {
    "many laughs": f"<!DOCTYPE urlset [<!ENTITY l0 'ha'>{LAUGHS}]><urlset><url><loc>&l9;</loc></url></urlset>",
    "one large": f"<!DOCTYPE urlset [<!ENTITY x '{'x' * 100_000}'>]><urlset>{'&x;' * 10_000}</urlset>",
    "a file": "<!DOCTYPE urlset [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><urlset><url><loc>&x;</loc></url></urlset>",
    "a parameter": "<!DOCTYPE urlset [<!ENTITY % x SYSTEM 'http://127.0.0.1/'> %x;]><urlset/>",
}


@pytest.mark.parametrize("kind", ENTITIES)
def test_a_file_that_declares_entities_is_refused_at_once(kind: str) -> None:
    began_s = time.process_time()
    assert refusal(XML + ENTITIES[kind]) == "it declares entities"
    assert time.process_time() - began_s < 0.5


@pytest.mark.parametrize(
    "body", [urlset(A, B), urlset(A)[:-9], urlset(*[A] * (MAX_ENTRIES + 1)), "<html></html>"],
    ids=["whole", "broken", "too long", "none"],
)  # fmt: skip
def test_nothing_of_a_sitemap_waits_for_the_collector_of_garbage(body: str) -> None:
    gc.collect()
    gc.disable()  # as in the page process: what waited would count as the memory of the sitemaps behind it
    try:
        read_sitemap(answer(body, "application/xml", url=URL), agent="Gossamer")
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_no_more_than_fifty_thousand_entries_are_read() -> None:
    found = read(urlset(*(f"https://example.org/{n}" for n in range(200_000))))
    assert len(found.entries) == MAX_ENTRIES == 50_000
    assert found.entries[-1].url == "https://example.org/49999"
    assert found.cut == "more than 50,000 entries"
    lines = read("https://example.org/\n" + "nonsense\n" * 60_000)
    assert (len(lines.entries), len(lines.refused)) == (1, MAX_ENTRIES - 1)


def test_a_bomb_costs_no_more_than_its_share() -> None:
    bomb = gzip.compress(b"<urlset><url><loc>" + A.encode() + b"</loc></url>" + bytes(2 * MAX_SITEMAP_BYTES), 1)
    found = read(bomb, "application/gzip")
    assert urls(found) == [A]
    assert found.cut


def test_an_answer_that_came_incomplete_is_marked() -> None:
    whole = answer(f"{A}\n{B}", "text/plain", url=URL)
    cut = type(whole)(**{name: getattr(whole, name) for name in whole.__slots__} | {"truncated": Truncation.LENGTH})
    found = read_sitemap(cut, agent="Gossamer")
    assert isinstance(found, SitemapContent)
    assert found.cut


@pytest.mark.parametrize(
    ("tag", "listed", "noindex"),
    [
        ("noindex, follow", [A], True),
        ("noindex", [A], True),
        ("nofollow", [], False),
        ("none", [], True),
        ("gossamer: nofollow", [], False),
        ("otherbot: none", [A], False),
    ],
)
def test_what_its_server_wishes_is_obeyed(tag: str, listed: list[str], noindex: bool) -> None:
    found = read(urlset(A), "application/xml", f"X-Robots-Tag: {tag}")
    assert (urls(found), found.noindex) == (listed, noindex)


# ---------------------------------------------------------------------- order

NEW_YEAR_AT = 1_704_067_200.0  # 2024-01-01T00:00:00Z
TIMES = {
    "2024": NEW_YEAR_AT,
    "2024-01": NEW_YEAR_AT,
    "2024-01-01": NEW_YEAR_AT,
    "2024-01-01T00:00Z": NEW_YEAR_AT,
    "2024-01-01T00:00:00Z": NEW_YEAR_AT,
    "2024-01-01T00:00:00.123456Z": NEW_YEAR_AT,
    "2024-01-01T02:00:00+02:00": NEW_YEAR_AT,
    "2023-12-31T19:00:00-0500": NEW_YEAR_AT,
    "2024-01-01 00:00:00": NEW_YEAR_AT,
    "2024-01-01T00:00:00": NEW_YEAR_AT,
    "Mon, 01 Jan 2024 00:00:00 GMT": NEW_YEAR_AT,
    "01 Jan 2024 00:00:00 +0000": NEW_YEAR_AT,
    "01 Jan 2024 00:00:00": NEW_YEAR_AT,
    "2024-01-01" + "0" * 1_000: None,
    "2024-13-01": None,
    "2024-02-30": None,
    "2024-01-01T25:00:00Z": None,
    "0000": None,
    "yesterday": None,
    "01.01.2024": None,
    "Mon, 99 Jan 2024 00:00:00 GMT": None,
    "": None,
}


@pytest.mark.parametrize("text", TIMES)
def test_a_date_is_read_in_every_spelling(text: str) -> None:
    assert parse_time(text) == TIMES[text]


RANKS = [
    (None, None, 0),
    (0.5, None, 0),
    (1.0, None, 0),
    (0.4, None, 2),
    (0.45, None, 2),
    (0.1, None, 8),
    (0.0, None, 10),
    (None, 364 * DAY_S, 0),
    (None, 366 * DAY_S, 1),
    (1.0, 3_660 * DAY_S, 1),
    (0.0, 366 * DAY_S, 11),
    (None, -10 * DAY_S, 0),
]


@pytest.mark.parametrize(("priority", "age_s", "rank"), RANKS)
def test_a_rank_follows_from_priority_and_age(priority: float | None, age_s: float | None, rank: int) -> None:
    assert rank_of(priority, None if age_s is None else NEW_YEAR_AT - age_s, NEW_YEAR_AT) == rank


def test_entries_are_in_the_order_in_which_to_fetch_them() -> None:
    listed = [
        ("plain", "", ""),
        ("low", "", "0.1"),
        ("old", "2001-02-03", "1.0"),
        ("high", "", "1.0"),
        ("fresh", "2023-11-10", ""),
        ("fresher", "2023-11-14T10:00:00Z", "0.5"),
        ("odd", "soon", "high"),
        ("comma", "", "0,2"),
        ("over", "", "7"),
    ]
    entries = "".join(
        f"<url><loc>/{name}</loc><lastmod>{changed}</lastmod><priority>{priority}</priority></url>"
        for name, changed, priority in listed
    )
    found = read(f"<urlset>{entries}</urlset>")  # requested in November 2023
    names = [entry.url.rpartition("/")[2] for entry in found.entries]
    assert names == ["high", "over", "fresher", "fresh", "plain", "odd", "old", "comma", "low"]
    assert [entry.rank for entry in found.entries] == [0, 0, 0, 0, 0, 0, 1, 6, 8]
    assert found.entries[1].priority == 1.0
