"""What one turn knows and notes while it lasts: the site in hand, the time, and the effects so far. No I/O."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from gossamer.parse.blocks import block_in_error
from gossamer.records import Failed, GivenUp, Link, Reason, RequestKind, Retry, SiteStanding
from gossamer.records.rows import NO_HASH
from gossamer.rules.answers import (
    HANG_UP_S,
    Refused,
    TryLater,
    hang_up_s,
    http_fallback,
    is_answered,
    is_silence,
    judge_answer,
    judge_block,
    retry_wait_s,
    shows_trouble,
)
from gossamer.rules.hosts import NO_ADDRESS, after_silence, answers
from gossamer.rules.pace import (
    FAILURES_BEFORE_BACKOFF,
    TurnWait,
    WaitCause,
    step_gap_s,
    turn_wait,
    with_share,
    with_slowness,
)
from gossamer.rules.scope import FOREIGN_RANK
from gossamer.rules.sitemaps import reason_for
from gossamer.turn.effects import Count, Effects, TurnResult
from gossamer.turn.steps import NO_SLOT, Ask, Missing, Wait
from gossamer.urls import Url

if TYPE_CHECKING:
    from collections.abc import Generator

    from gossamer.records import Fetched, HostState, Outcome, ParseFailed, QueuedUrl
    from gossamer.rules.answers import Verdict
    from gossamer.rules.robots import RobotsRules
    from gossamer.rules.scope import Exclusions, TargetRules
    from gossamer.turn.settings import TurnMemories, TurnSettings
    from gossamer.turn.steps import Asked, Moment, Step, StepInterruptedError
    from gossamer.workbench import SiteInHand


# Why a site backs off whose request we cut short.
CUT_CAUSES: Final = {Reason.CUT_SILENT: WaitCause.SLOT_SHARE, Reason.CUT_LARGE: WaitCause.BYTE_SHARE}

# Why a site backs off whose page came, but was not read.
BUSY_CAUSES: Final = {Reason.PARSER_BUSY: WaitCause.PARSER_SHARE, Reason.LINKS_BUSY: WaitCause.LINK_SHARE}


class Turn:
    """One visit to a site: what it takes to get one page."""

    __slots__ = (
        "_asked_host", "_asking", "_failures_asked", "_failures_before", "_settled", "_silent_asked", "bug",
        "closes_canonical_loop", "crowded_out", "current", "effects", "ended_s", "exclusions", "found_own", "guess",
        "memories", "now", "queued", "response_s", "retry_after_s", "rules", "settings", "silence", "site",
        "troubled_host", "visited", "year",
    )  # fmt: skip

    def __init__(
        self, site: SiteInHand, queued: QueuedUrl, *, settings: TurnSettings, memories: TurnMemories, now: Moment
    ) -> None:
        self.site = site
        self.queued = queued  # the URL that the turn is for
        self.settings = settings
        self.memories = memories
        self.now = now
        self.year = time.gmtime(now.wall_at).tm_year
        self.current = queued  # the URL that it is about now, behind redirects
        self.visited: set[bytes] = {queued.url_hash}
        self.exclusions: Exclusions | None = None  # they do not exclude `current`
        self.rules: RobotsRules | None = None  # they allow `current`
        self.effects = Effects()
        self.ended_s: float | None = None  # when its last request ended; None: it made none
        self.response_s = 0.0  # how long its last answer took
        self.retry_after_s: float | None = None  # what the server asked for
        self.silence: Reason | None = None  # why the last host that did not answer did not
        self.guess: QueuedUrl | None = None  # a URL under https that does not answer, while http is tried
        self.troubled_host = ""  # the host whose last answer showed trouble
        self.found_own = False  # links of the site to itself, or sitemaps of it
        self.closes_canonical_loop = False  # the page's canonical redirects back to it: it is kept after all
        self.crowded_out: WaitCause | None = None  # why the worker turned the site away, if it did
        self.bug: Exception | None = None
        self._asking = False
        self._asked_host = ""  # of its last request
        self._failures_asked = site.failures  # of the site, when that was made
        self._silent_asked = 0  # how often the host had been silent
        self._failures_before = site.failures  # before its last answer
        self._settled: set[bytes] = set()

    @property
    def targets(self) -> TargetRules:
        """To which hosts the crawl goes."""
        return self.settings.scope.targets(self.memories.orders.seed_ports)

    # ------------------------------------------------------------------ requests

    def ask(
        self, url: str, kind: RequestKind, *, page: QueuedUrl, for_links: bool = False, finishing: bool = False
    ) -> Generator[Step, Any, Fetched | Failed | Missing]:
        """Make one request, the step gap after the last; note when it ended and how long its answer took.

        `page` is the URL that the request is for: itself, or one whose robots.txt is asked for.
        """
        if self.ended_s is not None:  # plant: no-step-gap
            self.now = yield Wait(until_s=self.ended_s + step_gap_s(self.settings.pace, self.site.delay_s))
        self._note_asking(page.host)
        is_page = url == page.url
        asked: Asked = yield Ask(
            url=url,
            url_hash=page.url_hash if is_page and kind is RequestKind.PAGE else None,
            host=page.host,
            kind=kind,
            tries=self.tries(page),
            standing=self._standing(page.host),
            exclusions=self.exclusions if is_page else None,
            via=(page.via if is_page else None) or NO_HASH,
            for_links=for_links,
            finishing=finishing,
        )
        self._asking = False
        self.now = asked.moment
        answer = asked.answer
        if isinstance(answer, Missing):
            if answer is NO_SLOT:
                self.crowded_out = WaitCause.SLOT_SHARE
                self.ended_s = asked.moment.clock_s
            return answer
        self.response_s = answer.duration_s
        self.ended_s = asked.moment.clock_s  # plant: delay-from-begin-of-request
        if isinstance(answer, Failed) or answer.type_refused or answer.truncated:
            self.ended_s += hang_up_s(answer, self.site.delay_s)
            if is_silence(answer):
                self.response_s = 0.0
        return answer

    def _note_asking(self, host: str) -> None:
        """Note what is known as a request is made: requests of other turns may end while it is under way."""
        self._asking = True
        self._asked_host, self._failures_asked = host, self.site.failures
        state = self.site.hosts.get(host)
        self._silent_asked = state.silent if state else 0

    def tries(self, url: QueuedUrl) -> int:
        """Return the failures that a URL and its host have behind them."""
        state = self.site.hosts.get(url.host)
        return url.tries + (state.silent if state else 0)

    def _standing(self, host: str) -> SiteStanding:
        """Return what is known of the site and its host before a request."""
        site, state = self.site, self.site.hosts.get(host)
        if site.failures or (state is not None and (state.silent or state.failures)):
            return SiteStanding.FAILED
        return SiteStanding.ANSWERED if site.pages or state is not None else SiteStanding.UNTRIED

    # ------------------------------------------------------------------ what is noted

    def settle(self, url: QueuedUrl, outcome: Outcome) -> None:
        """Note the outcome of a URL. A URL of a turn has at most one."""
        if self.guess is not None and url == self.current != self.guess:  # plant: http-settled-before-it-answers
            return  # http is no URL of the crawl until its host answers: what counts is the guess
        assert url.url_hash not in self._settled, f"{url.url} has an outcome already"
        self._settled.add(url.url_hash)
        self.effects.outcomes[url.url_hash] = outcome

    def note_host(self, state: HostState) -> None:
        """Note what was learned about a host."""
        self.site.hosts[state.host] = state
        self.effects.hosts.append(state)
        self.effects.own_delay_s = self.site.own_delay_s

    def count(self, what: str, kind: str = "", times: int = 1) -> None:
        """Count something for the worker's figures."""
        if times:
            counts, counted = self.effects.counts, Count(what, kind)
            counts[counted] = counts.get(counted, 0) + times

    def take_effects(self) -> Effects:
        """Return the effects so far, to be made durable, and begin anew."""
        effects, self.effects = self.effects, Effects()
        return effects

    def accept(self, url: str) -> bool:
        """Ask the program's hook whether it wants a URL, and note if the hook fails."""
        is_wanted, failure = self.memories.hooks.accept(url)
        if failure:
            self.effects.hook_failures.append(failure)
        return is_wanted

    # ------------------------------------------------------------------ answers that are no page

    def is_excused(self, answer: Fetched | Failed) -> bool:
        """Return whether a request seems to have failed through an outage of our own: then it counts for nothing."""
        return isinstance(answer, Failed) and self.memories.outage.excuses(answer.reason)

    def take_answer(self, url: QueuedUrl, answer: Fetched | Failed) -> Verdict:
        """Note what an answer means for the site and the host; return what it means for the URL."""
        self._failures_before = self.site.failures
        if is_answered(answer) and not (isinstance(answer, Failed) and self.is_excused(answer)):
            in_trouble = shows_trouble(answer)
            # Requests that were under way at once, and failed at once, are one failure.
            self.site.failures = max(self.site.failures, self._failures_asked + 1) if in_trouble else 0
            self.troubled_host = url.host if in_trouble else ""
            state = self.site.hosts.get(url.host)
            if state and state.silent:
                self.note_host(replace(state, silent=0, given_up=None, blocked_s=0.0))
        if isinstance(answer, Failed) and (cause := CUT_CAUSES.get(answer.reason)):
            self.crowded_out = cause
            if answer.reason is Reason.CUT_SILENT:  # from now on it waits among sites that may not answer
                self.site.failures = max(1, self.site.failures)
        if not isinstance(answer, Failed) and not 200 <= answer.status < 300 and (mark := block_in_error(answer)):
            return self.take_block(url, answer, mark)
        verdict = judge_answer(answer, tries=url.tries, now_at=self.now.wall_at, settings=self.settings.pace)
        if isinstance(verdict, TryLater | Refused):
            self.retry_after_s = verdict.retry_after_s  # plant: retry-after-ignored
        return verdict

    def take_block(self, url: QueuedUrl, answer: Fetched, mark: str) -> TryLater | Refused:
        """Note that a protection service sent a page of its own, so that the site backs off at once."""
        self.count("blocked", mark.partition(":")[0])
        self.site.failures = max(self._failures_before, FAILURES_BEFORE_BACKOFF) + 1
        self.troubled_host = url.host
        verdict = judge_block(answer, tries=url.tries, now_at=self.now.wall_at, settings=self.settings.pace)
        self.retry_after_s = verdict.retry_after_s
        return verdict

    def give_up_or_retry(self, url: QueuedUrl, answer: Fetched | Failed, verdict: Verdict) -> None:
        """Settle a URL whose answer is no page: it is tried again later, or given up."""
        if self.is_excused(answer):
            self.settle(url, Retry(wait_s=0, counted=False))  # plant: outage-counts-as-try
        elif isinstance(answer, Failed) and is_silence(answer):
            self.silence = answer.reason
            if http_fallback(url, answer.reason):
                self.guess = url  # its outcome depends on http
            else:
                self._back_off_host(url)
        elif isinstance(verdict, TryLater):
            self.settle(url, Retry(wait_s=verdict.wait_s, counted=verdict.counted))  # plant: retry-without-wait
        elif isinstance(verdict, Refused):
            self.settle(url, GivenUp(reason=reason_for(url, self.site.hosts.get(url.host), verdict.reason)))

    def judge_unread(self, url: QueuedUrl, failed: ParseFailed) -> Outcome:
        """Return the outcome of a page that could not be read; one that waited in vain is fetched again later."""
        if (share := BUSY_CAUSES.get(failed.reason)) is None:
            return GivenUp(reason=reason_for(url, self.site.hosts.get(url.host), failed.reason))
        self.crowded_out = share
        return Retry(wait_s=0.0, counted=False)  # its site waits

    def adopt_guess(self, url: QueuedUrl) -> None:
        """Queue a URL under http in place of the guess under https, now that its host answers."""
        assert self.guess is not None, "a URL under http takes the place of a guess"
        guess, self.guess = self.guess, None
        named = Url(url.url, url.url_hash, self.site.site, url.host)
        self.effects.links.append(Link(*named, url.depth, url.rank, seeded=True, via=guess.url_hash))
        self.settle(guess, GivenUp(reason=Reason.NO_HTTPS))
        self._note_silence(guess.host)

    def drop_guess(self) -> None:
        """If http did not take the place of a guess under https, treat the guess like any URL of a silent host."""
        assert self.guess is not None, "there is a guess to drop"
        guess, self.guess = self.guess, None
        self._back_off_host(guess)

    def _back_off_host(self, url: QueuedUrl) -> None:
        """Let a host that did not answer back off, its URLs with it; give them up if that was its last try."""
        state = self._note_silence(url.host)
        in_hand = self.site.take_urls_of(url.host)  # they stay queued, unless they are given up
        if self.guess is None:  # else the URL under http is not part of the crawl yet
            in_hand.append(url)
        if state.given_up:  # plant: urls-of-given-up-host-kept
            for each in in_hand:
                self.settle(each, GivenUp(reason=state.given_up))

    def _note_silence(self, host: str) -> HostState:
        """Note that a host did not answer. Its site backs off as well only if none of its hosts answers."""
        site, reason = self.site, self.silence
        assert reason is not None, "a host is silent for a reason"
        known = site.hosts.get(host)
        if known is not None and host == self._asked_host and known.silent > self._silent_asked:
            return known  # another request was under way at once: its silence counts for both
        if reason not in NO_ADDRESS and not any(map(answers, site.hosts.values())):
            site.failures += 1
        state = after_silence(known, host=host, reason=reason, settings=self.settings.pace)
        self.note_host(state)
        return state

    # ------------------------------------------------------------------ the end

    def interrupt(self, interrupted: StepInterruptedError) -> None:
        """Take in that a step did not end. A request that was under way may have been made: it counts."""
        if self._asking:  # plant: cancelled-request-forgotten
            self.ended_s = interrupted.moment.clock_s + (HANG_UP_S if self.site.delay_s else 0.0)
        if interrupted.bug is not None:
            self.settle_after_bug(interrupted.bug)

    def settle_after_bug(self, bug: Exception) -> None:
        """Settle the URL that met a bug of ours: it is tried again, because it may not meet the bug again."""
        self.bug = bug
        # While http is tried, the URL of the crawl is the guess.
        url = self.guess or self.current  # plant: bug-settles-first-url
        bug.add_note(f"This happened at {self.current.url}.")  # the log shows it below the traceback
        if url.url_hash in self._settled:
            return
        if url.tries < self.settings.pace.max_tries:
            self.settle(url, Retry(wait_s=retry_wait_s(url.tries, self.settings.pace)))
        else:
            self.settle(url, GivenUp(reason=Reason.INTERNAL_ERROR))

    def result(self) -> TurnResult:
        """Return how the turn ended, and how long its site waits for the next one.

        After a wait longer than the delay, the site is given back with what was in hand of it, so that a crash does
        not forget the wait.
        """
        site = self.site
        if self.ended_s is None:
            return TurnResult(
                effects=self.effects, ended_s=None, wait=TurnWait(0.0, WaitCause.DELAY), bug=self.bug
            )  # fmt: skip
        failures = 0 if self.troubled_host and self._back_off_troubled_host() else site.failures
        share = self._share_wait()
        asked = with_share(self._turn_wait(failures, self.retry_after_s), share=share)
        if asked.wait_s > site.delay_s:
            site.urls.clear()  # they stay queued
        elif self.found_own and self.settings.scope.max_pages_per_site is not None:
            site.drop_foreign(FOREIGN_RANK)  # its own pages come first: the limit must not be spent by strangers
        return TurnResult(
            effects=self.effects,
            ended_s=self.ended_s,
            wait=with_slowness(asked, delay_s=site.delay_s, response_s=self.response_s),
            urgent=(self.retry_after_s or 0.0) > site.delay_s,  # plant: long-wait-not-urgent
            bug=self.bug,
            response_s=self.response_s,
            failed=bool(self.troubled_host or self.silence),
        )

    def _share_wait(self) -> TurnWait | None:
        """Return the wait of a site that took more than its share while others waited; None if it did not."""
        site, shares, now_s = self.site, self.memories.shares, self.now.clock_s
        if self.crowded_out is None and site.site not in shares.uses:
            return None
        cause = self.crowded_out or shares.exceeded(site.site, now_s)
        if cause is None:
            shares.recover(site.site)
            return None
        self.count("share_backoffs", cause.name.lower())
        return TurnWait(shares.back_off(site.site, site.delay_s, now_s), cause)

    def _back_off_troubled_host(self) -> bool:
        """Let a host that is in trouble again and again back off in place of its site; return whether it does.

        It does if another host of the site answers: that one can go on.
        """
        site = self.site
        state = site.hosts.get(self.troubled_host)
        others = [other for name, other in site.hosts.items() if name != self.troubled_host]
        if state is None or not any(answers(other) and not other.blocked_s for other in others):
            return False
        wait_s = self._turn_wait(site.failures, None).wait_s
        if wait_s <= site.delay_s:
            return False
        self.note_host(replace(state, blocked_s=wait_s))
        site.take_urls_of(state.host)
        return True

    def _turn_wait(self, failures: int, retry_after_s: float | None) -> TurnWait:
        site, pace = self.site, self.settings.pace
        return turn_wait(
            pace,
            delay_s=site.delay_s
            if site.delay_s > site.own_delay_s
            else pace.delay_s,  # else its own delay is the cause
            crawl_delay_s=site.own_delay_s,
            retry_after_s=retry_after_s,
            failures=failures,
        )
