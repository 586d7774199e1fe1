"""The settings of fetching."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path  # noqa: TC003 - the settings are read from the types at run time
from typing import Any

from gossamer.fetch.addresses import parse_network


def _setting(help_text: str, **bounds: float) -> dict[str, Any]:
    return {"help": help_text, **bounds}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    """Which servers may be contacted, how many at once, for how long, and how much of an answer is received."""

    nameserver: str | None = field(
        default=None,
        metadata=_setting(
            "The name server to ask, as address or address:port; if not given, the system's hosts file and name server."
        ),
    )
    dns_timeout_s: float = field(
        default=3.0,
        metadata=_setting(
            "How long to wait for the name server; the second try waits longer. Raise it if the name server is slow.",
            minimum=0.01,
        ),
    )
    allow_network: tuple[str, ...] = field(
        default=(),
        metadata=_setting(
            "A network, such as 10.0.0.0/8, that may be contacted although it is not public; per_address does not "
            "apply there."
        ),
    )
    per_address: int = field(
        default=4,
        metadata=_setting(
            "The most requests at once to one IP address, which many sites may share. "
            "Lower it if a hosting provider complains.",
            minimum=1,
        ),
    )
    in_flight: int = field(
        default=1_000,
        metadata=_setting(
            "The most requests at once of one worker; fewer if the system allows fewer open files.", minimum=1
        ),
    )
    max_held_bytes: int = field(
        default=48_000_000,
        metadata=_setting(
            "The most memory for the bodies of a worker, from their first byte until they are stored; then no request "
            "starts, and half of it is for small bodies. Raise it for a crawl of large files.",
            minimum=1,
        ),
    )
    connect_timeout_s: float = field(
        default=10.0,
        metadata=_setting(
            "The longest time that a connection may take, TLS included. Raise it on a slow network.", minimum=0.01
        ),
    )
    total_timeout_s: float = field(
        default=30.0,
        metadata=_setting(
            "The longest time that a whole request may take, the look-up of the name excluded. "
            "Raise it for slow servers or large files.",
            minimum=0.01,
        ),
    )
    max_body_bytes: int = field(
        default=2_000_000,
        metadata=_setting(
            "The most bytes of a body that are received; a longer body is cut there, and its page is marked as cut. "
            "Raise it to keep large files whole.",
            minimum=1,
        ),
    )
    accept_types: tuple[str, ...] = field(
        default=("text/html", "application/xhtml+xml", "text/plain"),
        metadata=_setting(
            "The content types of the pages to store; text/* and */* work too. HTML is always read for its links."
        ),
    )
    ca_file: Path | None = field(
        default=None,
        metadata=_setting("A PEM file of certificate authorities to trust in addition to those of the system."),
    )
    insecure: bool = field(
        default=False, metadata=_setting("Do not verify the certificates of servers at all; use it for tests only.")
    )

    def __post_init__(self) -> None:
        if self.nameserver is not None and not _is_endpoint(self.nameserver):
            raise ValueError(
                f"{self.nameserver!r} is not a name server: write it like 9.9.9.9, 127.0.0.1:5353 or [::1]:53"
            )
        for network in self.allow_network:
            parse_network(network)


def _is_endpoint(text: str) -> bool:
    """Return whether this is an IP address, or one with a port; an IPv6 address with a port is in brackets."""
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
