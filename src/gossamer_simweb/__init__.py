"""A simulated web and the independent judge of whoever crawls it.

`serve` runs a web, planned from a `WebSpec` by a seed, on this machine's loopback addresses, with a name
server of its own. `expected` says which URLs a perfect crawler asks for; `judge` reads the server's access
log and says what a crawler missed, repeated, was not allowed to ask for, or asked for too early. Nothing here
comes from the crawler but the spelling of URLs.
"""

from gossamer_simweb.expected import ExpectedCrawl, expected
from gossamer_simweb.judge import RepeatedUrl, Verdict, judge
from gossamer_simweb.log import LoggedRequest, parse_log, read_log
from gossamer_simweb.plan import WebPlan
from gossamer_simweb.process import WebServer, serve
from gossamer_simweb.spec import Behaviour, PlantedName, PlantedPage, PlantedRobots, WebSpec, plain_web
from gossamer_simweb.turns import EarlyRequest

__all__ = [
    "Behaviour",
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
    "expected",
    "judge",
    "parse_log",
    "plain_web",
    "read_log",
    "serve",
]
