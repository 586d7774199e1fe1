"""How an archived page is shown: in a frame with an origin of its own, without scripts and without the network. Pure.

The browser enforces that by the policy. Hints that make it look up a name or open a connection before it loads anything
are not covered by any policy, so the elements that can give them become unknown ones.
"""

from __future__ import annotations

import re
from typing import Final

POLICY: Final = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'self'"
)
# Whatever the state of its parser, a browser begins such an element only with these letters.
_ACTIVE: Final = re.compile(
    r"<(?=/?(?:applet|base|embed|fencedframe|form|frame|frameset|iframe|link|meta|object|portal|script)\b)",
    re.IGNORECASE,
)


def disarm(html: str) -> str:
    """Return a page whose active elements are unknown ones: `<link>` becomes `<x-link>`."""
    return _ACTIVE.sub("<x-", html).replace("<x-/", "</x-")
