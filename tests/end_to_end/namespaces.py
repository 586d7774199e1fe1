"""Machines for tests: network namespaces of this kernel, joined by cables that can be pulled. Needs root, or its like.

`with machine:` moves the calling thread into a machine: the sockets it opens and the processes it starts are there.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

NEW_NETWORK = 0x4000_0000  # CLONE_NEWNET
# What makes a user the root of all the networks that this command makes, and lets them keep their name.
WITHOUT_ROOT = ("unshare", "--user", "--map-current-user", "--keep-caps", "--net")
PLACES = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])  # users often lack the last two


class ImpossibleError(Exception):
    """This machine has no namespaces for us, and why."""


class Machine:
    """A network of its own, with loopback and, if given any, addresses that are all its own. It lasts as long as we."""

    def __init__(self, addresses: str = "") -> None:
        """Make a machine; `addresses` are a network, such as 10.0.0.0/8."""
        self.addresses = addresses
        self._homes: list[int] = []
        home = _here()
        _call("unshare", NEW_NETWORK)
        try:
            self.descriptor = _here()
        finally:
            _call("setns", home, NEW_NETWORK)
            os.close(home)
        self.run_ip("link", "set", "lo", "up")
        if addresses:
            self.run_ip("route", "add", "local", addresses, "dev", "lo")

    def __enter__(self) -> Self:
        self._homes.append(_here())
        _call("setns", self.descriptor, NEW_NETWORK)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        home = self._homes.pop()
        _call("setns", home, NEW_NETWORK)
        os.close(home)

    def run_ip(self, *arguments: str) -> None:
        """Run the command `ip` here."""
        program = shutil.which("ip", path=PLACES)
        if program is None:
            raise ImpossibleError("the command ip is missing: install iproute2")
        with self:
            ran = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
        if ran.returncode:
            raise ImpossibleError(f"ip {' '.join(arguments)}: {ran.stderr.strip()}")


class Cable:
    """Leads from a machine to the addresses of a server."""

    def __init__(self, machine: Machine, server: Machine, number: int) -> None:
        """Connect two machines; no other cable may have this number, from 1 to 255."""
        self._server = server
        self._name = f"cable{number}"
        there = f"/proc/{os.getpid()}/fd/{machine.descriptor}"
        server.run_ip("link", "add", "name", self._name, "type", "veth", "peer", "name", self._name, "netns", there)
        for end, address in ((server, 1), (machine, 2)):
            end.run_ip("address", "add", f"172.31.{number}.{address}/30", "dev", self._name)
            end.run_ip("link", "set", self._name, "up")
        machine.run_ip("route", "add", server.addresses, "via", f"172.31.{number}.1")

    def pull(self) -> None:
        """Let nothing through."""
        self._server.run_ip("link", "set", self._name, "down")

    def plug_in(self) -> None:
        """Connect the machines again."""
        self._server.run_ip("link", "set", self._name, "up")


def _here() -> int:
    try:
        return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise ImpossibleError(f"this system has no network namespaces ({error.strerror})") from None


def _call(function: str, *arguments: int) -> None:
    """Call the system; Python 3.12 has these functions, 3.11 has not."""
    if getattr(ctypes.CDLL(None, use_errno=True), function)(*arguments):
        raise ImpossibleError(f"{function} of a network namespace: {os.strerror(ctypes.get_errno())}")
