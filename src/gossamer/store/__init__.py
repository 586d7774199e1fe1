"""Store: what a crawl leaves on disk, how it survives a crash, and how it is read again.

`store.Store` is what a worker uses: archive records go to WARC segments (`warc`, `segments`, `cdxj`), rows to
journals (`journals`, `schemas`) that become Parquet parts (`parts`, `finishing`). `repair` puts a dead worker's
files in order; `reading` and `checking` are for whoever comes after; `disk` says when there is no more room.
Nothing is imported here: the page process needs `warc` alone and must start quickly.
"""
