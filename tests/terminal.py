"""A real pseudo-terminal in which a command runs, and what a person would see on it."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from tests.end_to_end.crawls import environment, wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

# One step of what a program writes: a control sequence, a single control character, or text.
_STEP = re.compile(r"\x1b\[([?0-9;]*)([@-~])|\x1b\][^\x07]*\x07|\x1b.|[\x00-\x1f]|[^\x00-\x1f]+")

_UNFINISHED = re.compile(r"\x1b(?:\[[?0-9;]*|\][^\x07]*)?\Z")  # the rest of it has not come yet


class Screen:
    """The cells of a terminal, as far as our programs use what a terminal can do."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns = columns
        self._blank = [" "] * columns
        self._cells = [self._blank.copy() for _ in range(rows)]
        self._row = self._column = 0
        self._unread = ""
        self.scrolled: list[str] = []  # lines that left at the top

    @property
    def lines(self) -> list[str]:
        """What the rows show."""
        return ["".join(row).rstrip() for row in self._cells]

    @property
    def text(self) -> str:
        """What can be read, also by scrolling back."""
        return "\n".join([*self.scrolled, *self.lines])

    def feed(self, written: str) -> None:
        """Show what a program writes."""
        written = self._unread + written
        unfinished = _UNFINISHED.search(written)
        end = unfinished.start() if unfinished else len(written)
        for step in _STEP.finditer(written, 0, end):
            self._take(step)
        self._unread = written[end:]

    def _take(self, step: re.Match[str]) -> None:
        text = step.group()
        if step.group(2):
            self._control(step.group(1), step.group(2))
        elif text == "\n":
            self._feed_line()
        elif text == "\r":
            self._column = 0
        elif text >= " ":
            for char in text:
                self._put(char)

    def _put(self, char: str) -> None:
        if self._column == self.columns:
            self._column = 0
            self._feed_line()
        self._cells[self._row][self._column] = char
        self._column += 1

    def _feed_line(self) -> None:
        if self._row < len(self._cells) - 1:
            self._row += 1
        else:
            self.scrolled.append("".join(self._cells.pop(0)).rstrip())
            self._cells.append(self._blank.copy())

    def _control(self, given: str, what: str) -> None:
        numbers = [int(number) for number in given.split(";") if number.isdecimal()]
        number = numbers[0] if numbers else 0
        if what == "A":
            self._row = max(0, self._row - (number or 1))
        elif what == "H":
            self._row, self._column = ((numbers or [1])[0] or 1) - 1, ([*numbers, 1, 1][1] or 1) - 1
        elif what == "K" and number == 2:
            self._cells[self._row] = self._blank.copy()
        elif (what == "J" and number == 2) or given == "?1049":
            self._cells = [self._blank.copy() for _ in self._cells]
        else:
            assert what in "mhl", f"this terminal does not know ESC[{given}{what}"


class Terminal:
    """A Python program in a terminal of its own; it is killed when the block ends."""

    def __init__(self, arguments: Sequence[str], *, columns: int = 80, rows: int = 24) -> None:
        """Start Python with these arguments: `-m gossamer top`, say."""
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        own = {name: value for name, value in environment().items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=theirs, stdout=theirs, stderr=theirs, env=own | {"TERM": "xterm-256color"}, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        os.set_blocking(self._ours, False)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.screen = Screen(columns, rows)
        self.written = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, 9)
        self.process.wait()
        os.close(self._ours)

    def look(self) -> Screen:
        """Return the screen with all that was written so far."""
        with suppress(OSError):  # nothing more for now, or it has ended
            while written := self._decoder.decode(os.read(self._ours, 1 << 16)):
                self.written += written
                self.screen.feed(written)
        return self.screen

    def wait_for(self, text: str) -> Screen:
        """Wait until this can be read; return the screen."""
        wait_until(lambda: text in self.look().text or self.process.poll() is not None, f"{text!r} on the screen")
        assert text in self.look().text, self.screen.text
        return self.screen

    def press(self, key: bytes) -> None:
        """Type a key."""
        os.write(self._ours, key)

    def end(self) -> int:
        """Wait until it has ended; return its exit status."""
        wait_until(lambda: self.look() is not None and self.process.poll() is not None, "the end of the command")
        self.look()
        return self.process.returncode
