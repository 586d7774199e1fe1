"""Two independent readers of robots.txt judge generated files as ours does, but for differences that are explained.

The classes of difference are those of docs/decisions/0009-robots-differences.md. Each is shown by an example, and is
told here by the least that has to be in a file for it; where nothing of that is there, the readers have to agree.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.robotparser import RobotFileParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from gossamer.rules.robots import allows, parse_robots
from gossamer.urls import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

AGENT = "gossamer"
HOST = "https://example.org"


def ours(robots: str, path: str) -> bool:
    url = normalise(HOST + path)
    assert isinstance(url, str)
    return allows(parse_robots(robots.encode(), AGENT), url)


def of_protego(robots: str, path: str) -> bool:
    return Protego.parse(robots).can_fetch(HOST + path, AGENT)


def of_stdlib(robots: str, path: str) -> bool:
    parser = RobotFileParser()
    parser.parse(robots.splitlines())
    return parser.can_fetch(AGENT, HOST + path)


def values_of(robots: str, *names: str) -> list[str]:
    """Return the values of all lines with these names."""
    found = []
    for line in robots.splitlines():
        name, _, value = line.partition("#")[0].partition(":")
        if name.strip().lower() in names:
            found.append(value.strip())
    return found


def patterns_of(robots: str) -> list[str]:
    return values_of(robots, "allow", "disallow")


def tokens_of(robots: str) -> list[str]:
    return [value.lower() for value in values_of(robots, "user-agent")]


# ---------------------------------------------------------------- the classes of difference, each by what it needs


def divides_a_group(robots: str, path: str) -> bool:
    """A line that is neither agent nor rule stands behind an agent, before another one."""
    return bool(_DIVIDED.search(robots.lower()))


def names_a_stranger(robots: str, path: str) -> bool:
    """A token is a part of ours, or ours with something behind it."""
    return any(token not in (AGENT, "*", "x") for token in tokens_of(robots))


def escapes(robots: str, path: str) -> bool:
    return "%" in path or any("%" in pattern for pattern in patterns_of(robots))


def has_a_dollar(robots: str, path: str) -> bool:
    """The path holds a `$` and a pattern ends with one, which then might mean itself."""
    return "$" in path and has_an_anchor(robots, path)


def has_an_anchor(robots: str, path: str) -> bool:
    return any(pattern.endswith("$") for pattern in patterns_of(robots))


def has_a_star(robots: str, path: str) -> bool:
    return any("*" in pattern for pattern in patterns_of(robots))


def repeats_a_star(robots: str, path: str) -> bool:
    return any("**" in pattern for pattern in patterns_of(robots))


def allows_an_index(robots: str, path: str) -> bool:
    return path.endswith("/") and any(pattern.endswith("/index.html") for pattern in values_of(robots, "allow"))


def lacks_a_rule(robots: str, path: str) -> bool:
    """A rule is empty, or an agent has none."""
    groups = re.split(r"(?m)^(?=user-agent)", robots.lower())
    return "" in patterns_of(robots) or any(
        group.startswith("user-agent") and not re.search(r"(?m)^(?:dis)?allow", group) for group in groups
    )


def repeats_an_agent(robots: str, path: str) -> bool:
    return any(count > 1 for count in Counter(tokens_of(robots)).values())


def has_a_blank_line(robots: str, path: str) -> bool:
    return "" in robots.split("\n")


def depends_on_order(robots: str, path: str) -> bool:
    """Rules of both kinds match the path."""
    return all(
        any(pattern.startswith("/") and path.startswith(pattern) for pattern in values_of(robots, name))
        for name in ("allow", "disallow")
    )


def reads_as_a_url(robots: str, path: str) -> bool:
    return any(mark in text for text in (path, *patterns_of(robots)) for mark in ("?", ";", "//"))


PROTEGO: Mapping[str, Callable[[str, str], bool]] = {
    "P1 other lines divide a group": divides_a_group,
    "P2 names are compared loosely": names_a_stranger,
    "P3 escapes of reserved characters": escapes,
    "P4 an anchor may be a dollar": has_a_dollar,
    "P5 an allowed index.html allows its folder": allows_an_index,
    "P6 the length of many stars": repeats_a_star,
}
STDLIB: Mapping[str, Callable[[str, str], bool]] = {
    "S1 the first rule that matches decides": depends_on_order,
    "S2 no stars": has_a_star,
    "S3 no anchors": has_an_anchor,
    "S4 a blank line ends a group": has_a_blank_line,
    "S5 only the first group of a name": repeats_an_agent,
    "S6 names are compared loosely": names_a_stranger,
    "S7 delays are rules": divides_a_group,
    "S8 all escapes are equal": escapes,
    "S9 patterns are URLs": reads_as_a_url,
    "S10 nothing said is something said": lacks_a_rule,
}
_DIVIDED = re.compile(r"(?m)^user-agent:.*\n(?:.*\n)*?(?!user-agent|allow|disallow)[a-z-]+:.*\n(?:.*\n)*?user-agent:")

# Every class with what it does to the smallest file: who is who, and whether we and they allow it.
EXAMPLES = [
    ("P1", "User-agent: gossamer|Crawl-delay: 1|User-agent: x|Disallow: /", "/", False, True),
    ("P1", "User-agent: gossamer|Unheard-of: 1|User-agent: x|Disallow: /", "/", False, True),
    ("P2", "User-agent: goss|Disallow: /", "/", True, False),
    ("P2", "User-agent: *gossamer|Disallow: /", "/", True, False),
    ("P2", "User-agent: Gossamer/2.0|Disallow: /", "/", False, True),
    ("P2", "User-agent: gossamer (all versions)|Disallow: /", "/", False, True),
    ("P3", "User-agent: *|Disallow: /a%3Bb", "/a;b", True, False),
    ("P3", "User-agent: *|Disallow: /a%3Fb", "/a?b", True, False),
    ("P3", "User-agent: *|Disallow: /?a%2Fb", "/?a/b", False, True),
    ("P4", "User-agent: *|Disallow: /a$", "/a$", True, False),
    ("P5", "User-agent: *|Disallow: /|Allow: /index.html", "/", False, True),
    ("P6", "User-agent: *|Disallow: **|Allow: /", "/a", True, False),
    ("S1", "User-agent: *|Disallow: /|Allow: /a", "/a", True, False),
    ("S1", "User-agent: *|Allow: /|Disallow: /a", "/a", False, True),
    ("S2", "User-agent: *|Disallow: /*a", "/ba", False, True),
    ("S3", "User-agent: *|Disallow: /a$", "/a", False, True),
    ("S4", "User-agent: *||Disallow: /", "/", False, True),
    ("S5", "User-agent: *|Disallow: /a|User-agent: x|Disallow: /|User-agent: *|Disallow: /b", "/b", False, True),
    ("S6", "User-agent: goss|Disallow: /", "/", True, False),
    ("S6", "User-agent: Gossamer/2.0|Disallow: /", "/", False, True),
    ("S7", "User-agent: gossamer|Crawl-delay: 1|User-agent: x|Disallow: /", "/", False, True),
    ("S8", "User-agent: *|Disallow: /a%2Fb", "/a/b", True, False),
    ("S9", "User-agent: *|Disallow: /a?", "/ab", True, False),
    ("S9", "User-agent: *|Disallow: //", "/a", True, False),
    ("S10", "User-agent: *|Disallow:|Disallow: /", "/", False, True),
    ("S10", "User-agent: *|Disallow: /|User-agent: gossamer", "/", True, False),
    # What no generated file holds: bytes before the text, line ends that are none, and robots.txt itself.
    ("P7", "\ufeffUser-agent: *|Disallow: /", "/", False, True),
    ("P8", "User-agent: *|Allow: /a\x0bDisallow: /", "/b", True, False),
    ("P9", "User-agent: *|Disallow: /", "/robots.txt?x", False, True),
    ("S11", "\ufeffUser-agent: *|Disallow: /", "/", False, True),
    ("S12", "User-agent: *|Allow: /a\x0bDisallow: /", "/b", True, False),
    ("S13", "User-agent: *|Disallow: /", "/robots.txt", True, False),
]


@pytest.mark.parametrize(("name", "robots", "path", "we", "they"), EXAMPLES)
def test_every_class_of_difference_is_shown(name: str, robots: str, path: str, we: bool, they: bool) -> None:
    robots = robots.replace("|", "\n")
    theirs = of_protego if name[0] == "P" else of_stdlib
    assert ours(robots, path) is we
    is_later = name[0] == "S" and sys.version_info >= (3, 13)  # later libraries come closer to the RFC
    assert theirs(robots, path) is they or is_later


def test_every_class_has_an_example_and_a_line_in_the_record() -> None:
    record = Path("docs/decisions/0009-robots-differences.md").read_text(encoding="utf-8")
    shown = {name for name, *_ in EXAMPLES}
    assert {title.split()[0] for title in (*PROTEGO, *STDLIB)} <= shown
    assert {name for name in shown if f"| {name} |" in record} == shown


# Files that hold a few things out of the ordinary each, so that classes of difference are met alone.
ODD_PIECES = ["*", "$", "%41", "%2F", "?", ";", "index.html", "~", "é"]
ODD_LINES = ["Crawl-delay: 2", "Unheard-of: /a", "Sitemap: /s", "", "Content-Signal: ai-train=no", "what?", "# note"]
ODD_TOKENS = ["goss", "gossamer/2.0", "gossamer-x"]


@st.composite
def robots_and_path(draw: st.DrawFn) -> tuple[str, str]:
    odd = draw(st.lists(st.sampled_from(ODD_PIECES), max_size=2))
    between = st.sampled_from(["", *(line + "\n" for line in draw(st.lists(st.sampled_from(ODD_LINES), max_size=1)))])
    tokens = st.sampled_from(
        ["*", "gossamer", "Gossamer", "x", *draw(st.lists(st.sampled_from(ODD_TOKENS), max_size=1))]
    )
    pieces = st.lists(st.sampled_from(["a", "b", "/", "a/", *odd]), max_size=4).map("".join)
    agents = st.lists(st.builds("User-agent: {}\n{}".format, tokens, between), min_size=1, max_size=2).map("".join)
    kinds = st.sampled_from(["Allow", "Disallow"])
    starts = st.sampled_from(["/", "/", "/", "*", ""])
    rules = st.lists(st.builds("{}: {}{}\n{}".format, kinds, starts, pieces, between), max_size=4).map("".join)
    groups = st.lists(st.builds("{}{}".format, agents, rules), min_size=1, max_size=3).map("".join)
    path = st.lists(st.sampled_from(["a", "b", "/", "a/", *(odd if draw(st.booleans()) else [])]), max_size=4)
    return draw(groups), "/" + "".join(draw(path)).replace("*", "%2A")


@given(robots_and_path())
def test_protego_agrees_but_for_what_is_explained(written: tuple[str, str]) -> None:
    if ours(*written) is not of_protego(*written):
        assert [name for name, applies in PROTEGO.items() if applies(*written)], written


@given(robots_and_path())
def test_the_standard_library_agrees_but_for_what_is_explained(written: tuple[str, str]) -> None:
    if ours(*written) is not of_stdlib(*written):
        assert [name for name, applies in STDLIB.items() if applies(*written)], written


@given(robots_and_path())
def test_where_nothing_is_out_of_the_ordinary_all_three_agree(written: tuple[str, str]) -> None:
    if not any(applies(*written) for applies in (*PROTEGO.values(), *STDLIB.values())):
        assert ours(*written) is of_protego(*written) is of_stdlib(*written)
