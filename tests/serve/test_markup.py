"""Markup is made of what the program wrote; text of any origin stays text."""

from __future__ import annotations

import pytest

from gossamer.serve.limits import Rates
from gossamer.serve.markup import address, join, tag


def test_text_and_attributes_are_escaped() -> None:
    assert tag("p", "<b>&", title='"><script>') == '<p title="&quot;&gt;&lt;script&gt;">&lt;b&gt;&amp;</p>'


def test_markup_in_markup_stays_markup() -> None:
    assert tag("ul", [tag("li", "a"), tag("li", "<b>")]) == "<ul><li>a</li><li>&lt;b&gt;</li></ul>"
    assert join(["<", tag("br"), None]) == "&lt;<br>"


def test_what_is_put_together_with_plain_strings_is_text_again() -> None:
    assert tag("p", tag("b", "x") + "<i>") == "<p>&lt;b&gt;x&lt;/b&gt;&lt;i&gt;</p>"


def test_control_characters_and_changes_of_direction_are_left_out() -> None:
    assert tag("p", "a\x1b[2J\u202eb\x00\nc") == "<p>a [2J b \nc</p>"


@pytest.mark.parametrize(
    "target",
    ["javascript:alert(1)", "//evil.test/", "/\\evil.test", "https://evil.test/", "data:text/html,x", "", True],
)
@pytest.mark.parametrize("name", ["href", "src", "action"])
def test_a_link_leads_only_to_this_server(name: str, target: str | bool) -> None:
    with pytest.raises(ValueError, match="leads away"):
        tag("a", "x", **{name: target})


def test_an_address_carries_any_text_as_a_parameter() -> None:
    assert (
        address("/url", url="https://a.test/?a=b&c#d", empty="") == "/url?url=https%3A%2F%2Fa.test%2F%3Fa%3Db%26c%23d"
    )


def test_a_client_that_asks_too_fast_waits_until_its_bucket_has_filled_again() -> None:
    rates = Rates(per_s=2, burst=3)
    assert [rates.admit("a", 100.0) for _ in range(4)] == [True, True, True, False]
    assert rates.admit("b", 100.0)
    assert not rates.admit("a", 100.4)
    assert rates.admit("a", 100.9)
    assert [rates.admit("a", 200.0) for _ in range(4)] == [True, True, True, False]
