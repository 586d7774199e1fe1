"""The frame of every page: its head, the navigation, and what the browser may do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.serve.markup import Html, address, join, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.serve.markup import Piece
    from gossamer.serve.tokens import Token

# Only scripts and styles that are files of this server; nothing inline, nothing from elsewhere, no frame around it.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; frame-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
PAGES: Final = {"/": "Overview", "/sites": "Sites", "/url": "URL", "/report": "Report"}


def page(
    title: str, content: Piece, *, token: Token | None, path: str = "", crawl: str = "", scripts: Sequence[str] = (),
    has_main: bool = False,
) -> str:  # fmt: skip
    """Return a whole page; `has_main`: the content has its own heading and main part."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title}: {crawl}" if crawl else title),
        tag("link", rel="stylesheet", href="/static/base.css"),
        tag("link", rel="stylesheet", href="/static/serve.css"),
        tag("link", rel="icon", href="/static/icon.svg"),
        [tag("script", src=f"/static/{script}", defer=True) for script in scripts],
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        _top(token, path) if token else None,
        tag("div", content, id="content")
        if has_main
        else tag("main", tag("h1", title), content, id="content", class_="page"),
    )
    return "<!DOCTYPE html>\n" + tag("html", head, body, lang="en")


def _top(token: Token, path: str) -> Html:
    links = [tag("a", name, href=at, aria_current="page" if at == path else None) for at, name in PAGES.items()]
    user = tag(
        "form",
        tag("span", f"{token.name} ({token.role})"),
        tag("button", "Log out", type="submit"),
        method="post",
        action="/logout",
    )
    return tag("header", tag("nav", links, aria_label="Pages"), user, class_="top")


def login(sentence: str = "") -> str:
    """Return the form that asks for a token."""
    return page(
        "Gossamer",
        [
            tag("p", sentence, class_="alarm", role="alert") if sentence else None,
            tag("p", "Paste a token: they are in the file that the dashboard's command named."),
            tag(
                "form",
                tag("label", "Token", for_="token"),
                tag("input", id="token", name="token", type="password", autocomplete="off", required=True),
                tag("button", "Open the dashboard", type="submit"),
                method="post",
                action="/login",
                class_="card login",
            ),
            tag("p", tag("a", "You have logged in before: open the dashboard", href="/")),
        ],
        token=None,
        scripts=("login.js",),
    )  # fmt: skip


def confirm(question: str, what: str, entry: str) -> Html:
    """Return the form that confirms an order."""
    return tag(
        "form",
        tag("p", question),
        tag("input", type="hidden", name="what", value=what),
        tag("input", type="hidden", name="entry", value=entry) if entry else None,
        tag("p", tag("button", f"Yes, {what}", type="submit"), tag("a", "No, go back", href="/", class_="button quiet"),
            class_="orders"),
        method="post",
        action=address("/order"),
        class_="card",
    )  # fmt: skip


def lines(sentences: Piece) -> Html:
    """Return sentences, and a link back."""
    return join([tag("p", sentences, class_="card"), tag("p", tag("a", "To the overview", href="/"))])
