"""The interface of `select.epoll` on systems without it, such as macOS."""

from __future__ import annotations

import selectors

_IN, _OUT = 1, 4  # epoll's flags


class SelectorPoller:
    """Waits for many descriptors at once, with what the system offers."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def fileno(self) -> int:
        """Return a descriptor that can be read while events wait."""
        number = getattr(self._selector, "fileno", None)
        assert number is not None, "the selectors of Linux and macOS have a descriptor"
        return int(number())

    def register(self, fd: int, eventmask: int) -> None:
        """Watch a descriptor."""
        self._selector.register(fd, _events(eventmask))

    def modify(self, fd: int, eventmask: int) -> None:
        """Watch a descriptor for something else."""
        self._selector.modify(fd, _events(eventmask))

    def unregister(self, fd: int) -> None:
        """Watch a descriptor no longer."""
        self._selector.unregister(fd)

    def poll(self, timeout: float | None = None) -> list[tuple[int, int]]:
        """Return the descriptors that are ready, each with its events."""
        return [
            (key.fd, (_IN if events & selectors.EVENT_READ else 0) | (_OUT if events & selectors.EVENT_WRITE else 0))
            for key, events in self._selector.select(timeout)
        ]

    def close(self) -> None:
        """Free the poller."""
        self._selector.close()


def _events(eventmask: int) -> int:
    """Return what selectors call the events of a mask."""
    return (selectors.EVENT_READ if eventmask & _IN else 0) | (selectors.EVENT_WRITE if eventmask & _OUT else 0)
