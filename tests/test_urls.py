"""URLs: one spelling per page, found for anything that a page may contain."""

from __future__ import annotations

import time

import ada_url
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.urls import (
    MAX_URL_CHARS,
    NORMALISER_VERSION,
    SUFFIX_LIST_VERSION,
    Refusal,
    Url,
    hash_url,
    host_of,
    identify,
    name_of_host,
    normalise,
    normalise_links,
    site_of,
    site_of_name,
    tidy_escapes,
)

SPELLINGS = [
    # case, default ports, empty paths, fragments
    ("HTTP://EXAMPLE.org", "http://example.org/"),
    ("http://example.org:80/", "http://example.org/"),
    ("https://example.org:443", "https://example.org/"),
    ("http://example.org:443/", "http://example.org:443/"),
    ("https://example.org:80/", "https://example.org:80/"),
    ("http://example.org:/x", "http://example.org/x"),
    ("http://example.org:0080/", "http://example.org/"),
    ("http://example.org:8080", "http://example.org:8080/"),
    ("http://example.org:0/", "http://example.org:0/"),
    ("http://example.org:65535/", "http://example.org:65535/"),
    ("http://example.org?q", "http://example.org/?q"),
    ("http://example.org/?", "http://example.org/?"),
    ("http://example.org#top", "http://example.org/"),
    ("http://example.org/a?b#c?d#e", "http://example.org/a?b"),
    ("http://example.org/a#", "http://example.org/a"),
    ("http://example.org/A/b", "http://example.org/A/b"),
    ("http://example.org//a//b/", "http://example.org//a//b/"),
    # slashes that are missing, doubled or lean the wrong way; white space that browsers ignore
    ("http:/example.org/x", "http://example.org/x"),
    ("http:example.org/x", "http://example.org/x"),
    ("http:////example.org/x", "http://example.org/x"),
    ("http:\\\\example.org\\a\\b", "http://example.org/a/b"),
    (" \n http://example.org/ \t", "http://example.org/"),
    ("ht\ntp://exa\tmple.org/a\r\nb", "http://example.org/ab"),
    ("\x00http://example.org/\x1f", "http://example.org/"),
    # dot segments, escaped or not
    ("http://example.org/a/./b/../c", "http://example.org/a/c"),
    ("http://example.org/../../a", "http://example.org/a"),
    ("http://example.org/a/%2e%2E/b", "http://example.org/b"),
    ("http://example.org/a/.%2e/%2e/b", "http://example.org/b"),
    ("http://example.org/a/..", "http://example.org/"),
    ("http://example.org/%2e%2e%2e", "http://example.org/..."),
    ("http://example.org/?a/../b", "http://example.org/?a/../b"),
    # percent-escapes: unreserved ones decoded, others in upper case, nothing else touched
    ("http://example.org/%7euser/%41%2d%5f", "http://example.org/~user/A-_"),
    ("http://example.org/%2f%3a%3F%23%25", "http://example.org/%2F%3A%3F%23%25"),
    ("http://example.org/?q=%61%26%3d%c3%a9", "http://example.org/?q=a%26%3D%C3%A9"),
    ("http://example.org/a+b%20c d", "http://example.org/a+b%20c%20d"),
    ("http://example.org/é?é", "http://example.org/%C3%A9?%C3%A9"),
    ("http://example.org/caf%e9", "http://example.org/caf%E9"),
    ("http://example.org/100%", "http://example.org/100%"),
    ("http://example.org/%zz%4", "http://example.org/%zz%4"),
    ("http://example.org/%2541", "http://example.org/%2541"),
    ("http://example.org/%%34%31", "http://example.org/%%341"),
    ("http://example.org/%4%31", "http://example.org/%4%31"),
    (f"http://example.org/{'%41' * 1_900}", f"http://example.org/{'A' * 1_900}"),
    ("http://example.org/%%37e", "http://example.org/%%37e"),
    ("http://example.org/a|b^c`d{e}", "http://example.org/a|b%5Ec%60d%7Be%7D"),
    ("http://example.org/?q='\"<>", "http://example.org/?q=%27%22%3C%3E"),
    # hosts: trailing dots, IDNs, punycode
    ("http://example.org./a", "http://example.org/a"),
    ("http://example.org.:8080/", "http://example.org:8080/"),
    ("http://www.example%2eorg/", "http://www.example.org/"),
    ("http://Bücher.example/", "http://xn--bcher-kva.example/"),
    ("http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/"),
    ("http://XN--BCHER-KVA.example/", "http://xn--bcher-kva.example/"),
    ("http://例え。jp/", "http://xn--r8jz45g.jp/"),
    ("http://faß.example/", "http://xn--fa-hia.example/"),
    ("http://ＧＯ.example/", "http://go.example/"),
    ("http://my_host.example/", "http://my_host.example/"),
    ("http://a--b.example/", "http://a--b.example/"),
    ("http://localhost/", "http://localhost/"),
    (f"http://{'a' * 63}.example/", f"http://{'a' * 63}.example/"),
    # IPv4 in every spelling, IPv6 in the shortest
    ("http://127.1/", "http://127.0.0.1/"),
    ("http://0x7f.1/", "http://127.0.0.1/"),
    ("http://0177.0.0.1/", "http://127.0.0.1/"),
    ("http://2130706433/", "http://127.0.0.1/"),
    ("http://0x7f000001/", "http://127.0.0.1/"),
    ("http://127.0.0.1./", "http://127.0.0.1/"),
    ("http://１２７.0.0.1/", "http://127.0.0.1/"),
    ("http://[2001:DB8:0:0::1]:80/", "http://[2001:db8::1]/"),
    ("http://[::ffff:1.2.3.4]:8080/", "http://[::ffff:102:304]:8080/"),
    # user names that are not there
    ("http://@example.org/", "http://example.org/"),
    ("http://:@example.org/", "http://example.org/"),
    ("http://example.org/@a", "http://example.org/@a"),
    ("http://example.org/?a@b:c", "http://example.org/?a@b:c"),
]

REFUSALS = [
    *[(text, Refusal.SYNTAX) for text in ("", " ", "example.org", "/path", "//example.org/", "?q", "#top", "://")],
    *[(text, Refusal.SYNTAX) for text in ("http://", "http:///", "https://#", "http://?q", "http://:80/", "http://@/")],
    *[(text, Refusal.SYNTAX) for text in ("http://a b/", "http://a%00b/", "http://a<b/", "http://a|b/", "http://[/")],
    *[(text, Refusal.SYNTAX) for text in ("http://h:65536/", "http://h:-1/", "http://h:http/", "http://h:1:2/")],
    *[
        (text, Refusal.SYNTAX)
        for text in ("http://[::1", "http://[:::1]/", "http://[fe80::1%25eth0]/", "http://[1.2]/")
    ],
    *[(text, Refusal.SYNTAX) for text in ("http://256.0.0.1/", "http://1.2.3.4.5/", "http://a.1/", "http://a.0x1./")],
    *[
        (text, Refusal.SYNTAX)
        for text in ("http://example.org/\ud800", "http://\udfff.org/", "http://xn--a.example/ü\ud9ff")
    ],
    *[
        (text, Refusal.SCHEME)
        for text in ("mailto:a@b.c", "javascript:void(0)", "ftp://h/", "data:,x", "tel:+1", "a:b")
    ],
    *[
        (text, Refusal.SCHEME)
        for text in ("httpx://h/", "ws://h/", "file:///etc/passwd", "about:blank", "blob:http://h/")
    ],
    *[
        (text, Refusal.CREDENTIALS)
        for text in ("http://a@h/", "http://a:b@h/", "http://:b@h/", "http://h:80@evil.example/")
    ],
    *[(text, Refusal.CREDENTIALS) for text in ("http://a@b@h/", "http://%61@h/", f"http://{'a' * 5_000}@h/")],
    *[
        (text, Refusal.HOST)
        for text in ("http://a..b/", "http://.a/", "http://a../", "http://./", "http://../", "http://a。。b/")
    ],
    *[
        (text, Refusal.HOST)
        for text in ("http://{host}/", "http://$h/", "http://1,example.org/", "http://a*b/", "http://a'b/")
    ],
    *[
        (text, Refusal.HOST)
        for text in (f"http://{'a' * 64}.org/", f"http://{'a.' * 127}org/", f"http://{'a' * 5_000}/")
    ],
    (f"http://h/{'a' * 1_992}", Refusal.LENGTH),
    (f"http://h/{'é' * 500}", Refusal.LENGTH),
    (f"http://h/{'%41' * 1_992}", Refusal.LENGTH),
    (f"http://h/{'a' * 10_000_000}", Refusal.LENGTH),
]


@pytest.mark.parametrize(("text", "url"), SPELLINGS)
def test_a_url_has_one_spelling(text: str, url: str) -> None:
    assert normalise(text) == url
    assert normalise(url) == url


@pytest.mark.parametrize(
    ("text", "refusal"), REFUSALS, ids=lambda value: str(value)[:40].encode("unicode_escape").decode()
)
def test_what_cannot_be_crawled_is_refused_with_a_reason(text: str, refusal: Refusal) -> None:
    assert normalise(text) is refusal


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("", "https://example.org/a/b?c"),
        ("#top", "https://example.org/a/b?c"),
        ("?d", "https://example.org/a/b?d"),
        ("d", "https://example.org/a/d"),
        ("./d", "https://example.org/a/d"),
        ("../d", "https://example.org/d"),
        ("../../../d", "https://example.org/d"),
        ("/d", "https://example.org/d"),
        ("//other.example/d", "https://other.example/d"),
        ("///other.example/d", "https://other.example/d"),
        ("\\\\other.example\\d", "https://other.example/d"),
        ("http://other.example", "http://other.example/"),
        ("http:d", "http://d/"),
        ("https:d", "https://example.org/a/d"),
        (" d ", "https://example.org/a/d"),
        ("d:e", Refusal.SCHEME),
        ("./d:e", "https://example.org/a/d:e"),
        ("//", Refusal.SYNTAX),
        ("//user@other.example/", Refusal.CREDENTIALS),
    ],
)
def test_links_are_resolved_as_browsers_resolve_them(href: str, url: str | Refusal) -> None:
    assert normalise(href, "https://example.org/a/b?c#d") == url


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://example.org", "https://example.org/x"),
        ("https://EXAMPLE.org.:443/a/", "https://example.org/x"),
        ("nonsense", Refusal.SYNTAX),
        ("mailto:a@b", Refusal.SYNTAX),
        ("https://user@example.org/", Refusal.CREDENTIALS),
        ("ftp://example.org/", Refusal.SCHEME),
        ("\ud800", Refusal.SYNTAX),
    ],
)
def test_a_base_may_be_anything(base: str, url: str | Refusal) -> None:
    assert normalise("/x", base) == url
    assert [each.url for each in normalise_links(["/x"], base)] == ([url] if isinstance(url, str) else [])


def test_a_url_of_exactly_the_longest_length_is_accepted_in_every_way() -> None:
    origin = "http://h"
    for excess in (0, 1):
        path = "/" + "a" * (MAX_URL_CHARS - len(origin) - 1 + excess)
        expected = [origin + path] if excess == 0 else []
        for href in (path, origin + path, origin + path + "#top"):
            assert [each.url for each in normalise_links([href], origin)] == expected
        assert isinstance(normalise(origin + path), Refusal) is bool(excess)


def test_links_come_in_order_without_repeats_and_without_what_is_refused() -> None:
    hrefs = ["/b", "mailto:a@b", "/a", "https://h/b", "/b#x", "./a", "//h:443/c", "http://u@h/", "/%7e", "/~"]
    assert [each.url for each in normalise_links(iter(hrefs), "https://h/x")] == [
        "https://h/b",
        "https://h/a",
        "https://h/c",
        "https://h/~",
    ]


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("example.org", "example.org"),
        ("www.a.example.org", "example.org"),
        ("www.example.co.uk", "example.co.uk"),
        ("co.uk", "co.uk"),
        ("com", "com"),
        ("alice.github.io", "alice.github.io"),
        ("www.alice.github.io", "alice.github.io"),
        ("github.io", "github.io"),
        ("www.example.ck", "www.example.ck"),  # *.ck is a suffix
        ("a.www.example.ck", "www.example.ck"),
        ("example.ck", "example.ck"),
        ("a.www.ck", "www.ck"),  # !www.ck is not
        ("a.b.example.kawasaki.jp", "b.example.kawasaki.jp"),
        ("a.city.kawasaki.jp", "city.kawasaki.jp"),
        ("localhost", "localhost"),
        ("a.b.internal-tld", "b.internal-tld"),
        ("www.xn--55qx5d.cn", "www.xn--55qx5d.cn"),
        ("a.b.xn--55qx5d.cn", "b.xn--55qx5d.cn"),
        ("a.b.xn--p1ai", "b.xn--p1ai"),
        ("127.0.0.1", "127.0.0.1"),
        ("2001:db8::1", "2001:db8::1"),
        ("::ffff:102:304", "::ffff:102:304"),
        ("a.example1", "a.example1"),
        ("1.example.org", "example.org"),
    ],
)
def test_a_site_is_what_was_registered(name: str, site: str) -> None:
    assert site_of_name(name) == site
    assert site_of_name(site) == site
    host = f"[{name}]" if ":" in name else name
    assert site_of(f"https://{host}:8443/x?y") == site


@pytest.mark.parametrize(
    ("url", "host", "name"),
    [
        ("https://www.example.org/", "https://www.example.org", "www.example.org"),
        ("http://example.org:8080/a:b/c", "http://example.org:8080", "example.org"),
        ("http://[::1]/", "http://[::1]", "::1"),
        ("https://[2001:db8::1]:8443/x", "https://[2001:db8::1]:8443", "2001:db8::1"),
        ("http://a/", "http://a", "a"),
    ],
)
def test_a_host_is_scheme_name_and_port(url: str, host: str, name: str) -> None:
    assert host_of(url) == host
    assert name_of_host(host) == name


def test_hashes_are_the_same_on_every_machine_for_ever() -> None:
    assert hash_url("https://example.org/").hex() == "9db2570db118aad0d5065686b5f20b16"
    assert NORMALISER_VERSION == "1"  # another spelling or hash above is another version
    assert SUFFIX_LIST_VERSION


# Text made of the pieces that URLs are made of, so that most of it nearly is one.
pieces = st.sampled_from(
    [
        *("http:", "https:", "//", "/", "\\", "..", ".", "%2e", "%2E", "%", "%4", "%41", "%7e", "%2F", "%zz", "%%"),
        *("@", ":", "?", "#", "&", "=", "a", "B", "example.org", "co.uk", "www.", "xn--", "xn--bcher-kva"),
        *("ü", "ß", "İ", "日本", "。", "．", "😀", "\u00ad", "\u200d", "\ufeff", "\x85", "\u2028", "\ud800", "\udfff"),
        *("[", "]", "[::1]", "::ffff:1.2.3.4", "%25eth0", "1.2.3.4", "0x7f", "0177", "256", "127.1", "80", "443"),
        *("8080", "65535", "65536", "|", "^", "{", "}", "<", ">", "'", "*", "$", "~", "_", "-", "+", ";", "%C3%A9"),
        *("%c3", " ", "\t", "\n", "\r", "\0", "\x7f", "a" * 64, "x" * 1900),
    ]
)
starts = st.sampled_from(
    ["", "http://", "https://", "HTTP://h", "//", "/", "https://example.org", "https://example.org/"]
)
url_like = st.builds(lambda start, parts: start + "".join(parts), starts, st.lists(pieces, max_size=8))
texts = st.one_of(st.text(), st.text(st.characters(codec=None, categories=None)), url_like)
bases = st.one_of(
    st.sampled_from(
        ["https://example.org/a/b?c", "http://example.org./", "https://EXAMPLE.org:443/%7e/", "http://[::1]:81/"]
    ),
    texts,
)


@given(texts)
def test_normalising_again_changes_nothing(text: str) -> None:
    url = normalise(text)
    if isinstance(url, str):
        assert normalise(url) == url
        assert url.isascii()
        assert len(url) <= MAX_URL_CHARS
        assert url.startswith(("http://", "https://"))


@given(texts, bases)
def test_resolving_then_normalising_is_normalising_what_was_resolved(href: str, base: str) -> None:
    try:
        joined = ada_url.join_url(base, href)
    except ValueError:
        assert normalise(href, base) is Refusal.SYNTAX
    else:
        assert normalise(href, base) == normalise(joined)


@given(url_like)
def test_the_names_of_a_url_agree_with_each_other(text: str) -> None:
    url = normalise(text)
    if isinstance(url, str):
        assert identify(url) == Url(url, hash_url(url), site_of(url), host_of(url))
        assert url.startswith(host_of(url) + "/")
        name = name_of_host(host_of(url))
        assert name == site_of(url) or name.endswith("." + site_of(url))
        assert site_of_name(site_of(url)) == site_of(url)


plain_like = st.lists(
    st.sampled_from(
        [
            *("//", "/.", "https://example.org", "http://a.1", "https://xn--", "é", "\ud800", *"ab1/?#=.~-:%' "),
            *("../", "..", "//h:81", "//h:080", "https://h:443", ":81"),
            *("%C3%A9", "%2F", "%2E", "%7E", "%7e", "%41", "%c3"),
        ]
    )
).map("".join)
deep_bases = st.sampled_from(["https://h/a/b//c/d?e/f", "http://h:81/a/../b/c", "http://h//", "http://h/%7e/%2F/x/"])


@given(st.lists(st.one_of(plain_like, url_like), max_size=8), st.one_of(bases, deep_bases))
@example(
    ["a", "a/b?c/d", "a:b", "", "?a", "a/../b", "http://1.2.3/a", "http://xn--/", "https://a/b"], "http://h/x/y?z/"
)
@example(
    [
        "../",
        "../../../../a/",
        "../?b",
        "../../b//c",
        "../..",
        "../.a",
        "a/%C3%A9?%2B",
        "/%2e",
        "%41",
        "//h:80/",
        "//h:81/a",
    ],
    "http://h:81/a/b//c?d/e",
)
@example(["/a#\ud800", "/a?'", "/a\n", "/.a", "/a/../b", "//a", "https://example.org.evil/x"], "https://example.org/")
def test_many_links_at_once_are_the_same_as_one_by_one(hrefs: list[str], base: str) -> None:
    one_by_one = [url for url in (normalise(href, base) for href in hrefs) if isinstance(url, str)]
    assert normalise_links(hrefs, base) == [identify(url) for url in dict.fromkeys(one_by_one)]


@given(st.text(alphabet="%0123456789abcdefABCDEFgG.~-/", max_size=30))
def test_tidying_escapes_is_done_once_and_for_all(text: str) -> None:
    tidy = tidy_escapes(text)
    assert tidy_escapes(tidy) == tidy
    assert ada_url.URL(f"http://h/{tidy}?{tidy}").href.count("?") == 1


@pytest.mark.parametrize(
    "text",
    [
        "http://h/" + "%41" * 300_000,
        "http://h/" + "%" * 1_000_000,
        "http://h/" + "../" * 300_000,
        "http://" + "a." * 500_000,
        "http://" + "a@" * 500_000 + "h",
        "http://h" + "?#" * 500_000,
        "\t" * 1_000_000,
    ],
    ids=lambda text: text[:12],
)
def test_a_huge_url_costs_linear_time(text: str) -> None:
    start_s = time.process_time()
    normalise(text)
    normalise_links([text, "/" + text], "http://h/")
    assert time.process_time() - start_s < 5
