"""The dashboard in a browser: reads a crawl, and gives the operator's orders. It invents no figures of its own.

`gate` decides which requests are answered, `door` applies that, `application` lists the pages, `live` feeds open tabs,
`back` and `answering` read tables in a process of their own, `markup` makes HTML. What pages say comes from `inspect`.
"""
