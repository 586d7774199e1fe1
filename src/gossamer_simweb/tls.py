"""TLS for the simulated web: an authority of its own, and a certificate per site, made when first needed."""

from __future__ import annotations

import ssl
from collections import OrderedDict
from typing import TYPE_CHECKING

import trustme

from gossamer.urls import site_of_name

if TYPE_CHECKING:
    from pathlib import Path

_MAX_CONTEXTS = 2_000


class Certificates:
    """Gives every site a certificate for its name and its subdomains."""

    def __init__(self, ca_file: Path) -> None:
        self._authority = trustme.CA()
        self._authority.cert_pem.write_to_path(ca_file)
        self._contexts: OrderedDict[str, ssl.SSLContext] = OrderedDict()
        self.context = self._issue("localhost")  # for clients that do not say which host they want
        self.context.sni_callback = self._choose

    def _choose(self, connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        if name is not None:
            connection.context = self._for_site(site_of_name(name))

    def _for_site(self, site: str) -> ssl.SSLContext:
        context = self._contexts.get(site)
        if context is None:
            context = self._contexts[site] = self._issue(site)
            if len(self._contexts) > _MAX_CONTEXTS:
                self._contexts.popitem(last=False)
        return context

    def _issue(self, site: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority.issue_cert(site, f"*.{site}").configure_cert(context)
        return context
