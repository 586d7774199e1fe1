"""All hostile kinds of site, by their names. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer_simweb.hostility.bodies import BODY_KINDS
from gossamer_simweb.hostility.heads import HEAD_KINDS
from gossamer_simweb.hostility.links import LINK_KINDS
from gossamer_simweb.hostility.names_and_tls import NAME_KINDS, TLS_KINDS
from gossamer_simweb.hostility.pages import PAGE_KINDS
from gossamer_simweb.hostility.redirects import REDIRECT_KINDS
from gossamer_simweb.hostility.robots_files import ROBOTS_KINDS
from gossamer_simweb.hostility.sitemap_files import SITEMAP_KINDS

if TYPE_CHECKING:
    from gossamer_simweb.hostility.kind import HostileKind

HOSTILE_KINDS: dict[str, HostileKind] = {
    **ROBOTS_KINDS,
    **PAGE_KINDS,
    **BODY_KINDS,
    **HEAD_KINDS,
    **REDIRECT_KINDS,
    **LINK_KINDS,
    **SITEMAP_KINDS,
    **NAME_KINDS,
    **TLS_KINDS,
}
