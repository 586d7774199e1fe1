"""Which elements count as links, and their URLs (`docs/links.md`)."""

from __future__ import annotations

from html import escape

import pytest

from gossamer.parse.links import MAX_ANCHOR_CHARS, MAX_ANCHORS, MAX_LINKS, MAX_REFRESH_S
from gossamer.records import Anchor
from gossamer.urls import identify
from tests.parse.pages import URL, anchors, links, read

SITE = "https://example.org"


def test_links_are_resolved_normalised_and_named() -> None:
    page = read('<a href="../other?b#c">x</a><a href="//Sub.Example.ORG:443/%7euser">y</a>')
    assert page.links == [identify(f"{SITE}/other?b"), identify("https://sub.example.org/~user")]


def test_links_are_distinct_and_in_the_order_of_the_document() -> None:
    assert links('<a href=b>1<map><area href=a><a href=c>2<a href="./b">3<area href=d><a href=b#x>4') == [
        f"{SITE}/dir/{name}" for name in "bacd"
    ]


def test_only_a_area_and_frames_are_links() -> None:
    assert (
        links(
            "<a name=x>no</a><link rel=next href=/next><iframe srcdoc=/iframe></iframe><img src=/img longdesc=/long>"
            "<form action=/form></form><script src=/script></script><q cite=/cite></q><button formaction=/button>"
            "</button><object data=/object></object><embed src=/embed><video src=/video poster=/poster></video>"
        )
        == []
    )


def test_links_in_comments_scripts_styles_and_text_are_not_links() -> None:
    assert (
        links(
            "<!-- <a href=/comment> --><script>'<a href=/script>'</script><style><a href=/style></style>"
            "<textarea><a href=/area></textarea><title><a href=/title></title>&lt;a href=/text&gt;"
        )
        == []
    )


def test_links_in_templates_are_not_shown_and_do_not_count() -> None:
    assert links("<template><a href=/one><template><a href=/two></template></template><a href=/three>") == [
        f"{SITE}/three"
    ]


def test_links_in_a_declarative_shadow_root_are_shown_and_count() -> None:
    assert links("<div><template shadowrootmode=open><a href=/one>x</a></template></div><a href=/two>") == [
        f"{SITE}/one",
        f"{SITE}/two",
    ]


def test_links_in_noscript_count_because_nothing_runs_scripts() -> None:
    assert links("<noscript><a href=/one>x</a></noscript>") == [f"{SITE}/one"]


def test_links_of_pictures_count() -> None:
    assert links("<svg><a href=/one></a><a xlink:href=/two></a></svg>") == [f"{SITE}/one"]


@pytest.mark.parametrize("href", [" /one ", "\n/one\t", "/o\nne", "/one#", "/ONE/../one", "/./one", "https:/one"])
def test_an_href_may_be_spelled_in_many_ways(href: str) -> None:
    assert links(f'<a href="{href}">x</a>') == [f"{SITE}/one"]


def test_an_ideographic_space_is_part_of_an_href() -> None:
    assert links('<a href="\u3000/one">x</a>') == [f"{SITE}/dir/%E3%80%80/one"]


@pytest.mark.parametrize(
    "href",
    ["javascript:void(0)", "JavaScript:x", "mailto:a@b.c", "tel:+1", "data:,x", "ftp://h/", "about:blank", "#top", "#",
     "http://", "https://a b/", "http://user:secret@example.org/", "http://[::1", "//"],
)  # fmt: skip
def test_what_leads_to_no_page_is_left_out(href: str) -> None:
    assert links(f'<a href="{href}">x</a>') == []


def test_an_empty_href_leads_to_the_page_itself() -> None:
    assert links("<a href>x</a>") == [URL]


@pytest.mark.parametrize(
    ("base", "found"),
    [
        ('<base href="/other/">', f"{SITE}/other/x"),
        ('<base href="https://cdn.example.net/a/b">', "https://cdn.example.net/a/x"),
        ('<base target=_top><base href="/first/"><base href="/second/">', f"{SITE}/first/x"),
        ('<base href=" ../up/ ">', f"{SITE}/up/x"),
        ('<base href="data:text/plain,x">', f"{SITE}/dir/x"),
        ('<base href="javascript:x">', f"{SITE}/dir/x"),
        ('<base href="http://[">', f"{SITE}/dir/x"),
        ('<base href="">', f"{SITE}/dir/x"),
    ],
)
def test_the_base_of_a_page_is_obeyed(base: str, found: str) -> None:
    assert links(f"<head>{base}</head><a href=x>x</a>") == [found]
    assert links(f"<a href=x>x</a><p>{base}") == [found]


def test_with_a_base_a_fragment_leads_to_the_base() -> None:
    assert links('<base href="/other/"><a href="#top">x</a>') == [f"{SITE}/other/"]


@pytest.mark.parametrize("rel", ["nofollow", "NoFollow", "noopener nofollow ugc", "\tnofollow\n"])
def test_a_nofollow_link_is_not_followed(rel: str) -> None:
    page = read(f'<a href=/one rel="{rel}">x</a><area href=/two rel="{rel}"><a href=/three rel=noopener>y</a>')
    assert [link.url for link in page.links] == [f"{SITE}/three"]


@pytest.mark.parametrize("rel", ["ugc", "sponsored", "nofollowing", "external noopener", ""])
def test_other_relations_do_not_keep_us_from_following(rel: str) -> None:
    assert links(f'<a href=/one rel="{rel}">x</a>') == [f"{SITE}/one"]


def test_a_page_linked_both_ways_is_followed() -> None:
    page = read("<a href=/one rel=nofollow>x</a><a href=/one>y</a><a href=/one rel=nofollow>z</a>")
    assert [link.url for link in page.links] == [f"{SITE}/one"]


def test_the_number_of_links_is_bounded() -> None:
    page = read("".join(f"<a href=/{n}>x</a>" for n in range(MAX_LINKS + 5)))
    assert len(page.links) == MAX_LINKS
    assert page.links_cut
    assert page.links[-1].url == f"{SITE}/{MAX_LINKS - 1}"


@pytest.mark.parametrize(
    ("link", "canonical"),
    [
        ('<link rel=canonical href="/c#x">', f"{SITE}/c"),
        ('<link rel="alternate CANONICAL" href=c>', f"{SITE}/dir/c"),
        ("<link rel=canonical href=/one><link rel=canonical href=/two>", f"{SITE}/one"),
        ("<link rel=canonical href=/c><base href=https://b.example/>", "https://b.example/c"),
        ("<link rel=canonical><link rel=canonical href=/two>", f"{SITE}/two"),
        ("<link rel=canonical href=javascript:x>", ""),
        ("<link rel=noncanonical href=/c>", ""),
        ("", ""),
    ],
)
def test_the_canonical_url_is_recorded_and_not_followed(link: str, canonical: str) -> None:
    page = read(f"<head>{link}</head>")
    assert page.row.canonical == canonical
    assert page.links == []


@pytest.mark.parametrize(
    ("content", "refresh"),
    [
        ("0;url=/x", "/x"),
        ("0; URL = /x", "/x"),
        ("5,/x", "/x"),
        ("5 /x", "/x"),
        ("0.9;url='/x'", "/x"),
        (".5;url=/x", "/x"),
        (' 1 ; url="/x" and more', "/x"),
        ("1;url='/x", "/x"),
        ("1;/x?a;b", "/x?a;b"),
        ("0;url=url=/x", "/dir/url=/x"),
        ("0;url=https://example.org/dir/../x#y", "/x"),
        (f"{MAX_REFRESH_S};url=/x", "/x"),
        (f"{MAX_REFRESH_S + 1};url=/x", ""),
        (f"{'9' * 4_900};url=/x", ""),
        ("0", ""),
        ("0;", ""),
        ("0;url=", ""),
        ("0;url=#here", ""),
        ("0;url=page.html", ""),
        ("url=/x", ""),
        ("x;url=/x", ""),
        ("-1;url=/x", ""),
        ("0url=/x", ""),
        ("0;url=javascript:x", ""),
        ("", ""),
        (" " * 100_000, ""),
    ],
)
def test_a_refresh_within_seconds_is_a_redirect(content: str, refresh: str) -> None:
    page = read(f'<meta http-equiv=Refresh content="{escape(content)}">')
    assert page.refresh == (SITE + refresh if refresh else "")


def test_the_first_refresh_counts_and_the_page_beats_the_header() -> None:
    one, two = ("<meta http-equiv=refresh content=0;url=/one>", "<meta http-equiv=refresh content=0;url=/two>")
    assert read(one + two).refresh == f"{SITE}/one"
    assert read(two, headers=("Refresh: 0; url=/header",)).refresh == f"{SITE}/two"
    assert read("", headers=("Refresh: 0; url=/header",)).refresh == f"{SITE}/header"


def test_a_refresh_for_those_without_scripts_leads_to_a_page_that_says_so() -> None:
    assert read("<noscript><meta http-equiv=refresh content=0;url=/x></noscript>").refresh == ""


def test_a_refresh_is_resolved_against_the_base() -> None:
    assert read("<base href=/b/><meta http-equiv=refresh content=0;url=x>").refresh == f"{SITE}/b/x"


@pytest.mark.parametrize(
    ("charset", "href", "found"),
    [
        ("utf-8", "/é?q=é", "/%C3%A9?q=%C3%A9"),
        ("windows-1252", "/é?q=é#é", "/%C3%A9?q=%E9"),
        ("windows-1251", "?q=мир", "/dir/page.html?q=%EC%E8%F0"),
        ("shift_jis", "?q=表", "/dir/page.html?q=%95\\"),
        ("euc-jp", "?q=日本&x=1", "/dir/page.html?q=%C6%FC%CB%DC&x=1"),
        ("windows-1252", "?q=日", "/dir/page.html?q=%26%2326085%3B"),
        ("windows-1252", "/é", "/%C3%A9"),
        ("utf-16le", "?q=é", "/dir/page.html?q=%C3%A9"),
        ("x-user-defined", "?q=a", "/dir/page.html?q=a"),
    ],
)  # fmt: skip
def test_a_query_is_sent_in_the_charset_of_its_page(charset: str, href: str, found: str) -> None:
    reference = "".join(char if char.isascii() else f"&#{ord(char)};" for char in href)
    body = f"<a href='{reference}'>".encode("utf-16le" if charset == "utf-16le" else "ascii")
    assert links(body, f"text/html; charset={charset}") == [SITE + found]


def test_anchors_are_looked_for_only_if_asked_for() -> None:
    assert read("<a href=a>A</a>").anchors == []
    assert anchors("<a href=a>A</a>") == [Anchor(f"{SITE}/dir/a", "A", "")]


def test_an_anchor_has_what_is_written_on_it_and_its_rel_as_written() -> None:
    assert anchors(
        '<a href="a#x" rel=" NoFollow  ugc ">\n One <b>two</b>\t<i>three</i> </a>'
        '<map><area href=/b rel=next alt=B></map><a href="//Other.test"><img src=x></a>'
    ) == [
        Anchor(f"{SITE}/dir/a", "One two three", "NoFollow ugc"),
        Anchor(f"{SITE}/b", "", "next"),
        Anchor("https://other.test/", "", ""),
    ]


def test_anchors_lead_where_links_do() -> None:
    body = '<base href=/new/><a href=a>1</a><a href="mailto:x@y.z">2</a><a href="#top">3</a><a href="http://">4</a>'
    assert [anchor.url for anchor in anchors(body)] == [f"{SITE}/new/a", f"{SITE}/new/"] == links(body)
    assert anchors('<a href="#top">3</a>') == []
    in_german = '<a href="?q=ä">x</a>'.encode("latin-1")
    assert anchors(in_german, "text/html; charset=latin1")[0].url == f"{SITE}/dir/page.html?q=%E4"


def test_an_anchor_that_is_repeated_is_one_and_another_text_makes_another() -> None:
    found = anchors("<a href=a>A</a><a href=./a>A</a><a href=a>again</a><a href=a rel=me>A</a>")
    assert [(anchor.text, anchor.rel) for anchor in found] == [("A", ""), ("again", ""), ("A", "me")]


def test_links_of_a_page_that_says_nofollow_are_not_followed_but_are_anchors() -> None:
    body = "<meta name=robots content=nofollow><a href=a>A</a>"
    assert links(body) == []
    assert len(anchors(body)) == 1


def test_anchors_are_bounded_in_number_and_length() -> None:
    (anchor,) = anchors(f"<a href=a rel='{'r' * 999}'>{'word ' * 999}</a>")
    assert MAX_ANCHOR_CHARS - 5 <= len(anchor.text) <= MAX_ANCHOR_CHARS == len(anchor.rel)
    assert not anchor.text.endswith(" ")
    many = "".join(f"<a href=/{number}>x</a>" for number in range(MAX_ANCHORS + 10))
    assert len(anchors(many)) == MAX_ANCHORS


def test_what_is_no_document_has_no_anchors() -> None:
    assert anchors("<a href=a>A</a>", "text/plain") == []
