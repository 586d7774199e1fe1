"""Keys as version 0.1 wrote them into indexes: some differ from those of other tools. Pure."""

from __future__ import annotations

import re

_WWW = re.compile(r"www\d*\.")
_SLASHES = re.compile("/{2,}")


def old_surt(url: str) -> str:
    """Return the key of a normalised URL in an index of version 0.1: nothing unescaped, session ids kept."""
    _, _, rest = url.lower().partition("://")
    authority, _, rest = rest.partition("/")
    path, _, query = rest.partition("?")
    if authority.startswith("["):
        key = authority.replace("[", "").replace("]", "")
    else:
        name, colon, port = authority.partition(":")
        www = _WWW.match(name)
        key = ",".join(reversed(name[www.end() if www else 0 :].split("."))) + colon + port
    key = f"{key})/{_SLASHES.sub('/', path).removeprefix('/').removesuffix('/')}"
    return f"{key}?{'&'.join(sorted(query.split('&')))}" if query else key
