"""Seeds: every way in which people write down where to start."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import GossamerError
from gossamer.seeds import BadSeed, Seed, digest_seed_file, find_seed_file, read_seeds
from gossamer.urls import Refusal, identify, normalise

needs_permissions = pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")


def read_bytes(tmp_path: Path, content: bytes) -> list[Seed | BadSeed]:
    path = tmp_path / "seeds"
    path.write_bytes(content)
    return list(read_seeds([path]))


def urls_in(tmp_path: Path, content: bytes) -> list[str]:
    found = read_bytes(tmp_path, content)
    assert not [each for each in found if isinstance(each, BadSeed)]
    return [each.url.url for each in found if isinstance(each, Seed)]


@pytest.mark.parametrize(
    ("text", "url", "bare"),
    [
        ("example.org", "https://example.org/", True),
        ("  Example.ORG.\t", "https://example.org/", True),
        ("example.org:8443/path?q", "https://example.org:8443/path?q", True),
        ("example.org:443", "https://example.org/", True),
        ("example.org/a b", "https://example.org/a%20b", True),
        ("example.org?q=1", "https://example.org/?q=1", True),
        ("localhost:8080", "https://localhost:8080/", True),
        ("192.0.2.1:81", "https://192.0.2.1:81/", True),
        ("[2001:DB8::1]:8443/", "https://[2001:db8::1]:8443/", True),
        ("müller.example", "https://xn--mller-kva.example/", True),
        ("例え.jp", "https://xn--r8jz45g.jp/", True),
        ("http://example.org", "http://example.org/", False),
        ("HTTPS://example.org/#top", "https://example.org/", False),
        ("https://example.org/#a # comment", "https://example.org/", False),
        ("example.org# not a comment, a fragment", "https://example.org/", True),
        ("example.org\t# a comment", "https://example.org/", True),
        ("http:example.org", "http://example.org/", False),
    ],
)
def test_a_seed_is_a_domain_or_a_url(tmp_path: Path, text: str, url: str, bare: bool) -> None:
    (seed,) = read_bytes(tmp_path, text.encode())
    assert isinstance(seed, Seed)
    assert (seed.url.url, seed.bare, seed.line) == (url, bare, 1)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("mailto:someone@example.org", Refusal.SCHEME),
        ("ftp://example.org/", Refusal.SCHEME),
        ("someone@example.org", Refusal.CREDENTIALS),
        ("https://someone:secret@example.org/", Refusal.CREDENTIALS),
        ("1,example.org", Refusal.HOST),  # a ranking's line, not a domain
        ("example..org", Refusal.HOST),
        ("two words", Refusal.SYNTAX),
        ("/path", Refusal.SYNTAX),
        ("//example.org", Refusal.SYNTAX),
        ("?q", Refusal.SYNTAX),
        ("https://", Refusal.SYNTAX),
        ("example.org/" + "x" * 3_000, Refusal.LENGTH),
        ("https://example.org/" + "x" * 200_000, Refusal.LENGTH),
        ("https://example.org/" + "x/../" * 50_000, Refusal.LENGTH),  # cutting it would change its meaning
    ],
)
def test_a_bad_line_is_reported_and_the_rest_is_read(tmp_path: Path, text: str, reason: Refusal) -> None:
    bad, good = read_bytes(tmp_path, f"# seeds\n\n{text}\nexample.org\n".encode())
    assert bad == BadSeed(text[:200], reason.value, str(tmp_path / "seeds"), 3)
    assert isinstance(good, Seed)
    assert (good.url.url, good.line) == ("https://example.org/", 4)


@pytest.mark.parametrize("line", [b"https://example.org/caf\xe9", b"\xff", b"https://example.org/\xc3"])
def test_a_line_that_is_not_utf_8_is_bad_and_can_be_shown(tmp_path: Path, line: bytes) -> None:
    good, bad = read_bytes(tmp_path, b"example.org\n" + line)
    assert isinstance(good, Seed)
    assert isinstance(bad, BadSeed)
    assert (bad.reason, bad.line) == ("not UTF-8 text", 2)
    assert bad.text.encode().isascii()


def test_broken_utf_16_makes_bad_lines_only(tmp_path: Path) -> None:
    good, bad = read_bytes(tmp_path, "example.org\n".encode("utf-16") + b"\x00\xd8x\x00!")
    assert isinstance(good, Seed)
    assert isinstance(bad, BadSeed)


TEXT = "# Sites I like\n\na.example\n  # indented\nmüller.example  # umlaut\na.example\n"
URLS = ["https://a.example/", "https://xn--mller-kva.example/", "https://a.example/"]


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        TEXT.rstrip().encode(),
        TEXT.encode("utf-8-sig"),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("\n", "\r").encode(),
        TEXT.encode("utf-16"),
        b"\xfe\xff" + TEXT.encode("utf-16-be"),
        TEXT.replace("\n", "\r\n").encode("utf-16"),
    ],
    ids=["plain", "no last newline", "BOM", "CRLF", "CR", "UTF-16", "UTF-16 BE", "UTF-16 CRLF"],
)
def test_encodings_line_ends_comments_and_blank_lines(tmp_path: Path, content: bytes) -> None:
    assert urls_in(tmp_path, content) == URLS


@pytest.mark.parametrize("content", [b"", b"\n", b"#", b"\xef\xbb\xbf", b"\xff\xfe", b" \r\n\t\r\n"])
def test_a_file_without_seeds_is_empty(tmp_path: Path, content: bytes) -> None:
    assert read_bytes(tmp_path, content) == []


def test_line_numbers_survive_chunks_and_line_ends_on_their_edges(tmp_path: Path) -> None:
    lines = ["x" * (number % 97) + ".example" for number in range(1, 20_000)]
    found = read_bytes(tmp_path, "\r\n".join(lines).encode())
    assert [each.line for each in found] == list(range(1, 20_000))


def test_several_sources_are_read_in_order(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("a.example\n")
    (tmp_path / "two").write_text("b.example\n")
    sources: list[str | Path] = [str(tmp_path / "two"), "c.example", tmp_path / "one", "not good", "http://d.example/x"]
    found = list(read_seeds(sources))
    assert [(each.source, each.line) for each in found] == [
        (str(tmp_path / "two"), 1),
        ("argument", 2),
        (str(tmp_path / "one"), 1),
        ("argument", 4),
        ("argument", 5),
    ]
    assert isinstance(found[3], BadSeed)


READ_STANDARD_INPUT = """
from gossamer.errors import GossamerError
from gossamer.seeds import read_seeds
try:
    for seed in read_seeds(["-"]):
        print(seed.url.url, seed.source, seed.line)
except GossamerError as mistake:
    print(mistake)
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def test_a_dash_means_standard_input() -> None:
    result = subprocess.run(
        [sys.executable, "-c", READ_STANDARD_INPUT],
        input=b"\xef\xbb\xbf# b\r\na.example\r\n",
        capture_output=True,
        check=True,
        env=ENVIRONMENT,
    )
    assert result.stdout == b"https://a.example/ - 2\n"


@pytest.mark.parametrize(
    ("redirection", "sentence"),
    [
        ("0<&-", "Standard input is closed: name a seed file instead of `-`."),
        ("0>/dev/null", "Cannot read standard input: bad file descriptor."),
    ],
)
def test_standard_input_that_cannot_be_read_is_one_sentence(redirection: str, sentence: str) -> None:
    result = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -c "$1" {redirection}', sys.executable, READ_STANDARD_INPUT],
        capture_output=True,
        check=True,
        env=ENVIRONMENT,
    )
    assert result.stdout.decode() == sentence + "\n"


@pytest.mark.parametrize(
    "source", ["example.org", "example.org/path", "example.org:8443/x", "localhost", "-", "https://example.org/x.txt"]
)
def test_an_argument_that_names_no_file_is_a_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_seed_file(source) is None


def test_an_argument_that_names_a_file_is_that_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("example.org", "seeds", "list.txt"):
        Path(name).write_text("a.example")
        assert find_seed_file(name) == Path(name)


@pytest.mark.parametrize(
    "source", ["seeds.txt", "lists/seeds", "/no/such/file", "./seeds", "../seeds", Path("seeds"), "example.org/x.txt"]
)
def test_a_missing_file_is_said_to_be_missing_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str | Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GossamerError, match="No such seed file"):
        read_seeds(["example.org", source])


def test_a_folder_is_no_seed_file_but_may_be_called_like_a_domain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("example.org").mkdir()
    Path("seeds").mkdir()
    for source in ("seeds", "./example.org", Path("example.org")):
        with pytest.raises(GossamerError, match="is a folder"):
            find_seed_file(source)
    assert find_seed_file("example.org") is None


@needs_permissions
def test_a_file_that_may_not_be_read_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text("a.example")
    path.chmod(0)
    for read in (find_seed_file, digest_seed_file):
        with pytest.raises(GossamerError, match=r"Cannot read seed file .*: permission denied\."):
            read(path)


def test_the_digest_is_that_of_the_content(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_bytes(b"a.example\n")
    assert digest_seed_file(path) == hashlib.sha256(b"a.example\n").hexdigest()


def test_a_pipe_is_read_once_and_has_no_digest() -> None:
    read_end, write_end = os.pipe()
    try:
        os.write(write_end, b"a.example\n")
        os.close(write_end)
        path = Path(f"/dev/fd/{read_end}")
        assert digest_seed_file(path) is None
        assert [each.line for each in read_seeds([str(path)])] == [1]
    finally:
        os.close(read_end)


def test_memory_does_not_grow_with_the_file_or_with_a_line(tmp_path: Path) -> None:
    path = tmp_path / "seeds"
    path.write_bytes(b"same.example\n" * 50_000 + b"x" * 20_000_000 + b"\nlast.example")
    list(read_seeds(["warm.example", "same.example", "last.example"]))
    tracemalloc.start()
    last = None
    for each in read_seeds([path]):
        last = each
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(last, Seed)
    assert last.line == 50_002
    assert peak_bytes < 2_000_000


@given(st.one_of(st.text(), st.text(alphabet="abc.:/#@?%[] \\\r\n")))
def test_any_text_gives_seeds_and_bad_lines_only(text: str) -> None:
    for each in read_seeds([] if find_in_cwd(text) else [text]):
        assert isinstance(each, BadSeed) or normalise(each.url.url) == each.url.url


@given(
    st.lists(st.text(alphabet="axn-_019", max_size=9) | st.sampled_from(["a" * 63, "xn--a", "co", "uk", "0x1"])).map(
        ".".join
    )
)
def test_a_domain_that_is_read_without_the_parser_is_the_one_that_the_parser_reads(name: str) -> None:
    url = normalise(f"https://{name}")
    for each in read_seeds([] if find_in_cwd(name) else [name]):
        assert each == Seed(identify(url), True, "argument", 1) if isinstance(url, str) else isinstance(each, BadSeed)


def find_in_cwd(text: str) -> bool:
    try:
        return find_seed_file(text) is not None or text == "-"
    except GossamerError:
        return True


@given(st.binary(max_size=200))
def test_any_bytes_can_be_a_seed_file_or_are_refused(content: bytes) -> None:
    read_end, write_end = os.pipe()
    try:
        os.write(write_end, content)
        os.close(write_end)
        with suppress(GossamerError):  # one sentence that names the file
            for each in read_seeds([Path(f"/dev/fd/{read_end}")]):
                assert each.line >= 1
    finally:
        os.close(read_end)
