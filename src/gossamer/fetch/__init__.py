"""One request, made safely: which addresses may be contacted, how names become addresses, the transfer.

What belongs here turns a URL into bytes or into a named failure. Whether a URL *may* be asked for is decided
in `rules`; what the bytes mean is found out in `parse`.
"""

from gossamer.fetch.fetcher import Fetcher, Requester
from gossamer.fetch.limits import in_flight_limit, raise_descriptor_limit
from gossamer.fetch.settings import FetchSettings

__all__ = ["FetchSettings", "Fetcher", "Requester", "in_flight_limit", "raise_descriptor_limit"]
