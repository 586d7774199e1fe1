"""`gossamer check html` on a file or a stored page: what would be kept, and why, without a request."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import pytest

from gossamer.cli import run
from tests.inspect.crawls import Crawl

if TYPE_CHECKING:
    from pathlib import Path

STORY = "A long sentence of the story goes on and on, so that nothing else on this page can hold more text. " * 3
PAGE = f"""<html lang=en><title>A story</title><nav>Home News</nav><div hidden>Secret</div>
<div id=content class="main wide"><p>{STORY}<p>{STORY}</div><div class=sidebar>Other stories</div>
<ul><li><a href=/1>A first long heading</a><li><a href=/2>A second long heading</a>
<li><a href=/3>A third long heading</a></ul>"""


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert run(["check", "html", *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["check", "html", *arguments]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    return said.err


@pytest.fixture
def page(tmp_path: Path) -> str:
    file = tmp_path / "page.html"
    file.write_text(PAGE)
    return str(file)


def test_a_file_shows_what_is_kept_what_is_left_out_and_why(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, page)
    assert lines[0].startswith(f"page      {page}, ")
    assert lines[1] == "title     A story"
    assert lines[2].startswith("language  en (declared en, detected en (")
    assert lines[3].startswith("text by   fast, 5")
    assert lines[4] == "kept      div#content.main.wide: it holds 100 % of the long paragraphs"
    assert lines[5:8] == [
        "left out  div (hidden), 6 characters",
        "          nav (<nav>), 9 characters",
        "          div.sidebar (sidebar), 13 characters",
    ]
    assert (lines[8], lines[9]) == ("", STORY.strip())


@pytest.mark.parametrize(("choice", "library"), [("balanced", "resiliparse"), ("best", "trafilatura")])
def test_a_library_is_named_or_that_it_keeps_too_little(
    page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], choice: str, library: str
) -> None:
    pytest.importorskip(library)
    lines = shown(capsys, page, "--text", choice)
    assert lines[3].startswith(f"text by   {library}, ")
    assert lines[4].startswith(f"kept      {library} keeps ")
    listing = tmp_path / "listing.html"
    listing.write_text("<body>" + "".join(f"<h4>Word {number}</h4><pre>code {number}</pre>" for number in range(90)))
    fallen = [line for line in shown(capsys, str(listing), "--text", choice) if line.startswith(("text by", "kept"))]
    by_library = fallen[0].startswith(f"text by   {library}, ")
    assert by_library != fallen[1].endswith(": too little is kept")


def test_standard_input_and_markdown(
    page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    marked = PAGE.replace("<p>", "<h2>Heading</h2><p>").encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(marked)))
    lines = shown(capsys, "-", "--markdown")
    assert lines[0].startswith("page      standard input, ")
    assert "## Heading" in lines


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ('<meta name=robots content="noindex"><p>Hi', "the page says noindex"),
        ('<meta http-equiv=refresh content="0;url=/other"><p>Hi', "it leads on to https://localhost/other"),
    ],
)
def test_a_page_that_a_crawl_would_not_store_says_so(
    source: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.html").write_text(source)
    assert f"stored    no: {why}" in shown(capsys, str(tmp_path / "a.html"))


def test_a_stored_page_is_read_from_its_archive(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, "HTTPS://A.test/x/../1", "--data-dir", str(folder))
    assert lines[1] == "title     Größe"
    assert lines[-1] == "Ein paar Wörter."


def test_each_mistake_is_one_sentence(
    page: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = ["--data-dir", str(folder)]
    assert "does not exist: name a file" in refused(capsys, "missing.html")
    assert "cannot be read (Is a directory)" in refused(capsys, str(tmp_path))
    for name, body in (("a.txt", b"plain 1 < 2"), ("a.pdf", b"%PDF-1.7 <<a>>"), ("a.bin", b"<a>\0\0\0")):
        (tmp_path / name).write_bytes(body)
        assert "is not HTML" in refused(capsys, str(tmp_path / name))
    assert "is not known to the crawl" in refused(capsys, "https://a.test/nowhere", *crawl)
    assert "no page is stored: `" in refused(capsys, "https://a.test/gone", *crawl)
    assert "No crawl in" in refused(capsys, "https://a.test/1", "--data-dir", str(tmp_path / "none"))
    assert "--text balanced writes no Markdown" in refused(capsys, page, "--text", "balanced", "--markdown")
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    assert "--text best needs trafilatura: install it" in refused(capsys, page, "--text", "best")


def test_a_page_that_was_stored_without_its_source_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Crawl(tmp_path / "crawl", warc=False) as crawl:
        crawl.add("https://a.test/1")
        crawl.run()
    assert "stored without its source (--no-warc)" in refused(
        capsys, "https://a.test/1", "--data-dir", str(crawl.folder)
    )
