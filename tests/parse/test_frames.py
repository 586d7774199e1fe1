"""Framesets, and pages with frames of their own site."""

from __future__ import annotations

from tests.parse.pages import links, read

FRAMESET = (
    "<title>t</title><frameset cols='1,2'><frame src=menu.html><frame src='https://elsewhere.example/'>"
    "<noframes><body><p>Readers without frames see <a href=plain.html>this</a>.</body></noframes></frameset>"
)


def test_frames_of_the_same_site_count_as_links() -> None:
    assert links(FRAMESET) == ["https://example.org/dir/menu.html", "https://example.org/dir/plain.html"]
    assert links("<p><a href=a>a</a><iframe src=//www.example.org/b></iframe><iframe src=//ads.example/></iframe>") == [
        "https://example.org/dir/a",
        "https://www.example.org/b",
    ]
    assert (
        links("<iframe src='about:blank'></iframe><iframe src='#x'></iframe><iframe src='javascript:0'></iframe>") == []
    )


def test_the_text_of_a_frameset_is_what_readers_without_frames_see() -> None:
    assert " ".join(read(FRAMESET).row.text.split()) == "Readers without frames see this."
    assert read("<frameset><frame src=a></frameset>").row.text == ""


def test_a_frame_in_a_page_that_says_nofollow_is_no_link() -> None:
    assert links("<meta name=robots content=nofollow><iframe src=a></iframe>") == []
