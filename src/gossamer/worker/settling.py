"""What becomes of a URL: what its answer means, tried again or given up, and where that is written down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.politeness.answers import Refused, TryLater, judge_answer, plain_http, retry_wait_s, shows_trouble
from gossamer.politeness.sitemaps import reason_for
from gossamer.records import Failed, Fetched, GivenUp, Link, Reason, Retry
from gossamer.store.warc import encode_exchange
from gossamer.urls import identify
from gossamer.worker.rows import answer_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.politeness.answers import Verdict
    from gossamer.politeness.outage import OutageGuard
    from gossamer.politeness.pace import PaceSettings
    from gossamer.records import Outcome, QueuedUrl
    from gossamer.store.store import Store
    from gossamer.worker.asking import Turn
    from gossamer.worker.desk import Desk
    from gossamer.worker.figures import Figures


class Settler:
    """Settles URLs: every one that a worker was given is, once, with the outcome that its site's owner reports."""

    def __init__(
        self,
        *,
        desk: Desk,
        store: Store,
        figures: Figures,
        outage: OutageGuard,
        pace: PaceSettings,
        wall_clock: Callable[[], float],
    ) -> None:
        self._desk = desk
        self._store = store
        self._figures = figures
        self._outage = outage
        self._pace = pace
        self._wall_clock = wall_clock

    def settle(self, turn: Turn, url: QueuedUrl, outcome: Outcome) -> None:
        """Note what became of a URL, for the next report."""
        self._figures.outcome(outcome)
        self._desk.ledger.note_outcome(turn.site.site, turn.site.epoch, url.url_hash, outcome)

    def judge(self, turn: Turn, url: QueuedUrl, answer: Fetched | Failed) -> Verdict:
        """Tell what an answer means for the page, and note what it means for the site."""
        if not self.excuses(answer):
            turn.site.failures = turn.site.failures + 1 if shows_trouble(answer) else 0
        verdict = judge_answer(answer, tries=url.tries, now_at=self._wall_clock(), settings=self._pace)
        if isinstance(verdict, TryLater | Refused):
            turn.retry_after_s = verdict.retry_after_s
        return verdict

    def excuses(self, answer: Fetched | Failed) -> bool:
        """Tell whether a request failed through an outage of ours, as it seems: then nobody is to pay for it."""
        return isinstance(answer, Failed) and self._outage.excuses(answer.reason)

    def give_up_or_retry(self, turn: Turn, url: QueuedUrl, answer: Fetched | Failed, verdict: Verdict) -> None:
        """Settle a URL whose answer is no page: it is tried again later, or given up."""
        if self.excuses(answer):
            self.settle(turn, url, Retry(wait_s=0, counted=False))
        elif isinstance(verdict, TryLater):
            self.settle(turn, url, Retry(wait_s=verdict.wait_s, counted=verdict.counted))
        elif isinstance(verdict, Refused):
            reason = answer.reason if isinstance(answer, Failed) else Reason.HTTP_ERROR
            if plain := plain_http(url.url, url.host, reason) if url.depth == 0 else "":
                seed = Link(*identify(plain), url.depth, url.rank, seeded=True, via=url.url_hash)
                self._desk.ledger.note_links([seed])
            self.settle(turn, url, GivenUp(reason=reason_for(url, turn.site.hosts.get(url.host), verdict.reason)))

    def settle_after_a_bug(self, turn: Turn, url: QueuedUrl) -> None:
        """Settle a URL that met a bug of ours: it may not meet it again."""
        if url.tries < self._pace.max_tries:
            self.settle(turn, url, Retry(wait_s=retry_wait_s(url.tries, self._pace)))
        else:
            self.settle(turn, url, GivenUp(reason=Reason.INTERNAL_ERROR))

    def archive(self, turn: Turn, url: QueuedUrl, answer: Fetched | Failed) -> None:
        """Keep an answer that is no page: whoever replays the archive needs redirects and errors too."""
        if isinstance(answer, Fetched) and self._store.archives and not answer.type_refused:
            encoded = encode_exchange(answer)
            row = answer_row(url, turn.site.site, answer, encoded.payload_digest)
            self._store.keep_answer(row, encoded.archive, encoded.response_offset)
