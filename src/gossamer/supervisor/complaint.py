"""What is wrong, said once: a log that repeats it with every look fills the disk and hides the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging


class Complaint:
    """Something that may go wrong time and again. The log hears of it when it begins, and when its cause is another."""

    def __init__(self, log: logging.Logger, sentence: str) -> None:
        """Complain to a log, in a sentence with `%s` for the cause."""
        self._log = log
        self._sentence = sentence
        self._cause = ""

    def make(self, cause: Exception) -> None:
        """Say what is wrong, unless that was said."""
        if str(cause) != self._cause:
            self._cause = str(cause)
            self._log.warning(self._sentence, cause)

    def withdraw(self) -> None:
        """Note that all is well again."""
        self._cause = ""
