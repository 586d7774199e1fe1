"""The judge, with logs written by hand: every rule about turns and gaps, and every kind of fault."""

from __future__ import annotations

import pytest

from gossamer_simweb import ExpectedCrawl, LoggedRequest, Verdict, judge
from gossamer_simweb.log import format_line, parse_log

SITE = "http://a.test:8080"
WWW = "http://www.a.test:8080"
OTHER = "http://b.test:8080"
TDMREP = f"{SITE}/.well-known/tdmrep.json"
DELAY_S = 10.0
INNER_S = 1.0


class Log:
    """Writes a log request by request; each begins `gap_s` after the one before ended and takes 0.5 s."""

    def __init__(self) -> None:
        self.requests: list[LoggedRequest] = []
        self._now = 100.0

    def add(self, url: str, gap_s: float, status: int = 200, leads_to: str = "", wait_s: float = 0.0) -> Log:
        scheme, _, rest = url.partition("://")
        host, slash, path = rest.partition("/")
        arrived = self._now + gap_s
        self._now = arrived + 0.5
        kind = "robots" if path.endswith("robots.txt") else "tdmrep" if path.endswith("tdmrep.json") else "page"
        retryable = status == 429 or status >= 500
        self.requests.append(
            LoggedRequest(arrived, self._now, kind, "GET", scheme, host, slash + path, status, 9, leads_to, wait_s,
                    retryable, "x", url)
        )  # fmt: skip
        return self

    def judge(self, expected: ExpectedCrawl | None = None, **options: float) -> Verdict:
        return judge(self.requests, delay_s=DELAY_S, expected=expected, **options)  # type: ignore[arg-type]


def start() -> Log:
    """A first turn: robots.txt and a page."""
    return Log().add(f"{SITE}/robots.txt", 0).add(f"{SITE}/1", INNER_S)


def early_urls(log: Log) -> list[str]:
    return [fault.url for fault in log.judge().early]


def test_a_new_turn_needs_the_delay_from_the_end_of_the_last_request() -> None:
    assert start().add(f"{SITE}/2", DELAY_S).judge().ok
    verdict = start().add(f"{SITE}/2", DELAY_S - 0.001).judge()
    (fault,) = verdict.early
    assert not verdict.ok
    assert (fault.url, fault.site, fault.new_turn) == (f"{SITE}/2", "a.test", True)
    assert fault.gap_s == pytest.approx(DELAY_S - 0.001)
    assert fault.needed_s == DELAY_S


def test_hosts_of_a_site_share_its_turns_and_sites_do_not() -> None:
    assert early_urls(start().add(f"{WWW}/robots.txt", 3)) == [f"{WWW}/robots.txt"]
    assert early_urls(start().add(f"{OTHER}/robots.txt", 0)) == []


def test_a_page_continues_the_robots_txt_of_its_host_after_the_inner_gap() -> None:
    assert early_urls(Log().add(f"{SITE}/robots.txt", 0).add(f"{SITE}/1", INNER_S - 0.001)) == [f"{SITE}/1"]
    assert early_urls(Log().add(f"{SITE}/robots.txt", 0).add(f"{WWW}/1", INNER_S)) == [f"{WWW}/1"]


def test_only_one_page_continues_a_robots_txt() -> None:
    assert early_urls(start().add(f"{SITE}/2", INNER_S)) == [f"{SITE}/2"]


def test_no_page_continues_a_robots_txt_that_failed() -> None:
    log = Log().add(f"{SITE}/robots.txt", 0, status=503).add(f"{SITE}/1", INNER_S)
    assert early_urls(log) == [f"{SITE}/1"]


def test_the_inner_gap_is_the_delay_where_that_is_smaller() -> None:
    log = Log().add(f"{SITE}/robots.txt", 0).add(f"{SITE}/1", 0.2).add(f"{SITE}/2", 0.2)
    assert judge(log.requests, delay_s=0.2, expected=None, slack_s=1e-9).ok
    assert len(judge(log.requests, delay_s=0.3, expected=None).early) == 2


def test_a_robots_txt_in_the_middle_begins_a_turn_of_its_own() -> None:
    assert early_urls(start().add(f"{WWW}/robots.txt", INNER_S)) == [f"{WWW}/robots.txt"]
    assert early_urls(start().add(f"{WWW}/robots.txt", DELAY_S).add(f"{WWW}/1", INNER_S)) == []


def test_the_hops_of_a_robots_txt_continue_it_and_the_page_is_still_that_of_the_first_host() -> None:
    hop = Log().add(f"{SITE}/robots.txt", 0, 301, f"{WWW}/robots.txt").add(f"{WWW}/robots.txt", INNER_S)
    assert hop.add(f"{SITE}/1", INNER_S).judge().ok
    hop = Log().add(f"{SITE}/robots.txt", 0, 301, f"{WWW}/robots.txt").add(f"{WWW}/robots.txt", INNER_S)
    assert early_urls(hop.add(f"{WWW}/1", INNER_S)) == [f"{WWW}/1"]


def test_a_robots_txt_follows_at_most_five_redirects() -> None:
    log = Log()
    for hop in range(7):
        log.add(f"{SITE}/{hop or ''}robots.txt", INNER_S, 301, f"{SITE}/{hop + 1}robots.txt")
    assert early_urls(log) == [f"{SITE}/6robots.txt"]


def test_the_target_of_a_redirect_continues_the_turn_with_or_without_its_robots_txt() -> None:
    def redirect() -> Log:
        return Log().add(f"{SITE}/robots.txt", 0).add(f"{SITE}/1", INNER_S, 301, f"{WWW}/2")

    assert early_urls(redirect().add(f"{WWW}/2", INNER_S)) == []
    assert early_urls(redirect().add(f"{WWW}/2", INNER_S / 2)) == [f"{WWW}/2"]
    assert early_urls(redirect().add(f"{WWW}/robots.txt", INNER_S).add(f"{WWW}/2", INNER_S)) == []
    assert early_urls(redirect().add(f"{WWW}/3", INNER_S)) == [f"{WWW}/3"]
    assert early_urls(redirect().add(f"{SITE}/robots.txt", INNER_S)) == [f"{SITE}/robots.txt"]
    other_page = redirect().add(f"{WWW}/robots.txt", INNER_S).add(f"{WWW}/3", INNER_S)
    assert early_urls(other_page) == [f"{WWW}/3"]


def test_a_robots_txt_after_a_full_delay_may_begin_a_turn_even_where_it_could_continue_one() -> None:
    def redirect() -> Log:
        return Log().add(f"{SITE}/robots.txt", 0).add(f"{SITE}/1", INNER_S, 301, f"{WWW}/2")

    assert early_urls(redirect().add(f"{WWW}/robots.txt", DELAY_S).add(f"{WWW}/3", INNER_S)) == []
    assert early_urls(redirect().add(f"{WWW}/robots.txt", DELAY_S).add(f"{WWW}/2", INNER_S)) == []
    hop = Log().add(f"{SITE}/robots.txt", 0, 301, f"{WWW}/robots.txt").add(f"{WWW}/robots.txt", DELAY_S)
    for host in (SITE, WWW):
        log = Log()
        log.requests = [*hop.requests]
        log._now = hop._now
        assert early_urls(log.add(f"{host}/1", INNER_S)) == []
        assert early_urls(log.add(f"{host}/2", INNER_S)) == [f"{host}/2"]


def test_a_meta_refresh_is_a_redirect() -> None:
    log = Log().add(f"{SITE}/robots.txt", 0).add(f"{SITE}/1", INNER_S, 200, f"{SITE}/2").add(f"{SITE}/2", INNER_S)
    assert early_urls(log) == []


def test_a_redirect_to_another_site_ends_the_turn() -> None:
    log = Log().add(f"{SITE}/robots.txt", 0).add(f"{SITE}/1", INNER_S, 301, f"{OTHER}/1").add(f"{SITE}/2", INNER_S)
    assert early_urls(log) == [f"{SITE}/2"]


def test_a_turn_follows_at_most_five_redirects() -> None:
    log = Log().add(f"{SITE}/robots.txt", 0)
    for hop in range(7):
        log.add(f"{SITE}/{hop}", INNER_S, 302, f"{SITE}/{hop + 1}")
    assert early_urls(log) == [f"{SITE}/6"]


def test_a_crawl_delay_counts_for_the_whole_site_once_it_was_served() -> None:
    log = Log().add(f"{SITE}/robots.txt", 0, wait_s=30).add(f"{SITE}/1", INNER_S)
    assert early_urls(log.add(f"{WWW}/robots.txt", DELAY_S)) == [f"{WWW}/robots.txt"]
    log = start().add(f"{WWW}/robots.txt", DELAY_S, wait_s=30).add(f"{WWW}/1", INNER_S)
    assert early_urls(log.add(f"{SITE}/2", 30).add(f"{SITE}/3", 29)) == [f"{SITE}/3"]


def test_a_crawl_delay_does_not_lengthen_the_gap_within_a_turn() -> None:
    log = Log().add(f"{SITE}/robots.txt", 0, wait_s=30).add(f"{SITE}/1", 0.25)
    assert judge(log.requests, delay_s=0.2, expected=None).ok


def test_a_crawl_delay_never_shortens_the_delay() -> None:
    log = Log().add(f"{SITE}/robots.txt", 0, wait_s=1).add(f"{SITE}/1", INNER_S).add(f"{SITE}/2", 5)
    assert early_urls(log) == [f"{SITE}/2"]


@pytest.mark.parametrize("status", [429, 503])
def test_a_retry_after_pushes_the_site_back_once(status: int) -> None:
    def busy() -> Log:
        return start().add(f"{SITE}/2", DELAY_S, status, wait_s=60)

    assert early_urls(busy().add(f"{SITE}/3", 59)) == [f"{SITE}/3"]
    assert early_urls(busy().add(f"{SITE}/3", 60).add(f"{SITE}/4", DELAY_S)) == []


def test_a_retry_after_of_a_robots_txt_is_no_crawl_delay() -> None:
    def busy() -> Log:
        return Log().add(f"{SITE}/robots.txt", 0, 503, wait_s=60)

    assert early_urls(busy().add(f"{SITE}/robots.txt", 59)) == [f"{SITE}/robots.txt"]
    assert early_urls(busy().add(f"{SITE}/robots.txt", 60).add(f"{SITE}/1", INNER_S).add(f"{SITE}/2", DELAY_S)) == []


def test_a_retry_after_cannot_be_waited_for_in_two_turns() -> None:
    log = start().add(f"{SITE}/2", DELAY_S, 429, wait_s=60).add(f"{SITE}/3", 20).add(f"{SITE}/4", 20)
    assert early_urls(log) == [f"{SITE}/3", f"{SITE}/4"]


@pytest.mark.parametrize("status", [200, 503])
def test_a_crawler_may_forget_only_what_it_was_sent_right_before_a_kill(status: int) -> None:
    def early(log: Log, killed_after_s: float) -> int:
        kill = log.requests[0].ended + killed_after_s
        return len(judge(log.requests, delay_s=DELAY_S, expected=None, kills=[kill], unheard_s=0.5).early)

    log = Log().add(f"{SITE}/robots.txt", 0, status, wait_s=60).add(f"{SITE}/robots.txt", 59, status, wait_s=60)
    assert [early(log, after_s) for after_s in (-0.1, 0, 0.5, 0.6)] == [1, 0, 0, 1]
    assert early(log.add(f"{SITE}/robots.txt", 59), 0.1) == 1, "what was said again after the kill was heard"
    assert early(start().add(f"{SITE}/2", DELAY_S - 0.1), 0.1) == 1, "the delay always holds"


def test_requests_that_overlap_are_early_whatever_the_delay() -> None:
    log = Log().add(f"{SITE}/robots.txt", 0).add(f"{SITE}/1", 0.1).add(f"{SITE}/2", -0.3)
    verdict = judge(log.requests, delay_s=0.0, expected=None, slack_s=5.0)
    assert [fault.url for fault in verdict.early] == [f"{SITE}/2"]


def test_a_gap_is_measured_from_the_end_of_everything_before() -> None:
    log = start()
    long = log.requests[-1] = log.requests[-1]._replace(ended=500.0)
    log.requests.append(long._replace(arrived=200.0, ended=201.0, target="/2", url=f"{SITE}/2"))
    log.requests.append(long._replace(arrived=505.0, ended=506.0, target="/3", url=f"{SITE}/3"))
    assert early_urls(log) == [f"{SITE}/2", f"{SITE}/3"]


# ---------------------------------------------------------------------------- robots.txt on other sites

POLICY = f"{OTHER}/policy/robots.txt"


def away(log: Log, url: str = f"{SITE}/robots.txt", gap_s: float = DELAY_S, to: str = POLICY) -> Log:
    return log.add(url, gap_s, 301, to)


def test_the_target_of_another_sites_robots_txt_may_be_requested_outside_of_turns() -> None:
    log = Log().add(f"{OTHER}/robots.txt", 0).add(f"{OTHER}/1", INNER_S)
    away(log, gap_s=0).add(POLICY, 0).add(f"{SITE}/1", INNER_S).add(f"{OTHER}/2", DELAY_S)
    verdict = log.judge()
    assert verdict.ok, verdict.summary()


def test_without_such_a_redirect_it_may_not_be_requested_outside_of_turns() -> None:
    log = Log().add(f"{OTHER}/robots.txt", 0).add(f"{OTHER}/1", INNER_S).add(POLICY, 0.2)
    assert early_urls(log) == [POLICY]
    too_soon = Log().add(f"{OTHER}/robots.txt", 0).add(f"{OTHER}/1", INNER_S).add(POLICY, 0.2)
    assert early_urls(away(too_soon, gap_s=0)) == [POLICY], "the redirect came later"


def test_outside_of_turns_each_worker_makes_one_request_per_delay_to_a_site() -> None:
    def asked(gap_s: float) -> Log:
        log = Log().add(f"{OTHER}/robots.txt", 0).add(f"{OTHER}/1", INNER_S)
        away(log, gap_s=0)
        away(log, f"{WWW}/robots.txt", DELAY_S, to=f"{OTHER}/x/robots.txt")
        log.add(POLICY, 0).add(f"{OTHER}/9", 0.1)
        return log.add(f"{OTHER}/x/robots.txt", gap_s - 0.6)

    assert asked(DELAY_S).judge().ok
    (fault,) = asked(DELAY_S - 1).judge().early
    assert fault.url == f"{OTHER}/x/robots.txt"
    assert asked(DELAY_S - 1).judge(workers=2).ok


def test_outside_of_turns_a_retry_after_applies_too() -> None:
    log = Log().add(f"{OTHER}/robots.txt", 0).add(f"{OTHER}/1", INNER_S)
    away(log, gap_s=0)
    away(log, f"{WWW}/robots.txt", DELAY_S, to=f"{OTHER}/x/robots.txt")
    log.add(POLICY, 0, 503, wait_s=60).add(f"{OTHER}/2", 1).add(f"{OTHER}/3", DELAY_S)
    log.add(f"{OTHER}/x/robots.txt", 1)
    assert early_urls(log) == [f"{OTHER}/x/robots.txt"]


def test_after_a_kill_requests_outside_of_turns_are_forgotten() -> None:
    log = Log().add(f"{OTHER}/robots.txt", 0).add(f"{OTHER}/1", INNER_S)
    away(log, gap_s=0)
    away(log, f"{WWW}/robots.txt", DELAY_S, to=f"{OTHER}/x/robots.txt")
    log.add(POLICY, 0).add(f"{OTHER}/9", 0.1).add(f"{OTHER}/x/robots.txt", 5)
    kill = log.requests[-1].arrived - 1
    assert early_urls(log) == [f"{OTHER}/x/robots.txt"]
    assert judge(log.requests, delay_s=DELAY_S, expected=None, kills=[kill]).early == ()


def test_a_url_on_another_site_is_asked_for_once_a_day_by_each_worker() -> None:
    log = away(Log()).add(POLICY, 0).add(f"{SITE}/1", INNER_S).add(POLICY, DELAY_S)
    (repeat,) = log.judge().repeated_robots
    assert (repeat.url, repeat.asked, repeat.allowed) == (POLICY, 2, 1)
    assert log.judge(workers=2).ok
    assert log.judge(robots_cache_s=5).ok


def test_the_robots_txt_of_another_site_may_be_asked_for_by_that_site_too() -> None:
    log = away(Log(), to=f"{OTHER}/robots.txt").add(f"{OTHER}/robots.txt", 0).add(f"{SITE}/1", INNER_S)
    log.add(f"{OTHER}/robots.txt", 0.3).add(f"{OTHER}/1", INNER_S)
    assert log.judge().ok, log.judge().summary()
    assert not log.add(f"{OTHER}/robots.txt", DELAY_S).judge().ok


def test_a_host_that_waits_for_another_site_may_ask_for_its_own_robots_txt_again() -> None:
    log = away(away(away(Log()))).add(POLICY, 0).add(f"{SITE}/1", INNER_S)
    assert log.judge().ok, log.judge().summary()
    again = away(log).judge()
    assert [repeat.url for repeat in again.repeated_robots] == [f"{SITE}/robots.txt"]


def test_a_robots_txt_whose_redirect_leads_to_a_failure_may_be_asked_for_again() -> None:
    log = away(Log(), to=f"{WWW}/robots.txt").add(f"{WWW}/robots.txt", INNER_S, 503)
    away(log, to=f"{WWW}/robots.txt").add(f"{WWW}/robots.txt", INNER_S).add(f"{SITE}/1", INNER_S)
    assert log.judge().ok, log.judge().summary()
    assert [repeat.url for repeat in away(log, to=f"{WWW}/robots.txt").judge().repeated_robots] == [
        f"{SITE}/robots.txt"
    ]


def test_a_page_must_not_come_before_what_its_robots_txt_redirects_to() -> None:
    assert away(Log()).add(f"{SITE}/1", INNER_S).judge().before_robots == (f"{SITE}/1",)
    late = away(Log()).add(f"{SITE}/1", INNER_S).add(POLICY, 0)
    assert late.judge().before_robots == (f"{SITE}/1",)
    half = away(Log()).add(POLICY, 0, 302, f"{OTHER}/x/robots.txt").add(f"{SITE}/1", INNER_S)
    assert half.judge().before_robots == (f"{SITE}/1",)


def test_a_crawl_delay_on_another_site_applies_to_the_site_whose_robots_txt_redirects_there() -> None:
    def asked(host: str, gap_s: float) -> Log:
        log = Log().add(f"{OTHER}/robots.txt", 0).add(f"{OTHER}/1", INNER_S)
        away(log).add(POLICY, 0, wait_s=30).add(f"{SITE}/1", INNER_S)
        return log.add(f"{host}/2", gap_s)

    assert early_urls(asked(SITE, 29)) == [f"{SITE}/2"]
    assert early_urls(asked(SITE, 30)) == []
    assert early_urls(asked(OTHER, DELAY_S)) == []


def expect(*urls: str, disallowed: tuple[str, ...] = ()) -> ExpectedCrawl:
    return ExpectedCrawl(depths=dict.fromkeys(urls, 0), disallowed=frozenset(disallowed))


def test_missed_unexpected_and_disallowed_pages_are_told_apart() -> None:
    log = start().add(f"{SITE}/2", DELAY_S).add(f"{SITE}/private", DELAY_S)
    verdict = log.judge(expect(f"{SITE}/1", f"{SITE}/3", disallowed=(f"{SITE}/private",)))
    assert verdict.missed == (f"{SITE}/3",)
    assert verdict.unexpected == (f"{SITE}/2",)
    assert verdict.disallowed == (f"{SITE}/private",)
    assert not verdict.ok
    assert log.judge(expect(f"{SITE}/1", f"{SITE}/2", f"{SITE}/private")).ok


def test_a_page_asked_for_before_its_robots_txt_is_a_fault() -> None:
    log = Log().add(f"{SITE}/1", 0).add(f"{SITE}/robots.txt", DELAY_S).add(f"{SITE}/2", INNER_S)
    assert log.judge().before_robots == (f"{SITE}/1",)
    assert not log.judge().ok
    assert log.judge(robots_first=False).ok


def test_a_final_answer_must_be_asked_for_once() -> None:
    (repeat,) = start().add(f"{SITE}/1", DELAY_S).judge().repeated
    assert (repeat.url, repeat.asked, repeat.allowed) == (f"{SITE}/1", 2, 1)


def test_failures_may_be_retried_a_limited_number_of_times() -> None:
    log = start()
    for _ in range(4):
        log.add(f"{SITE}/2", DELAY_S, 500)
    assert log.judge().ok
    (repeat,) = log.add(f"{SITE}/2", DELAY_S, 500).judge().repeated
    assert (repeat.asked, repeat.allowed) == (5, 4)
    assert log.judge(tries=5).ok


def test_after_failures_one_final_answer_ends_it() -> None:
    log = start().add(f"{SITE}/2", DELAY_S, 503).add(f"{SITE}/2", DELAY_S)
    assert log.judge().ok
    assert [r.allowed for r in log.add(f"{SITE}/2", DELAY_S).judge().repeated] == [2]


def test_repeats_that_are_allowed_are_still_reported() -> None:
    log = start().add(f"{SITE}/1", DELAY_S).add(f"{SITE}/1", DELAY_S)
    assert not log.judge(allowed_repeats=1).ok
    verdict = log.judge(allowed_repeats=2)
    assert verdict.ok
    assert verdict.repeats == 2


def test_a_robots_txt_asked_for_again_within_its_cache_time_is_reported_apart() -> None:
    log = start().add(f"{SITE}/robots.txt", DELAY_S).add(f"{SITE}/2", INNER_S)
    verdict = log.judge()
    assert verdict.repeated == ()
    assert [r.url for r in verdict.repeated_robots] == [f"{SITE}/robots.txt"]
    assert not verdict.ok
    assert log.judge(robots_cache_s=5).ok


def test_a_robots_txt_that_another_one_redirects_to_may_be_asked_for_once_more_on_its_own() -> None:
    log = Log().add(f"{SITE}/robots.txt", 0, 301, f"{WWW}/robots.txt").add(f"{WWW}/robots.txt", INNER_S)
    log.add(f"{SITE}/1", INNER_S).add(f"{WWW}/robots.txt", DELAY_S).add(f"{WWW}/1", INNER_S)
    assert log.judge().ok
    assert len(log.add(f"{WWW}/robots.txt", DELAY_S).judge().repeated_robots) == 1


def test_a_request_that_is_for_no_page_is_unexpected_whatever_its_url() -> None:
    log = start()
    stray = log.requests[-1]._replace(kind="other", status=421, arrived=900.0, ended=900.0)
    log.requests.append(stray)
    verdict = log.judge(expect(f"{SITE}/1"))
    assert verdict.unexpected == (stray.url,)
    assert not verdict.repeated
    log.requests.pop(1)
    assert log.judge(expect(f"{SITE}/1")).missed == (f"{SITE}/1",)


def test_the_order_of_the_log_does_not_matter() -> None:
    log = start().add(f"{SITE}/2", DELAY_S).add(f"{SITE}/3", 4)
    assert judge(log.requests[::-1], delay_s=DELAY_S, expected=None) == log.judge()


def test_the_summary_says_what_is_wrong() -> None:
    assert start().judge().summary() == "Requests: 2; pages: 1. No faults found."
    summary = start().add(f"{SITE}/2", 3).judge(expect(f"{SITE}/1", f"{SITE}/2", f"{SITE}/3")).summary()
    assert f"Missed: 1 ({SITE}/3)." in summary
    assert f"Early: 1 ({SITE}/2 (new turn after 3.000 s instead of 10.000 s))." in summary
    assert summary.endswith("The crawl has faults.")


def test_a_log_is_read_as_it_was_written_without_an_incomplete_last_line() -> None:
    requests = start().add(f"{SITE}/2?a=1", DELAY_S, 429, wait_s=2).requests
    text = "".join(map(format_line, requests))
    assert parse_log(text) == requests
    assert parse_log(text[:-5]) == requests[:-1]
    assert parse_log("") == []


# ---------------------------------------------------------------------------- several requests at once


def at(arrived: float, ended: float, path: str = "/", status: int = 200, wait_s: float = 0.0) -> LoggedRequest:
    url = f"http://own.test{path}"
    kind = "robots" if path == "/robots.txt" else "page"
    return LoggedRequest(arrived, ended, kind, "GET", "http", "own.test", path, status, 9, "", wait_s, False, "", url)


def too_many(log: list[LoggedRequest], lanes: int = 2) -> list[float]:
    verdict = judge(log, delay_s=0, expected=None, lanes={"own.test": lanes})
    return [early.arrived for early in verdict.early]


def test_a_site_with_lanes_may_get_as_many_requests_at_once_and_no_more() -> None:
    log = [at(0, 1, "/robots.txt"), at(1, 3, "/a"), at(2, 4, "/b"), at(3, 5, "/c"), at(3.5, 6, "/d")]
    assert too_many(log) == [3.5]
    assert too_many(log, lanes=3) == []
    assert [early.arrived for early in judge(log, delay_s=0, expected=None).early] == [2, 3, 3.5]


def test_a_site_with_lanes_and_a_crawl_delay_gets_one_request_at_a_time() -> None:
    log = [at(0, 1, "/robots.txt", wait_s=5.0), at(6, 8, "/a"), at(7, 9, "/b")]
    assert too_many(log) == [7]


def test_lanes_do_not_excuse_a_request_during_a_wait_that_was_asked_for() -> None:
    log = [at(0, 1, "/robots.txt"), at(1, 2, "/a", 429, 10.0), at(2.5, 3, "/b"), at(8, 9, "/c"), at(12, 13, "/d")]
    assert too_many(log) == [8]


def test_a_tdmrep_json_is_a_turn_of_its_own() -> None:
    def asked(before_s: float, after_s: float) -> Log:
        return Log().add(f"{SITE}/robots.txt", 0).add(TDMREP, before_s).add(f"{SITE}/1", after_s)

    assert asked(DELAY_S, DELAY_S).judge(tdmrep=True).ok
    assert early_urls(asked(INNER_S, DELAY_S)) == [TDMREP]
    assert early_urls(asked(DELAY_S, INNER_S)) == [f"{SITE}/1"]


def test_a_crawler_that_respects_reservations_asks_each_host_once_before_its_pages() -> None:
    assert start().judge(tdmrep=True).before_tdmrep == (f"{SITE}/1",)
    both = Log().add(f"{SITE}/robots.txt", 0).add(TDMREP, DELAY_S).add(f"{SITE}/1", DELAY_S)
    both.add(f"{WWW}/robots.txt", DELAY_S).add(f"{WWW}/1", INNER_S)
    assert both.judge(tdmrep=True).before_tdmrep == (f"{WWW}/1",)
    (fault,) = both.add(TDMREP, DELAY_S).judge(tdmrep=True).repeated_robots
    assert (fault.url, fault.asked, fault.allowed) == (TDMREP, 2, 1)


def test_a_tdmrep_json_is_unexpected_of_a_crawler_that_does_not_respect_it_and_comes_after_robots_txt() -> None:
    log = Log().add(TDMREP, 0).add(f"{SITE}/robots.txt", DELAY_S)
    assert log.judge().unexpected == (TDMREP,)
    assert log.judge(tdmrep=True).unexpected == ()
    assert log.judge(tdmrep=True).before_robots == (TDMREP,)
