"""Every setting is described in sentences, and says when an operator would change it.

The rule for "when": a setting with an option of its own in `gossamer crawl` is chosen by what it does. Every other
setting ends with a sentence that begins with "Raise it", "Lower it" or "Turn it off" and gives the occasion. A setting
for which there is no such sentence is a constant.
"""

from __future__ import annotations

import re

import click
import pytest

from gossamer.cli import gossamer, run
from gossamer.config import REMOVED, RENAMED, Setting, declared
from gossamer.crawl.settings import SECTIONS

SETTINGS = declared(SECTIONS)
EVERY_SETTING = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)

SENTENCE = re.compile(r"[A-Z][^.]*?(?:\.(?=\S)[^.]*?)*\.")  # a full stop within a word, as in robots.txt, ends nothing
OCCASION = re.compile(r"(?:Raise|Lower|Set|Turn) (?:it|them) (?:off )?(?:if|for|to|on|so that|together with) .+\.")
VAGUE = re.compile(r"(?i)\b(?:so (?:long|many|much|often)|whoever|nobody|somebody|set aside)\b")

LEAST_WORDS = 5
MOST_CHARS = 220  # two lines of crawl.toml, or four of --help


def described(setting: Setting) -> str:
    return str(setting.field.metadata["help"])


def faults(text: str) -> list[str]:
    """Return the parts of a description that are not sentences of at least five words."""
    return [
        part for part in re.split(r"(?<=\.) ", text) if not SENTENCE.fullmatch(part) or len(part.split()) < LEAST_WORDS
    ]


@EVERY_SETTING
def test_every_description_is_made_of_sentences(setting: Setting) -> None:
    text = described(setting)
    assert faults(text) == []
    assert len(text) <= MOST_CHARS
    assert not VAGUE.search(text), "name the value or the agent"


@pytest.mark.parametrize(
    "text",
    ["of a link's path", "Of a link's path.", "the longest path that a link may have.", "No full stop at the end"],
)
def test_a_description_that_is_no_sentence_would_be_found(text: str) -> None:
    assert faults(text) == [text]


@EVERY_SETTING
def test_a_setting_without_an_option_says_when_to_change_it(setting: Setting) -> None:
    crawl = gossamer.get_command(click.Context(gossamer), "crawl")
    assert crawl is not None
    options = {name for option in crawl.params for name in option.opts}
    option = setting.key.replace("_", "-")
    if f"--{option}" not in options and f"--no-{option}" not in options:
        assert OCCASION.fullmatch(re.split(r"(?<=\.) ", described(setting))[-1])


def test_the_options_of_crawl_say_what_the_settings_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["crawl", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for key in ("email", "delay", "scope", "accept_types", "insecure", "links"):
        assert described(SETTINGS[key]) in shown
    assert f"{described(SETTINGS['delay'])} [default: 70s]" in shown


def test_no_removed_setting_is_a_setting() -> None:
    assert {key for key in REMOVED if key in SETTINGS} == set()


def test_a_renamed_setting_has_its_new_name_alone() -> None:
    assert {key for key in RENAMED if key in SETTINGS} == set()
    assert {key for key in RENAMED.values() if key not in SETTINGS} == set()
