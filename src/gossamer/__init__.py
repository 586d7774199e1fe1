"""Gossamer: a polite, fault-tolerant, very fast web crawler."""

from __future__ import annotations

__version__ = "0.2.0"
__all__ = ["Crawl", "End", "GossamerError", "Link", "Page", "StoredCrawl", "__version__", "open"]

TYPE_CHECKING = False  # as in `typing`, which is not loaded for this: type checkers know the name
if TYPE_CHECKING:
    from gossamer.api import Crawl, End, GossamerError, Link, Page, StoredCrawl, open  # noqa: A004
else:

    def __getattr__(name: str) -> object:
        """Load what programs use when they first use it: `import gossamer` itself costs nothing."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module("gossamer.api"), name)

    def __dir__() -> list[str]:
        """Return the public names alone: submodules that happen to be loaded are no part of the interface."""
        return sorted(__all__)
