"""HTML that is safe by construction: only this module makes markup, and it escapes every text and attribute."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlencode

from gossamer.wording import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

Piece: TypeAlias = "str | Iterable[Piece] | None"  # text of any origin, or markup; None is left out
_VOID: Final = frozenset({"br", "hr", "img", "input", "link", "meta"})


class Html(str):
    """Markup that was made here; any other string is text."""

    __slots__ = ()


def tag(name: str, /, *content: Piece, **attributes: str | bool | None) -> Html:
    """Return an element. Content that is not markup is escaped.

    An attribute is written `class_`, `aria_label` and so on. Links lead only to paths of this server.
    """
    for of_link in ("href", "src", "action"):
        target = attributes.get(of_link)
        if target is not None and not (isinstance(target, str) and _is_own(target)):
            raise ValueError(f"{of_link}={target!r} leads away from this server")
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(content)}</{name}>")


def join(pieces: Iterable[Piece]) -> Html:
    """Return pieces one after the other, as markup."""
    return Html("".join(map(_written, pieces)))


def address(path: str, **parameters: str) -> str:
    """Return a path of this server with a query."""
    given = {name: value for name, value in parameters.items() if value}
    return f"{path}?{urlencode(given)}" if given else path


def trusted(markup: str) -> Html:
    """Return markup of the report, which escapes everything itself."""
    return Html(markup)


def _is_own(target: str) -> bool:
    return target.startswith(("/", "#")) and not target.startswith(("//", "/\\"))


def _attribute(key: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(plain(value))}"'


def _written(piece: Piece) -> str:
    if piece is None:
        return ""
    if isinstance(piece, Html):
        return piece
    if isinstance(piece, str):
        return escape("\n".join(map(plain, piece.split("\n"))))
    return join(piece)
