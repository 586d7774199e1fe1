"""What the process that starts a simulated web tells the process that serves it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer_simweb.spec import WebSpec


LOOPBACK = 127


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What to serve, and where."""

    spec: WebSpec
    folder: Path  # for the logs and the authority's certificate
    remove_folder: bool  # at the end
    warm: bool = False  # make all answers before the first request
    port: int = 0  # 0: any free one
    tls_port: int = 0
    dns_port: int = 0
    network: int = LOOPBACK  # the first number of all addresses
