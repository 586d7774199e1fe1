"""Robots directives of pages and servers are found wherever they are."""

from __future__ import annotations

import pytest

from gossamer.parse.wishes import MAX_SIGNAL_CHARS, MAX_SIGNALS
from tests.parse.pages import read

LINK = "<a href=/x>x</a>"


@pytest.mark.parametrize(
    ("meta", "noindex", "nofollow"),
    [
        ("<meta name=robots content=noindex>", True, False),
        ("<meta name=ROBOTS content='NoFollow'>", False, True),
        ("<meta name=robots content='noindex, nofollow'>", True, True),
        ("<meta name=robots content='noindex nofollow'>", True, True),
        ("<meta name=robots content=none>", True, True),
        ("<meta content=none name=' robots '>", True, True),
        ("<meta name=gossamer content=noindex>", True, False),
        ("<meta name=Gossamer content=nofollow><meta name=robots content=noindex>", True, True),
        ("<meta name=robots content='index, follow'>", False, False),
        ("<meta name=robots content='all'>", False, False),
        ("<meta name=robots content='max-image-preview:none, max-snippet: none'>", False, False),
        ("<meta name=robots content='noindexing, xnofollow'>", False, False),
        ("<meta name=googlebot content=none>", False, False),
        ("<meta name=description content='noindex'>", False, False),
        ("<meta name=tdm-policy content=none>", False, False),
        ("<meta property=robots content=noindex>", False, False),
        ("<meta name=robots>", False, False),
        ("<!-- <meta name=robots content=none> -->", False, False),
        ("<template><meta name=robots content=none></template>", False, False),
        ("", False, False),
    ],
)
def test_meta_robots_is_understood(meta: str, noindex: bool, nofollow: bool) -> None:
    for body in (f"<head>{meta}</head>{LINK}", f"{LINK}<p>{meta}"):
        page = read(body)
        assert (page.noindex, page.nofollow) == (noindex, nofollow)
        assert len(page.links) == (not nofollow)


@pytest.mark.parametrize(
    ("tags", "noindex", "nofollow"),
    [
        (["noindex"], True, False),
        (["NOINDEX, NOFOLLOW"], True, True),
        (["none"], True, True),
        (["noarchive", "nofollow"], False, True),
        (["gossamer: noindex"], True, False),
        (["Gossamer : noindex, nofollow"], True, True),
        (["otherbot: noindex, nofollow"], False, False),
        (["otherbot: noindex, gossamer: nofollow"], False, True),
        (["otherbot: nofollow", "noindex"], True, False),
        (["noindex, otherbot: nofollow"], True, False),
        (["unavailable_after: 25 Jun 2030 15:00:00 PST, noindex"], True, False),
        (["max-snippet: 0, nofollow"], False, True),
        (["max-image-preview: none"], False, False),
        (["index, follow"], False, False),
        ([""], False, False),
    ],
)
@pytest.mark.parametrize("content_type", ["text/html", "text/plain", "application/pdf"])
def test_x_robots_tag_is_understood(tags: list[str], noindex: bool, nofollow: bool, content_type: str) -> None:
    page = read(LINK, content_type, headers=tuple(f"X-Robots-Tag: {tag}" for tag in tags))
    assert (page.noindex, page.nofollow) == (noindex, nofollow)


def test_page_and_header_add_up() -> None:
    page = read("<meta name=robots content='index, nofollow'>", headers=("x-robots-tag:noindex",))
    assert page.noindex
    assert page.nofollow


def test_signals_are_kept_as_found() -> None:
    page = read(
        "<meta name=robots content='noai,\n noimageai'><meta name=TDM-Reservation content=1>"
        "<meta name=tdm-policy content=https://example.org/p.json><meta name=gossamer content=all>"
        "<meta name=googlebot content=noindex><meta name=viewport content=x>",
        headers=(
            "X-Robots-Tag: noai",
            "TDM-Reservation: 0",
            "Content-Usage: train-ai=n",
            "Content-Signal: ai-train=no",
            "X-Robots-Tag: bot: none",
        ),
    )
    assert page.row.signals.split("\n") == [
        "tdm-reservation=0",
        "content-usage=train-ai=n",
        "content-signal=ai-train=no",
        "x-robots-tag=noai",
        "x-robots-tag=bot: none",
        "robots=noai, noimageai",
        "tdm-reservation=1",
        "tdm-policy=https://example.org/p.json",
        "gossamer=all",
    ]


@pytest.mark.parametrize(
    ("header", "noai"),
    [
        ("X-Robots-Tag: noai", True),
        ("X-Robots-Tag: noindex, NoAI", True),
        ("X-Robots-Tag: gossamer: noai", True),
        ("X-Robots-Tag: otherbot: noai", False),
        ("X-Robots-Tag: noimageai", False),
        ("X-Robots-Tag: noaide", False),
        ("TDM-Reservation: 1", True),
        ("TDM-Reservation: 0", False),
        ("TDM-Policy: 1", False),
        ("Content-Signal: search=yes, ai-train=no", True),
        ("content-signal: AI-Input = No", True),
        ("Content-Signal: ai-train=yes, search=no", False),
        ("Content-Usage: train-ai=n", True),
        ("Content-Usage: search=y,train-genai=n", True),
        ("Content-Usage: train-ai=y", False),
        ("Content-Usage: search=n", False),
        ("Server: train-ai=n", False),
    ],
)
def test_who_opts_out_of_artificial_intelligence_by_a_header_is_heard(header: str, noai: bool) -> None:
    for content_type in ("text/html", "text/plain"):
        assert read(LINK, content_type, headers=(header,)).noai is noai


@pytest.mark.parametrize(
    ("meta", "noai"),
    [
        ("<meta name=robots content=noai>", True),
        ("<meta name=Gossamer content='index, noai'>", True),
        ("<meta name=googlebot content=noai>", False),
        ("<meta name=robots content=noimageai>", False),
        ("<meta name=tdm-reservation content=' 1 '>", True),
        ("<meta name=tdm-reservation content=0>", False),
        ("<meta name=tdm-policy content=1>", False),
        ("<meta name=robots content=none>", False),
        ("", False),
    ],
)
def test_who_opts_out_of_artificial_intelligence_in_the_page_is_heard(meta: str, noai: bool) -> None:
    assert read(f"<head>{meta}</head>").noai is noai


def test_an_image_that_opts_out_as_an_image_is_heard() -> None:
    assert read("x", "image/png", headers=("X-Robots-Tag: noimageai",)).noai


def test_a_page_without_signals_has_none() -> None:
    assert read("<p>x").row.signals == ""
    assert read("x", "text/plain").row.signals == ""


def test_signals_are_bounded_in_number_but_all_are_obeyed() -> None:
    page = read("<meta name=robots content=noai>" * 1_000 + "<meta name=robots content=noindex>")
    assert page.row.signals == "\n".join(["robots=noai"] * MAX_SIGNALS)
    assert page.noindex


def test_a_signal_is_one_line_of_bounded_length() -> None:
    page = read(f"<meta name=robots content='a\r\nb=c\0{'x' * 10_000}'>")
    assert page.row.signals.startswith("robots=a b=c")
    assert len(page.row.signals) == len("robots=") + MAX_SIGNAL_CHARS
