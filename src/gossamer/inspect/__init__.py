"""Inspect: reads what a crawl knows and has stored, also while it goes on; changes nothing.

`running` says whether a crawl is under way, `status` gives its figures, `requests` reads its log, `stored` finds a URL
and what is kept of it, `explain` tells which rule decides about a URL or a site, `verify` tells whether anything is
lost or torn, `conduct` how sites were treated, `conduct_report` tells that to their owners, `recent` follows the end
of the log, `report` puts a whole crawl on one page. `query` and `export` work on a `snapshot` of the tables, in a
`database` that can read nothing else. Functions take an open frontier and the crawl's folder; how their answers are
shown is the business of `cli`, but for the reports, which are files.
"""
