"""The settings of the supervision of workers, and of what is measured."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path  # noqa: TC003 - the type of a setting
from typing import Final

LOOPBACK: Final = IPv4Address("127.0.0.1")
OFF: Final = "off"
_ENDPOINT: Final = re.compile(r"(?:(?P<v4>[0-9.]+):|\[(?P<v6>[0-9A-Fa-f:.]+)\]:)?(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorSettings:
    """When a worker is replaced, and how often progress is printed."""

    worker_silence_s: float = field(
        default=60.0,
        metadata={
            "help": "A worker that is silent for this long is killed and replaced. "
            "Raise it if a slow disk holds workers up for longer.",
            "minimum": 2,
        },
    )
    progress_every_s: float = field(
        default=10.0,
        metadata={
            "help": "The time between two lines of progress where there is no terminal. "
            "Raise it to keep the log of a service short.",
            "minimum": 1,
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """Where metrics are served, and for how long figures are kept."""

    metrics: str = field(
        default=OFF,
        metadata={
            "help": "Serve the metrics of this machine's crawl to Prometheus at ADDRESS:PORT, or at a port of the "
            "loopback address if only a port is given; off serves none."
        },
    )
    notify_file: Path | None = field(
        default=None,
        metadata={
            "help": "A file of mode 600 that holds the URL of a webhook, which gets a message when the crawl ends, "
            "stalls or lacks something. Set it if the variable GOSSAMER_NOTIFY_URL cannot be set."
        },
    )
    figures_days: float = field(
        default=7.0,
        metadata={
            "help": "How many days of figures are kept for every ten seconds, and those of full minutes in PostgreSQL; "
            "in the folder these are kept for good. Lower it if the disk is small.",
            "minimum": 0,
        },
    )

    def __post_init__(self) -> None:
        if self.metrics != OFF:
            parse_endpoint(self.metrics)

    @property
    def endpoint(self) -> tuple[IPv4Address | IPv6Address, int] | None:
        """The address and the port at which metrics are served; None: they are not."""
        return None if self.metrics == OFF else parse_endpoint(self.metrics)


def parse_endpoint(text: str) -> tuple[IPv4Address | IPv6Address, int]:
    """Return an address and a port; raise ValueError for what is neither a port nor an address with a port."""
    found = _ENDPOINT.fullmatch(text)
    try:
        if found and int(found["port"]) < 1 << 16:
            address = found["v4"] or found["v6"]
            return (ip_address(address) if address else LOOPBACK), int(found["port"])
    except ValueError:
        pass
    raise ValueError(f"{text!r} is not a place to serve metrics: write it like 9464, 10.0.0.5:9464, [::1]:9464 or off")
