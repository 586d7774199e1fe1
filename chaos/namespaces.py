"""Private namespaces of the kernel, in which a campaign may mount disks and cut networks."""

from __future__ import annotations

import os
import subprocess
import sys

_INSIDE = "CHAOS_INSIDE"  # set for the process that runs in them


def is_inside(name: str, arguments: list[str], *kinds: str) -> bool:
    """Return whether this process is in its own namespaces; if not, run the campaign there, and return False.

    `kinds` are the flags of `unshare`. If the system forbids namespaces, print that, and skip the campaign.
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
        print(f"{name}: left out, this system does not allow namespaces ({tried.stderr.strip()})")
        return False
    sys.stdout.flush()
    command = [*unshare, sys.executable, "-m", "chaos", name, *arguments]
    if status := subprocess.run(command, env={**os.environ, _INSIDE: name}).returncode:
        sys.exit(status)
    return False


def run(*command: object) -> None:
    """Run a command; raise an exception if it fails."""
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
