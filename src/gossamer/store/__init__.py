"""Store: the files of a crawl, how they survive a crash, and how they are read.

A worker uses `Store`: it writes archive records to WARC segments (`warc`, `segments`, `cdxj`) and rows to journals
(`journals`, `schemas`), which become Parquet parts (`parts`, `finishing`). `repair` repairs the files of a dead
worker. `reading` and `checking` read the files later. `disk` says when the disk is nearly full. The page process needs
only `warc` and must start quickly, so `Store` is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.store.store import PageStore, Store, StoreSettings

__all__ = ["PageStore", "Store", "StoreSettings"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gossamer.store import store

    return getattr(store, name)
