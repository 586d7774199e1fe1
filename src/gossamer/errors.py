"""What the operator did wrong, said in one sentence that tells what to do.

Only mistakes of the person who runs Gossamer live here. A web that misbehaves is data (`records`), and a
bug is left to propagate.
"""


class GossamerError(Exception):
    """The operator's mistake; its message is one sentence that says what to do about it."""


def unreadable(file: object, error: Exception, advice: str) -> GossamerError:
    """Return an error about a file of the operator's that cannot be read as text."""
    why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
    return GossamerError(f"Cannot read {file} ({why}): {advice}.")
