"""The conformance suite: what every engine has to promise, whichever database it uses.

The tests know only `Frontier`, `Engine` and `Lab` (`lab.py`). To run them on another engine, write a `Lab` for it, and
a test module with one import and one fixture:

    from tests.frontier.conformance.suite import *

    @pytest.fixture
    def engine() -> Engine:
        return Engine(name="mine", new_lab=MyLab, histories=100)

`tests/frontier/labs.py` has the labs of SQLite and PostgreSQL; `tests/frontier/test_third_engine.py` is such a module.
"""
