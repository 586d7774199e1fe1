"""Tests of turns. A row that fails shows what was found."""

import pytest

pytest.register_assert_rewrite("tests.turn.rows", "tests.turn.scripted")
