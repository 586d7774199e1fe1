"""A scripted world for turns: answers their steps from tables, and writes down what they asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from gossamer.frontier.batches import RecentLinks
from gossamer.records import (
    Claim,
    Failed,
    Fetched,
    HostState,
    Kind,
    Link,
    Outcome,
    PageRow,
    ParsedPage,
    ParsedRobots,
    ParsedSitemap,
    ParseFailed,
    QueuedUrl,
    Reason,
    RequestKind,
    UrlState,
)
from gossamer.rules.hosts import RobotsSettings, parse_answer
from gossamer.rules.keeping import KeepingSettings
from gossamer.rules.outage import OutageGuard, OutageSettings
from gossamer.rules.pace import PaceSettings
from gossamer.rules.scope import Exclusions, ScopeSettings
from gossamer.rules.sitemaps import SitemapQuota, SitemapSettings
from gossamer.rules.traps import TrapGuard, TrapSettings
from gossamer.rules.url_patterns import UrlPatterns
from gossamer.turn import Effects, Hooks, OperatorOrders, TurnMemories, TurnResult, TurnSettings, take_turn
from gossamer.turn.steps import (
    NOT_SENT,
    Ask,
    Asked,
    AskedElsewhere,
    AskElsewhere,
    Commit,
    Deliver,
    Keep,
    KeepAnswer,
    LookUp,
    LookUpHosts,
    Missing,
    Moment,
    Parse,
    Step,
    StepInterruptedError,
    Wait,
)
from gossamer.urls import identify
from gossamer.workbench import SiteInHand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NOW_AT = 1_800_000_000.0  # Unix seconds
START_S = 1_000.0  # on the worker's clock
RESPONSE_S = 0.05  # how long every answer takes
DELAY_S = 70.0
SITE = "a.test"
HOST = "https://a.test"
AGENT = "gossamer"
OPEN = HostState(host=HOST, rules="", expires_at=NOW_AT + 3_600)  # its robots.txt was read, and allows everything


def queued(url: str = "https://a.test/", **fields: Any) -> QueuedUrl:
    """A URL in hand."""
    named = identify(url)
    given = {"depth": 1, "rank": 0, "hops": 0, "tries": 0, "kind": Kind.PAGE, **fields}
    return QueuedUrl(named.url, named.url_hash, named.host, **given)


def answered(url: str, status: int = 200, *headers: str, body: bytes = b"", **fields: Any) -> Fetched:
    """An answer of a server."""
    head = "\r\n".join([f"HTTP/1.1 {status} Word", "Content-Type: text/html", *headers, "", ""]).encode()
    return Fetched(
        **{
            "url": url, "status": status, "head": head, "body": body, "address": "192.0.2.1", "request_head": b"",
            "started_at": NOW_AT, "duration_s": RESPONSE_S, **fields,
        }
    )  # fmt: skip


def failed(url: str, reason: Reason, **fields: Any) -> Failed:
    """A request that got no usable answer."""
    return Failed(**{"url": url, "reason": reason, "started_at": NOW_AT, "duration_s": RESPONSE_S, **fields})


def parsed(*links: str, row: Mapping[str, Any] | None = None, **fields: Any) -> ParsedPage:
    """What the page process found in a page; `row` are columns that the page itself fills."""
    columns = {"content_type": "text/html", "text": "text", "content_hash": b"0" * 16, **(row or {})}
    given: dict[str, Any] = {
        "row": PageRow(**columns), "links": [identify(link) for link in links], "anchors": (),
        "refresh": "", "noindex": False, "nofollow": False, "noai": False, **fields,
    }  # fmt: skip
    return ParsedPage(**given)


def sitemap(*urls: str, sitemaps: Sequence[str] = (), **fields: Any) -> ParsedSitemap:
    """What the page process found in a sitemap."""
    given: dict[str, Any] = {
        "format": "urlset", "urls": list(urls), "ranks": [0] * len(urls), "sitemaps": list(sitemaps), "refused": 0,
        "cut": "", "archive": b"", "response_offset": 0, "payload_digest": "", **fields,
    }  # fmt: skip
    return ParsedSitemap(**given)


class Request(NamedTuple):
    """A request that the site of a turn got."""

    url: str
    host: str
    kind: RequestKind
    began_s: float
    ended_s: float
    gap_s: float  # that must lie between this one and the one before


@dataclass(slots=True, kw_only=True)
class World:
    """What a turn meets. What is not in a table is ordinary: a page without links, a robots.txt or tdmrep.json that
    is not there.

    `trace` has a line for each step, such as `ask page https://a.test/`, `wait 1.0`, `commit 1 host`.
    """

    answers: Mapping[str, Fetched | Failed | Missing] = field(default_factory=dict)  # by URL
    elsewhere: Mapping[str, Fetched | Failed | float] = field(default_factory=dict)  # by URL; a number: wait so long
    parses: Mapping[str, ParsedPage | ParsedSitemap | ParseFailed | Missing] = field(default_factory=dict)  # by URL
    states: Mapping[str, UrlState | Missing] = field(default_factory=dict)  # what the frontier knows, by URL
    hosts_of: Mapping[str, Sequence[HostState]] = field(default_factory=dict)  # what the frontier knows, by site

    urls: Sequence[QueuedUrl] = (queued(),)  # in hand, the first one is the turn's
    hosts: Sequence[HostState] = (OPEN,)  # that came with the claim
    delay_s: float = DELAY_S
    own_delay_s: float = 0.0
    failures: int = 0
    pages: int = 0

    pace: PaceSettings = field(default_factory=PaceSettings)
    site_delays_s: Mapping[str, float] = field(default_factory=dict)
    robots: RobotsSettings = field(default_factory=RobotsSettings)
    keeping: KeepingSettings = field(default_factory=KeepingSettings)
    scope: ScopeSettings = field(default_factory=ScopeSettings)
    traps: TrapSettings = field(default_factory=TrapSettings)
    sitemaps: SitemapSettings = field(default_factory=SitemapSettings)
    excluded: Sequence[str] = ()  # by the operator, before the turn
    seed_ports: Sequence[int] = ()
    excluded_after: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by a line of the trace: from then on
    stops_after: str = ""  # a line of the trace: from then on, only requests are sent that finish something
    hooks: Hooks = field(default_factory=Hooks)
    committed: Mapping[str, int] = field(default_factory=dict)  # the depth of URLs that the frontier has, by URL
    in_outage: bool = False  # many other sites could not be reached a moment ago
    outage_after: str = ""  # a line of the trace: from then on, no site can be reached
    interrupt_at: int | None = None  # the step, counted from 0, that does not end
    bug: Exception | None = None  # with which it does not; None: it is cancelled

    trace: list[str] = field(default_factory=list)
    commits: list[Effects] = field(default_factory=list)
    kept: list[PageRow] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    interrupted: Step | None = None  # the step that did not end
    clock_s: float = START_S
    site: SiteInHand = field(init=False)
    _orders: OperatorOrders = field(default_factory=OperatorOrders)
    _outage: OutageGuard = field(default_factory=lambda: OutageGuard(OutageSettings(outage_sites=2)))
    _is_stopping: bool = False

    def __post_init__(self) -> None:
        self.site = SiteInHand(
            Claim(
                site=SITE,
                epoch=1,
                delay_s=max(self.delay_s, self.own_delay_s),
                own_delay_s=self.own_delay_s,
                failures=self.failures,
                pages=self.pages,
                urls=tuple(self.urls),
                hosts={state.host: state for state in self.hosts},
            )
        )
        self._exclude(self.excluded)
        self._orders.seed_ports = frozenset(self.seed_ports)

    def play(self) -> TurnResult:
        """Let a site have its turn in this world; return how it ended."""
        turn = take_turn(self.site, settings=self._settings(), memories=self._memories(), now=self._now())
        try:
            step = next(turn)
            while True:
                if len(self.trace) == self.interrupt_at:
                    self.trace.append("interrupted")
                    self.interrupted = step
                    if isinstance(step, Commit):  # reported all the same: only the wait for it does not end
                        self.commits.append(step.effects)
                    turn.throw(StepInterruptedError(self._now(), self.bug))
                    raise AssertionError("a turn that was interrupted takes no further step")
                step = turn.send(self._reply(step))
        except StopIteration as end:
            result: TurnResult = end.value
            return result

    # ------------------------------------------------------------------ steps

    def _reply(self, step: Step) -> object:
        line, reply = self._perform(step)
        self.trace.append(line)
        self._exclude(self.excluded_after.get(line, ()))
        self._is_stopping = self._is_stopping or line == self.stops_after
        if line == self.outage_after:
            self._begin_outage()
        return reply

    def _perform(self, step: Step) -> tuple[str, object]:
        """Return what a step is, as a line, and what comes of it."""
        match step:
            case Wait():
                wait_s = step.until_s - self.clock_s
                self.clock_s = max(self.clock_s, step.until_s)
                return f"wait {wait_s:.2f}", self._now()
            case Ask():
                return f"ask {step.kind} {step.url}", self._ask(step)
            case AskElsewhere():
                return f"ask elsewhere {step.url.url}", self._ask_elsewhere(step)
            case Parse():
                return f"parse {step.kind} {step.answer.url}", self._parse(step)
            case Keep() | KeepAnswer() | Deliver():
                return self._keep(step)
            case LookUp() | LookUpHosts() | Commit():
                return self._exchange(step)

    def _keep(self, step: Keep | KeepAnswer | Deliver) -> tuple[str, object]:
        if isinstance(step, KeepAnswer):
            return f"archive {step.answer.status} {step.answer.url}", None
        if isinstance(step, Deliver):
            return f"deliver {step.row.url}", None
        self.kept.append(step.row)
        return f"keep {step.row.url}", step.row

    def _exchange(self, step: LookUp | LookUpHosts | Commit) -> tuple[str, object]:
        if isinstance(step, LookUp):
            return f"look up {step.url.url}", self.states.get(step.url.url)
        if isinstance(step, LookUpHosts):
            return f"look up hosts of {step.site}", self.hosts_of.get(step.site, ())
        self.commits.append(step.effects)
        return f"commit{' at once' if step.urgent else ''}", None

    def _ask(self, step: Ask) -> Asked:
        is_file = step.kind in (RequestKind.ROBOTS, RequestKind.TDMREP)
        answer = self.answers.get(step.url, answered(step.url, 404 if is_file else 200))
        if not self._may_send(step):
            answer = NOT_SENT
        if not isinstance(answer, Missing):
            began_s, gap_s = self.clock_s, min(self.pace.step_gap_s, self.site.delay_s)
            self.clock_s += answer.duration_s
            self.requests.append(Request(step.url, step.host, step.kind, began_s, self.clock_s, gap_s))
        return Asked(answer=answer, moment=self._now())

    def _may_send(self, step: Ask) -> bool:
        """Return whether the worker would send a request: it does not if it stops, or the operator excludes the URL."""
        if (self._is_stopping and not step.finishing) or self.site.site in self._orders.sites:
            return False
        return step.kind is RequestKind.ROBOTS or not self._orders.exclusions.find(step.url, step.host)

    def _ask_elsewhere(self, step: AskElsewhere) -> AskedElsewhere:
        answer = self.elsewhere.get(step.url.url, answered(step.url.url, 404))
        if isinstance(answer, float):
            return AskedElsewhere(answer=None, wait_s=answer, moment=self._now())
        return AskedElsewhere(answer=answer, keep_s=3_600.0, moment=self._now())

    def _parse(self, step: Parse) -> ParsedPage | ParsedSitemap | ParsedRobots | ParseFailed | Missing:
        if step.kind is RequestKind.ROBOTS:
            failure = self.parses.get(step.answer.url)
            return failure if isinstance(failure, ParseFailed) else parse_answer(step.answer, AGENT)
        is_sitemap = step.kind is RequestKind.SITEMAP
        found = self.parses.get(step.answer.url)
        if found is None or isinstance(found, ParsedPage if is_sitemap else ParsedSitemap | Missing):
            return sitemap() if is_sitemap else parsed()
        return found

    # ------------------------------------------------------------------ what a turn goes by

    def _now(self) -> Moment:
        return Moment(self.clock_s, NOW_AT + self.clock_s - START_S)

    def _settings(self) -> TurnSettings:
        return TurnSettings(
            pace=self.pace,
            site_delays_s=self.site_delays_s,
            robots=self.robots,
            keeping=self.keeping,
            scope=self.scope,
            include=UrlPatterns(self.scope.include),
            traps=self.traps,
            sitemaps=self.sitemaps,
            agent=AGENT,
        )

    def _memories(self) -> TurnMemories:
        if self.in_outage:
            self._begin_outage()
        recent = RecentLinks(places=1 << 10)
        recent.remember(Link(*identify(url), depth) for url, depth in self.committed.items())
        return TurnMemories(
            traps=TrapGuard(self.traps, halvings=8),  # a turn needs little, and megabytes take time
            sitemap_quota=SitemapQuota(self.sitemaps),
            outage=self._outage,
            orders=self._orders,
            hooks=self.hooks,
            recent=recent,
        )

    def _begin_outage(self) -> None:
        for number in range(3):
            self._outage.report(self.clock_s, f"{number}.test", Reason.DNS_FAILED, tries=0)

    def _exclude(self, entries: Sequence[str]) -> None:
        if entries:
            exclusions, bad = Exclusions.parse([*self._orders.exclusions.entries, *entries])
            assert not bad
            self._orders.exclusions, self._orders.sites = exclusions, exclusions.names


def effects_of(world: World, result: TurnResult) -> list[Effects]:
    """Return everything that a turn reported, in order."""
    return [*world.commits, result.effects]


def outcomes_of(world: World, result: TurnResult) -> dict[bytes, Outcome]:
    """Return every outcome that a turn reported, those of its commits included; no URL may have two."""
    found: dict[bytes, Outcome] = {}
    for effects in effects_of(world, result):
        assert not found.keys() & effects.outcomes.keys(), "a URL has two outcomes"
        found |= effects.outcomes
    return found


def links_of(world: World, result: TurnResult) -> list[Link]:
    """Return every link that a turn reported, in order."""
    return [link for effects in effects_of(world, result) for link in effects.links]
