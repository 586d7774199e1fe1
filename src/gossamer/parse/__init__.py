"""Parse: what a fetched page holds. Pure: a function of the bytes that came, never an exception.

`page.read_page` is the whole of it. It reads what the server said about the body (`head`), undoes the content
encoding, turns bytes into text (`charset`), and finds in the document what its author wants of crawlers
(`wishes`), where it leads (`links`), and its title and text. `docs/links.md` says which elements count.

`sitemaps.read_sitemap` is the same for sitemaps, with their `dates`; `docs/sitemaps.md` says what is read in one.
"""
