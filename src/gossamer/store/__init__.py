"""Store: what a crawl leaves on disk, how it survives a crash, and how it is read again.

`Store` is what a worker uses: archive records go to WARC segments (`warc`, `segments`, `cdxj`), rows to
journals (`journals`, `schemas`) that become Parquet parts (`parts`, `finishing`). `repair` puts a dead worker's
files in order; `reading` and `checking` are for whoever comes after; `disk` says when there is no more room.
The page process needs `warc` alone and must start quickly: so `Store` is imported only when it is asked for.
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
