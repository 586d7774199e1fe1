"""The bucket of a crawl: where closed files go, how each upload survives a crash, and how they are read back.

`objects` talks to the bucket, `manifests` says what is in it, `claiming` takes a prefix for a crawl, `uploading` moves
files there, and `paths` lets all readers open them as if they were in the crawl's folder. Decision 26 explains why.
"""
