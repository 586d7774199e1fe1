"""Namespaces of the kernel, in which a campaign may mount disks and cut networks that nobody else sees."""

from __future__ import annotations

import os
import subprocess
import sys

_INSIDE = "CHAOS_INSIDE"  # set for the process that runs in them


def is_inside(name: str, arguments: list[str], *kinds: str) -> bool:
    """Tell whether a campaign runs in namespaces of its own; else run it there, and say no when it has ended.

    `kinds` are the flags of `unshare`. Where the system forbids it, that is said, and the campaign is left out.
    """
    if os.environ.get(_INSIDE) == name:
        return True
    unshare = ["unshare", *kinds, *(() if os.geteuid() == 0 else ("--map-root-user",))]
    try:
        tried = subprocess.run([*unshare, "true"], capture_output=True, text=True)
    except FileNotFoundError:
        print(f"{name}: left out, there is no `unshare` here")
        return False
    if tried.returncode:
        print(f"{name}: left out, this system lets nobody make namespaces ({tried.stderr.strip()})")
        return False
    sys.stdout.flush()
    command = [*unshare, sys.executable, "-m", "chaos", name, *arguments]
    if status := subprocess.run(command, env={**os.environ, _INSIDE: name}).returncode:
        sys.exit(status)
    return False


def run(*command: object) -> None:
    """Run a command that must work."""
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
