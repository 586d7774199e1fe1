"""Keeps what comes from the web from controlling the operator's terminal.

Titles, URLs, texts and archived bytes may hold escape sequences, which move the cursor, change the window's title or
make some terminals type commands. While standard output or standard error is a terminal, everything that is printed
passes `harmless`. Files and pipes get the data unchanged.
"""

from __future__ import annotations

import codecs
import io
import re
import sys
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable

SHOWN_INSTEAD: Final = "\N{REPLACEMENT CHARACTER}"

# C0 controls except tab and the ends of lines, DEL, C1 controls, characters that reorder or hide what follows
# (bidirectional controls, tags), line and paragraph separators, and halves of surrogate pairs, which have no encoding.
_HARMFUL: Final = re.compile(
    r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f]"
)


def harmless(text: str) -> str:
    """Return text in which no character controls a terminal; tabs and the ends of lines stay."""
    return _HARMFUL.sub(SHOWN_INSTEAD, text)


class GuardedText(io.TextIOBase):
    """A terminal's text stream that prints only harmless characters. Its `buffer` takes UTF-8 and does the same."""

    def __init__(self, terminal: TextIO) -> None:
        self.terminal = terminal
        self.buffer = _GuardedBytes(self)

    @property
    def encoding(self) -> str:  # type: ignore[override]  # the library says that it can be set
        """The terminal's encoding."""
        return self.terminal.encoding

    @property
    def errors(self) -> str:  # type: ignore[override]
        """How the stream treats characters that the terminal cannot show."""
        return "replace"

    def write(self, text: str) -> int:
        """Print text."""
        shown, encoding = harmless(text), self.terminal.encoding or "utf-8"
        # What an encoding lacks must not end the command; and a byte of UTF-8 can be a control of another encoding.
        self.terminal.write(shown.encode(encoding, "replace").decode(encoding, "replace"))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:  # type: ignore[override]
        """Print several texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the terminal's stream."""
        self.terminal.flush()

    def fileno(self) -> int:
        """Return the terminal's descriptor."""
        return self.terminal.fileno()

    def isatty(self) -> bool:
        """Return whether it is still a terminal."""
        return self.terminal.isatty()

    def writable(self) -> bool:
        """Return True."""
        return True


class _GuardedBytes(io.BufferedIOBase):
    """Takes bytes for a terminal: they are decoded as UTF-8, whatever they are, and printed as text."""

    def __init__(self, text: GuardedText) -> None:
        self._text = text
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Print bytes; a character may be divided between two calls."""
        self._text.write(self._decoder.decode(data))
        return len(data)

    def flush(self) -> None:
        """Flush the terminal's stream."""
        self._text.flush()

    def fileno(self) -> int:
        """Return the terminal's descriptor."""
        return self._text.fileno()

    def isatty(self) -> bool:
        """Return whether it is still a terminal."""
        return self._text.isatty()

    def writable(self) -> bool:
        """Return True."""
        return True


def guard_terminal() -> None:
    """From now on, print only harmless characters to a terminal, also in tracebacks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and stream.isatty() and not isinstance(stream, GuardedText):
            setattr(sys, name, GuardedText(stream))


def own_sequences(stream: TextIO | GuardedText) -> TextIO:
    """Return the stream to which our own live screens and colours go; they clean what they show themselves."""
    return stream.terminal if isinstance(stream, GuardedText) else stream
