"""Words for names and paths, and the text of pages: article paragraphs and the boilerplate around them. Pure.

The text is generated once. A page takes a slice of each pool that starts and ends at the boundary of a piece. So a page
costs only a few copies of bytes, and no two pages have the same text.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from functools import lru_cache
from itertools import accumulate

SITE_WORDS = (
    "amber", "basil", "cedar", "delta", "ember", "fable", "garnet", "hazel", "indigo", "jasper", "kelp",
    "lilac", "maple", "nectar", "olive", "pebble", "quartz", "raven", "saffron", "thistle", "umber", "velvet",
    "willow", "yarrow", "zephyr",
)  # fmt: skip
SUBDOMAINS = ("blog", "docs", "shop", "news")
SECTIONS = ("news", "guides", "people", "archive", "products/all", "en/help")
PAGE_WORDS = (
    "autumn", "bridge", "candle", "dinner", "engine", "forest", "guitar", "harbour", "island", "journey",
    "kitchen", "lantern", "market", "needle", "orchard", "pottery", "quarry", "river", "station", "theatre",
    "valley", "window", "weather", "winter",
)  # fmt: skip
FUNCTION_WORDS = (
    "the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "was", "on", "with", "as", "are", "by",
    "be", "at", "this", "from", "or", "which", "not", "have", "had", "but", "they", "one", "all", "were",
    "when", "there", "can", "an", "their", "more", "if", "will", "about", "up", "out", "so", "only", "into",
    "than",
)  # fmt: skip
SYLLABLES = (
    "ba", "cor", "den", "el", "fi", "gra", "hol", "in", "jen", "kar", "lo", "mer", "na", "or", "pel", "qui",
    "ra", "sto", "ter", "ul", "ven", "wil", "yer", "zon", "bri", "cha", "dro", "est", "flo", "gen", "lin",
    "mar",
)  # fmt: skip
ACCENTED_WORDS = ("café", "naïve", "über", "façade", "crème", "señor", "Ærø", "déjà")
QUOTED_WORDS = ("“quoted”", "it’s", "€100", "Šimek", "œuvre", "so—called")  # windows-1252, not latin-1
JAPANESE_WORDS = (
    "東京", "大阪", "です", "ます", "の", "は", "に", "を", "天気", "電車", "学校", "新聞", "料理", "音楽",
    "写真", "旅行", "カメラ", "テレビ", "ニュース", "今日", "明日", "春", "夏", "秋", "冬", "山", "川", "海",
)  # fmt: skip

_STORE_BYTES = 300_000
_OWN_WORDS = {
    "utf-8": (*ACCENTED_WORDS, *QUOTED_WORDS, "日本", "Ελλάδα", "мир"),
    "iso-8859-1": ACCENTED_WORDS,
    "windows-1252": (*ACCENTED_WORDS, *QUOTED_WORDS),
    "shift_jis": JAPANESE_WORDS,
}


class TextPool:
    """A long text made of pieces; pages take slices of whole pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._text = b"".join(pieces)
        self._ends = list(accumulate(map(len, pieces)))
        self._starts = [0, *self._ends[:-1]]

    def take(self, place: float, size_bytes: int) -> bytes:
        """Return about `size_bytes`, at least one piece, from position `place` in [0, 1); wrap around at the end."""
        start = self._starts[int(place * len(self._starts))]
        parts = []
        while start + size_bytes > len(self._text):
            parts.append(self._text[start:])
            size_bytes -= len(self._text) - start
            start = 0
        if size_bytes > 0 or not parts:
            parts.append(self._text[start : self._ends[bisect_left(self._ends, start + max(size_bytes, 1))]])
        return b"".join(parts)


def prepare(seed: int) -> None:
    """Generate all text now, so that no request waits for it."""
    furniture(seed)
    for charset in _OWN_WORDS:
        articles(seed, charset)


@lru_cache(maxsize=8)
def articles(seed: int, charset: str) -> TextPool:
    """Return paragraphs, headings, lists and figures in a charset."""
    writer = _Writer(seed, charset)
    pieces: list[bytes] = []
    size = 0
    while size < _STORE_BYTES:
        piece = writer.piece().encode(charset)
        pieces.append(piece)
        size += len(piece)
    return TextPool(pieces)


@lru_cache(maxsize=2)
def furniture(seed: int) -> TextPool:
    """Return boilerplate: teasers, forms, images, scripts. It is ASCII and has no links."""
    draw = random.Random(seed)  # noqa: S311
    pieces: list[bytes] = []
    size = 0
    while size < _STORE_BYTES:
        piece = _FURNITURE[draw.randrange(len(_FURNITURE))].format(
            number=draw.randrange(10**6),
            token=f"{draw.getrandbits(96):x}",
            curve=" ".join(f"L{draw.randrange(900)} {draw.randrange(900)}" for _ in range(12)),
        )
        pieces.append(piece.encode())
        size += len(piece)
    return TextPool(pieces)


class _Writer:
    def __init__(self, seed: int, charset: str) -> None:
        self._draw = random.Random(f"{seed} {charset}")  # noqa: S311
        names = ["".join(self._draw.choices(SYLLABLES, k=self._draw.randint(2, 4))) for _ in range(3_000)]
        self._words = [*FUNCTION_WORDS, *_OWN_WORDS[charset], *names]
        weights = [1 / (rank + 3) for rank in range(len(self._words))]  # Zipf
        self._cumulative = list(accumulate(weights))

    def piece(self) -> str:
        way = self._draw.random()
        if way < 0.06:
            return f"<h2>{self._words_in_a_row(5).capitalize()}</h2>\n"
        if way < 0.1:
            items = "".join(f"<li>{self._sentence()}</li>\n" for _ in range(4))
            return f"<ul>\n{items}</ul>\n"
        if way < 0.14:
            picture = f"/static/{self._draw.randrange(999)}.jpg"
            return f'<figure><img src="{picture}" alt="{self._words_in_a_row(4)}"></figure>\n'
        if way < 0.17:
            return f"<blockquote><p>{self._sentence()}</p></blockquote>\n"
        sentences = [self._sentence() for _ in range(self._draw.randint(3, 7))]
        sentences[0] = sentences[0].replace(" ", " <em>", 1).replace(",", "</em>,", 1)
        return f"<p>{' '.join(sentences)}</p>\n"

    def _sentence(self) -> str:
        first = self._words_in_a_row(self._draw.randint(4, 9)).capitalize()
        return f"{first}, {self._words_in_a_row(self._draw.randint(3, 12))}."

    def _words_in_a_row(self, count: int) -> str:
        return " ".join(self._draw.choices(self._words, cum_weights=self._cumulative, k=count))


_FURNITURE = (
    """<div class="teaser teaser--{number}" data-id="{token}">
<img src="/static/{number}.jpg" alt="" loading="lazy">
<div class="teaser__body"><span class="label label--small">{number}</span></div></div>
""",
    """<svg class="icon icon-{number}" viewBox="0 0 900 900" aria-hidden="true">
<path d="M0 0 {curve} Z"/></svg>
""",
    """<script>window.queue=window.queue||[];window.queue.push({{"id":{number},"key":"{token}",
"markup":"<a href=\\"/trap/script-{number}\\">no link</a>"}});</script>
""",
    """<form class="box" action="/static/find" method="get"><label for="q{number}">Find</label>
<input id="q{number}" name="q" type="text" data-token="{token}"><button type="submit">Go</button></form>
""",
    """<style>.c{number}{{margin:0 auto;padding:{number}px;background:url(/static/{token}.png)}}</style>
""",
    """<!-- block {number}: <a href="/trap/comment-{number}">no link either</a> {token} -->
""",
)
