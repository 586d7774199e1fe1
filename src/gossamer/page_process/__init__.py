"""The page process: reads pages beside the worker, and may be killed at any moment at the cost of one page.

`process.PageProcess` is the worker's side. `__main__` is the process itself: it reads a page (`gossamer.parse`),
encodes its archive record (`gossamer.store.warc`) and answers. `frames` is what they say to each other, `settings`
what the operator may set. Nothing is imported here: the process must start quickly, and without asyncio.
"""
