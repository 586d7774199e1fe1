"""Parse: reads fetched pages. Pure: a function of the bytes that the server sent; it never raises.

`page.read_page` does it all. It reads the headers about the body (`head`), undoes the content encoding, decodes the
bytes (`charset`), and finds the robots directives (`wishes`), the links (`links`), the title and the text of the
document. `docs/links.md` says which elements count.

`sitemaps.read_sitemap` does the same for sitemaps, with their `dates`; see `docs/sitemaps.md`.
"""
