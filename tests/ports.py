"""Ports for servers that cannot be given one by the system."""

from __future__ import annotations

import random
import socket

# Below the ports that any system assigns by itself: no other process gets one before its server.
_CHOICE = range(10_000, 30_000)


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """Return a free port of this machine."""
    while True:
        port = random.SystemRandom().choice(_CHOICE)
        with socket.socket(type=kind) as trial:
            try:
                trial.bind(("0.0.0.0", port))
            except OSError:
                continue
            return port
