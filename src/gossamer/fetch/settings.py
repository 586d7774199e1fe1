"""What the operator may set about fetching, with the defaults."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path  # noqa: TC003 - the settings are read from the types at run time
from typing import Any

from gossamer.fetch.addresses import parse_network

# What libcurl bears itself: a larger head ends in its own error instead of ours.
_LIBCURL_HEAD_BYTES = 300 * 1024


def _setting(help_text: str, **bounds: float) -> dict[str, Any]:
    return {"help": help_text, **bounds}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    """How requests are made: to whom, how many at once, for how long, and how much is taken in."""

    nameserver: str | None = field(
        default=None,
        metadata=_setting(
            "name server to ask, as address or address:port; else the system's hosts file and name server"
        ),
    )
    dns_timeout_s: float = field(
        default=3.0, metadata=_setting("wait for the name server; the second try waits longer", minimum=0.01)
    )
    allow_network: tuple[str, ...] = field(
        default=(),
        metadata=_setting("networks that may be contacted although they are not public, without ceiling per address"),
    )
    per_address: int = field(default=4, metadata=_setting("requests at once to one address", minimum=1))
    in_flight: int = field(
        default=1_000, metadata=_setting("requests at once, if there are descriptors enough", minimum=1)
    )
    max_held_bytes: int = field(
        default=256_000_000,
        metadata=_setting("no request starts while the bodies in flight hold more than this", minimum=1),
    )
    connect_timeout_s: float = field(
        default=10.0, metadata=_setting("limit for the connection, TLS included", minimum=0.01)
    )
    total_timeout_s: float = field(
        default=30.0, metadata=_setting("limit for a whole request, names aside", minimum=0.01)
    )
    min_speed_bytes: int = field(
        default=100, metadata=_setting("bytes a second below which a server is too slow", minimum=0)
    )
    min_speed_window_s: int = field(
        default=20, metadata=_setting("how long a server may be slower than that", minimum=1)
    )
    max_head_bytes: int = field(
        default=64 * 1024,
        metadata=_setting("largest response head", minimum=1_024, maximum=_LIBCURL_HEAD_BYTES),
    )
    max_body_bytes: int = field(
        default=2_000_000, metadata=_setting("bodies are cut here, and marked as cut", minimum=1)
    )
    accept_types: tuple[str, ...] = field(
        default=("text/html", "application/xhtml+xml", "text/plain"),
        metadata=_setting(
            "content types of pages to store; text/* and */* work too; HTML is always read for its links"
        ),
    )
    ca_file: Path | None = field(
        default=None, metadata=_setting("PEM file of authorities to trust in addition to the system's")
    )
    insecure: bool = field(default=False, metadata=_setting("do not verify certificates at all"))

    def __post_init__(self) -> None:
        if self.nameserver is not None and not _is_endpoint(self.nameserver):
            raise ValueError(
                f"{self.nameserver!r} is not a name server: write it like 9.9.9.9, 127.0.0.1:5353 or [::1]:53"
            )
        for network in self.allow_network:
            parse_network(network)


def _is_endpoint(text: str) -> bool:
    """Tell whether this is an IP address, perhaps with a port; one of IPv6 then stands in brackets."""
    if _version(text):
        return True
    address, _, port = text.rpartition(":")
    bracketed = address.startswith("[") and address.endswith("]")
    version = _version(address[1:-1] if bracketed else address)
    return version == (6 if bracketed else 4) and bool(_PORT.fullmatch(port)) and 0 < int(port) < 65_536


def _version(address: str) -> int | None:
    try:
        return ip_address(address).version
    except ValueError:
        return None


_PORT = re.compile("[0-9]{1,5}")
