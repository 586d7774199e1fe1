"""The operator's mistakes, as errors whose message is one sentence that says what to do.

Only mistakes of the operator belong here. Misbehaviour of the web is data (`records`), and a bug propagates.
"""


class GossamerError(Exception):
    """The operator's mistake; its message is one sentence that says what to do about it."""


def unreadable(file: object, error: Exception, advice: str) -> GossamerError:
    """Return an error about an operator's file that cannot be read as text."""
    why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
    return GossamerError(f"Cannot read {file} ({why}): {advice}.")
