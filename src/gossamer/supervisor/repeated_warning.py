"""A warning that is logged once for each cause: one line per attempt would fill the disk and hide other lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging


class RepeatedWarning:
    """A failure that may occur again and again. It is logged when it begins, and when its cause changes."""

    def __init__(self, log: logging.Logger, sentence: str) -> None:
        """Warn in a sentence with `%s` for the cause."""
        self._log = log
        self._sentence = sentence
        self._cause = ""

    def warn(self, cause: Exception) -> None:
        """Log the failure, unless it was logged with the same cause."""
        if str(cause) != self._cause:
            self._cause = str(cause)
            self._log.warning(self._sentence, cause)

    def clear(self) -> None:
        """Note that the failure is over: the next one is logged again."""
        self._cause = ""
