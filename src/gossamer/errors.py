"""What the operator did wrong, said in one sentence that tells what to do.

Only mistakes of the person who runs Gossamer live here. A web that misbehaves is data (`records`), and a
bug is left to propagate.
"""


class GossamerError(Exception):
    """The operator's mistake; its message is one sentence that says what to do about it."""
