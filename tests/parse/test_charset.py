"""Bytes are decoded as in a browser, and legibly where a browser would fail."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse.charset import charset_of, decode

GERMAN = "Größe, Übermut und Äpfel: schöne Wörter für den Straßenverkehr in München. "
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. Широкая электрификация южных губерний. "
JAPANESE = "これは日本語の文章です。文字コードを正しく判定できるかどうかを確かめます。東京の天気は晴れ。"
CHINESE = "这是一个用来测试字符编码的中文网页。今天天气很好,我们去公园散步。中华人民共和国。"
KOREAN = "이것은 문자 인코딩을 시험하기 위한 한국어 문장입니다. 오늘은 날씨가 좋습니다."
GREEK = "Αυτή είναι μια ελληνική πρόταση για τη δοκιμή της κωδικοποίησης χαρακτήρων. "

LABELS = {
    "utf-8": "utf-8",
    "UTF8": "utf-8",
    " utf-8\t": "utf-8",
    "unicode-1-1-utf-8": "utf-8",
    "x-unicode20utf8": "utf-8",
    "latin1": "windows-1252",
    "ISO-8859-1": "windows-1252",
    "ascii": "windows-1252",
    "us-ascii": "windows-1252",
    "cp1252": "windows-1252",
    "l1": "windows-1252",
    "iso_8859-2": "iso-8859-2",
    "iso-8859-9": "windows-1254",
    "latin5": "windows-1254",
    "tis-620": "windows-874",
    "cp1251": "windows-1251",
    "koi8_r": "koi8-r",
    "koi8-ru": "koi8-u",
    "cp866": "ibm866",
    "mac": "macintosh",
    "x-mac-cyrillic": "x-mac-cyrillic",
    "x-sjis": "shift_jis",
    "ms_kanji": "shift_jis",
    "windows-31j": "shift_jis",
    "x-euc-jp": "euc-jp",
    "csiso2022jp": "iso-2022-jp",
    "gb2312": "gbk",
    "x-gbk": "gbk",
    "gb18030": "gb18030",
    "big5-hkscs": "big5",
    "cn-big5": "big5",
    "ks_c_5601-1987": "euc-kr",
    "windows-949": "euc-kr",
    "utf-16": "utf-16le",
    "ucs-2": "utf-16le",
    "unicodefffe": "utf-16be",
    "x-user-defined": "x-user-defined",
}


@pytest.mark.parametrize(("label", "charset"), LABELS.items())
def test_labels_mean_what_the_standard_says(label: str, charset: str) -> None:
    assert charset_of(label) == charset


@pytest.mark.parametrize(
    "label", ["", "utf-7", "utf-32", "bogus", "cp65001", "iso-2022-kr", "hz-gb-2312", "\0", "ü", "x" * 99]
)
def test_labels_that_are_not_to_be_followed_are_ignored(label: str) -> None:
    assert charset_of(label) == ""
    assert decode(GERMAN.encode(), label) == (GERMAN, "utf-8")


@pytest.mark.parametrize("charset", sorted(set(LABELS.values())))
def test_every_charset_can_be_decoded(charset: str) -> None:
    assert decode(b"<p>a\0b</p>" if charset.startswith("utf-16") else b"<p>plain</p>", charset).charset == charset


@pytest.mark.parametrize(
    ("text", "codec", "charset"),
    [
        (GERMAN, "cp1252", "windows-1252"),
        (RUSSIAN, "cp1251", "windows-1251"),
        (RUSSIAN, "koi8-r", "koi8-r"),
        (JAPANESE, "shift_jis", "shift_jis"),
        (JAPANESE, "euc_jp", "euc-jp"),
        (JAPANESE, "iso2022_jp", "iso-2022-jp"),
        (CHINESE, "gb18030", "gb18030"),
        (CHINESE.replace("这", ""), "gbk", "gbk"),
        (KOREAN, "euc_kr", "euc-kr"),
        (GREEK, "iso8859_7", "iso-8859-7"),
        (GERMAN, "utf-16le", "utf-16le"),
        (GERMAN, "utf-16be", "utf-16be"),
        (GERMAN, "utf-8", "utf-8"),
    ],
)
def test_an_honest_header_is_followed(text: str, codec: str, charset: str) -> None:
    assert decode(text.encode(codec), charset) == (text, charset)


@pytest.mark.parametrize("label", ["", "utf-8", "windows-1251", "shift_jis"])
def test_a_byte_order_mark_beats_everything(label: str) -> None:
    assert decode(codecs.BOM_UTF8 + GERMAN.encode(), label) == (GERMAN, "utf-8")
    assert decode(codecs.BOM_UTF16_LE + GERMAN.encode("utf-16le"), label) == (GERMAN, "utf-16le")
    assert decode(codecs.BOM_UTF16_BE + GERMAN.encode("utf-16be"), label) == (GERMAN, "utf-16be")


def test_the_header_beats_what_the_page_says() -> None:
    page = f'<meta charset="utf-8"><p>{RUSSIAN}'
    assert decode(page.encode("cp1251"), "windows-1251") == (page, "windows-1251")


def test_bytes_that_are_utf_8_are_read_as_such_whatever_the_page_says() -> None:
    page = f'<meta charset="iso-8859-1"><p>{GERMAN}'
    assert decode(page.encode()) == (page, "utf-8")


@pytest.mark.parametrize(
    "declaration",
    [
        '<meta charset="{}">',
        "<META CHARSET = {} >",
        '<meta http-equiv="Content-Type" content="text/html; charset={}">',
        "<meta content='text/html;charset={}' http-equiv=content-type>",
        '<?xml version="1.0" encoding="{}"?><html>',
        "<!-- <meta charset=koi8-r> --><title>x</title><script>'<meta charset=koi8-r>'</script><meta charset='{}'>",
        "<style>" + " " * 5_000 + "</style><meta charset={}>",
    ],
)
@pytest.mark.parametrize("label", ["", "utf-8", "bogus"])
def test_what_the_page_says_decides_if_the_bytes_are_not_utf_8(declaration: str, label: str) -> None:
    page = declaration.format("X-Mac-Roman") + GERMAN  # which no detector would guess
    assert decode(page.encode("mac_roman"), label) == (page, "macintosh")


@pytest.mark.parametrize(
    ("text", "codec", "charset"),
    [
        (GERMAN, "cp1252", "windows-1252"),
        (RUSSIAN, "cp1251", "windows-1251"),
        (RUSSIAN, "koi8-r", "koi8-u"),  # the same but for a few Ukrainian letters
        (JAPANESE, "shift_jis", "shift_jis"),
        (JAPANESE, "euc_jp", "euc-jp"),
        (CHINESE, "gb18030", "gbk"),
        (KOREAN, "euc_kr", "euc-kr"),
        (GREEK, "iso8859_7", "windows-1253"),
    ],
)
@pytest.mark.parametrize("lie", ["", "<meta charset=utf-8>", "<meta charset=utf-16>", "<meta charset=bogus>"])
@pytest.mark.parametrize("label", ["", "utf-8"])
def test_a_page_that_lies_or_says_nothing_is_guessed_and_legible(
    text: str, codec: str, charset: str, lie: str, label: str
) -> None:
    for filler in ("", "<br>" * 20_000):
        page = f"{lie}<html><body>{filler}<p>{text * 5}</p>"
        assert decode(page.encode(codec), label) == (page, charset)


def test_a_few_stray_bytes_do_not_make_a_utf_8_page_another() -> None:
    page = (GERMAN * 20).encode() + b"\xe9\xff" + GERMAN.encode()
    for label in ("", "utf-8"):
        text, charset = decode(page, label)
        assert charset == "utf-8"
        assert text == GERMAN * 20 + "\ufffd\ufffd" + GERMAN


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_page_cut_in_the_middle_of_a_character_is_still_utf_8(cut: int) -> None:
    assert decode(b"plain " + "\U0001f600".encode()[:cut]) == ("plain ", "utf-8")


@pytest.mark.parametrize("order", ["le", "be"])
@pytest.mark.parametrize("label", ["", "utf-8"])
def test_utf_16_without_a_mark_is_recognised(order: str, label: str) -> None:
    page = f"<!DOCTYPE html><title>plain</title><p>{RUSSIAN}"
    assert decode(page.encode(f"utf-16{order}"), label) == (page, f"utf-16{order}")


def test_a_header_that_says_utf_16_of_ordinary_bytes_is_not_believed() -> None:
    assert decode(GERMAN.encode(), "utf-16") == (GERMAN, "utf-8")


def test_zeros_alone_do_not_make_utf_16() -> None:
    assert decode(b"a\0\0b and more text than zeros").charset == "utf-8"
    assert decode(b"\0" * 100).charset == "utf-8"


def test_japanese_in_seven_bits_is_recognised_but_not_against_the_header() -> None:
    encoded = JAPANESE.encode("iso2022_jp")
    assert decode(encoded) == (JAPANESE, "iso-2022-jp")
    assert decode(encoded, "utf-8") == (encoded.decode(), "utf-8")


@given(st.binary(max_size=400), st.sampled_from(["", "bogus", *LABELS]))
def test_no_bytes_make_it_raise(body: bytes, label: str) -> None:
    text, charset = decode(body, label)
    assert charset == charset_of(charset)
    text.encode()  # no half of a surrogate pair


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff\0")))
def test_any_text_survives_as_utf_8(text: str) -> None:
    assert decode(text.encode(), "utf-8") == (text, "utf-8")
