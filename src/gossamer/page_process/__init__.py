"""The page process: reads pages in a process next to the worker. Killing it costs at most one page.

`process.PageProcess` is the worker's side. `__main__` is the process itself: it reads a page (`gossamer.parse`),
encodes its archive record (`gossamer.store.warc`) and replies. `starting` starts it, `child` exchanges frames with it,
`lane` shares it by site. `frames` and `layouts` are the format of their messages, `settings` the operator's settings.
Nothing is imported here: the process must start quickly, and without asyncio.
"""
