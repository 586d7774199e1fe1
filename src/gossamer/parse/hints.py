"""Names that say what an element is for: tags, ARIA roles, and words in classes and ids that templates share.

Authors write these words in English whatever the language of their pages. A word counts only as a whole: `ad` is no
part of `adrail` or `address`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

# Elements that show no text to read, or whose text is a control.
NEVER: Final = frozenset(
    {"script", "style", "noscript", "template", "select", "textarea", "button", "iframe", "object", "svg", "canvas"}
    | {"dialog", "video", "audio", "datalist"}
)
# Elements that are not shown, or that a style may hide: the caller looks at its value.
HIDDEN: Final = ":is([hidden], [aria-hidden=true], [style*=display])"

FURNITURE: Final = frozenset({"nav", "header", "footer", "aside", "menu"})
FURNITURE_ROLES: Final = frozenset(
    {"navigation", "banner", "contentinfo", "complementary", "search", "menu", "menubar", "dialog", "alertdialog"}
    | {"toolbar", "tablist"}
)

# Parts of a page that stand around its text. Two words of a name count together as well: `read-more` is `readmore`.
_WORDS: Final = """
    sidebar sidenav rail aside footer footers foot sitefoot pagefoot masthead navbar nav navs navigation
    subnav topnav navi menu menus submenu topbar toolbar breadcrumb breadcrumbs crumb crumbs bottombar cookie
    cookies consent gdpr popup modal overlay lightbox toast newsletter newsletters subscribe subscription
    signup login signin register sponsor sponsored sponsors advert adverts advertisement advertising
    advertisements ad ads adsense adslot adunit promo promos promotion promoted teaser teasers upsell donate
    donation paywall related recommended recommendation recommendations recommend alsoread readalso readnext
    readmore morestories morenews morearticles morefrom mostread mostpopular mostviewed mostshared trending
    popular latestnews latestposts recentposts recentcomments youmaylike youmightlike maylike mightlike share
    shares sharing sharebar sharedaddy sharebuttons social socials socialmedia addthis addtoany outbrain
    taboola disqus livefyre comment comments commentlist respond trackback trackbacks pingback pingbacks
    widget widgets tagcloud tags taglist posttags pagination paginator pager pagenav pagenumbers skip skiplink
    copyright colophon byline bylines authorbio aboutauthor authorbox authorinfo postmeta entrymeta
    articlemeta meta rating ratings feedback search searchbox searchform print noprint rss sronly
    visuallyhidden screenreadertext hidden banner legal disclaimer backtotop
"""
_AROUND: Final = frozenset(_WORDS.split())
COMMENTS: Final = frozenset({"comment", "comments", "commentlist", "disqus", "livefyre", "respond"})
# Before such a word: the name only says that the other part exists, or not.
_ABOUT: Final = frozenset({"no", "has", "with", "without", "hide", "show", "is"})

_BOUND: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TOKEN: Final = re.compile(r"[a-z]+")


@lru_cache(maxsize=4096)
def word_around(names: str) -> str:
    """Return the word in an element's class or id that marks it as standing around the text; empty if there is none."""
    tokens: list[str] = _TOKEN.findall(_BOUND.sub("-", names).lower())
    before = ""
    for token in tokens:
        if token in _AROUND:
            if before not in _ABOUT:
                return token
        elif before + token in _AROUND:
            return before + token
        before = token
    return ""
