"""All tests and fixtures of the conformance suite, to be imported by the test module of another engine.

`from tests.frontier.conformance.suite import *` defines them in that module, which then defines the fixture `engine`.
"""

from tests.frontier.conformance.lab import *  # noqa: F403
from tests.frontier.conformance.test_add import *  # noqa: F403
from tests.frontier.conformance.test_audit import *  # noqa: F403
from tests.frontier.conformance.test_claim import *  # noqa: F403
from tests.frontier.conformance.test_complete import *  # noqa: F403
from tests.frontier.conformance.test_crashes import *  # noqa: F403
from tests.frontier.conformance.test_health import *  # noqa: F403
from tests.frontier.conformance.test_limits import *  # noqa: F403
from tests.frontier.conformance.test_model import *  # noqa: F403
from tests.frontier.conformance.test_operator import *  # noqa: F403
from tests.frontier.conformance.test_ownership import *  # noqa: F403
from tests.frontier.conformance.test_shares import *  # noqa: F403
