"""The tutorial, typed command by command: what it shows is what comes, and the server's log agrees.

How docs/tutorial.md is read: a block of `console` has commands behind `$` and below each what it prints. Two words may
follow `console`:

- a name, such as `web`, is that of a terminal in which the command goes on while the next ones are typed elsewhere. It
  must print what is shown, now or soon, and may print more. `^C` is Ctrl-C; lines without a command are what the one
  that is running there prints at last. Without a name, a command must end and print what is shown and nothing else.
- `varies` means that every number stands for some number. A line `...` stands for any lines, or none.

Runs of blanks are taken for one. So that a test takes less time than a reader, the web is asked faster.
"""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import gossamer_simweb as simweb
from gossamer.cli import run
from gossamer_simweb import WebPlan, WebSpec, read_log
from gossamer_simweb.plan import PageKind
from tests.end_to_end.crawls import TIMEOUT_S, environment, wait_until
from tests.ports import free_port

if TYPE_CHECKING:
    from types import TracebackType

    import pytest

    from gossamer_simweb import LoggedRequest

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
DELAY_S = 1.0  # while it is looked at, which may take long on a busy machine
LAST_DELAY_S = 0.3  # when it is to come to its end
FASTER = {
    "--delay 3 ": f"--delay {DELAY_S} ",
    "$ ./gossamer crawl\n": f"$ ./gossamer crawl --delay {LAST_DELAY_S}\n",
    "sleep 5": "until grep -q workers crawl.output; do sleep 0.1; done; sleep 1",  # on a busy machine, 5 s may be few
}
TYPED = re.compile(r"(?:\$ |(?=\^C))((?:[^\n]*\\\n)*[^\n]*)\n")  # a line, and those it goes on in
NUMBER = r"\d[\d,.:]*"
WEB = WebSpec(sites=10, pages=15, seed=11)


class Step(NamedTuple):
    """A command, and what is shown of what it prints."""

    terminal: str
    command: str
    shown: re.Pattern[str]


def steps(text: str, replaced: dict[str, str]) -> list[Step]:
    """Return what a reader is told to type, in order."""
    assert [old for old in replaced if old not in text] == []
    text = re.sub("|".join(map(re.escape, replaced)), lambda old: replaced[old[0]], text)
    found = []
    for words, block in re.findall(r"(?ms)^```console([^\n]*)\n(.*?)^```", text):
        names = set(words.split()) - {"varies"}
        terminal = names.pop() if names else ""
        for part in re.split(r"(?m)^(?=\$ |\^C\n)", block):
            typed = TYPED.match(part)
            command, shown = (typed[1], part[typed.end() :]) if typed else ("", part)
            if part:
                found.append(Step(terminal, command, pattern(shown, varies="varies" in words)))
    return found


def pattern(shown: str, *, varies: bool) -> re.Pattern[str]:
    """Return a pattern for what is shown, to be held against what is printed."""
    lines = []
    for line in shown.splitlines():
        words = re.split(NUMBER, plain(line)) if varies else [plain(line)]
        pattern = r"(?:.*\n)*?" if line.strip() == "..." else NUMBER.join(map(re.escape, words)) + r"\n"
        lines.append(re.sub(r"of\\ [0-9]+\\ rows", r"of [0-9]+ rows", pattern))  # a kill may write some rows twice
    return re.compile("".join(lines))


def plain(text: str) -> str:
    return re.sub(r"[ \t\r]+", " ", text).strip(" ")


def printed(text: str) -> str:
    return "".join(f"{plain(line)}\n" for line in text.splitlines())


def type_and_wait(command: str, folder: Path) -> str:
    """Run a command in a terminal and return what it printed; complaints come last."""
    leader, follower = pty.openpty()
    with (folder / "stderr").open("w+") as errors:
        process = subprocess.Popen(
            ["bash", "-c", command], cwd=folder, env=environment(), stdin=subprocess.DEVNULL,
            stdout=follower, stderr=errors,
        )  # fmt: skip
        os.close(follower)
        said = b""
        try:
            while piece := os.read(leader, 65_536):
                said += piece
        except OSError:  # the terminal has no more writers
            pass
        os.close(leader)
        process.wait(timeout=TIMEOUT_S)
        errors.seek(0)
        return printed(said.decode() + errors.read())


class Terminal:
    """A terminal in which a command goes on while others are typed elsewhere."""

    def __init__(self, name: str, folder: Path) -> None:
        self._output = folder / f"{name}.output"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def type(self, command: str) -> None:
        """Type a command; nothing means to look on."""
        if command == "^C":
            assert self._process is not None
            os.killpg(self._process.pid, signal.SIGINT)
        elif command:
            if self._process is not None:
                self._process.wait(timeout=TIMEOUT_S)
            with self._output.open("wb") as output:
                self._process = subprocess.Popen(
                    ["bash", "-c", command], cwd=self._folder, env=environment(), stdin=subprocess.DEVNULL,
                    stdout=output, stderr=output, start_new_session=True,
                )  # fmt: skip

    def wait_for(self, shown: re.Pattern[str]) -> None:
        """Wait until what is shown has been printed."""
        process = self._process
        assert process is not None

        def is_there() -> bool:
            return shown.search(printed(self._output.read_text())) is not None

        wait_until(lambda: is_there() or process.poll() is not None, shown.pattern)
        assert is_there(), f"{shown.pattern}\nis not in\n{printed(self._output.read_text())}"


class Judge:
    """Compares what queries count with what the server saw."""

    def __init__(self, folder: Path, port: str, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._web = WebPlan(WEB, port=int(port))
        self._capsys = capsys
        self._kills: list[float] = []

    def _log(self) -> list[LoggedRequest]:
        return read_log(self._folder / "web" / "access.log")

    def asked_for(self) -> Counter[tuple[str, str, int]]:
        return Counter((request.kind, request.url, request.status) for request in self._log())

    def written_down(self) -> Counter[tuple[str, str, int]]:
        return Counter((row["kind"], row["url"], row["status"]) for row in self._ask("kind, url, status from requests"))

    def good_pages(self) -> list[str]:
        """What the server gave that is a page: no picture, and nothing that only leads elsewhere."""
        good = [r for r in self._log() if r.kind == "page" and r.status == 200 and not r.leads_to]
        return sorted({r.url for r in good if (page := self._web.find(r.url)) and page.kind is not PageKind.IMAGE})

    def stored(self) -> list[str]:
        return sorted(row["url"] for row in self._ask("url from pages"))

    def _ask(self, sql: str) -> list[dict[str, Any]]:
        data = str(self._folder / "crawl-data")
        assert run(["query", f"select {sql}", "--data-dir", data, "--format", "json"]) == 0
        return list(json.loads(self._capsys.readouterr().out))

    def _check_that_all_was_asked_for(self) -> None:
        written = self.written_down()
        wait_until(lambda: written <= self.asked_for(), "a busy server to log what it has answered", timeout_s=20)

    def check_while_it_runs(self) -> None:
        """Everything up to now is written down soon, and nothing that was not asked for."""
        before = self.asked_for()
        wait_until(lambda: before <= self.written_down(), "the requests so far to be seen")
        self._check_that_all_was_asked_for()
        assert set(self.stored()) <= set(self.good_pages())

    def check_after_the_kill(self) -> Counter[tuple[str, str, int]]:
        """Only what was under way is not written down: of each site its last turn or two."""
        self._check_that_all_was_asked_for()
        lost = self.asked_for() - self.written_down()
        assert lost.total() <= 4 * WEB.sites
        assert set(self.stored()) <= set(self.good_pages())
        assert simweb.judge(self._log(), delay_s=DELAY_S, expected=None).early == ()
        self._kills.append(max(request.ended for request in self._log()))
        return lost

    def check_at_the_end(self, lost: Counter[tuple[str, str, int]]) -> None:
        """Every page is stored, what was lost by the kill was asked for again, and no site was asked too early."""
        assert self.asked_for() - self.written_down() == lost
        assert self.stored() == self.good_pages()
        expected = simweb.expected(self._web, self._web.seeds(), token="Gossamer")
        verdict = simweb.judge(
            self._log(),
            delay_s=LAST_DELAY_S,
            expected=expected,
            allowed_repeats=4 * WEB.sites,
            kills=self._kills,
        )
        assert verdict.ok, verdict.summary()


def test_the_tutorial_shows_what_a_reader_will_see(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "gossamer"
    program.write_text(f'#!/bin/sh\nexport GOSSAMER_LAUNCHER="$0"\nexec "{sys.executable}" -m gossamer "$@"\n')
    program.chmod(0o755)
    ports = {"8080": str(free_port()), "5300": str(free_port(socket.SOCK_DGRAM))}
    judge = Judge(tmp_path, ports["8080"], capsys)
    lost: Counter[tuple[str, str, int]] = Counter()
    killed = False
    with ExitStack() as stack:
        terminals = {name: stack.enter_context(Terminal(name, tmp_path)) for name in ("web", "crawl")}
        for step in steps(TUTORIAL.read_text(encoding="utf-8"), ports | FASTER):
            if step.terminal:
                terminals[step.terminal].type(step.command)
                terminals[step.terminal].wait_for(step.shown)
            else:
                said = type_and_wait(step.command, tmp_path)
                assert step.shown.fullmatch(said), f"{step.command}\nsays\n{said}\nbut shown is\n{step.shown.pattern}"
            if step.command.startswith("./gossamer crawl web/seeds.txt"):
                wait_until(lambda: judge.asked_for().total() > 30, "what a reader finds who is slower than a test")
            if "kill -9" in step.command:
                terminals["crawl"].type("true")  # once the command before it has ended
                killed = True
            elif "from requests" in step.command and killed:
                lost = judge.check_after_the_kill()
            elif "from requests" in step.command:
                judge.check_while_it_runs()
    assert killed
    judge.check_at_the_end(lost)
