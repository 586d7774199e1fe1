"""What the pages of the dashboard say: the same as the commands do."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from gossamer.serve.archived import POLICY, disarm
from tests.end_to_end.crawls import said, wait_until
from tests.inspect.crawls import Crawl

if TYPE_CHECKING:
    from pathlib import Path

    from tests.serve.dashboards import Answer, ServedCrawl

PAGE = "/url?url=https%3A%2F%2Fa.test%2F1"


def test_the_overview_shows_the_figures_of_status(served: ServedCrawl, crawled: Path) -> None:
    page = served.ask("/", as_="viewer").body
    status = json.loads(said("status", "--json", "--data-dir", str(crawled)))
    assert "finished: nothing is left to fetch" in page
    for key, value in (("pages", status["pages"]), ("done", status["done"]), ("sites", status["sites"])):
        assert f'data-text="{key}">{value:,}</dd>' in page
    assert "<td>http error</td><td>3</td>" in page


def test_the_stream_sends_the_overview_again_and_again(served: ServedCrawl) -> None:
    with served.connect() as client:
        head = f"GET /events HTTP/1.1\r\nHost: {served.host}\r\nAuthorization: Bearer {served.tokens['viewer']}\r\n\r\n"
        client.sendall(head.encode())
        received = b""
        while received.count(b"data: {") < 2:
            received += client.recv(65536)
    events = [line for line in received.decode().splitlines() if line.startswith("data: ")]
    values = json.loads(events[0].removeprefix("data: "))
    assert values["texts"]["pages"] == "9"
    assert values["tables"]["given_up"] == [["http error", "3"]]


def test_the_sites_are_listed_searched_and_sorted(served: ServedCrawl) -> None:
    page = served.ask("/sites", as_="viewer").body
    assert "3 sites asked so far" in page
    assert [page.index(f">{site}.test</a>") for site in "abc"] == sorted(
        page.index(f">{site}.test</a>") for site in "abc"
    )
    assert "<strong>nothing to do</strong> Nothing of it is left to fetch." in page
    found = served.ask("/sites?q=B.te&sort=min_gap_s", as_="viewer").body
    assert "1 site found" in found
    assert ">b.test</a>" in found and ">a.test</a>" not in found  # noqa: PT018
    assert '<option value="min_gap_s" selected>' in found
    nothing = served.ask("/sites?q=nowhere.test&page=7", as_="viewer").body
    assert "0 sites found" in nothing
    assert 'href="/site?name=nowhere.test"' in nothing


@pytest.mark.parametrize(
    "query", ["?sort=url%3Bdrop", "?q=%27%22%3B--", "?page=-1", "?page=99999999999", "?q=%00", "?page=9"]
)
def test_a_strange_question_is_answered_like_any_other(served: ServedCrawl, query: str) -> None:
    assert served.ask(f"/sites{query}", as_="viewer").status == 200


def test_a_site_has_the_words_of_explain(served: ServedCrawl, crawled: Path) -> None:
    page = served.ask("/site?name=a.test", as_="viewer").body
    lines = said("explain", "a.test", "--data-dir", str(crawled)).splitlines()
    assert lines[1].partition(": ")[2] in page
    assert "Exclude" not in page
    assert "Exclude a.test" in served.ask("/site?name=a.test", as_="operator").body


def test_a_url_has_the_words_of_explain_and_show(served: ServedCrawl, crawled: Path) -> None:
    page = served.ask(PAGE, as_="viewer").body
    url = "https://a.test/1"
    assert said("explain", url, "--data-dir", str(crawled)).splitlines()[1].partition(": ")[2] in page
    for word in ("Größe", "Ein paar Wörter.", "Content-Encoding: deflate"):
        assert word in page
    assert '<iframe sandbox="" src="/archived?url=https%3A%2F%2Fa.test%2F1"' in page
    assert served.ask("/url?url=a.test", as_="viewer").headers["location"] == "/site?name=a.test"
    assert "It was never accepted" in served.ask("/url?url=https%3A%2F%2Fa.test%2Fno", as_="viewer").body
    assert served.ask("/url?url=ftp%3A%2F%2Fa.test%2F", as_="viewer").status == 409


def test_an_archived_page_has_an_origin_of_its_own_and_no_network(served: ServedCrawl) -> None:
    answer = served.ask("/archived?url=https%3A%2F%2Fa.test%2F1", as_="viewer")
    assert answer.headers["content-security-policy"] == POLICY
    assert POLICY.startswith("sandbox; default-src 'none';")
    assert "<title>Größe</title>" in answer.body
    assert served.ask("/archived?url=https%3A%2F%2Fa.test%2Fno", as_="viewer").status == 409


def test_elements_that_reach_for_the_network_become_unknown_ones() -> None:
    assert disarm('<LINK rel=preconnect href="//x"><p>') == '<x-LINK rel=preconnect href="//x"><p>'
    assert disarm("<script>a</script><metal>") == "<x-script>a</x-script><metal>"
    assert disarm("<meta/http-equiv=refresh><link\n><base>") == "<x-meta/http-equiv=refresh><x-link\n><x-base>"


def test_the_report_is_the_same_as_that_of_the_command(served: ServedCrawl, crawled: Path, tmp_path: Path) -> None:
    page = served.ask("/report", as_="viewer").body
    said("report", "--data-dir", str(crawled), "-o", str(tmp_path / "report.html"))
    report = (tmp_path / "report.html").read_text()
    tiles = re.compile('<dl class="tiles">.*?</dl>')
    assert tiles.findall(report) == tiles.findall(page)
    assert re.findall("<h2>.*?</h2>", report) == re.findall("<h2>.*?</h2>", page)
    assert "<style>" not in page


def test_what_is_excluded_is_listed_and_can_be_readmitted(served: ServedCrawl) -> None:
    def order(body: str) -> Answer:
        return served.ask("/order", as_="operator", method="POST", body=body)

    assert order("what=exclude&entry=https://c.test/private/").status == 200
    page = served.ask("/sites", as_="operator").body
    assert 'href="/order?what=readmit&amp;entry=https%3A%2F%2Fc.test%2Fprivate%2F"' in page
    assert "/order" not in served.ask("/sites", as_="viewer").body
    assert order("what=readmit&entry=https://c.test/private/").status == 200
    assert "c.test is not on the list of exclusions" in order("what=readmit&entry=c.test").body


def test_lists_follow_a_crawl_that_grows(served: ServedCrawl, crawled: Path) -> None:
    assert "3 sites asked so far" in served.ask("/sites", as_="operator").body
    with Crawl(crawled, worker="w2") as crawl:
        crawl.add("https://d.test/1")
        crawl.run()
    wait_until(lambda: "4 sites asked so far" in served.ask("/sites", as_="operator").body, "the list to be made again")
