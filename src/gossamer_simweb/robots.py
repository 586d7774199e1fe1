"""robots.txt files as data: their rules, their text, and what they allow. Pure.

Nothing here parses a robots.txt: the judge knows the rules because this package made them. Rules are plain path
prefixes without wildcards, and the longest match decides, so that there is only one interpretation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

ROBOTS_PATH = "/robots.txt"
TDMREP_PATH = "/.well-known/tdmrep.json"  # what a host reserves, by the TDM Reservation Protocol; planted, or a 404
MOVED_PATH = "/policy/robots.txt"  # where robots.txt redirects on hosts that moved it

_POLICY_FOLDER = "/policy/"


def policy_path(name: str) -> str:
    """Return the path at which another site serves the robots.txt of a host."""
    return f"{_POLICY_FOLDER}{name}{ROBOTS_PATH}"


def policy_name(target: str) -> str:
    """Return the host whose robots.txt another site serves at a path; empty if there is none."""
    is_policy = target.startswith(_POLICY_FOLDER) and target.endswith(ROBOTS_PATH) and target != MOVED_PATH
    return target[len(_POLICY_FOLDER) : -len(ROBOTS_PATH)] if is_policy else ""


class RobotsGroup(NamedTuple):
    """The rules of a robots.txt for one crawler."""

    token: str  # `*`: every crawler without a group of its own
    rules: tuple[tuple[bool, str], ...] = ()  # (allow, path prefix)

    def allows(self, target: str) -> bool:
        """Return whether a path with its query is allowed: the longest matching prefix decides; without one, it is."""
        fitting = [(len(prefix), allow) for allow, prefix in self.rules if target.startswith(prefix)]
        return max(fitting, default=(0, True))[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Robots:
    """The robots.txt of one host."""

    status: int = 200  # 404: everything is allowed; 429 and 5xx: nothing is
    moved: bool = False  # answered by a redirect to MOVED_PATH
    elsewhere: tuple[str, ...] = ()  # URLs on other sites to which it redirects in turn; the last one has the file
    groups: tuple[RobotsGroup, ...] = ()
    crawl_delay_s: float | None = None  # the same in every group
    sitemaps: tuple[str, ...] = ()  # URLs that it names
    ignored_sitemaps: tuple[str, ...] = ()  # URLs that it names on sites that it does not govern

    def allows(self, token: str, target: str) -> bool:
        """Return whether the crawler with the name `token` may request a path."""
        if self.status == 429 or self.status >= 500:
            return False
        if self.status != 200 or target == ROBOTS_PATH:
            return True
        by_token = {group.token.lower(): group for group in self.groups}
        group = by_token.get(token.lower()) or by_token.get("*")
        return group is None or group.allows(target)

    def text(self) -> bytes:
        """Return the file as the server sends it."""
        lines = ["# Who may ask for what", ""]
        for group in self.groups:
            lines.append(f"User-agent: {group.token}")
            lines += [f"{'Allow' if allow else 'Disallow'}: {prefix}" for allow, prefix in group.rules]
            if not group.rules:
                lines.append("Disallow:")
            if self.crawl_delay_s is not None:
                lines.append(f"Crawl-delay: {self.crawl_delay_s:g}")
            lines.append("")
        lines += [f"Sitemap: {url}" for url in (*self.sitemaps, *self.ignored_sitemaps)]
        return "\n".join(lines).encode()


NO_ROBOTS = Robots(status=404)

_FOR_ALL = ((False, "/private/"), (True, "/private/open/"))
_BANNED = RobotsGroup("BadBot", ((False, "/"),))


def robots_for_all(*, moved: bool, crawl_delay_s: float | None) -> Robots:
    """Return a robots.txt with the same rules for every crawler, except for one that it bans."""
    groups = (RobotsGroup("*", _FOR_ALL), _BANNED)
    return Robots(moved=moved, groups=groups, crawl_delay_s=crawl_delay_s)


def robots_for_token(token: str, *, strict: bool, moved: bool, crawl_delay_s: float | None) -> Robots:
    """Return a robots.txt that is stricter to the crawler `token` than to others, or less strict."""
    members_too = (*_FOR_ALL, (False, "/members/"))
    named = RobotsGroup(token, members_too if strict else ())
    others = RobotsGroup("*", _FOR_ALL if strict else members_too)
    groups = (named, _BANNED, others) if strict else (others, _BANNED, named)
    return Robots(moved=moved, groups=groups, crawl_delay_s=crawl_delay_s)
