"""A page cannot control the terminal of an operator who looks at it; files and pipes get what the page has."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from gossamer.cli.terminal import SHOWN_INSTEAD, harmless
from gossamer.crawl.folder import gather_settings, write_settings
from gossamer.records import GivenUp, Reason, RequestRow
from gossamer.store.warc import encode_exchange
from gossamer.urls import hash_url
from tests.end_to_end.crawls import environment
from tests.inspect.crawls import Crawl, html_answer, page_row
from tests.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.records import Outcome

# A window's title, a cursor up, C1 forms of both, a carriage return that overwrites, a backspace, a bell, DEL, and
# characters that turn text around or hide it.
EVIL = (
    "\x1b]0;owned\x07\x1b[2A\x9d0;owned\x9c\x9b2J\rsafe\b\b\x7f\x0b\x0c\x0e\u202eexe.txt\u2066\u200f\u2028"
    "\U000e0041=1+1 Größe 漢字 \N{ZERO WIDTH JOINER}"
)
URL = "https://a.test/1"
_CONTROL = re.compile(
    r"\r(?!\r?\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)

_OUR_BAR = re.compile(r"\x1b\[(?:\?25[lh]|2K|1A|[0-9;]*m)|\r(?=\x1b)")  # the progress of an export

# Runs commands as `main` does, one after the other in one process: each would take a second to start.
SCRIPT = """
import json, sys
from gossamer.cli import run
from gossamer.cli.terminal import guard_terminal
guard_terminal()
for arguments in json.loads(sys.argv[1]):
    print("\\n$", arguments[0], flush=True)
    run(arguments)
print("-- end --", flush=True)
raise RuntimeError("a bug about " + sys.argv[2])
"""


class HostileCrawl(Crawl):
    """A crawl whose one page is hostile in every field, its head and its body."""

    def visit(self, url: str) -> Outcome:
        """Keep a page with a hostile row and archive."""
        if url.endswith("/gone"):
            return GivenUp(reason=Reason.HTTP_ERROR)
        answer = replace(
            html_answer(url, 1),
            head=b"HTTP/1.1 200 OK\r\nX: " + EVIL.encode() + b"\x9b\xff\r\n\r\n",
            body=f"<title>{EVIL}</title><p>{EVIL}<a href='/{EVIL}'>{EVIL}</a>".encode() + b"\x9b2J\xff",
        )
        encoded = encode_exchange(answer)
        row = page_row(answer, encoded.payload_digest)._replace(
            title=EVIL, text=EVIL, lang=EVIL, content_type=EVIL, canonical=EVIL, signals=EVIL, charset="utf-8"
        )
        self.store.keep_page(row, encoded.archive, encoded.response_offset)
        for place in (url, f"{url}?{EVIL}"):
            self.store.keep_request(
                RequestRow(
                    hash_url(url), place, "a.test", "page", 1e9, 1e9 + 1, 200, "", 1, EVIL, "allowed", 1, "w1"
                )
            )  # fmt: skip
        return super().visit(f"{url}/gone")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of hostile pages."""
    with HostileCrawl(tmp_path_factory.mktemp("hostile") / "crawl") as crawl:
        crawl.add(URL)
        crawl.run()
    write_settings(crawl.folder, gather_settings(None, environment={}, flags={"email": "you@example.org"}))
    return crawl.folder


COMMANDS: list[list[str]] = [
    ["show", URL],
    *(["show", URL, option] for option in ("--text", "--html", "--raw", "--links")),
    *(["query", "--format", form, "from pages"] for form in ("auto", "table", "lines", "csv", "json", "jsonl")),
    ["query", "select title || chr(27) || '[5n' as \"\x1b[5nname\" from pages"],
    ["query", f"select '{EVIL}' from nowhere"],
    *(["export", "--format", form] for form in ("jsonl", "csv")),
    *(["export", "--where", f"'{EVIL}'"], ["export", "--site", EVIL]),
    *(["explain", URL], ["explain", "a.test"], ["explain", f"{URL}?{EVIL}"], ["log"], ["log", "--reason", EVIL]),
    *(["status"], ["status", "--json"], ["verify"], ["report"], ["top"], ["exclude", "--list"]),
    ["verify", "--report", "-"],
    ["show", EVIL],
    [EVIL],
    ["show", f"--{EVIL}"],
]


def test_no_command_sends_a_control_character_to_a_terminal(folder: Path) -> None:
    lines = [[*line, "--data-dir", str(folder)] if line != [EVIL] else line for line in COMMANDS]
    with Terminal(["-c", SCRIPT, json.dumps(lines), EVIL], columns=200, rows=50) as terminal:
        assert terminal.end() == 1
    written = _OUR_BAR.sub("", terminal.written)
    assert "-- end --" in written
    assert "RuntimeError: a bug about" in written.rpartition("-- end --")[2]
    assert written.count("Größe 漢字") > 20, "what can be shown is shown"
    found = [written[max(0, hit.start() - 60) : hit.end() + 20] for hit in _CONTROL.finditer(written)]
    assert found == []


def test_the_program_itself_guards_its_terminal(folder: Path) -> None:
    arguments = ["-m", "gossamer", "show", URL, "--text", "--data-dir", str(folder)]
    with Terminal(arguments) as terminal:
        assert terminal.end() == 0
    assert terminal.written.replace("\r\n", "\n") == harmless(f"{EVIL}\n")
    assert SHOWN_INSTEAD in terminal.written


def test_a_pipe_gets_what_the_page_has(folder: Path) -> None:
    arguments = ["show", URL, "--text", "--data-dir", str(folder)]
    piped = subprocess.run([sys.executable, "-m", "gossamer", *arguments], capture_output=True, env=environment())
    assert piped.stdout == f"{EVIL}\n".encode()


@pytest.mark.parametrize("text", ["Größe\t漢字\r\n\n", "a\N{ZERO WIDTH JOINER}b", "emoji 👩‍🚀", "עברית العربية"])
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert harmless(text) == text
