"""A bug of ours in a turn can be found again: the result names the URL that it happened at."""

from __future__ import annotations

from tests.turn.scripted import World, answered, queued

FIRST, SECOND = "https://a.test/first", "https://a.test/second"


def test_a_bug_behind_a_redirect_names_the_url_that_it_happened_at() -> None:
    world = World(
        urls=[queued(FIRST)],
        answers={FIRST: answered(FIRST, 302, f"Location: {SECOND}")},
        interrupt_at=5,  # parse the second page
        bug=RuntimeError("a bug of ours"),
    )
    bug = world.play().bug
    assert bug is not None
    assert bug.__notes__ == [f"This happened at {SECOND}."]
