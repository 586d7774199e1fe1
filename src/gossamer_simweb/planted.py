"""The planted part of a simulated web: hosts and pages that a test wrote by hand. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gossamer_simweb.robots import NO_ROBOTS, Robots, RobotsGroup

if TYPE_CHECKING:
    from gossamer_simweb.spec import PlantedPage, WebSpec


class PlantedWeb:
    """Planted hosts, pages and robots.txt files, with the server's ports filled in."""

    def __init__(self, spec: WebSpec, *, port: int, tls_port: int) -> None:
        self._pages: dict[tuple[str, str], PlantedPage] = {}
        ports = {"{port}": str(port), "{tls_port}": str(tls_port)}
        for page in spec.planted:
            self._pages[page.host, page.path] = _fill_in(page, ports)
        self._robots = {
            planted.host: Robots(
                status=planted.status,
                groups=(RobotsGroup("*", planted.rules),),
                crawl_delay_s=planted.crawl_delay_s,
                sitemaps=tuple(_text(url, ports) for url in planted.sitemaps),
            )
            for planted in spec.planted_robots
        }
        self.names = frozenset({page.host for page in spec.planted} | self._robots.keys())
        self._numbers = {name: number for number, name in enumerate(sorted(self.names))}

    def place(self, name: str) -> str:
        """Return the last three numbers of a planted host's address. A `PlantedName` overrides them."""
        return f"0.{1 + self._numbers[name] // 254}.{1 + self._numbers[name] % 254}"

    def find(self, name: str, target: str) -> PlantedPage | None:
        """Return the planted page at a path with its query; None if there is none."""
        return self._pages.get((name, target))

    def robots(self, name: str) -> Robots:
        """Return the robots.txt of a planted host."""
        return self._robots.get(name, NO_ROBOTS)


def _text(value: str, ports: dict[str, str]) -> str:
    for mark, port in ports.items():
        value = value.replace(mark, port)
    return value


def _fill_in(page: PlantedPage, ports: dict[str, str]) -> PlantedPage:
    body = page.body
    for mark, port in ports.items():
        body = body.replace(mark.encode(), port.encode())
    return replace(
        page,
        headers=tuple((name, _text(value, ports)) for name, value in page.headers),
        body=body,
        links=tuple(_text(link, ports) for link in page.links),
        sitemaps=tuple(_text(url, ports) for url in page.sitemaps),
        leads_to=_text(page.leads_to, ports) if page.leads_to is not None else None,
    )
