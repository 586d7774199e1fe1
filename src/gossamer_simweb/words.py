"""The words that names, paths and texts of the simulated web are made of."""

from __future__ import annotations

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
