"""Fetch: makes one request safely. Which addresses may be contacted, name lookup, the transfer.

This package turns a URL into bytes or into a named failure. `rules` decides whether a URL may be requested, and
`parse` reads the bytes.
"""

from gossamer.fetch.fetcher import Fetcher, FetchLoad, Requester
from gossamer.fetch.limits import in_flight_limit, raise_descriptor_limit
from gossamer.fetch.settings import FetchSettings

__all__ = ["FetchLoad", "FetchSettings", "Fetcher", "Requester", "in_flight_limit", "raise_descriptor_limit"]
