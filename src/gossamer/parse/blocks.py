"""Recognises pages that are not the page: challenges and refusals that a protection service sends in its place. Pure.

Only strong marks count, because articles about these services quote their words. A mark is a header that a service
sends with such an answer alone, or a form of page: its title together with its markup (scripts, ids), or markup that is
found nowhere else, on a page that has hardly any text. `docs/blocks.md` lists them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gossamer.inflate import NotInflated, inflate
from gossamer.parse.head import read_head

if TYPE_CHECKING:
    from gossamer.records import Fetched

MAX_SOURCE_CHARS: Final = 200_000  # a longer document is no challenge; of an error's body, this much is read
MAX_TEXT_CHARS: Final = 1_500  # of a page with a known title
MAX_BARE_TEXT_CHARS: Final = 400  # of a page that is known by its markup alone
MAX_TITLE_CHARS: Final = 120  # longer titles are not looked up

_TITLE: Final = re.compile(r"<title[^>]*>([^<]{0,500})", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderMark:
    """A header that a service sends only when it does not send the page."""

    service: str
    header: re.Pattern[bytes]
    is_error: bool = False  # it counts only with a status of 400 and above


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMark:
    """A form of page: every one of `needs` is in its source."""

    service: str
    titles: tuple[str, ...] = ()  # in lower case, as the beginning of the title; without any, the markup is enough
    needs: tuple[str | tuple[str, ...], ...]  # in a tuple, one of them is enough
    is_error: bool = False  # it counts only with a status of 400 and above
    max_chars: int = MAX_SOURCE_CHARS  # of the source


def _header(line: str) -> re.Pattern[bytes]:
    return re.compile(rb"^" + line.encode() + rb"\s*$", re.IGNORECASE | re.MULTILINE)


HEADER_MARKS: Final = (
    HeaderMark(service="Cloudflare", header=_header(r"cf-mitigated:[ \t]*challenge")),
    HeaderMark(service="Cloudflare", header=_header(r"cf-chl-bypass:[ \t]*1"), is_error=True),
    HeaderMark(service="AWS WAF", header=_header(r"x-amzn-waf-action:[ \t]*(?:challenge|captcha)")),
    HeaderMark(service="Vercel", header=_header(r"x-vercel-mitigated:[ \t]*(?:challenge|deny)")),
    HeaderMark(service="Vercel", header=_header(r"x-vercel-challenge-token:[^\r\n]+")),
    HeaderMark(service="Sucuri", header=_header(r"x-sucuri-block:[^\r\n]+")),
    HeaderMark(service="Kasada", header=_header(r"x-kpsdk-(?:ct|r|c|st):[^\r\n]+"), is_error=True),
    HeaderMark(service="DataDome", header=_header(r"x-dd-b:[ \t]*[12]"), is_error=True),
    HeaderMark(service="SiteGround", header=_header(r"sg-captcha:[ \t]*challenge")),
    HeaderMark(
        service="Radware", header=_header(r"location:[ \t]*https?://(?:validate|captcha)\.perfdrive\.com/[^\r\n]*")
    ),
    HeaderMark(service="DataDome", header=_header(r"location:[ \t]*https?://geo\.captcha-delivery\.com/[^\r\n]*")),
    HeaderMark(service="Google", header=_header(r"location:[ \t]*https?://www\.google\.[a-z.]+/sorry/[^\r\n]*")),
    HeaderMark(service="Yandex", header=_header(r"x-yandex-captcha:[ \t]*captcha")),
)

PAGE_MARKS: Final = (
    PageMark(service="Cloudflare", needs=("_cf_chl_opt", "/cdn-cgi/challenge-platform/")),
    PageMark(
        service="Cloudflare",
        titles=(
            "just a moment",
            "please wait... | cloudflare",
            "attention required! | cloudflare",
            "checking your browser",
        ),
        needs=(("cf-browser-verification", "cf_chl_", "cf-chl-", "challenge-platform", "cf-error-details", "jschl"),),
    ),
    PageMark(
        service="Cloudflare",
        titles=("access denied | ", "attention required! | cloudflare", "ddos protection by cloudflare"),
        needs=("cf-error-details", ("cf-wrapper", "ray id", "cf-footer-item")),
    ),
    PageMark(
        service="Akamai",
        titles=("access denied",),
        needs=("You don't have permission to access", "Reference&#32;&#35;"),
    ),
    PageMark(
        service="Akamai",
        titles=("access denied",),
        needs=("You don't have permission to access", "Reference #"),
        is_error=True,
    ),
    PageMark(service="Akamai", needs=("/_sec/cp_challenge/", ("sec-if-cpt-container", "sec-cpt-if"))),
    PageMark(service="Akamai", needs=("bm-verify", "triggerInterstitialChallenge")),
    PageMark(service="Imperva", needs=("/_Incapsula_Resource?", ("Incapsula incident ID", "incident_id="))),
    PageMark(service="Imperva", needs=("/_Incapsula_Resource?SWJIYLWA",), max_chars=1_500),  # others load it too
    PageMark(
        service="Imperva",
        titles=("pardon our interruption",),
        needs=(
            (
                "distil",
                "onProtectionInitialized",
                "reeseSkipExpirationCheck",
                "made us think you were a bot",
                "made us think you might be a bot",
            ),
        ),
    ),
    PageMark(service="Distil", needs=("distil_r_captcha", "distilCaptchaForm")),
    PageMark(service="DataDome", needs=("var dd={", ("captcha-delivery.com", "datado.me", "datadome"))),
    PageMark(
        service="HUMAN",
        titles=(
            "access to this page has been denied",
            "human verification",
            "please verify you are a human",
            "access denied",
        ),
        needs=(
            ("window._pxAppId", "px-captcha"),
            ("_pxVid", "_pxUuid", "_pxAppId", "captcha.px-cdn.net", "captcha.px-cloud.net"),
        ),
    ),
    PageMark(service="Sucuri", titles=("you are being redirected",), needs=(("sucuri_cloudproxy_js", "sucuricp"),)),
    PageMark(
        service="Sucuri",
        titles=("sucuri website firewall", "access denied - godaddy website firewall"),
        needs=(("cloudproxy@sucuri.net", "sucuri.net", "godaddy"), ("Block ID", "block-details", "Your IP")),
    ),
    PageMark(service="AWS WAF", needs=("gokuProps", "awswaf.com")),
    PageMark(service="AWS WAF", titles=("human verification", "just a moment"), needs=("captcha.awswaf.com",)),
    PageMark(
        service="CloudFront",
        titles=("error: the request could not be satisfied",),
        needs=("Request blocked.", "Generated by cloudfront"),
        is_error=True,
    ),
    PageMark(service="F5", titles=("request rejected",), needs=("The requested URL was rejected.", "support ID is")),
    PageMark(service="F5", needs=("/TSPD/", "Please enable JavaScript to view the page content.")),
    PageMark(service="Kasada", needs=("KPSDK", "/ips.js?")),
    PageMark(
        service="DDoS-Guard",
        titles=("ddos-guard",),
        needs=(("/.well-known/ddos-guard/", "check.ddos-guard.net", "js-challenge"),),
    ),
    PageMark(
        service="Vercel",
        titles=("vercel security checkpoint",),
        needs=(("/.well-known/vercel/security/", "Vercel Security Checkpoint"),),
    ),
    PageMark(service="Reblaze", needs=("window.rbzns", ("winsocks(", "rbzid"))),
    PageMark(
        service="Radware",
        titles=(
            "radware captcha page",
            "radware page",
            "shieldsquare captcha",
            "shieldsquare block",
            "bot manager captcha",
            "bot manager block",
        ),
        needs=(("perfdrive.com", "shieldsquare", "captcha.js", "g-recaptcha", "h-captcha"),),
    ),
    PageMark(service="Radware", titles=("unauthorized request blocked",), needs=("CloudWebSec@radware.com",)),
    PageMark(service="Fastly", titles=("client challenge",), needs=("/_fs-ch-",)),
    PageMark(
        service="StackPath", titles=("stackpath",), needs=("security service for protection against online attacks",)
    ),
    PageMark(service="StackPath", needs=("/sbbi/?sbbpg=",)),
    PageMark(service="Anubis", needs=("anubis_challenge", "/.within.website/x/cmd/anubis/")),
    PageMark(
        service="Anubis",
        titles=("making sure you're not a bot", "making sure you&#39;re not a bot"),
        needs=("/.within.website/",),
    ),
    PageMark(service="go-away", needs=("/.well-known/.git.gammaspectra.live/git/go-away/",)),
    PageMark(service="Google", needs=("unusual traffic from your computer network", 'id="captcha-form"')),
    PageMark(
        service="Yandex",
        titles=("are you not a robot", "вы не робот", "ой!", "oops!"),
        needs=(("/checkcaptcha", "/showcaptcha", "SmartCaptcha"),),
    ),
    PageMark(service="Baidu", titles=("百度安全验证",), needs=(("wappass.baidu.com", "/static/antispam", "captcha"),)),
    PageMark(service="Alibaba", needs=("acw_sc__v2", "arg1=")),
    PageMark(service="Qrator", needs=("/__qrator/qauth",)),
    PageMark(service="ArvanCloud", needs=("__arcsjs",)),
    PageMark(
        service="Azure WAF",
        titles=("azure waf",),
        needs=(("JS challenge", "jschallenge", "js-challenge", "x-azure-ref", "captcha"),),
    ),
    PageMark(service="SiteGround", needs=("/.well-known/sgcaptcha/",)),
    PageMark(service="SiteGround", titles=("robot challenge screen",), needs=(("sgcaptcha", "/.well-known/captcha/"),)),
    PageMark(service="Imunify360", needs=("imunify360", ("wsidchk", "bot-protection", "is-captcha"))),
    PageMark(
        service="Imunify360",
        titles=("one moment, please",),
        needs=("Please wait while your request is being verified",),
    ),
    PageMark(service="LiteSpeed", needs=("/.lsrecap/recaptcha",)),
    PageMark(
        service="Wordfence", titles=("your access to this site has been limited",), needs=("Wordfence",), is_error=True
    ),
    PageMark(service="testcookie", needs=("slowAES.decrypt(", "toNumbers(", 'document.cookie="')),
)

# A cheap test for most heads: one of these is in every head that has a mark.
_HINTS: Final = (
    b"mitigated", b"cf-chl-bypass", b"x-amzn-waf", b"x-vercel-challenge", b"x-sucuri-block", b"x-kpsdk", b"x-dd-b",
    b"captcha", b"perfdrive", b"/sorry/",
)  # fmt: skip
_KNOWN_TITLES: Final = tuple({title for mark in PAGE_MARKS for title in mark.titles})


def block_in_head(head: bytes, status: int) -> str:
    """Return the header by which a service says that this is not the page; empty if there is none."""
    lowered = head.lower()
    if not any(hint in lowered for hint in _HINTS):
        return ""
    for mark in HEADER_MARKS:
        if (status >= 400 or not mark.is_error) and (found := mark.header.search(head)):
            name, _, value = found[0].decode("latin-1").partition(":")
            return f"{mark.service}: header {name.lower()}: {value.strip()[:60]}".rstrip(": ")
    return ""


def block_in_page(source: str, *, title: str, text: str, status: int = 200) -> str:
    """Return the mark of a document that stands in place of the page; empty if it seems to be the page."""
    if len(text) > MAX_TEXT_CHARS or len(source) > MAX_SOURCE_CHARS:
        return ""
    title = " ".join(title.lower().replace("’", "'").replace("…", "...").split())
    is_known = title.startswith(_KNOWN_TITLES)
    # A page of a service without a title of its own has none, or the name of the host.
    is_bare = len(text) <= MAX_BARE_TEXT_CHARS and len(title) <= MAX_TITLE_CHARS
    if not (is_known or is_bare):
        return ""
    for mark in PAGE_MARKS:
        if (mark.is_error and status < 400) or len(source) > mark.max_chars:
            continue
        if (not mark.titles and is_bare) or (mark.titles and title.startswith(mark.titles)):
            found = [_found(need, source) for need in mark.needs]
            # A page that shows all of it to its readers is about such pages, unless it says nothing else.
            if all(found) and not (len(text) > MAX_BARE_TEXT_CHARS and all(word in text for word in found)):
                words = [f"title {title[:60]!r}"] if mark.titles else []
                return f"{mark.service}: {', '.join(words + found)}"
    return ""


def block_in_error(answer: Fetched) -> str:
    """Return the mark of an answer that is no page by its status; empty if it seems to be the site's own answer."""
    found = block_in_head(answer.head, answer.status)
    if found or not answer.body:
        return found
    inflated = inflate(answer.body, read_head(answer.head).encodings, max_bytes=MAX_SOURCE_CHARS)
    if isinstance(inflated, NotInflated):
        return ""
    source = inflated.body.decode("utf-8", "replace")
    title = _TITLE.search(source)
    return block_in_page(source, title=title[1] if title else "", text="", status=answer.status)


def _found(need: str | tuple[str, ...], source: str) -> str:
    for word in (need,) if isinstance(need, str) else need:
        if word in source:
            return word
    return ""
