"""How sites were treated is checked from the crawl log: forged requests are found, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from gossamer.cli import run
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.inspect.conduct import conduct_of_sites, judge_conduct
from gossamer.inspect.verify import verify
from gossamer.records import Batch, GivenUp, HostState, Reason, Release, RequestRow, Visit
from gossamer.rules.elsewhere import MAX_ANSWERS
from gossamer.store.warc import encode_exchange
from gossamer.urls import hash_url, site_of
from tests.inspect.crawls import BEGAN_AT, Crawl, html_answer, page_row

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

DELAY_S = 10.0


class Asked(NamedTuple):
    """A request."""

    at: float  # seconds since the crawl began
    url: str
    status: int = 200
    kind: str = "page"
    robots: str = "allowed"
    reason: str = ""
    wait_s: float = 0
    worker: str = "w1"
    took: float = 0.5
    parallel: int = 0


def robots(at: float, host: str = "https://a.test", status: int = 404) -> Asked:
    return Asked(at, f"{host}/robots.txt", status, "robots", "unchecked")


def log(folder: Path, asked: Sequence[Asked], *, delays: str = f"0\t{DELAY_S}\n") -> Path:
    """A crawl that has made these requests; pages with a status of 2xx are stored, except redirects inside a page."""
    with Crawl(folder) as crawl:
        for number, (at, url, status, kind, decision, reason, wait_s, worker, took, parallel) in enumerate(asked):
            began = BEGAN_AT + at
            crawl.store.keep_request(
                RequestRow(
                    hash_url(url), url, site_of(url), kind, began, began + took, status, reason, 9, "192.0.2.7",
                    decision, 1, worker, wait_s, parallel=parallel,
                )
            )  # fmt: skip
            if kind == "page" and status == 200 and "refresh" not in url:
                answer = html_answer(url, number)
                encoded = encode_exchange(answer)
                row = page_row(answer, encoded.payload_digest)
                crawl.store.keep_page(row, encoded.archive, encoded.response_offset)
    (folder / "delays.tsv").write_text(delays)
    return folder


def violations(folder: Path) -> list[str]:
    found = judge_conduct(folder, at_most=100)
    assert found is not None
    assert found.violations == len(found.named)
    return [f"{one.url} {one.sentence}" for one in found.named]


GOOD = [
    robots(0),
    Asked(1.5, "https://a.test/1"),
    Asked(12, "https://a.test/moved", 301),
    Asked(13.5, "https://a.test/target"),
    Asked(24, "https://a.test/refresh"),
    Asked(25.5, "https://a.test/2"),
    robots(24, "https://b.test"),
    Asked(25.5, "https://b.test/"),
    Asked(36, "https://a.test/away", 302),
    robots(37.5, "https://www.a.test"),
    Asked(39, "https://www.a.test/"),
    Asked(49.5, "https://a.test/gone", 404),
    Asked(60, "https://a.test/slow", 0, reason="timeout"),
]


def test_a_polite_crawl_has_no_violations(tmp_path: Path) -> None:
    folder = log(tmp_path, GOOD)
    assert violations(folder) == []
    found = judge_conduct(folder, at_most=100)
    assert found is not None
    assert (found.sites, found.requests, found.turns, found.min_gap_s) == (2, 13, 7, 10.0)
    a, b = conduct_of_sites(folder, at_most=10)
    assert (a.site, a.requests, a.pages, a.robots, a.turns, a.min_gap_s, a.failed) == ("a.test", 11, 9, 2, 6, 10.0, 2)
    assert (b.site, b.turns, b.min_gap_s) == ("b.test", 1, None)
    assert conduct_of_sites(folder, at_most=10, site="b.test") == [b]


@pytest.mark.parametrize(
    ("forged", "sentence"),
    [
        (
            Asked(69, "https://a.test/early"),
            "/early began a turn 8.500 s after the previous turn had ended, instead of 10 s",
        ),
        (
            Asked(60.2, "https://a.test/both"),
            "/both began a turn -0.300 s after the previous turn had ended, instead of 10 s",
        ),
        (Asked(12.7, "https://a.test/hop", 301), "/hop came 0.200 s after the previous request of the same turn"),
        (
            Asked(70.5, "https://c.test/"),
            "c.test/ was requested although the robots.txt of its host had not been requested",
        ),
        (
            Asked(86_470, "https://a.test/old"),
            "/old was requested although the robots.txt of its host had not been requested",
        ),
        (Asked(80, "https://a.test/x", robots="unchecked"), "/x was requested although robots.txt did not allow it"),
        (GOOD[-1], "/slow is in the log twice"),
    ],
)
def test_a_forged_request_is_found(tmp_path: Path, forged: Asked, sentence: str) -> None:
    found = violations(log(tmp_path, [*GOOD, forged]))
    assert any(sentence in one for one in found), found
    with SqliteFrontier(tmp_path / "frontier.sqlite") as frontier:
        (conduct,) = (checked for checked in verify(frontier, tmp_path) if checked.name == "conduct")
    assert any(sentence in problem for problem in conduct.problems)


def test_a_sitemap_is_a_turn_like_a_page(tmp_path: Path) -> None:
    polite = [robots(0), Asked(1.5, "https://a.test/"), Asked(12, "https://a.test/sitemap.xml", kind="sitemap")]
    moved = [Asked(22.5, "https://a.test/m.xml", 301, "sitemap"), Asked(24, "https://a.test/n.xml", 404, "sitemap")]
    asked = [*polite, *moved]
    assert violations(log(tmp_path / "good", asked)) == []
    (a,) = conduct_of_sites(tmp_path / "good", at_most=10)
    assert (a.turns, a.pages, a.failed) == (3, 4, 0)
    early = violations(log(tmp_path / "early", [*polite, Asked(14, "https://a.test/1")]))
    assert early == ["https://a.test/1 began a turn 1.500 s after the previous turn had ended, instead of 10 s"]
    unasked = violations(log(tmp_path / "unasked", [Asked(0, "https://a.test/sitemap.xml", 404, "sitemap")]))
    assert "robots.txt of its host had not been requested" in unasked[0]


def elsewhere(at: float, path: str = "rules.txt", *, status: int = 200, wait_s: float = 0, worker: str = "w1") -> Asked:
    """A request to which a robots.txt of another site redirected."""
    return Asked(
        at, f"https://a.test/{path}", status, "robots_elsewhere", "unchecked", wait_s=wait_s, worker=worker
    )  # fmt: skip


def test_what_others_redirect_to_is_asked_for_outside_of_turns(tmp_path: Path) -> None:
    asked = [*GOOD, elsewhere(12.2, "1"), elsewhere(24.1, "2"), elsewhere(60.1, "3"), elsewhere(86_500, "1")]
    assert violations(log(tmp_path, asked)) == []
    found = judge_conduct(tmp_path, at_most=100)
    assert found is not None
    assert (found.requests, found.turns, found.min_gap_s) == (17, 7, 10.0)
    a, _ = conduct_of_sites(tmp_path, at_most=10)
    assert (a.requests, a.pages, a.robots, a.turns, a.min_gap_s) == (15, 9, 6, 6, 10.0)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            [elsewhere(5, "1"), elsewhere(15, "2")],
            "/2 was requested because another site's robots.txt redirects there, 9.500 s",
        ),
        ([elsewhere(5, "1"), elsewhere(5.2, "2")], "-0.300 s after such a request to its site, instead of 10 s"),
        (
            [elsewhere(5, "1", status=503, wait_s=60), elsewhere(60, "2")],
            "54.500 s after such a request to its site, ins",
        ),
        (
            [elsewhere(5, "1"), elsewhere(80_000, "1")],
            "/1 was requested twice within a day because another site's robots.txt",
        ),
        ([elsewhere(5, "1"), elsewhere(5, "1")], "is in the log twice"),
    ],
)
def test_there_a_worker_asks_a_site_once_per_delay_and_for_a_url_once_a_day(
    tmp_path: Path, asked: list[Asked], sentence: str
) -> None:
    (found,) = violations(log(tmp_path, [*GOOD, *asked]))
    assert sentence in found


def test_there_workers_do_not_know_of_each_other_and_what_failed_is_asked_for_again(tmp_path: Path) -> None:
    beside = [elsewhere(5), elsewhere(5.1, worker="w2"), elsewhere(16, "x", worker="w3")]
    failed = [elsewhere(100, "busy", status=503), elsewhere(700, "busy", status=429), elsewhere(4_000, "busy")]
    assert violations(log(tmp_path, [*GOOD, *beside, *failed])) == []


def test_what_a_worker_had_to_forget_it_may_ask_for_again(tmp_path: Path) -> None:
    others = [
        Asked(200, f"https://s{number}.test/robots.txt", 200, "robots_elsewhere", "unchecked")
        for number in range(MAX_ANSWERS)
    ]
    assert violations(log(tmp_path / "many", [elsewhere(5), *others, elsewhere(300)])) == []
    (again,) = violations(log(tmp_path / "few", [elsewhere(5), *others[:100], elsewhere(300)]))
    assert "twice within a day" in again


AWAY = [robots(0), Asked(1.5, "https://a.test/busy", 429, wait_s=300), Asked(302, "https://a.test/then")]


def test_a_wait_that_the_site_asked_for_and_got_is_no_violation(tmp_path: Path) -> None:
    assert violations(log(tmp_path, AWAY)) == []


@pytest.mark.parametrize("later", [50, 301.9])
def test_a_wait_that_the_site_asked_for_and_did_not_get_is_one(tmp_path: Path, later: float) -> None:
    (found,) = violations(log(tmp_path, [*AWAY[:2], Asked(later, "https://a.test/then")]))
    assert found.endswith(f"began a turn {later - 2:.3f} s after the previous turn had ended, instead of 300 s")


def test_it_binds_another_worker_unless_the_one_that_heard_it_may_have_died_before_telling(tmp_path: Path) -> None:
    early = Asked(50, "https://a.test/then", worker="w2")
    assert violations(log(tmp_path / "dead", [*AWAY[:2], early])) == []
    lived_on = [robots(100, "https://b.test"), Asked(102, "https://b.test/"), Asked(130, "https://b.test/2")]
    (found,) = violations(log(tmp_path / "alive", [*AWAY[:2], early, *lived_on]))
    assert "instead of 300 s" in found


def test_the_answer_that_a_stopped_worker_notices_late_does_not_hold_up_the_new_owner_of_its_site(
    tmp_path: Path,
) -> None:
    def judged(name: str, *asked: Asked) -> list[str]:
        folder = log(tmp_path / name, [robots(0), *asked])
        (folder / "crawl.toml").write_text('frontier = "postgresql://shared"\nlease = 20.0\n')
        return [each.partition(" began a turn ")[2] for each in violations(folder)]

    stopped = Asked(12, "https://a.test/1", took=60)
    overlapping = [Asked(at, f"https://a.test/{at}", worker="w2") for at in (40, 51, 62, 73)]
    assert judged("overlapping", stopped, *overlapping) == []
    assert judged("behind", stopped, Asked(73, "https://a.test/2", worker="w2")) == []
    assert judged("early", stopped, Asked(20, "https://a.test/2", worker="w2"))[0].startswith("8.000 s after")
    assert judged("own", stopped, Asked(40, "https://a.test/2"))[0].startswith("-32.000 s after")
    awake = Asked(12, "https://a.test/1", took=9)
    assert judged("awake", awake, Asked(29, "https://a.test/2", worker="w2"))[0].startswith("8.000 s after")


def test_a_turn_after_a_robots_txt_that_could_not_be_had_waits_like_any_other(tmp_path: Path) -> None:
    asked = [robots(0, status=503), robots(5, status=503), Asked(6.5, "https://a.test/")]
    (early, page) = violations(log(tmp_path, asked))
    assert "robots.txt began a turn 4.500 s" in early
    assert "https://a.test/ began a turn 1.000 s" in page


def test_gaps_are_judged_by_the_delay_of_their_time(tmp_path: Path) -> None:
    asked = [robots(0), Asked(1.5, "https://a.test/1"), Asked(4, "https://a.test/2"), Asked(9, "https://a.test/3")]
    raised = f"{BEGAN_AT - 5}\t2.0\n{BEGAN_AT + 7}\t4.0\n"
    assert violations(log(tmp_path, asked, delays=raised)) == []
    asked.append(Asked(12, "https://a.test/4"))
    (early,) = violations(log(tmp_path / "later", asked, delays=raised))
    assert "/4 began a turn 2.500 s after the previous turn had ended, instead of 4 s" in early


def test_a_crawl_that_asked_for_nothing_or_knows_no_delays_has_no_violations(tmp_path: Path) -> None:
    folder = log(tmp_path / "nothing", [])
    found = judge_conduct(folder, at_most=100)
    assert found is not None
    assert (found.requests, found.violations) == (0, 0)
    assert conduct_of_sites(folder, at_most=10) == []
    (folder / "delays.tsv").unlink()
    assert judge_conduct(folder, at_most=100) is None


@pytest.fixture
def reported(tmp_path: Path) -> Path:
    """A polite crawl whose frontier knows the robots.txt."""
    folder = log(tmp_path / "crawl", GOOD)
    with Crawl(folder, worker="w2") as crawl:
        crawl.add("https://a.test/private/1")
        (claim,) = crawl.claim()
        state = HostState(host="https://a.test", rules="User-agent: *\nDisallow: /private", expires_at=BEGAN_AT + 1)
        outcomes = [(claim.urls[0].url_hash, GivenUp(reason=Reason.ROBOTS_DISALLOWED))]
        release = Release(wait_s=0, own_delay_s=5.0)
        visit = Visit(site="a.test", epoch=claim.epoch, outcomes=outcomes, hosts=[state], release=release)
        crawl.frontier.complete(Batch(visits=[visit]))
    return folder


def test_the_report_tells_an_owner_all_about_a_site(reported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--site", "A.test", "--data-dir", str(reported), "--report"]) == 0
    text = capsys.readouterr().out
    for part in (
        "# How a.test was crawled",
        "11 requests in 6 turns; the shortest wait between two of one site was 10.0 s. The delay is 10 s.",
        "Violations: 0.",
        "- 9 for pages and 2 for robots.txt, in 6 turns",
        "- from 2026-01-01 00:00:00Z to 2026-01-01 00:01:00Z",
        "It asks for 5 s between two pages.",
        "- 1 URL not requested: robots disallowed",
        "    Disallow: /private",
        "## Violations\n\nNone.",
    ):
        assert part in text, part


def test_the_report_on_all_sites_is_a_table_in_a_file(reported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = reported.parent / "conduct.md"
    assert run(["verify", "--report", str(file), "--data-dir", str(reported)]) == 0
    assert capsys.readouterr().out == f"The report is {file}: 0 violations.\n"
    text = file.read_text()
    assert "| a.test | 11 | 6 | 2 | 10.0 s | 2 | 1 | 2026-01-01 00:00:00Z | 2026-01-01 00:01:00Z |" in text
    assert "| b.test | 2 | 1 | 1 | - | 0 | 0 |" in text


def test_violations_are_listed_and_told_by_the_exit_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = log(tmp_path / "crawl", [*GOOD, Asked(69, "https://a.test/early")])
    assert run(["verify", "--report", "--data-dir", str(folder)]) == 1
    text = capsys.readouterr().out
    assert "- 2026-01-01 00:01:09Z `https://a.test/early` began a turn 8.500 s" in text
    assert "Violations: 1." in text


def test_a_crawl_delay_that_was_not_kept_is_a_violation(reported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Crawl(reported, worker="w3") as crawl:
        crawl.add("https://a.test/more")
        (claim,) = crawl.claim()
        release = Release(wait_s=0, own_delay_s=60.0)
        crawl.frontier.complete(Batch(visits=[Visit(site="a.test", epoch=claim.epoch, release=release)]))
    assert run(["verify", "--report", "--data-dir", str(reported)]) == 1
    assert "a.test asks for 60 s between two pages and once had 10.000 s." in capsys.readouterr().out


def test_a_site_belongs_to_a_report(reported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--site", "a.test", "--data-dir", str(reported)]) == 2
    assert "--site belongs to --report" in capsys.readouterr().err


# ---------------------------------------------------------------------- addresses


def names(count: int, every_s: float, *, workers: int = 1) -> list[Asked]:
    """Requests to one address, each for another name, by workers in turn."""
    return [
        Asked(every_s * number, f"https://{number}.test/robots.txt", 404, "robots", "unchecked", took=0.01)
        ._replace(worker=f"w{number % workers}")
        for number in range(count)
    ]  # fmt: skip


def paced(folder: Path, asked: Sequence[Asked], *, delay: str = "0\t0.1\t0\n", settings: str = "") -> Path:
    log(folder, asked)
    (folder / "address_delays.tsv").write_text(delay)
    (folder / "crawl.toml").write_text(settings)
    return folder


def test_an_address_may_get_one_request_per_address_delay_whatever_the_names(tmp_path: Path) -> None:
    assert violations(paced(tmp_path, names(250, 0.1))) == []


def test_a_request_that_follows_too_soon_on_another_name_of_its_address_is_found(tmp_path: Path) -> None:
    found = violations(paced(tmp_path, [*names(3, 0.2), *names(4, 0.15)[3:]]))
    assert found == [
        "https://3.test/robots.txt came 0.050 s after the last request of its worker to 192.0.2.7, instead of 0.1 s"
    ]


def test_workers_that_together_send_more_than_an_address_may_get_are_found(tmp_path: Path) -> None:
    found = violations(paced(tmp_path, names(120, 0.08, workers=4)))
    assert found[0] == (
        "https://104.test/robots.txt was request number 105 to 192.0.2.7 within ten seconds; "
        "its workers (4) together may send 104"
    )
    assert len(found) == 16
    assert violations(paced(tmp_path / "polite", names(120, 0.1, workers=4))) == []


@pytest.mark.parametrize(
    ("delay", "settings", "crowded"),
    [
        ("0\t0.1\t0\n", 'allow_network = ["192.0.2.0/24"]', False),
        ("0\t0.1\t1\n", 'allow_network = ["192.0.2.0/24"]', True),
        ("0\t0.0\t1\n", "", False),
        ("", "", False),  # a crawl of an older version
        ("0\t0.001\t0\n1\t0.1\t0\n", "", True),
        ("0\t0.1\t0\nrubbish\n\t\n", "", True),
    ],
)
def test_the_delay_of_addresses_applies_when_and_where_the_operator_said(
    tmp_path: Path, delay: str, settings: str, crowded: bool
) -> None:
    folder = paced(tmp_path, names(3, 0.01), delay=delay, settings=settings)
    assert bool(violations(folder)) == crowded


# ---------------------------------------------------------------------------- the operator's own sites


def own(at: float, path: str, **more: float) -> Asked:
    return Asked(at, f"https://a.test/{path}", parallel=2)._replace(**more)  # type: ignore[arg-type]


def test_an_own_site_may_get_several_requests_at_once_and_one_more_is_found(tmp_path: Path) -> None:
    two = [robots(0)._replace(parallel=2), own(1, "1"), own(1.1, "2"), own(1.5, "3"), own(1.7, "4")]
    assert violations(log(tmp_path / "two", two, delays="0\t0\n")) == []
    three = [*two, own(1.8, "5")]
    assert violations(log(tmp_path / "three", three, delays="0\t0\n")) == [
        "https://a.test/5 was one request too many at once for its site, which is yours: it may get 2"
    ]
    (conduct,) = conduct_of_sites(tmp_path / "two", at_most=1)
    assert (conduct.requests, conduct.turns, conduct.min_gap_s) == (5, 5, None)


def test_an_own_site_that_asks_for_a_wait_gets_it(tmp_path: Path) -> None:
    asked = [robots(0)._replace(parallel=2), own(1, "1", status=429, wait_s=10), own(1.1, "2"), own(12, "3")]
    assert violations(log(tmp_path / "waits", asked, delays="0\t0\n")) == []
    hurried = [*asked, own(5, "4")]
    assert violations(log(tmp_path / "hurries", hurried, delays="0\t0\n")) == [
        "https://a.test/4 came during a wait that its site, which is yours, had asked for"
    ]
