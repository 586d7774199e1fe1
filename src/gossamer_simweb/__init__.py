"""A simulated web, and an independent judge of the crawlers that visit it.

`serve` runs a web on this machine's loopback addresses, with its own name server. A `WebSpec` and its seed determine
the web completely. `expected` returns the URLs that a perfect crawler requests. `judge` reads the server's access log
and finds what a crawler missed, repeated, requested without permission or requested too early. This package shares
nothing with the crawler but the normalisation of URLs.
"""

from gossamer_simweb.addresses import AddressLimit, CrowdedAddress, busiest_windows
from gossamer_simweb.expected import ExpectedCrawl, expected
from gossamer_simweb.judge import RepeatedUrl, Verdict, judge
from gossamer_simweb.log import LoggedRequest, parse_log, read_log
from gossamer_simweb.plan import WebPlan
from gossamer_simweb.process import WebServer, serve
from gossamer_simweb.spec import Behaviour, PlantedName, PlantedPage, PlantedRobots, WebSpec, plain_web
from gossamer_simweb.turns import EarlyRequest

__all__ = [
    "AddressLimit",
    "Behaviour",
    "CrowdedAddress",
    "EarlyRequest",
    "ExpectedCrawl",
    "LoggedRequest",
    "PlantedName",
    "PlantedPage",
    "PlantedRobots",
    "RepeatedUrl",
    "Verdict",
    "WebPlan",
    "WebServer",
    "WebSpec",
    "busiest_windows",
    "expected",
    "judge",
    "parse_log",
    "plain_web",
    "read_log",
    "serve",
]
