"""Inspect: reads the state and the files of a crawl, also while it runs. Reads only.

`running` says whether a crawl runs, `status` gives its figures, `requests` reads its log, `stored` finds a URL and its
stored pages, `explain` names the rule that decides about a URL or a site, `verify` finds lost or torn data, `conduct`
checks how sites were treated, `conduct_report` writes that down for their owners, `recent` follows the end of the log,
`report` makes one HTML page about a crawl. `query` and `export` work on a `snapshot` of the tables, in a `database`
that can read nothing else. Functions take an open frontier and the crawl's folder. `cli` prints the results; only the
reports are files.
"""
