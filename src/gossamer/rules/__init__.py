"""The rules of a crawl: robots.txt, pace, scope, traps, retries. Pure decisions only.

A function belongs here if it decides from values that are passed in whether a URL may be requested, and when. Nothing
here reads a clock, the network or a database: the callers do.
"""
