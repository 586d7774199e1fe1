"""What becomes of a URL: what its answer means, tried again or given up, and where that is written down."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gossamer.records import Failed, Fetched, GivenUp, Link, Reason, Retry
from gossamer.rules.answers import Refused, TryLater, judge_answer, plain_http, retry_wait_s, shows_trouble
from gossamer.rules.hosts import NO_ADDRESS, after_silence, answers, is_answered, is_silence
from gossamer.rules.pace import turn_wait_s
from gossamer.rules.sitemaps import reason_for
from gossamer.store.warc import encode_exchange
from gossamer.urls import Url
from gossamer.worker.rows import answer_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.records import HostState, Outcome, QueuedUrl
    from gossamer.rules.answers import Verdict
    from gossamer.rules.outage import OutageGuard
    from gossamer.rules.pace import PaceSettings
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
        """Tell what an answer means for the page, and note what it means for the site and the host."""
        if is_answered(answer) and not self.excuses(answer):
            in_trouble = shows_trouble(answer)
            turn.site.failures = turn.site.failures + 1 if in_trouble else 0
            turn.troubled_host = url.host if in_trouble else ""
            state = turn.site.hosts.get(url.host)
            if state and state.silent:
                self._note_host(turn, replace(state, silent=0, given_up=None, blocked_s=0.0))
        verdict = judge_answer(answer, tries=url.tries, now_at=self._wall_clock(), settings=self._pace)
        if isinstance(verdict, TryLater | Refused):
            turn.retry_after_s = verdict.retry_after_s  # plant: retry-after-ignored
        return verdict

    def excuses(self, answer: Fetched | Failed) -> bool:
        """Tell whether a request failed through an outage of ours, as it seems: then nobody is to pay for it."""
        return isinstance(answer, Failed) and self._outage.excuses(answer.reason)

    def give_up_or_retry(self, turn: Turn, url: QueuedUrl, answer: Fetched | Failed, verdict: Verdict) -> None:
        """Settle a URL whose answer is no page: it is tried again later, or given up."""
        if self.excuses(answer):
            self.settle(turn, url, Retry(wait_s=0, counted=False))  # plant: outage-counts-as-try
        elif isinstance(answer, Failed) and is_silence(answer):
            turn.silence = answer.reason
            if plain_http(url, answer.reason):
                turn.guess = url  # what becomes of it depends on http
            else:
                self._back_off(turn, url)
        elif isinstance(verdict, TryLater):
            self.settle(turn, url, Retry(wait_s=verdict.wait_s, counted=verdict.counted))  # plant: retry-without-wait
        elif isinstance(verdict, Refused):
            self.settle(turn, url, GivenUp(reason=reason_for(url, turn.site.hosts.get(url.host), verdict.reason)))

    def _back_off(self, turn: Turn, url: QueuedUrl) -> None:
        """Let a host that did not answer back off, its URLs with it; give them up if that was its last try."""
        state = self._note_silence(turn, url.host)
        in_hand = turn.site.take_urls_of(url.host)  # they stay queued, unless they are given up
        if turn.guess is None:  # else it is no URL of the crawl yet
            in_hand.append(url)
        if state.given_up:
            for each in in_hand:
                self.settle(turn, each, GivenUp(reason=state.given_up))

    def _note_silence(self, turn: Turn, host: str) -> HostState:
        """Note that a host did not answer. Its site backs off as well only if none of its hosts answers."""
        site, reason = turn.site, turn.silence
        assert reason is not None, "a host is silent for a reason"
        if reason not in NO_ADDRESS and not any(map(answers, site.hosts.values())):
            site.failures += 1
        state = after_silence(site.hosts.get(host), host=host, reason=reason, settings=self._pace)
        self._note_host(turn, state)
        return state

    def back_off_troubled(self, turn: Turn) -> bool:
        """Let a host that is in trouble again and again back off in place of its site; tell whether it does.

        It does if another host of the site answers: that one can go on.
        """
        site = turn.site
        state = site.hosts.get(turn.troubled_host)
        others = [other for name, other in site.hosts.items() if name != turn.troubled_host]
        if state is None or not any(answers(other) and not other.blocked_s for other in others):
            return False
        wait_s = turn_wait_s(
            self._pace, delay_s=site.delay_s, crawl_delay_s=site.own_delay_s, retry_after_s=None, failures=site.failures
        )
        if wait_s <= site.delay_s:
            return False
        self._note_host(turn, replace(state, blocked_s=wait_s))
        site.take_urls_of(state.host)
        return True

    def adopt(self, turn: Turn, url: QueuedUrl) -> None:
        """Queue a URL under http in place of the guess under https, now that its host answers."""
        if turn.guess is None:
            return
        guess, turn.guess = turn.guess, None
        named = Url(url.url, url.url_hash, turn.site.site, url.host)
        self._desk.ledger.note_links([Link(*named, url.depth, url.rank, seeded=True, via=guess.url_hash)])
        self.settle(turn, guess, GivenUp(reason=Reason.NO_HTTPS))
        self._note_silence(turn, guess.host)

    def drop_guess(self, turn: Turn) -> None:
        """Treat a guess under https like any URL of a host that did not answer, if http did not take its place."""
        if turn.guess is not None:
            guess, turn.guess = turn.guess, None
            self._back_off(turn, guess)

    def _note_host(self, turn: Turn, state: HostState) -> None:
        site = turn.site
        site.hosts[state.host] = state
        self._desk.ledger.note_host(site.site, site.epoch, state, own_delay_s=site.own_delay_s)

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
