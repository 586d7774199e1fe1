"""Names whose addresses this machine knows without DNS: those in its hosts file, and `localhost`."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import os

HOSTS_FILE: Final = Path("/etc/hosts")
_LOOPBACK: Final = ("127.0.0.1",)


class HostsFile:
    """The hosts file, read again when it has changed. An unreadable file counts as empty, as it does for the system."""

    def __init__(self, path: Path = HOSTS_FILE) -> None:
        self._path = path
        self._version: tuple[int, ...] = ()
        self._addresses: dict[str, tuple[str, ...]] = {}

    def find(self, name: str) -> tuple[str, ...]:
        """Return the addresses of a name, all of one family; none if the file does not name it.

        `localhost` and the names below it never leave this machine (RFC 6761, 6.3).
        """
        self._refresh()
        found = self._addresses.get(name, ())
        return found or (_LOOPBACK if name == "localhost" or name.endswith(".localhost") else ())

    def _refresh(self) -> None:
        try:
            version = _version_of(self._path.stat())
            if version != self._version:
                self._addresses = parse_hosts(self._path.read_text(encoding="latin-1"))
        except OSError:
            version, self._addresses = (), {}
        self._version = version


def parse_hosts(text: str) -> dict[str, tuple[str, ...]]:
    """Return the addresses of each name in a hosts file: IPv4 if it has any, else IPv6. Malformed lines are skipped."""
    found: dict[tuple[str, int], dict[str, None]] = {}
    for line in text.splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        try:
            parsed = ip_address(address)
        except ValueError:
            continue
        for name in names:
            found.setdefault((name.lower().rstrip("."), parsed.version), {})[str(parsed)] = None
    return {name: tuple(found.get((name, 4)) or found[name, 6]) for name, _ in found}


def _version_of(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
