"""A simulated web and the independent judge of whoever crawls it.

`serve` runs a web, planned from a `WebSpec` by a seed, on this machine's loopback addresses, with a name
server of its own. `expected` says which URLs a perfect crawler asks for; `judge` reads the server's access
log and says what a crawler missed, repeated, was not allowed to ask for, or asked for too early. Nothing here
comes from the crawler but the spelling of URLs.
"""

from gossamer_simweb.expected import Expected, expected
from gossamer_simweb.judge import Repeat, Verdict, judge
from gossamer_simweb.log import Request, parse_log, read_log
from gossamer_simweb.plan import Web
from gossamer_simweb.process import Server, serve
from gossamer_simweb.spec import Behaviour, Planted, PlantedName, PlantedRobots, WebSpec, plain_web
from gossamer_simweb.turns import Early

__all__ = [
    "Behaviour",
    "Early",
    "Expected",
    "Planted",
    "PlantedName",
    "PlantedRobots",
    "Repeat",
    "Request",
    "Server",
    "Verdict",
    "Web",
    "WebSpec",
    "expected",
    "judge",
    "parse_log",
    "plain_web",
    "read_log",
    "serve",
]
