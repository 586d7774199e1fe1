"""The rules of a long robots.txt as one text that is searched as it is. Pure.

A long file is needed for many pages, and a worker meets many long files: reading 40,000 rules into memory for each page
would take longer than the page. So the rules are stored sorted: rules that differ only in their text, and are equally
long, form a block. Every line of a block has the same width, hence a binary search needs no reading. A first line
names the blocks: `Blocks: D12x300 A$9x1 G20` are 300 Disallow lines with a literal of 12 characters, one Allow line
with 9 and `$` behind them, and 20 lines with wildcards inside, those of the highest rank first, behind their grams.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple, overload

from gossamer.rules.patterns import GRAM_CHARS, Globs, Matcher, Rule, gram_of, is_glob, literal_of, rank_of, rule_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

BLOCKS: Final = "Blocks: "
_GLOBS: Final = "G"
_GRAMS: Final = "Grams: "
_BLOCK: Final = re.compile(r"([AD])([$*]*)([0-9]+)x([0-9]+)|G([0-9]+)")


# Lines of one kind and one width: their rank, whether they allow, what is behind the literal (`$`, `*`, both, nothing),
# the characters of the literal, how many lines, where the first literal begins, and the width of a line. A plain tuple,
# because a hostile file has thousands of blocks.
_Block = tuple[int, bool, str, int, int, int, int]


class _Layout(NamedTuple):
    """Where the parts of a packed text are."""

    blocks: list[_Block]  # of literals, the highest rank first
    globs: int  # lines with wildcards inside
    globs_start: int


class PackedRules(Sequence[Rule]):
    """Sorted rules as a text, the line of its blocks first."""

    def __init__(self, text: str) -> None:
        self.text = text

    @staticmethod
    def of(rules: Iterable[Rule]) -> PackedRules:
        """Sort and pack rules."""
        blocks: defaultdict[tuple[int, bool, str], list[str]] = defaultdict(list)
        globs = []
        for rule in rules:
            if is_glob(rule.pattern):
                globs.append(rule)
            else:
                chars = len(literal_of(rule.pattern)[0])
                blocks[chars, rule.allow, rule.pattern[chars:]].append(rule.pattern)
        names: list[str] = []
        lines: list[str] = []
        for (chars, allow, suffix), patterns in sorted(blocks.items()):
            names.append(f"{'A' if allow else 'D'}{suffix}{chars}x{len(patterns)}")
            lines += (_head(allow) + pattern for pattern in sorted(patterns))
        if globs:
            globs.sort(key=rank_of, reverse=True)
            names.append(f"{_GLOBS}{len(globs)}")
            lines += (_GRAMS + "".join(map(gram_of, globs)), *map(str, globs))
        return PackedRules("\n".join([BLOCKS + " ".join(names), *lines]))

    def __len__(self) -> int:
        return sum(count for _, _, _, _, count, _, _ in self._layout.blocks) + self.globs

    def __iter__(self) -> Iterator[Rule]:
        return (rule_of(line) for line in self.text.split("\n") if line.startswith(("A", "D")))

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Rule, ...]: ...
    def __getitem__(self, index: int | slice) -> Rule | tuple[Rule, ...]:
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PackedRules) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    @property
    def globs(self) -> int:
        """How many rules have a wildcard inside."""
        return self._layout.globs

    def matcher(self) -> Matcher:
        """Return the matcher of these rules. Of the lines, only those of globs are split."""
        layout = self._layout
        if not layout.globs:
            return Matcher(self, Globs((), ()))
        grams, *lines = self.text[layout.globs_start :].split("\n")
        starts = range(len(_GRAMS), len(grams), GRAM_CHARS)
        return Matcher(self, Globs([grams[start : start + GRAM_CHARS] for start in starts], lines))

    def find(self, path: str) -> tuple[int, Rule | None]:
        """Return the rule without wildcards inside that applies to a path, with its rank."""
        text, path_chars = self.text, len(path)
        for rank, allow, suffix, chars, count, start, width in self._layout.blocks:
            if chars > path_chars or (chars < path_chars and suffix[:1] == "$"):
                continue
            literal = path[:chars]
            if count > 1:
                start += width * bisect_left(range(count - 1), literal, key=_reader(text, start, width, chars))
            if text.startswith(literal, start):
                return rank, Rule(allow, literal + suffix)
        return -1, None

    @cached_property
    def _layout(self) -> _Layout:
        blocks, globs = [], 0
        names, _, _ = self.text.partition("\n")
        start = len(names) + 1
        for kind, suffix, chars_text, count_text, globs_text in _BLOCK.findall(names, len(BLOCKS)):
            if globs_text:
                globs = int(globs_text)
                break
            allow, chars, count = kind == "A", int(chars_text), int(count_text)
            head_chars, pattern_chars = 7 if allow else 10, chars + len(suffix)
            width = head_chars + pattern_chars + 1
            rank = 2 * pattern_chars + allow
            blocks.append((rank, allow, suffix, chars, count, start + head_chars, width))
            start += width * count
        blocks.sort(reverse=True)
        return _Layout(blocks, globs, start)


def _reader(text: str, start: int, width: int, chars: int) -> Callable[[int], str]:
    """Return a function that reads the literal of a line of a block."""
    return lambda line: text[start + line * width : start + line * width + chars]


def _head(allow: bool) -> str:
    """Return what is before the pattern in a line."""
    return "Allow: " if allow else "Disallow: "
