"""Store: what a crawl leaves on disk, how it survives a crash, and how it is read again.

Archive records go to WARC segments (`warc`, `segments`), rows to journals that become Parquet parts (`journals`,
`parts`); `Store` in `keeping` is both, as a worker uses them. `repair` puts a dead worker's files in order,
`reading` and `checking` are for whoever comes after. Nothing is imported here, because the page process needs
`warc` alone and must start quickly.
"""
